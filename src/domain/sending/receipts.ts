import { nextTurn } from '../../base/event-loop.ts';
import { isLockedOut, isUnavailable } from '../../base/problem.ts';
import type { Database, Queries, Transaction } from '../../store/database.ts';
import { accountRecordsOf, elementsOf, recordsOf } from '../../store/json.ts';
import { failuresOfEach } from '../../store/transactions.ts';
import { type LastStatus, lastStatuses, type StatusChange, setStatuses } from '../messages/sent.ts';
import { isFinal } from '../messages/statuses.ts';
import { aboutText, type ReceiptAddress } from './addressed.ts';
import { type PartAttempt, provesSubmission, statusOfParts, tellsMore } from './attempts.ts';
import { countReceipts } from './connectors.ts';
import { provePart } from './end.ts';
import { nameLostAttempts, type RestoredAt, restoredAtOf } from './hold.ts';
import * as sql from './receipts.sql.ts';
import type { OnGatewayIds } from './settle.ts';

/** A delivery receipt as a carrier brings it. */
export interface NewReceipt {
  readonly connector: string;
  /** Our own id of the submission, if the carrier returns it. */
  readonly attemptId: string | null;
  readonly gatewayId: string | null;
  /** Looked for in this order, where no submission has the first one. */
  readonly otherGatewayIds?: readonly string[];
  readonly status: string;
  readonly at: number;
  /** A code of the carrier; never a number or a text. */
  readonly detail: string | null;
  /** The carrier sends one receipt for all parts of a message. */
  readonly isForAllParts?: boolean;
  /** Whom it is about, for a submission whose id nobody knows because its answer is missing. */
  readonly about?: ReceiptAddress;
}
interface MatchedReceipt extends Pick<NewReceipt, 'status' | 'at' | 'detail' | 'isForAllParts'> {
  /** Absent where a receipt is missing. */
  readonly connector?: string;
  /** The receipt as it came; absent for a held one. */
  readonly source?: NewReceipt;
  /** Whether this stands for a missing receipt, which proves no submission. */
  readonly isSilence?: boolean;
  readonly messageId: bigint;
  readonly attempt: bigint;
  readonly part: bigint;
}

/** The most receipts of one transaction, which delays the calls of its accounts. */
const BATCH_MAX = 500;
// The receipts of one statement. 300 took 6 ms on SQLite, during which no call is answered.
const MATCHED_AT_ONCE = 50;
const DETAIL_LENGTH_MAX = 200;

export type Receipts = ReturnType<typeof createReceipts>;

/** Applies receipts. Those that arrive in one turn of the event loop share a transaction. */
export function createReceipts(
  database: Database,
  now: () => number,
  /** Awaited before each transaction, to let calls go first. */
  throttle: () => Promise<void> | undefined = () => undefined,
) {
  const waiting: { receipt: NewReceipt; resolve: () => void; reject: (thrown: unknown) => void }[] = [];
  let isRunning = false;
  const counts = createReceiptCounts(database, now);
  const restoredAt = restoredAtOf(database);

  async function runAll(): Promise<void> {
    isRunning = true;
    while (waiting.length > 0) {
      await throttle();
      await nextTurn();
      const batch = waiting.splice(0, BATCH_MAX);
      const failures = await applySafely(batch.map(({ receipt }) => receipt));
      for (const { receipt, resolve, reject } of batch) {
        if (failures.has(receipt)) reject(failures.get(receipt));
        else resolve();
      }
      await counts.write(waiting.length === 0);
    }
    isRunning = false;
  }

  /** If receipts cannot be applied together, each is tried alone, so that one blocks no other. */
  async function applySafely(batch: readonly NewReceipt[]): Promise<Failures> {
    const failures = await apply(database, now, batch, { counts, restoredAt }).catch(
      (thrown) => new Map(batch.map((receipt) => [receipt, thrown])),
    );
    if (batch.length === 1) return failures;
    for (const [receipt, thrown] of [...failures]) {
      if (isUnavailable(thrown)) continue;
      failures.delete(receipt);
      for (const [alone, reason] of await applySafely([receipt])) failures.set(alone, reason);
    }
    return failures;
  }

  return {
    /** Resolves when the receipt is on disk. A repeated receipt is no error and changes nothing. */
    receive: (receipt: NewReceipt): Promise<void> =>
      new Promise<void>((resolve, reject) => {
        waiting.push({ receipt, resolve, reject });
        if (!isRunning) void runAll();
      }),
  };
}

/** The error of each receipt that is not on disk. */
type Failures = Map<NewReceipt, unknown>;

