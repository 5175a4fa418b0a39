import { Counter, counterMetric } from './counters.ts';
import type { Log } from './log.ts';

/**
 * Requests to the web listener whose credential was refused. token: 401 of the API. scope: 403 of
 * the API. sign-in: a wrong password, code or link of the console. carrier: 401 below /carriers.
 */
export const FAILURE_REASONS = ['token', 'scope', 'sign-in', 'carrier'] as const;
export type FailureReason = (typeof FAILURE_REASONS)[number];

export interface CredentialFailures {
  /**
   * Counts a failure. If the address of the client is given, it is logged too, at a limited rate.
   */
  count(reason: FailureReason, from?: { readonly client: string } & Readonly<Record<string, string>>): void;
  counters(): Iterable<Counter>;
  /**
   * Called for each failure, so that the web process can report it to the process that serves the
   * metrics.
   */
  onCount: (reason: FailureReason) => void;
}

// Somebody who guesses credentials must not fill the disk with log lines.
const LINES_MAX = 10;
const LINES_MS = 60_000;

export function createCredentialFailures(log: Pick<Log, 'warn'> | null, now: () => number): CredentialFailures {
  const counters = new Map(
    FAILURE_REASONS.map((reason) => [reason, new Counter({ listener: 'web', reason })] as const),
  );
  let since = Number.NEGATIVE_INFINITY;
  let lines = 0;
  let left = 0;

  function tell(reason: FailureReason, from: object): void {
    if (now() - since >= LINES_MS || now() < since) {
      if (left > 0) log?.warn({ left }, 'further refused credentials were not logged one by one');
      since = now();
      lines = 0;
      left = 0;
    }
    lines += 1;
    if (lines > LINES_MAX) left += 1;
    else log?.warn({ reason, ...from }, 'a credential was refused');
  }

  const failures: CredentialFailures = {
    count(reason, from) {
      const counter = counters.get(reason);
      if (counter) counter.value += 1;
      if (from) tell(reason, from);
      failures.onCount(reason);
    },
    counters: () => counters.values(),
    onCount: () => {},
  };
  return failures;
}

/** The metric also counts failures of the contract, which have one reason. */
export const failuresMetric = (counters: () => Iterable<Counter>) =>
  counterMetric(
    {
      name: 'columba_credential_failures_total',
      help: 'Refused credentials, by listener and reason. On the listener contract the reason is user_id; on web it is token (the API answered 401), scope (403), sign-in (a wrong password, code or link) or carrier (a callback without a valid secret or signature).',
    },
    counters,
  );
