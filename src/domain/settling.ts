import type { AccountKey, Database, Queries, Writing } from '../store/database.ts';
import * as attemptSql from '../store/statements/attempts.ts';
import { accountRecordsOf, elementsOf, recordsOf } from '../store/statements/json.ts';
import * as sql from '../store/statements/sending.ts';
import { emitStatuses } from './events.ts';
import { move, releaseHeld } from './ledger.ts';
import { eachAccount } from './transactions.ts';

/** What became of a submission is written down: the message, its attempts and its credits. */

export interface PartResult {
  readonly part: number;
  readonly state: 'accepted' | 'refused' | 'unsure';
  readonly gatewayId: string | null;
}
/**
 * submitted: the carrier has all of it. rejected: it will never take it. waiting: it is tried again
 * at a time. unsure: nobody knows; the account's policy decides at that time.
 */
export type Outcome =
  | { readonly kind: 'submitted' }
  | { readonly kind: 'rejected'; readonly reason: string }
  | { readonly kind: 'waiting' | 'unsure'; readonly dueAt: number; readonly reason: string };

export interface SubmittedMessage {
  readonly account: bigint;
  readonly id: bigint;
  /** Larger with every claim: whoever has an older one comes too late. */
  readonly fence: bigint;
  readonly attempt: number;
}
export interface Settlement {
  readonly message: SubmittedMessage;
  readonly parts: readonly PartResult[];
  readonly outcome: Outcome;
}

/**
 * Called inside of the transaction, when gateway ids are known: receipts that came before may match
 * now.
 */
export type OnGatewayIds = (
  queries: Writing,
  account: bigint,
  parts: readonly { readonly messageId: bigint; readonly gatewayId: string }[],
) => Promise<void>;

export type Settling = ReturnType<typeof createSettling>;

export function createSettling(database: Database, now: () => number, onGatewayIds?: OnGatewayIds) {
  return {
    /** Those of one account in one transaction. Settled once more, they change nothing. */
    async settle(settlements: readonly Settlement[]): Promise<void> {
      const byAccount = Map.groupBy(settlements, ({ message }) => message.account);
      await eachAccount(database, byAccount.keys(), (queries, account) =>
        settleOf(queries, account, now(), byAccount.get(account) ?? [], onGatewayIds),
      );
    },

    /**
     * Results of one account that cannot be settled, as where its credits do not add up. The
     * attempts keep what is known, and an operator decides. Nothing is submitted again.
     */
    async setAside(settlements: readonly Settlement[]): Promise<void> {
      const account = settlements[0]?.message.account;
      if (account === undefined) return;
      await database.transaction(account, async (queries) => {
        const { current } = await settleAttempts(queries, account, settlements);
        const rows = current.map(({ message }) => [message.id, NEVER, NOT_SETTLED] as const);
        await putBack(queries, account, 'undecided', rows);
      });
    },
  };
}

/** Later than any time. */
export const NEVER = Number.MAX_SAFE_INTEGER;
const NOT_SETTLED = 'the answer of the carrier could not be settled';

/** Writes what each part got. Returns the rows of the dispatch and the results that count. */
async function settleAttempts(queries: Queries, account: bigint, settlements: readonly Settlement[]) {
  const ids = elementsOf(settlements.map(({ message }) => message.id));
  const rows = new Map((await queries.all(sql.of, { account, ids })).map((row) => [row.message_id, row]));
  const parts = settlements.flatMap(({ message, parts: own }) =>
    own.map((each) => [message.id, message.attempt, each.part, each.state, each.gatewayId]),
  );
  await queries.run(attemptSql.settle, { account, rows: accountRecordsOf(account, parts) });
  // Another claim has another fence: this answer comes too late for the message.
  const current = settlements.filter(({ message }) => rows.get(message.id)?.fence === message.fence);
  return { rows, current };
}

async function settleOf(
  queries: Writing,
  account: bigint,
  at: number,
  settlements: readonly Settlement[],
  onGatewayIds: OnGatewayIds | undefined,
): Promise<void> {
  const { rows, current } = await settleAttempts(queries, account, settlements);
  const heldOf = (id: bigint) => rows.get(id)?.held ?? 0n;
  const of = <K extends Outcome['kind']>(kind: K) =>
    current.filter(
      (each): each is Settlement & { outcome: Extract<Outcome, { kind: K }> } => each.outcome.kind === kind,
    );
  const submitted = of('submitted').map(({ message }) => ({
    id: message.id,
    held: heldOf(message.id),
    captured: heldOf(message.id),
    detail: null,
  }));
  await end(queries, account, at, 'SUBMITTED', submitted);
  await endRejected(queries, account, at, of('rejected'), rows);
  for (const kind of ['waiting', 'unsure'] as const) {
    const back = of(kind).map(({ message, outcome }) => [message.id, outcome.dueAt, outcome.reason] as const);
    await putBack(queries, account, kind, back);
  }
  const known = settlements.flatMap(({ message, parts: own }) =>
    own.flatMap(({ gatewayId }) => (gatewayId === null ? [] : [{ messageId: message.id, gatewayId }])),
  );
  if (known.length > 0) await onGatewayIds?.(queries, account, known);
}

/**
 * Parts that a carrier took in any attempt are used. An earlier attempt, whose answer was lost, may
 * have a receipt since: where the carrier has all parts, this refusal was that of a duplicate.
 */