/** An account that is locked delays only its own receipts. */
async function apply(
  database: Database,
  now: () => number,
  batch: readonly NewReceipt[],
  { counts, restoredAt }: { readonly counts: ReceiptCounts; readonly restoredAt: RestoredAt },
): Promise<Failures> {
  const first = await matchAny(database, batch);
  const isNamed = await nameLostAttempts(database, now, restoredAt, first.unmatched);
  const { matched, unmatched } = isNamed ? await matchAny(database, batch) : first;
  const ended = new Map<bigint, readonly EndedPart[]>();
  const failed = await failuresOfEach(database, matched.keys(), async (queries, account) => {
    ended.set(account, await applyTo({ queries, account, at: now() }, matched.get(account) ?? []));
  });
  for (const [account, parts] of ended) if (!failed.has(account)) counts.add(parts);
  const failures: Failures = new Map();
  for (const [account, thrown] of failed) {
    for (const { source } of matched.get(account) ?? []) if (source) failures.set(source, thrown);
  }
  if (unmatched.length > 0) await hold(database, now, unmatched);
  return failures;
}

async function hold(database: Database, now: () => number, unmatched: readonly NewReceipt[]): Promise<void> {
  const rows = unmatched.map(({ connector, gatewayId, attemptId, status, at, detail, isForAllParts, about }) => [
    ...[connector, gatewayId ?? '', attemptId ?? '', status, at, detail?.slice(0, DETAIL_LENGTH_MAX) ?? null],
    ...[isForAllParts ? 1 : 0, about && gatewayId ? aboutText(about) : null],
  ]);
  await database.run(sql.hold, { rows: recordsOf(rows), now: now() });
  // The answers to their submissions may have been written in the meantime.
  const late = await match(database, unmatched);
  const failures = await failuresOfEach(database, late.matched.keys(), (queries, account) => {
    const ids = (late.matched.get(account) ?? []).map(({ messageId }) => messageId);
    return applyHeldReceipts({ queries, account, at: now() }, ids);
  });
  // They are held, so the maintenance will apply those of an account that is locked.
  for (const thrown of failures.values()) if (!isLockedOut(thrown)) throw thrown;
}

type ByAccount = ReadonlyMap<bigint, MatchedReceipt[]>;

/** Finds the submission of each receipt by the first of its ids that a submission has. */
async function matchAny(queries: Queries, batch: readonly NewReceipt[]): ReturnType<typeof match> {
  const { matched, unmatched } = await match(queries, batch);
  const all = new Map(matched);
  let open = unmatched;
  for (let place = 0; open.some(({ otherGatewayIds = [] }) => place < otherGatewayIds.length); place++) {
    const sources = new Map(open.map((receipt) => [otherId(receipt, place), receipt]));
    const found = await match(queries, [...sources.keys()]);
    for (const [account, own] of found.matched) {
      const restored = own.map((each) => ({ ...each, source: sources.get(each.source as NewReceipt) as NewReceipt }));
      all.set(account, [...(all.get(account) ?? []), ...restored]);
    }
    open = found.unmatched.map((receipt) => sources.get(receipt) as NewReceipt);
  }
  return { matched: all, unmatched: open };
}

const otherId = (receipt: NewReceipt, place: number): NewReceipt => ({
  ...receipt,
  attemptId: null,
  gatewayId: receipt.otherGatewayIds?.[place] ?? null,
});

async function match(
  queries: Queries,
  batch: readonly NewReceipt[],
): Promise<{ matched: ByAccount; unmatched: NewReceipt[] }> {
  const places = batch.map(({ connector, attemptId, gatewayId }, place) => [
    ...[place, connector, attemptId, gatewayId || null],
  ]);
  const best = new Map<number, sql.MatchedRow>();
  for (let from = 0; from < places.length; from += MATCHED_AT_ONCE) {
    if (from > 0) await nextTurn(); // calls are answered in between
    const rows = recordsOf(places.slice(from, from + MATCHED_AT_ONCE));
    for (const row of await queries.all(sql.matched, { rows })) {
      const known = best.get(Number(row.place));
      if (!known || isBetter(row, known)) best.set(Number(row.place), row);
    }
  }
  const matched = new Map<bigint, MatchedReceipt[]>();
  for (const [place, { account_id, message_id: messageId, attempt, part }] of [...best].sort(([a], [b]) => a - b)) {
    const source = batch[place] as NewReceipt;
    const { status, at, detail, connector, isForAllParts = false } = source;
    const own = matched.get(account_id) ?? [];
    own.push({ messageId, attempt, part, status, at, detail, source, connector, isForAllParts });
    matched.set(account_id, own);
  }
  return { matched, unmatched: batch.filter((_, place) => !best.has(place)) };
}

