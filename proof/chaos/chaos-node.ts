import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { SubmitResult } from '../../src/carriers/connector.ts';
import type { Answer, Ask, FromNode, NodeSettings, SubmittedPart, ToNode } from './protocol.ts';

const FILE = fileURLToPath(new URL('node.ts', import.meta.url));

/** Decides what becomes of parts that reach the carrier; null: the answer is lost. */
export type OnSubmit = (parts: readonly SubmittedPart[], onHeard: HeardHandler) => Promise<SubmitResult[] | null>;
/** Takes what is to be done when the node has the answer. */
type HeardHandler = (work: () => void) => void;

/** One node of a chaos run, in a process of its own that may be killed at any moment. */
export interface ChaosNode {
  /** `lost`: the node was killed before it answered. */
  ask(ask: Ask): Promise<Answer | { readonly kind: 'lost' }>;
  kill(): Promise<void>;
  stop(): Promise<void>;
}

export async function startNode(settings: NodeSettings, onSubmit: OnSubmit): Promise<ChaosNode> {
  const child = fork(FILE, [JSON.stringify(settings)], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  const waiting = new Map<number, (answer: Answer | { kind: 'lost' }) => void>();
  const unheard = new Map<number, () => void>();
  let calls = 0;
  let isKilled = false;
  let onServing = () => {};
  const serving = new Promise<void>((resolve) => {
    onServing = resolve;
  });
  child.on('message', async (message: FromNode) => {
    if (message.kind === 'serving') onServing();
    else if (message.kind === 'answer') {
      waiting.get(message.call)?.(message.answer);
      waiting.delete(message.call);
    } else if (message.kind === 'heard') {
      // It may come after the end of the process, which has then written nothing down.
      if (isKilled) return;
      unheard.get(message.call)?.();
      unheard.delete(message.call);
    } else {
      const results = await onSubmit(message.parts, (work) => unheard.set(message.call, work));
      if (results) send(child, { kind: 'submitted', call: message.call, results });
    }
  });
  child.on('exit', () => {
    onServing();
    for (const resolve of waiting.values()) resolve({ kind: 'lost' });
    waiting.clear();
  });
  await serving;
  return {
    ask: (ask) =>
      new Promise((resolve) => {
        if (!child.connected) {
          resolve({ kind: 'lost' });
          return;
        }
        const call = ++calls;
        waiting.set(call, resolve);
        send(child, { kind: 'ask', call, ask });
      }),
    async kill() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      isKilled = true;
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
    },
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const ended = once(child, 'exit');
      send(child, { kind: 'ask', call: ++calls, ask: { kind: 'stop' } });
      await ended;
    },
  };
}

/** A node that was killed takes nothing more: that is no error. */
function send(child: ChildProcess, message: ToNode): void {
  if (child.connected) child.send(message, () => {});
}
