import type { SentEvent } from '../../src/domain/webhooks/sender.ts';
import { refusalOfSignature } from '../../src/domain/webhooks/standard-webhooks.ts';
import { createRandom } from '../../test/support/random.ts';
import type { Event } from '../checker/history.ts';
import type { Owner, Scheduler } from './scheduler.ts';

/** The URLs to which events are delivered. They refuse, hang, and lose their own answers. */
export interface ReceiverParts {
  readonly seed: number;
  readonly scheduler: Scheduler;
  readonly outside: Owner;
  readonly record: (event: Event) => void;
}
export type Receivers = ReturnType<typeof createReceivers>;

interface EventBody {
  readonly type: string;
  readonly data: { readonly account?: string; readonly messageId?: string; readonly status?: string };
}

const TIMEOUT_MS = 15_000;
const REFUSED: readonly SentEvent[] = [
  { status: 500, error: null, retryAfter: null },
  { status: 503, error: null, retryAfter: '30' },
  { status: 429, error: null, retryAfter: '120' },
  { status: 301, error: null, retryAfter: null },
  { status: null, error: 'ECONNREFUSED', retryAfter: null },
];

export function createReceivers({ seed, scheduler, outside, record }: ReceiverParts) {
  const tries = new Map<string, number>();
  /** The secrets of each address: the newest first. */
  const secrets = new Map<string, string[]>();
  let isHealthy = false;

  function send(
    owner: Owner,
    url: string,
    fields: Readonly<Record<string, string>>,
    body: string,
    signal: AbortSignal,
  ): Promise<SentEvent> {
    const id = fields['webhook-id'] as string;
    const count = (tries.get(`${url} ${id}`) ?? 0) + 1;
    tries.set(`${url} ${id}`, count);
    const random = createRandom(`event ${id} ${count}`, seed);
    const way = isHealthy ? 0 : random.below(20);
    const ms = random.pick([1, 30, 700, 9_000]);
    return new Promise((resolve) => {
      const answer = (sent: SentEvent, afterMs: number) =>
        scheduler.after(outside, afterMs, () => scheduler.post(owner, () => resolve(sent)));
      signal.addEventListener('abort', () => resolve({ status: null, error: 'aborted', retryAfter: null }), {
        once: true,
      });
      if (way >= 15 && way < 18) return void answer(random.pick(REFUSED), ms);
      if (way === 18) return void answer({ status: null, error: 'timeout', retryAfter: null }, TIMEOUT_MS); // it never came
      receive(url, id, fields, body);
      if (way === 19) return void answer({ status: null, error: 'timeout', retryAfter: null }, TIMEOUT_MS); // the answer is lost
      answer({ status: 200, error: null, retryAfter: null }, isHealthy ? 1 : ms);
    });
  }

  function receive(url: string, id: string, fields: Readonly<Record<string, string>>, body: string): void {
    const at = Number(fields['webhook-timestamp']) * 1_000; // its clock may be wrong, and ours does not matter
    const fault = refusalOfSignature(secrets.get(url) ?? [], { get: (name) => fields[name] }, body, at);
    if (fault !== null) record({ kind: 'read', what: `the signature of ${id}`, fault });
    const { type, data } = JSON.parse(body) as EventBody;
    const of = [data.account ?? '', data.messageId ?? '', data.status ?? ''].join(' ');
    record({ kind: 'event-delivered', webhook: url, event: id, type, of });
  }

  return {
    send,
    heal(): void {
      isHealthy = true;
    },
    /** A new secret. The one before is valid for a day. */
    addSecret(url: string, secret: string): void {
      secrets.set(url, [secret, ...(secrets.get(url) ?? [])]);
    },
  };
}