/** Our own id names one submission. A gateway may reuse its ids, and then means the newest one. */
const isBetter = (row: sql.MatchedRow, known: sql.MatchedRow): boolean =>
  Number(row.by_attempt_id) !== Number(known.by_attempt_id)
    ? Number(row.by_attempt_id) === 1
    : row.submitted_at > known.submitted_at;

/**
 * Applies the receipts that are held for these messages, whose submissions are known now. Call it
 * in a transaction of the account.
 */
export async function applyHeldReceipts(
  transaction: Transaction<bigint>,
  messageIds: readonly bigint[],
): Promise<void> {
  const { queries, account } = transaction;
  const ids = elementsOf([...new Set(messageIds)]);
  const rows = await queries.all(sql.heldOf, { account, ids });
  if (rows.length === 0) return;
  const keys = rows.map(({ connector, gateway_id, attempt_id, status }) => [connector, gateway_id, attempt_id, status]);
  await queries.run(sql.removeHeld, { rows: recordsOf(keys) });
  const receipts = rows.map(({ connector, message_id: messageId, attempt, part, status, at, detail, ...row }) => ({
    connector,
    isForAllParts: row.for_all_parts === 1n,
    messageId,
    attempt,
    part,
    status,
    at: Number(at),
    detail,
  }));
  const ended = await applyTo(transaction, receipts);
  for (const [name, sum] of sumsOf(ended)) await countReceipts(queries, name, sum, transaction.at);
}

/** A part whose receipt says that it has arrived, or that it will not. */
interface EndedPart {
  readonly connector: string;
  readonly isDelivered: boolean;
}
interface Ended {
  delivered: number;
  failed: number;
}

function sumsOf(parts: readonly EndedPart[], sums = new Map<string, Ended>()): Map<string, Ended> {
  for (const { connector, isDelivered } of parts) {
    const sum = sums.get(connector) ?? { delivered: 0, failed: 0 };
    sum[isDelivered ? 'delivered' : 'failed'] += 1;
    sums.set(connector, sum);
  }
  return sums;
}

type ReceiptCounts = ReturnType<typeof createReceiptCounts>;
const WRITE_MS = 1_000;

/**
 * Counts receipts by connector. They are written about once a second and when no more receipts
 * wait, because all processes write to one row. What a process counted in its last second is lost
 * if it is killed: it is in charts only.
 */
function createReceiptCounts(database: Database, now: () => number) {
  let sums = new Map<string, Ended>();
  let writtenAt = 0;
  return {
    add(parts: readonly EndedPart[]): void {
      sumsOf(parts, sums);
    },
    async write(isLast: boolean): Promise<void> {
      if (sums.size === 0 || (!isLast && Math.abs(now() - writtenAt) < WRITE_MS)) return;
      const written = sums;
      sums = new Map();
      writtenAt = now();
      for (const [name, sum] of written) await countReceipts(database, name, sum, writtenAt).catch(() => {});
    },
  };
}

/** For settlements: applies the receipts that came before the answers. */
export const heldReceipts: OnGatewayIds = (transaction, parts) =>
  applyHeldReceipts(
    transaction,
    parts.map(({ messageId }) => messageId),
  );

/** A message while receipts are applied to it. */
interface Changing {
  readonly attempts: Map<string, PartAttempt>;
  /** Null if the client has deleted the message. */
  status: string | null;
  readonly history: StatusChange[];
}

/**
 * Applies many receipts with few statements, in a transaction of the account. Returns the parts
 * that have ended by them.
 */
