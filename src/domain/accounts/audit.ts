import { randomBytes } from '../../base/random.ts';
import { LAST_ID } from '../../store/cursor.ts';
import type { Database } from '../../store/database.ts';
import * as sql from './audit.sql.ts';

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
  /** Settings and amounts that the change has altered. */
  readonly changes?: readonly AuditedChange[];
}

/** A value before and after a change; null for none. */
export interface AuditedChange {
  readonly field: string;
  readonly from: string | null;
  readonly to: string | null;
}

export async function addAuditEntry(database: Database, entry: AuditEntry): Promise<void> {
  const { fields, changes: changed = [], ...rest } = entry;
  const changes = changed.length === 0 ? null : JSON.stringify(changed);
  // Several processes write without a common counter, so an id may be taken.
  for (let written = 0; written === 0; ) {
    written = await database.run(sql.addAudit, {
      ...rest,
      id: nextId(entry.at),
      fields: fields.join(),
      changes,
    });
  }
}

const RANDOM_BITS = 20n;
let lastId = 0n;

/** The ids of one process increase, so that entries of the same millisecond keep their order. */
function nextId(at: number): bigint {
  const random = BigInt(randomBytes(4).readUInt32BE() % 2 ** Number(RANDOM_BITS));
  const byTime = (BigInt(Math.max(0, Math.trunc(at))) << (RANDOM_BITS + 1n)) + random;
  const isSameMoment = lastId >> (RANDOM_BITS + 1n) === byTime >> (RANDOM_BITS + 1n);
  lastId = isSameMoment ? lastId + 1n : byTime;
  return lastId;
}

export interface AuditFilter {
  readonly account: string | null;
  /** Part of the name of who did it, in whatever letter case. */
  readonly actor: string | null;
  /** Part of the name of the action, in whatever letter case. */
  readonly action: string | null;
  readonly from: number | null;
  /** Entries before this time. */
  readonly to: number | null;
}
export interface FoundEntries {
  readonly entries: readonly (AuditEntry & { readonly id: bigint })[];
  /** Where the next page starts; null at the end. */
  readonly next: readonly [at: number, id: bigint] | null;
}

/** The most entries that a page reads, because no index has the actor or the action. */
export const AUDIT_READ_MAX = 20_000;
const READ_AT_ONCE = 1_000;

/** Matching entries, newest first. There may be fewer than `limit` although more follow. */
export async function auditEntries(
  database: Database,
  filter: AuditFilter,
  limit: number,
  after: readonly [number, bigint] | null,
): Promise<FoundEntries> {
  const isSearch = filter.actor !== null || filter.action !== null;
  const entries: FoundEntries['entries'][number][] = [];
  let position = after ?? [filter.to ?? 2 ** 53 - 1, filter.to === null ? LAST_ID : 0n];
  if (filter.to !== null && position[0] >= filter.to) position = [filter.to, 0n];
  for (let read = 0; read < AUDIT_READ_MAX; ) {
    const atOnce = isSearch ? READ_AT_ONCE : limit + 1;
    const [beforeAt, beforeId] = position;
    const range = { fromAt: filter.from ?? 0, beforeAt, beforeId, limit: atOnce };
    const rows =
      filter.account === null
        ? await database.all(sql.auditBefore, range)
        : await database.all(sql.auditOfAccountBefore, { ...range, name: filter.account });
    for (const row of rows) {
      if (!matches(filter, row)) continue;
      const last = entries.at(-1);
      if (last && entries.length === limit) return { entries, next: [last.at, last.id] };
      entries.push(toEntry(row));
    }
    const last = rows.at(-1);
    if (!last || rows.length < atOnce) return { entries, next: null };
    position = [Number(last.at), last.audit_id];
    read += rows.length;
  }
  return { entries, next: position };
}

const holds = (text: string, part: string | null): boolean =>
  part === null || text.toLowerCase().includes(part.toLowerCase());
const matches = ({ actor, action }: AuditFilter, row: sql.AuditRow): boolean =>
  holds(row.actor_name, actor) && holds(row.action, action);

function toEntry(row: sql.AuditRow): AuditEntry & { readonly id: bigint } {
  const { fields, changes, ...values } = sql.auditColumns.read(row);
  return {
    ...values,
    fields: fields === '' ? [] : fields.split(','),
    changes: changes === null ? [] : (JSON.parse(changes) as AuditedChange[]),
  };
}
