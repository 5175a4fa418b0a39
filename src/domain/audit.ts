import { randomBytes } from 'node:crypto';
import * as sql from '../store/statements/audit.ts';
import { LAST_ID } from './cursor.ts';
import type { Database } from './transactions.ts';

/**
 * An audit entry: who changed what, when and from where. It never holds a secret or a message text.
 */
export interface AuditEntry {
  readonly at: number;
  readonly actorKind: string;
  readonly actorName: string;
  readonly tokenId: bigint | null;
  readonly address: string | null;
  readonly action: string;
  /** The account that was changed, if there was one. */
  readonly account: string | null;
  readonly target: string;
  /** The names of the given fields. */
  readonly fields: readonly string[];
}

export async function addAuditEntry(database: Database, entry: AuditEntry): Promise<void> {
  const { tokenId: token, fields, ...rest } = entry;
  // Several processes write without a common counter, so an id may be taken.
  for (let written = 0; written === 0; ) {
    written = await database.run(sql.addAudit, { ...rest, id: nextId(entry.at), token, fields: fields.join() });
  }
}

const RANDOM_BITS = 20n;
let lastId = 0n;

/** Ids of one process go up with time, so that entries of one millisecond are in their order. */
function nextId(at: number): bigint {
  const random = BigInt(randomBytes(4).readUInt32BE() % 2 ** Number(RANDOM_BITS));
  const byTime = (BigInt(Math.max(0, Math.trunc(at))) << (RANDOM_BITS + 1n)) + random;
  const isSameMoment = lastId >> (RANDOM_BITS + 1n) === byTime >> (RANDOM_BITS + 1n);
  lastId = isSameMoment ? lastId + 1n : byTime;
  return lastId;
}

/** Lists entries of one account, or of all for null, the newest first. */
export async function auditEntries(
  database: Database,
  { account, before, limit }: { account: string | null; before: readonly [number, bigint] | null; limit: number },
): Promise<(AuditEntry & { readonly id: bigint })[]> {
  const [beforeAt, beforeId] = before ?? [2 ** 53 - 1, LAST_ID];
  const range = { beforeAt, beforeId, limit };
  const rows =
    account === null
      ? await database.all(sql.auditBefore, range)
      : await database.all(sql.auditOfAccountBefore, { ...range, name: account });
  return rows.map((row) => ({
    id: row.audit_id,
    at: Number(row.at),
    actorKind: row.actor_kind,
    actorName: row.actor_name,
    tokenId: row.token_id,
    address: row.address,
    action: row.action,
    account: row.account,
    target: row.target,
    fields: row.fields === '' ? [] : row.fields.split(','),
  }));
}
