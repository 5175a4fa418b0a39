import { hash } from 'node:crypto';
import { networkList } from '../../base/networks.ts';
import { randomBytes, randomId } from '../../base/random.ts';
import type { Database } from '../../store/transactions.ts';
import { type AccountRecord, accountRecord, setDisabledAt } from '../accounts/accounts.ts';
import { type Owner, ownerColumns, ownerKey } from './owners.ts';
import * as sql from './sign-in.sql.ts';

/** Sessions of the console: 256 random bits in a cookie, SHA-256 on disk. */
export interface Session {
  readonly id: bigint;
  readonly owner: Owner;
  /** The password was right, and a code of the second factor is still needed. */
  readonly awaitsCode: boolean;
  readonly createdAt: number;
  /** Exact to a minute. */
  readonly seenAt: number;
  readonly expiresAt: number;
  readonly address: string;
  readonly agent: string;
}

/** From where somebody signs in. */
export interface Origin {
  readonly address: string;
  /** The User-Agent field, as far as it is kept. */
  readonly agent: string;
}

const HOUR_MS = 3_600_000;
const IDLE_MS = { account: 8 * HOUR_MS, operator: 30 * 60_000 };
export const ABSOLUTE_MS = { account: 7 * 24 * HOUR_MS, operator: 12 * HOUR_MS };
const CODE_MS = 10 * 60_000;
/** A write for each request would be too many. */
const SEEN_EVERY_MS = 60_000;
/** The oldest goes when one more is made. */
export const SESSIONS_MAX = 50;
const AGENT_LENGTH_MAX = 300;
const REMOVED_AT_ONCE = 100;

const SECRET = /^[A-Za-z0-9_-]{43}$/;
const hashOf = (secret: string): string => hash('sha256', secret);

export async function addSession(
  database: Database,
  owner: Owner,
  { address, agent }: Origin,
  now: number,
  awaitsCode = false,
): Promise<{ session: Session; secret: string }> {
  const secret = randomBytes(32).toString('base64url');
  const id = randomId() + 1n;
  const expiresAt = now + (awaitsCode ? CODE_MS : ABSOLUTE_MS[owner.kind]);
  const kept = { address, agent: agent.slice(0, AGENT_LENGTH_MAX).replace(/\p{Cc}/gu, ' ') };
  await database.run(sql.deleteOldSessions, { before: now, limit: REMOVED_AT_ONCE });
  const parameters = { hash: hashOf(secret), id, awaitsCode: awaitsCode ? 1 : 0, createdAt: now, expiresAt };
  await database.run(sql.addSession, { ...ownerColumns(owner), ...parameters, ...kept });
  await endOldest(database, owner);
  return { session: { id, owner, awaitsCode, createdAt: now, seenAt: now, expiresAt, ...kept }, secret };
}

async function endOldest(database: Database, owner: Owner): Promise<void> {
  const key = ownerKey(owner);
  const rows = await database.all(sql.sessionsOf, { owner: key, limit: SESSIONS_MAX + REMOVED_AT_ONCE });
  for (const { session_id: id } of rows.slice(SESSIONS_MAX))
    await database.run(sql.deleteSessionOf, { owner: key, id });
}

/**
 * Asked of the database each time, so that a revoked session ends with the next request in every
 * process. Null where it is unknown, idle for too long or expired. Null also where its owner is
 * disabled, or where the account may not be used from this address.
 */
export async function sessionOf(
  database: Database,
  secret: string,
  address: string,
  now: number,
): Promise<Session | null> {
  const row = SECRET.test(secret) ? await database.first(sql.sessionByHash, { hash: hashOf(secret) }) : undefined;
  if (!row || row.operator_disabled_at !== null || row.account_disabled_at !== null) return null;
  const owner: Owner =
    row.operator_id === null
      ? { kind: 'account', id: row.account_id as bigint, name: row.username as string }
      : { kind: 'operator', id: row.operator_id, name: row.operator_name as string };
  const session = toSession(row, owner);
  if (isOver(session, now)) return null;
  if (row.allowed_networks !== null && !networkList(row.allowed_networks.split(','))(address)) return null;
  if (now - session.seenAt >= SEEN_EVERY_MS) {
    await database.run(sql.sessionSeen, { hash: hashOf(secret), seenAt: now });
  }
  return session;
}

const isOver = ({ owner, seenAt, expiresAt }: Session, now: number): boolean =>
  expiresAt <= now || seenAt + IDLE_MS[owner.kind] <= now;

/** Those that are valid, the newest first. */
export async function sessionsOf(database: Database, owner: Owner, now: number): Promise<Session[]> {
  const rows = await database.all(sql.sessionsOf, { owner: ownerKey(owner), limit: SESSIONS_MAX });
  return rows.map((row) => toSession(row, owner)).filter((session) => !session.awaitsCode && !isOver(session, now));
}

/** Whether there was one. */
export const endSession = async (database: Database, owner: Owner, id: bigint): Promise<boolean> =>
  (await database.run(sql.deleteSessionOf, { owner: ownerKey(owner), id })) > 0;

/** All, or all but one. How many there were. */
export const endSessions = (database: Database, owner: Owner, keep: Session | null): Promise<number> =>
  database.run(sql.deleteSessionsOf, { owner: ownerKey(owner), keep: keep?.id ?? 0n });

/** A disabled account has no session and no link of its customer any more. */
export async function setAccountEnabled(
  database: Database,
  account: bigint,
  username: string,
  disabledAt: number | null,
): Promise<AccountRecord> {
  await setDisabledAt(database, account, disabledAt);
  if (disabledAt !== null) await endAccess(database, { kind: 'account', id: account });
  return accountRecord(database, username);
}

/** For somebody who is disabled: what was valid before must not be so again. */
export async function endAccess(database: Database, owner: Pick<Owner, 'kind' | 'id'>): Promise<void> {
  const key = { owner: ownerKey(owner) };
  await database.run(sql.deleteSessionsOf, { ...key, keep: 0n });
  await database.run(sql.deleteLinksOf, key);
}

const toSession = (row: sql.SessionRow, owner: Owner): Session => ({
  id: row.session_id,
  owner,
  awaitsCode: row.awaits_code !== 0n,
  createdAt: Number(row.created_at),
  seenAt: Number(row.seen_at),
  expiresAt: Number(row.expires_at),
  address: row.address,
  agent: row.agent,
});
