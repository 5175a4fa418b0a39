import { hash } from 'node:crypto';
import { networkList } from '../../base/networks.ts';
import { randomBytes, randomId } from '../../base/random.ts';
import type { Database } from '../../store/database.ts';
import { type AccountRecord, accountRecord, setDisabledAt } from '../accounts/accounts.ts';
import { type Owner, ownerColumns, ownerKey } from './owners.ts';
import * as sql from './sign-in.sql.ts';

/** Sessions of the console: 256 random bits in a cookie, SHA-256 on disk. */
export interface Session {
  readonly id: bigint;
  readonly owner: Owner;
  /** Whether the password was right, but a code of the second factor is still needed. */
  readonly awaitsCode: boolean;
  readonly createdAt: number;
  /** The last request, exact to a minute. */
  readonly seenAt: number;
  readonly expiresAt: number;
  readonly address: string;
  readonly agent: string;
}

/** From where somebody signs in. */
export interface Origin {
  readonly address: string;
  /** The User-Agent field. Its beginning is stored. */
  readonly agent: string;
}

const HOUR_MS = 3_600_000;
const IDLE_MS = { account: 8 * HOUR_MS, operator: 30 * 60_000 };
export const ABSOLUTE_MS = { account: 7 * 24 * HOUR_MS, operator: 12 * HOUR_MS };
const CODE_MS = 10 * 60_000;
/** `seenAt` is written at most this often, because a write for each request would be too much. */
const SEEN_EVERY_MS = 60_000;
/** The most sessions of an owner. One more ends the oldest. */
export const SESSIONS_MAX = 50;
const AGENT_LENGTH_MAX = 300;
const REMOVED_AT_ONCE = 100;

const SECRET = /^[A-Za-z0-9_-]{43}$/;
const hashOf = (secret: string): string => hash('sha256', secret);

/** After a restore: one of them may have been ended, or its owner disabled, since the backup. */
export async function endAllSessions(queries: Pick<Database, 'run'>): Promise<void> {
  await queries.run(sql.deleteAllSessions, {});
  await queries.run(sql.deleteAllLinks, {});
}

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
 * Reads the session from the database each time, so that a revoked session ends with the next
 * request in every process. Returns null if the session is unknown, expired or idle for too long,
 * if its owner is disabled, or if the account may not be used from this address.
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

/** Lists the valid sessions, newest first. */
export async function sessionsOf(database: Database, owner: Owner, now: number): Promise<Session[]> {
  const rows = await database.all(sql.sessionsOf, { owner: ownerKey(owner), limit: SESSIONS_MAX });
  return rows.map((row) => toSession(row, owner)).filter((session) => !session.awaitsCode && !isOver(session, now));
}

/** Returns whether there was such a session. */
export const endSession = async (database: Database, owner: Owner, id: bigint): Promise<boolean> =>
  (await database.run(sql.deleteSessionOf, { owner: ownerKey(owner), id })) > 0;

/** Ends all sessions, or all but `keep`. Returns how many ended. */
export const endSessions = (database: Database, owner: Owner, keep: Session | null): Promise<number> =>
  database.run(sql.deleteSessionsOf, { owner: ownerKey(owner), keep: keep?.id ?? 0n });

/** Disabling an account ends the sessions and links of its customer. */
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

/** Ends sessions and links of a disabled owner, so that they are not valid when enabled again. */
export async function endAccess(database: Database, owner: Pick<Owner, 'kind' | 'id'>): Promise<void> {
  const key = { owner: ownerKey(owner) };
  await database.run(sql.deleteSessionsOf, { ...key, keep: 0n });
  await database.run(sql.deleteLinksOf, key);
}

function toSession(row: sql.SessionRow, owner: Owner): Session {
  const { operatorId: _, accountId: __, ...values } = sql.sessionColumns.read(row);
  return { ...values, owner };
}
