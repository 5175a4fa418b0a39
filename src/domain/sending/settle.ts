import type { Database, Transaction } from '../../store/database.ts';
import { accountRecordsOf, elementsOf } from '../../store/json.ts';
import { eachAccount } from '../../store/transactions.ts';
import type { Refusal } from '../outbound/choose.ts';
import * as attemptSql from './attempts.sql.ts';
import * as sql from './dispatch.sql.ts';
import { creditsForAll, end, endRefused, NEVER, NOT_SETTLED, type Requeued, reconsider, requeue } from './end.ts';
import { type Failover, failOver, NO_WAYS, type RefusedMessage, type WaysView } from './ways.ts';

/** Settling writes the results of submissions: the message, its attempts and its credits. */

export interface PartResult {
  readonly part: number;
  readonly state: 'accepted' | 'refused' | 'unknown-outcome';
  readonly gatewayId: string | null;
}
/**
 * `submitted`: the carrier has the whole message. `rejected`: it will never take the message.
 * `waiting`: the message is tried again at `dueAt`. `unknown-outcome`: nobody knows whether the
 * carrier has it; the account's policy decides at `dueAt`.
 */
export type Outcome =
  | { readonly kind: 'submitted' }
  | { readonly kind: 'rejected'; readonly reason: string }
  | { readonly kind: 'waiting' | 'unknown-outcome'; readonly dueAt: number; readonly reason: string };

export interface SubmittedMessage {
  readonly account: bigint;
  readonly id: bigint;
  /** Fencing token. Each claim increments it, and a result that carries an older one is ignored. */
  readonly fence: bigint;
  readonly attempt: number;
}
export interface Settlement {
  readonly message: SubmittedMessage;
  readonly parts: readonly PartResult[];
  readonly outcome: Outcome;
  /** How the carrier refused every part that was submitted now; absent if it may have one. */
  readonly refusal?: Refusal;
}

/**
 * Called inside of the transaction when gateway ids are known, because receipts that came before
 * may match now.
 */
export type OnGatewayIds = (
  transaction: Transaction<bigint>,
  parts: readonly { readonly messageId: bigint; readonly gatewayId: string }[],
) => Promise<void>;

/** The answer to a submission whose outcome had been unknown until then. */
export interface LateSettlement {
  readonly connector: string;
  readonly attemptId: string;
  readonly state: 'accepted' | 'refused';
  readonly gatewayId: string | null;
  /** The reason of a permanent refusal, which ends the message; null for any other result. */
  readonly rejection: string | null;
}

export type Settling = ReturnType<typeof createSettling>;

/** Called inside of the transaction for messages that a carrier refused, and that wait again. */
export type OnWaiting = (transaction: Transaction<bigint>, ids: readonly bigint[]) => Promise<void>;

/** Routes and the states of connectors, and who is told of messages that went another way. */
export interface SettlingWays {
  readonly view: () => WaysView;
  readonly onFailover: (failovers: readonly Failover[]) => void;
}
const ONE_WAY: SettlingWays = { view: () => NO_WAYS, onFailover: () => {} };

interface SettlingEvents {
  readonly onGatewayIds: OnGatewayIds | undefined;
  readonly onWaiting: OnWaiting | undefined;
  readonly ways: SettlingWays;
}

export function createSettling(
  database: Database,
  now: () => number,
  onGatewayIds?: OnGatewayIds,
  onWaiting?: OnWaiting,
  ways: SettlingWays = ONE_WAY,
) {
  const events = { onGatewayIds, onWaiting, ways };
  return {
    /** Settles each account in its transaction. Settling results again changes nothing. */
    async settle(settlements: readonly Settlement[]): Promise<void> {
      const byAccount = Map.groupBy(settlements, ({ message }) => message.account);
      await eachAccount(database, byAccount.keys(), (queries, account) =>
        settleOf({ queries, account, at: now() }, byAccount.get(account) ?? [], events),
      );
    },

    /** Changes nothing where the message was decided meanwhile, or is gone. */
    async settleLateAnswer({ connector, attemptId, ...answer }: LateSettlement): Promise<void> {
      const found = await database.first(attemptSql.byAttemptId, { connector, attemptId });
      if (!found) return;
      const { account_id: account, message_id: messageId, attempt, part } = found;
      await database.transaction(account, async (queries) => {
        const transaction = { queries, account, at: now() };
        const { state, gatewayId: known, rejection: reason } = answer;
        const written = [[messageId, attempt, part, state, known, reason?.slice(0, REASON_MAX) ?? null, now()]];
        await queries.run(attemptSql.settle, { account, rows: accountRecordsOf(account, written) });
        const rows = await queries.all(sql.of, { account, ids: elementsOf([messageId]) });
        const { rejection, gatewayId } = answer;
        await reconsider(transaction, rows, new Map(rejection === null ? [] : [[messageId, rejection]]));
        if (gatewayId !== null) await onGatewayIds?.(transaction, [{ messageId, gatewayId }]);
      });
    },

    /**
     * Handles results of one account that cannot be settled, for example because its credits do not
     * add up. The attempts store what is known, an operator decides, and nothing is submitted
     * again.
     */
    async quarantine(settlements: readonly Settlement[]): Promise<void> {
      const account = settlements[0]?.message.account;
      if (account === undefined) return;
      await database.transaction(account, async (queries) => {
        const { rows, current } = await settleAttempts({ queries, account, at: now() }, settlements);
        const messages = current.map(({ message }) => ({
          row: rows.get(message.id) as sql.DispatchRow,
          dueAt: NEVER,
          reason: NOT_SETTLED,
        }));
        await requeue({ queries, account, at: now() }, 'quarantine', messages);
      });
    },
  };
}

