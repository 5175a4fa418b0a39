import { createHash } from 'node:crypto';
import { sameNumber } from '../../sms/numbers.ts';
import type { AccountKey } from '../../store/caller.ts';
import type { Database, Queries, Transaction } from '../../store/database.ts';
import { accountRecordsOf } from '../../store/json.ts';
import { type OutboundRoute, senderFor } from './choose.ts';
import { routesWithPools } from './routes.ts';
import * as sql from './senders.sql.ts';

/**
 * The sender of a pool that a number knows. It gets the same one when others join the pool, for 90
 * days after its last message; without a memory some numbers would change to the new ones.
 */
export interface Asking {
  readonly account: bigint;
  readonly at: number;
  /** Writes the choices. Not in a dry run. */
  readonly keeps: boolean;
}
interface Chosen {
  readonly recipient: string;
  readonly route: string | null;
}

const DAY_MS = 24 * 3_600_000;
const KEPT_MS = 90 * DAY_MS;
/** A use is written once a day. */
const WRITTEN_MS = DAY_MS;
// More than one request of 1,000 recipients adds.
const FORGOTTEN_MAX = 5_000;

const hashed = (recipient: string): string => createHash('sha256').update(recipient).digest('hex').slice(0, 32);

/** For messages that name no sender: that of the pool of their route, or null without a pool. */
export async function pooledSenders(
  queries: Queries,
  routes: readonly OutboundRoute[],
  messages: readonly Chosen[],
  { account, at, keeps }: Asking,
): Promise<(string | null)[]> {
  const pools = new Map(routes.flatMap((route) => (route.senderPool.length > 0 ? [[route.name, route] as const] : [])));
  const asked = messages.flatMap(({ recipient, route }) =>
    route !== null && pools.has(route) ? [{ recipient, route, hash: hashed(recipient) }] : [],
  );
  if (asked.length === 0) return messages.map(() => null);
  const keys = accountRecordsOf(
    account,
    asked.map(({ route, hash }) => [route, hash]),
  );
  const rows = await queries.all(sql.known, { account, keys, after: at - KEPT_MS });
  const known = new Map(rows.map((row) => [`${row.route} ${row.number_hash}`, row]));
  const written: (readonly [string, string, string, number])[] = [];
  const senderOf = ({ recipient, route }: Chosen): string | null => {
    const pool = route === null ? undefined : pools.get(route);
    if (!pool) return null;
    const hash = hashed(recipient);
    const before = known.get(`${route} ${hash}`);
    const isKnown = before !== undefined && pool.senderPool.includes(before.sender);
    const sender = isKnown ? before.sender : senderFor(pool, account, recipient);
    const isFresh = isKnown && Math.abs(at - Number(before.used_at)) < WRITTEN_MS;
    if (sender !== null && !isFresh) written.push([pool.name, hash, sender, at]);
    return sender;
  };
  const senders = messages.map(senderOf);
  if (keeps && written.length > 0) {
    await queries.run(sql.forget, { account, before: at - KEPT_MS, limit: FORGOTTEN_MAX });
    await queries.run(sql.keep, { account, rows: accountRecordsOf(account, written) });
  }
  return senders;
}

/**
 * A person who writes to a sender of a pool gets the answers from it, whichever sender the pool had
 * given to the number before.
 */
export async function answerThrough(
  { queries, account, at }: Transaction<bigint>,
  { person, destination, region }: { person: string; destination: string; region: string | null },
): Promise<void> {
  const routes = await routesWithPools(queries, account);
  if (routes.length === 0) return;
  const same = sameNumber(destination, region);
  const hash = hashed(person);
  const written = routes.flatMap(({ name, senderPool }) => {
    const sender = senderPool.find((each) => each === destination || same.matches(each));
    return sender === undefined ? [] : [[name, hash, sender, at] as const];
  });
  if (written.length > 0) await queries.run(sql.keep, { account, rows: accountRecordsOf(account, written) });
}

/** Goes through the accounts that know senders again and again, so that idle ones forget too. */
export function createSenderSweep(database: Database, now: () => number): () => Promise<void> {
  let after = FIRST;
  return async () => {
    for (let count = 0; count < SWEPT_AT_ONCE; count++) {
      const next = await database.first(sql.nextAccount, { after });
      after = next?.account_id ?? FIRST;
      if (!next) return;
      await database.run(sql.forget, { account: after, before: now() - KEPT_MS, limit: FORGOTTEN_MAX });
    }
  };
}
const FIRST = -(2n ** 63n);
/** In each run of the maintenance: 100,000 accounts take half a day. */
const SWEPT_AT_ONCE = 20;

/** Forgets which sender the number of an erased person knows. */
export const forgetSender = (queries: Queries, account: AccountKey, recipient: string): Promise<number> =>
  queries.run(sql.forgetNumber, { account, numberHash: hashed(recipient) });
