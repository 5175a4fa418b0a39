import type { Worker } from 'node:worker_threads';
import type { Dialect } from '../../asmx/dialect/dialect.ts';
import { startThread } from '../../base/program-files.ts';
import { createAccountName } from './account-names.ts';
import { type ComparedCall, type Comparison, compareAnswers } from './compare.ts';
import type { CompareSettings } from './compare-values.ts';
import type { KnownDifference } from './known-differences.ts';
import { createPseudonyms, pseudonymize } from './pseudonyms.ts';
import { type Observed, recordedOf } from './recorder.ts';
import { formatExchange } from './recording.ts';
import type { RawAnswer } from './redaction.ts';

/**
 * Compares and redacts answers. Long answers are handled in a thread, because clients would have to
 * wait: an answer of 4 MB takes 0.3 s. The thread is started for the first long answer.
 */
export interface ComparingSettings {
  readonly dialect: Dialect;
  readonly zone: string;
  readonly disabled: readonly KnownDifference[];
  readonly key: Uint8Array;
  readonly listLimit: number;
  /** Whether recordings get pseudonyms. */
  readonly pseudonyms: boolean;
}

export interface Comparing {
  readonly settings: CompareSettings;
  compare(call: ComparedCall, old: RawAnswer, ours: RawAnswer): Comparison | Promise<Comparison>;
  /** The line of a recording. */
  line(observed: Observed): string | Promise<string>;
  close(): Promise<void>;
}

/** The work that a thread is given. */
export type Task =
  | { readonly kind: 'compare'; readonly call: ComparedCall; readonly old: RawAnswer; readonly ours: RawAnswer }
  | { readonly kind: 'line'; readonly observed: Observed };

/** Handling a shorter answer takes less time than passing it to the thread and back. */
const SHORT_BYTES = 32_768;

export function createInlineWork({ dialect, zone, disabled, key, listLimit, pseudonyms }: ComparingSettings) {
  const pseudonym = createPseudonyms(key);
  const accountName = createAccountName(key);
  const settings: CompareSettings = { dialect, zone, disabled: new Set(disabled), pseudonym, listLimit };
  return {
    settings,
    compare: (call: ComparedCall, old: RawAnswer, ours: RawAnswer): Comparison =>
      compareAnswers(call, old, ours, settings),
    line(observed: Observed): string {
      const exchange = recordedOf(observed, accountName);
      return formatExchange(pseudonyms ? pseudonymize(exchange, pseudonym) : exchange);
    },
  };
}

export function createComparing(settings: ComparingSettings): Comparing {
  const inline = createInlineWork(settings);
  const thread = createThread(settings);
  const sizeOf = (...messages: (RawAnswer | Observed['request'] | null)[]): number =>
    messages.reduce((sum, message) => sum + (message?.body?.length ?? 0), 0);
  return {
    settings: inline.settings,
    compare(call, old, ours) {
      if (sizeOf(old, ours) < SHORT_BYTES) return inline.compare(call, old, ours);
      return thread.ask({ kind: 'compare', call, old, ours }) as Promise<Comparison>;
    },
    line(observed) {
      if (sizeOf(observed.request, observed.old, observed.ours) < SHORT_BYTES) return inline.line(observed);
      return thread.ask({ kind: 'line', observed }) as Promise<string>;
    },
    close: () => thread.close(),
  };
}

interface Waiting {
  readonly resolve: (value: unknown) => void;
  readonly reject: (thrown: Error) => void;
}

/** One thread, which is started when it is needed, and again after it died. */
function createThread(settings: ComparingSettings) {
  const waiting = new Map<number, Waiting>();
  let worker: Worker | undefined;
  let count = 0;

  function start(): Worker {
    const started = startThread('migration/compare/comparing-worker', { workerData: settings });
    started.unref();
    started.on('message', ({ id, value, error }: { id: number; value: unknown; error?: string }) => {
      const found = waiting.get(id);
      waiting.delete(id);
      if (error === undefined) found?.resolve(value);
      else found?.reject(new Error(error));
    });
    const died = (thrown: Error): void => {
      if (worker === started) worker = undefined;
      for (const { reject } of waiting.values()) reject(thrown);
      waiting.clear();
    };
    started.on('error', died);
    started.on('exit', (code) => died(new Error(`the thread that compares ended with ${code}`)));
    return started;
  }

  return {
    ask(task: Task): Promise<unknown> {
      worker ??= start();
      const id = ++count;
      return new Promise((resolve, reject) => {
        waiting.set(id, { resolve, reject });
        worker?.postMessage({ id, task });
      });
    },
    async close(): Promise<void> {
      await worker?.terminate();
    },
  };
}