/** A longer reason of a carrier is cut. */
const REASON_MAX = 200;

/** Writes the result of each part. Returns the rows of `dispatch` and the results that count. */
async function settleAttempts({ queries, account, at }: Transaction<bigint>, settlements: readonly Settlement[]) {
  const ids = elementsOf(settlements.map(({ message }) => message.id));
  const rows = new Map((await queries.all(sql.of, { account, ids })).map((row) => [row.message_id, row]));
  const parts = settlements.flatMap(({ message, parts: own, outcome }) =>
    own.map(({ part, state, gatewayId }) => {
      const reason = state === 'accepted' || !('reason' in outcome) ? null : outcome.reason.slice(0, REASON_MAX);
      return [message.id, message.attempt, part, state, gatewayId, reason, at];
    }),
  );
  await queries.run(attemptSql.settle, { account, rows: accountRecordsOf(account, parts) });
  // If the message was claimed again, it has another fence, and this answer comes too late.
  const current = settlements.filter(({ message }) => rows.get(message.id)?.fence === message.fence);
  return { rows, current };
}

async function settleOf(
  transaction: Transaction<bigint>,
  settlements: readonly Settlement[],
  { onGatewayIds, onWaiting, ways }: SettlingEvents,
): Promise<void> {
  const { rows, current } = await settleAttempts(transaction, settlements);
  const rowOf = ({ message }: Settlement) => rows.get(message.id) as sql.DispatchRow;
  const moved = await failOver(
    transaction,
    ways.view(),
    current.flatMap((each) => refusedOf(each, rowOf(each))),
  );
  const isMoved = new Set(moved.map(({ row }) => row.message_id));
  const of = <K extends Outcome['kind']>(kind: K) =>
    current.filter(
      (each): each is Settlement & { outcome: Extract<Outcome, { kind: K }> } =>
        each.outcome.kind === kind && !isMoved.has(each.message.id),
    );
  const submitted = of('submitted').map(rowOf);
  await end(
    transaction,
    'submit',
    'SUBMITTED',
    submitted.map((row) => ({ row, captured: creditsForAll(row), detail: null })),
  );
  const rejected = of('rejected').map((each) => ({ row: rowOf(each), reason: each.outcome.reason }));
  await endRefused(transaction, 'reject', rejected);
  const back = (each: Settlement & { outcome: { dueAt: number; reason: string } }): Requeued => ({
    row: rowOf(each),
    dueAt: each.outcome.dueAt,
    reason: each.outcome.reason,
  });
  const waiting = of('waiting').map(back);
  await requeue(transaction, 'retry', waiting);
  const ids = [...waiting, ...moved].map(({ row }) => row.message_id);
  if (ids.length > 0) await onWaiting?.(transaction, ids);
  await requeue(transaction, 'lose', of('unknown-outcome').map(back));
  await settleLate(transaction, settlements, new Set(current), rows);
  const known = settlements.flatMap(({ message, parts: own }) =>
    own.flatMap(({ gatewayId }) => (gatewayId === null ? [] : [{ messageId: message.id, gatewayId }])),
  );
  if (known.length > 0) await onGatewayIds?.(transaction, known);
  if (moved.length > 0) ways.onFailover(moved);
}

/** A message of a route that the carrier certainly does not have. */
function refusedOf({ outcome, refusal }: Settlement, row: sql.DispatchRow): RefusedMessage[] {
  if (row.route_name === null || refusal === undefined) return [];
  if (outcome.kind !== 'waiting' && outcome.kind !== 'rejected') return [];
  const dueAt = outcome.kind === 'waiting' ? outcome.dueAt : 0;
  return [{ row, refusal, reason: outcome.reason, dueAt }];
}

/**
 * Looks again at messages with an unknown outcome, for which a receipt may have come before, and at
 * answers to older claims, which may be the last ones that were missing.
 */
async function settleLate(
  transaction: Transaction<bigint>,
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
    else if (outcome.kind === 'unknown-outcome') settled.push({ ...row, state: 'unknown-outcome' });
    if (!current.has(settlement) && outcome.kind === 'rejected') refusals.set(message.id, outcome.reason);
  }
  await reconsider(transaction, settled, refusals);
}