async function applyTo(transaction: Transaction<bigint>, receipts: readonly MatchedReceipt[]): Promise<EndedPart[]> {
  const { queries, account, at: now } = transaction;
  const ids = [...new Set(receipts.map(({ messageId }) => messageId))];
  const sent = await lastStatuses(queries, account, ids);
  const messages = await readMessages(queries, account, ids, sent);
  const changed = new Map<string, readonly [bigint, bigint, bigint, string, number]>();
  const proofs: MatchedReceipt[] = [];
  const ended: EndedPart[] = [];
  for (const receipt of receipts.flatMap((each) => receiptsOfParts(each, messages))) {
    const message = messages.get(receipt.messageId);
    const key = `${receipt.attempt}/${receipt.part}`;
    const known = message?.attempts.get(key);
    if (!message || !known) continue;
    if (known.state === 'refused' && !provesSubmission(receipt.status)) continue;
    const state = receipt.isSilence ? known.state : 'accepted';
    if (known.state !== state) proofs.push(receipt);
    const isNews = tellsMore(known, receipt);
    const news = isNews ? { status: receipt.status, statusAt: receipt.at } : {};
    message.attempts.set(key, { ...known, ...news, state });
    if (!isNews) continue;
    const { messageId, attempt, part, connector } = receipt;
    if (connector !== undefined && isFinal(receipt.status))
      ended.push({ connector, isDelivered: receipt.status === 'DELIVERED' });
    changed.set(`${messageId}/${key}`, [messageId, attempt, part, receipt.status, receipt.at]);
    follow(message, receipt, known.status, now);
  }
  if (changed.size > 0) {
    await queries.run(sql.setAttemptStatuses, { account, rows: accountRecordsOf(account, [...changed.values()]) });
  }
  await setStatuses(transaction, changesOf(messages, sent, now));
  for (const { messageId, attempt, part } of proofs) {
    await provePart(transaction, { messageId, attempt, part });
  }
  return ended;
}

/** One receipt for all parts counts for each part that the carrier has accepted. */
function receiptsOfParts(receipt: MatchedReceipt, messages: ReadonlyMap<bigint, Changing>): MatchedReceipt[] {
  if (!receipt.isForAllParts) return [receipt];
  const others = [...(messages.get(receipt.messageId)?.attempts.values() ?? [])].filter(
    ({ attempt, part, state }) => state === 'accepted' && (attempt !== receipt.attempt || part !== receipt.part),
  );
  return [receipt, ...others.map(({ attempt, part }) => ({ ...receipt, attempt, part }))];
}

async function readMessages(
  queries: Queries,
  account: bigint,
  ids: readonly bigint[],
  sent: ReadonlyMap<bigint, LastStatus>,
): Promise<Map<bigint, Changing>> {
  const messages = new Map<bigint, Changing>();
  for (const row of await queries.all(sql.attemptsOf, { account, ids: elementsOf(ids) })) {
    const { message_id: id, attempt, part, state, status, status_at } = row;
    const message = messages.get(id) ?? { attempts: new Map(), status: sent.get(id)?.status ?? null, history: [] };
    const statusAt = status_at === null ? null : Number(status_at);
    message.attempts.set(`${attempt}/${part}`, { attempt, part, state, status, statusAt });
    messages.set(id, message);
  }
  return messages;
}

/** Changes a message by a receipt. If it has several parts, the history shows each change. */
function follow(message: Changing, receipt: MatchedReceipt, partStatus: string | null, now: number): void {
  if (message.status === null || isFinal(message.status)) return;
  const attempts = [...message.attempts.values()];
  const status = statusOfParts(attempts) ?? message.status;
  const parts = new Set(attempts.map(({ part }) => part)).size;
  const isChanged = status !== message.status;
  const isPartChanged = parts > 1 && partStatus !== receipt.status;
  if (!isChanged && !isPartChanged) return;
  message.status = status;
  const code = receipt.detail?.slice(0, DETAIL_LENGTH_MAX) ?? null;
  const told = `part ${receipt.part} of ${parts}: ${receipt.status}${code === null ? '' : ` (${code})`}`;
  const at = receipt.at > LONG_AGO ? Math.min(receipt.at, now) : now;
  message.history.push({ status, at, detail: parts > 1 ? told : code });
}

/** The changes to write. Messages that the client has deleted stay deleted. */
const changesOf = (messages: ReadonlyMap<bigint, Changing>, sent: ReadonlyMap<bigint, LastStatus>, now: number) =>
  [...messages].flatMap(([id, { status, history }]) => {
    const before = sent.get(id);
    if (!before || status === null) return [];
    const changed = status === before.status ? null : { status, updatedAt: Math.max(now, before.updatedAt) };
    return [{ id, changed, history }];
  });

/** No receipt came, so these parts are UNKNOWN. This is not final: a late receipt still counts. */
export const applySilence = (
  transaction: Transaction<bigint>,
  parts: readonly Pick<MatchedReceipt, 'messageId' | 'attempt' | 'part'>[],
): Promise<void> =>
  applyTo(
    transaction,
    parts.map((part) => ({ ...part, status: 'UNKNOWN', at: LONG_AGO, detail: 'no receipt', isSilence: true })),
  ).then(() => undefined);

/** Earlier than every receipt, so that any receipt tells more. */
const LONG_AGO = 0;
