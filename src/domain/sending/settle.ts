import type { AccountKey, Database, Queries, Writing } from '../../store/database.ts';
import { accountRecordsOf, elementsOf } from '../../store/json.ts';
import { eachAccount } from '../../store/transactions.ts';
import { emitStatuses } from '../accounts/events.ts';
import { move, releaseHeld } from '../accounts/ledger.ts';
import { setStatusOf } from '../messages/sent.ts';
import * as attemptSql from './attempts.sql.ts';
import * as sql from './dispatch.sql.ts';
import { knownParts, statusesByReceipts } from './known-parts.ts';

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

/** Called inside of the transaction, for messages that a carrier refused and that wait again. */
export type OnWaiting = (queries: Writing, account: bigint, ids: readonly bigint[]) => Promise<void>;

export function createSettling(
  database: Database,
  now: () => number,
  onGatewayIds?: OnGatewayIds,
  onWaiting?: OnWaiting,
) {
  const events = { onGatewayIds, onWaiting };
  return {
    /** Those of one account in one transaction. Settled once more, they change nothing. */
    async settle(settlements: readonly Settlement[]): Promise<void> {
      const byAccount = Map.groupBy(settlements, ({ message }) => message.account);
      await eachAccount(database, byAccount.keys(), (queries, account) =>
        settleOf(queries, account, now(), byAccount.get(account) ?? [], events),
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
  { onGatewayIds, onWaiting }: { onGatewayIds: OnGatewayIds | undefined; onWaiting: OnWaiting | undefined },
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
  const rejected = of('rejected').map(({ message, outcome }) => ({
    row: rows.get(message.id) as sql.DispatchRow,
    reason: outcome.reason,
  }));
  await endRefused(queries, account, at, 'REJECTED', rejected);
  for (const kind of ['waiting', 'unsure'] as const) {
    const back = of(kind).map(({ message, outcome }) => [message.id, outcome.dueAt, outcome.reason] as const);
    await putBack(queries, account, kind, back);
    const ids = back.map(([id]) => id);
    if (kind === 'waiting' && ids.length > 0) await onWaiting?.(queries, account, ids);
  }
  await settleLate(queries, account, at, settlements, new Set(current), rows);
  const known = settlements.flatMap(({ message, parts: own }) =>
    own.flatMap(({ gatewayId }) => (gatewayId === null ? [] : [{ messageId: message.id, gatewayId }])),
  );
  if (known.length > 0) await onGatewayIds?.(queries, account, known);
}

/**
 * A receipt may have come before an unsure answer. And the answer to an older claim may be the last
 * one that was missing.
 */
async function settleLate(
  queries: Writing,
  account: bigint,
  at: number,
  settlements: readonly Settlement[],
  current: ReadonlySet<Settlement>,
  rows: ReadonlyMap<bigint, sql.DispatchRow>,
): Promise<void> {
  const settled: sql.DispatchRow[] = [];
  const refusals = new Map<bigint, string>();
  for (const settlement of settlements) {
    const { message, outcome } = settlement;
    const row = rows.get(message.id);
    if (!row) continue;
    if (!current.has(settlement)) settled.push(row);
    else if (outcome.kind === 'unsure') settled.push({ ...row, state: 'unsure' });
    if (!current.has(settlement) && outcome.kind === 'rejected') refusals.set(message.id, outcome.reason);
  }
  await reconsider(queries, account, at, settled, refusals);
}

export interface RefusedMessage {
  readonly row: sql.DispatchRow;
  readonly reason: string | null;
}

/**
 * Ends messages that are not tried any more. Parts that a carrier took in any attempt are used.
 * Where the answer of an earlier attempt was lost, the carrier may have the message. Then a receipt
 * or an operator decides, and the credits are held until then.
 */
export async function endRefused(
  queries: Writing,
  account: bigint,
  at: number,
  status: 'REJECTED' | 'EXPIRED' | 'DELETED',
  refused: readonly RefusedMessage[],
  releaseReason: string = status.toLowerCase(),
): Promise<void> {
  if (refused.length === 0) return;
  const known = await knownParts(queries, account, idsOf(refused));
  const isTaken = ({ row }: RefusedMessage) => BigInt(known(row.message_id).accepted.size) >= row.parts;
  const isUnsure = ({ row }: RefusedMessage) => known(row.message_id).unsure.size > 0;
  const [taken, others] = divided(refused, isTaken);
  const [unsure, ended] = divided(others, isUnsure);
  await endTaken(
    queries,
    account,
    at,
    taken.map(({ row }) => row),
  );
  await leaveUndecided(
    queries,
    account,
    at,
    unsure.map(({ row, reason }) => ({ id: row.message_id, reason: `${reason ?? status}; ${ANSWER_LOST}` })),
  );
  const messages = ended.map(({ row: { message_id: id, held }, reason }) => ({
    id,
    held,
    captured: BigInt(known(id).accepted.size),
    detail: reason,
  }));
  await end(queries, account, at, status, messages, releaseReason);
}

const ANSWER_LOST = 'an earlier submission was not answered';
const idsOf = (refused: readonly RefusedMessage[]): bigint[] => refused.map(({ row }) => row.message_id);
const divided = <T>(all: readonly T[], isFirst: (each: T) => boolean): [T[], T[]] => [
  all.filter(isFirst),
  all.filter((each) => !isFirst(each)),
];

/** The carrier has all parts of these. A receipt may have told more than that. */
export async function endTaken(
  queries: Writing,
  account: AccountKey,
  at: number,
  rows: readonly sql.DispatchRow[],
  detail: string | null = null,
): Promise<void> {
  if (rows.length === 0) return;
  const statuses = await statusesByReceipts(
    queries,
    account,
    rows.map(({ message_id }) => message_id),
  );
  const byStatus = Map.groupBy(rows, ({ message_id }) => statuses.get(message_id) ?? 'SUBMITTED');
  for (const [status, own] of byStatus) {
    const messages = own.map(({ message_id: id, held }) => ({ id, held, captured: held, detail }));
    await end(queries, account, at, status, messages);
  }
}

/** Nobody knows whether the carrier has these: an operator decides, or a receipt. */
export async function leaveUndecided(
  queries: Writing,
  account: bigint,
  at: number,
  messages: readonly { readonly id: bigint; readonly reason: string }[],
): Promise<void> {
  if (messages.length === 0) return;
  const back = messages.map(({ id, reason }) => [id, NEVER, reason] as const);
  await putBack(queries, account, 'undecided', back);
  await setStatusOf({ queries, account, at }, 'UNKNOWN', new Map(messages.map(({ id, reason }) => [id, reason])));
  const statuses = messages.map(({ id: messageId }) => ({ messageId, status: 'UNKNOWN' }));
  await emitStatuses(queries, 'message.undecided', account, at, statuses);
}

/**
 * After an answer or a receipt that came late. Messages whose parts a carrier has are ended. Those
 * that lack a part, and wait for no answer, go on. A refusal for good that comes late ends them.
 * Returns those that are still unsure.
 */
export async function reconsider(
  queries: Writing,
  account: bigint,
  at: number,
  rows: readonly sql.DispatchRow[],
  refusals: ReadonlyMap<bigint, string> = new Map(),
): Promise<sql.DispatchRow[]> {
  const settled = rows.filter((row) => row.state !== 'submitting' || Number(row.due_at) <= at);
  if (settled.length === 0) return [];
  const known = await knownParts(
    queries,
    account,
    settled.map(({ message_id }) => message_id),
  );
  const [taken, others] = divided(settled, (row) => BigInt(known(row.message_id).accepted.size) >= row.parts);
  await endTaken(queries, account, at, taken);
  const [unsure, open] = divided(others, ({ message_id }) => known(message_id).unsure.size > 0);
  // What could not be settled waits for an operator, whatever comes.
  const stopped = open.filter(({ state, reason }) => state !== 'waiting' && reason !== NOT_SETTLED);
  const [refused, back] = divided(stopped, ({ message_id }) => refusals.has(message_id));
  const ended = refused.map((row) => ({ row, reason: refusals.get(row.message_id) ?? null }));
  await endRefused(queries, account, at, 'REJECTED', ended);
  await putBack(
    queries,
    account,
    'waiting',
    back.map(({ message_id, reason }) => [message_id, at, reason ?? LACKS_A_PART] as const),
  );
  return unsure;
}

const LACKS_A_PART = 'the carrier lacks a part of it';

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
  status: string | null,
  messages: readonly EndedMessage[],
  releaseReason = status === 'SUBMITTED' ? 'not submitted' : (status ?? 'deleted').toLowerCase(),
): Promise<void> {
  if (messages.length === 0) return;
  const ids = elementsOf(messages.map(({ id }) => id));
  await queries.run(sql.remove, { account, ids });
  if (status !== null) {
    const details = new Map(messages.map(({ id, detail }) => [id, detail]));
    await setStatusOf({ queries, account, at }, status, details);
  }
  await settleCredits(queries, account, at, messages, releaseReason);
}

async function settleCredits(
  queries: Writing,
  account: AccountKey,
  at: number,
  messages: readonly EndedMessage[],
  reason: string,
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
  if (rest.length > 0) await releaseHeld(queries, account, at, rest, reason);
}

/**
 * A receipt for a part proves that the carrier has it, even where nobody answered the submission.
 * Where the carrier has all parts, the credits are used. What the receipt has told is written
 * before. Belongs into a transaction of the account.
 */
export async function provePart(
  queries: Writing,
  account: bigint,
  at: number,
  part: { readonly messageId: bigint; readonly attempt: bigint; readonly part: bigint },
): Promise<void> {
  const id = part.messageId;
  await queries.run(attemptSql.prove, { account, id, attempt: part.attempt, part: part.part });
  const rows = await queries.all(sql.of, { account, ids: elementsOf([id]) });
  // Where an answer is to come, it looks for this proof.
  await reconsider(queries, account, at, rows);
}