async function endRejected(
  queries: Writing,
  account: bigint,
  at: number,
  settlements: readonly (Settlement & { outcome: { readonly reason: string } })[],
  rows: ReadonlyMap<bigint, sql.DispatchRow>,
): Promise<void> {
  if (settlements.length === 0) return;
  const counts = await acceptedCounts(
    queries,
    account,
    settlements.map(({ message }) => message.id),
  );
  const messages = settlements.map(({ message: { id }, outcome }) => {
    const { held, parts } = rows.get(id) as sql.DispatchRow;
    const captured = counts.get(id) ?? 0n;
    return { id, held, captured, detail: captured >= parts ? null : outcome.reason };
  });
  const taken = messages.filter(({ detail }) => detail === null);
  await end(queries, account, at, 'SUBMITTED', taken);
  const refused = messages.filter(({ detail }) => detail !== null);
  await end(queries, account, at, 'REJECTED', refused);
}

/** How many parts of each message a carrier has. */
export async function acceptedCounts(
  queries: Queries,
  account: bigint,
  ids: readonly bigint[],
): Promise<Map<bigint, bigint>> {
  const counts = new Map<bigint, bigint>();
  for (const { message_id: id } of await queries.all(attemptSql.acceptedParts, { account, ids: elementsOf(ids) })) {
    counts.set(id, (counts.get(id) ?? 0n) + 1n);
  }
  return counts;
}

/** Back to those that a dispatcher looks at later, each with its time and reason. */
export async function putBack(
  queries: Queries,
  account: bigint,
  state: 'waiting' | 'unsure' | 'undecided',
  rows: readonly (readonly [id: bigint, dueAt: number, reason: string])[],
): Promise<void> {
  if (rows.length === 0) return;
  await queries.run(sql.putBack, { account, state, rows: accountRecordsOf(account, rows) });
  if (state === 'undecided') return;
  await queries.run(sql.raiseWork, { account, dueAt: Math.min(...rows.map(([, dueAt]) => dueAt)) });
}

export interface EndedMessage {
  readonly id: bigint;
  readonly held: bigint;
  /** Credits for parts that a carrier has. The rest is released. */
  readonly captured: bigint;
  readonly detail: string | null;
}

/** The message leaves the dispatch with a status, and its credits are decided. */
export async function end(
  queries: Writing,
  account: AccountKey,
  at: number,
  status: 'SUBMITTED' | 'REJECTED' | 'EXPIRED' | null,
  messages: readonly EndedMessage[],
): Promise<void> {
  if (messages.length === 0) return;
  const ids = elementsOf(messages.map(({ id }) => id));
  await queries.run(sql.remove, { account, ids });
  if (status !== null) {
    const details = new Map(messages.map(({ id, detail }) => [id, detail]));
    await setStatus(queries, account, at, status, details);
  }
  await settleCredits(
    queries,
    account,
    at,
    messages,
    status === 'SUBMITTED' ? null : (status ?? 'deleted').toLowerCase(),
  );
}

/** The status and its line in the history, for those that the client has not deleted. */
export async function setStatus(
  queries: Queries,
  account: AccountKey,
  at: number,
  status: string,
  details: ReadonlyMap<bigint, string | null>,
): Promise<void> {
  const ids = elementsOf([...details.keys()]);
  const changed = await queries.all(sql.setStatus, { account, ids, status, at });
  if (changed.length === 0) return;
  const rows = changed.map(({ message_id: id }) => [id, details.get(id) ?? null]);
  await queries.run(sql.addHistory, { account, status, at, rows: recordsOf(rows) });
  const statuses = changed.map(({ message_id: messageId }) => ({ messageId, status }));
  await emitStatuses(queries, 'message.status', account, at, statuses);
}

async function settleCredits(
  queries: Writing,
  account: AccountKey,
  at: number,
  messages: readonly EndedMessage[],
  reason: string | null,
): Promise<void> {
  const decided = messages.map(({ id, held, captured }) => ({ id, held, captured: captured < held ? captured : held }));
  const captures = decided
    .filter(({ captured }) => captured > 0n)
    .map(({ id, captured }) => ({
      kind: 'capture' as const,
      from: 'held' as const,
      to: 'used' as const,
      amount: captured,
      messageId: id,
    }));
  if (captures.length > 0) await move(queries, account, at, captures);
  const rest = decided
    .filter(({ held, captured }) => held > captured)
    .map(({ id, held, captured }) => ({ message_id: id, held_parts: held - captured }));
  if (rest.length > 0) await releaseHeld(queries, account, at, rest, reason ?? 'not submitted');
}

/**
 * A receipt for a part proves that the carrier has it, even where nobody answered the submission.
 * Where the carrier has all parts, the credits are used. The status is up to the receipt. Belongs
 * into a transaction of the account.
 */
export async function provePart(
  queries: Writing,
  account: AccountKey,
  at: number,
  part: { readonly messageId: bigint; readonly attempt: bigint; readonly part: bigint },
): Promise<void> {
  const id = part.messageId;
  await queries.run(attemptSql.prove, { account, id, attempt: part.attempt, part: part.part });
  const [row] = await queries.all(sql.of, { account, ids: elementsOf([id]) });
  // An answer is to come. Or the lease ends, and decideOverdue finds the proof.
  if (!row || row.state === 'submitting') return;
  const accepted = await queries.all(attemptSql.acceptedParts, { account, ids: elementsOf([id]) });
  if (BigInt(accepted.length) < row.parts) return;
  await end(queries, account, at, null, [{ id, held: row.held, captured: row.held, detail: null }]);
}
