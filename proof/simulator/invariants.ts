import type { Event } from '../checker/history.ts';
import { tokenOf } from './carrier.ts';
import type { Observer } from './storage.ts';
import { TIMES } from './times.ts';

/**
 * What holds for the queue after every commit, and not only at the end: a message that waits too
 * long, or is shown to an operator for no reason, has often found its right end by then.
 */
export interface InvariantParts {
  readonly observer: () => Observer;
  readonly record: (event: Event) => void;
}
export type Invariants = ReturnType<typeof createInvariants>;
type ReceiptTaken = Omit<Extract<Event, { kind: 'receipt-taken' }>, 'kind'>;

const LEASE_OVER = 'the process that submitted it ended without an answer';
/** Why an operator decides whatever receipts say. */
const DECIDED_BY_OPERATORS = new Set([
  'the answer of the carrier could not be settled',
  'may have been sent after the backup that was restored',
  'may have been sent after the backup that was restored; a receipt that fits has come',
]);

// A message that waits again at once is ended by its next claim, so only what is due later counts.
const WAITING = `
  select 'is tried again after its end' as fault, account_id, message_id, attempts from dispatch
    where state = 'waiting' and attempts > 0 and due_at > expires_at and due_at > :later
  union all
  select 'waits, and its number has opted out', dispatch.account_id, message_id, attempts from dispatch
    join blocked_number on blocked_number.account_id = dispatch.account_id and blocked_number.number = dispatch.recipient
    where state = 'waiting' and is_answer = 0 and due_at > :later
  union all
  select 'was given up before its lease had ended', account_id, message_id, attempts from dispatch
    where state = 'unknown-outcome' and reason = '${LEASE_OVER}' and due_at - ${TIMES.unknownOutcomeMs + TIMES.leaseMs} <
      (select max(submitted_at) from attempt where attempt.account_id = dispatch.account_id
        and attempt.message_id = dispatch.message_id and attempt.attempt = dispatch.attempts)`;
const UNKNOWN = `select dispatch.account_id, dispatch.message_id, attempts, text, parts, reason from dispatch
  join sent on sent.account_id = dispatch.account_id and sent.message_id = dispatch.message_id
  where dispatch.state in ('unknown-outcome', 'needs-decision')`;

export function createInvariants({ observer, record }: InvariantParts) {
  /** The parts of each message for which the service has acknowledged a receipt. */
  const proven = new Map<string, Set<number>>();
  const told = new Set<string>();

  function tell(row: Record<string, unknown>, fault: string): void {
    const key = `${row.account_id} ${row.message_id} ${row.attempts} ${fault}`;
    if (told.has(key)) return;
    told.add(key);
    record({ kind: 'queue-fault', text: `message ${row.message_id} of account ${row.account_id} ${fault}` });
  }

  return {
    receiptTaken({ token, part, answerTo }: ReceiptTaken): void {
      if (answerTo !== undefined) return; // only the answer tells which attempt it is about
      proven.set(token, (proven.get(token) ?? new Set()).add(part));
    },
    /** A restored database knows nothing of the receipts since its backup. */
    forget(): void {
      proven.clear();
      told.clear();
    },
    /** `later`: after this time, by the clock of every node. */
    check(later: number): void {
      const database = observer();
      for (const row of database.prepare(WAITING).all({ later })) tell(row, String(row.fault));
      for (const row of database.prepare(UNKNOWN).all()) {
        const parts = proven.get(tokenOf(String(row.text)) ?? '')?.size ?? 0;
        const isProven = parts >= Number(row.parts) && !DECIDED_BY_OPERATORS.has(String(row.reason));
        if (isProven) tell(row, 'has an unknown outcome, and receipts came for all of its parts');
      }
    },
  };
}
