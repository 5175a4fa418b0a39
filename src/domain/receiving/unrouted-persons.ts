import { numberEnd, type SameNumber } from '../../sms/numbers.ts';
import { FIRST_AT } from '../../store/cursor.ts';
import type { Queries } from '../../store/database.ts';
import * as sql from './incoming.sql.ts';
import { joinParts, type WholeMessage } from './incoming.ts';

/** What no account has of a person: messages without a route, and parts that wait for others. */
export interface UnroutedOfPerson {
  readonly unrouted: readonly bigint[];
  readonly held: readonly string[];
  readonly messages: readonly WholeMessage[];
}

const PAGE = 1_000;
/** Of an export, which is made in memory. */
const MESSAGES_MAX = 10_000;

/** These tables have no index by number, so all of their rows are looked at. */
export async function findUnrouted(queries: Queries, { ends, matches }: SameNumber): Promise<UnroutedOfPerson> {
  const isSame = (sender: string): boolean => ends.includes(numberEnd(sender)) && matches(sender);
  const unrouted: bigint[] = [];
  const held: string[] = [];
  const messages: WholeMessage[] = [];
  for (let rows: sql.UnroutedRow[] = [], isFirst = true; isFirst || rows.length === PAGE; isFirst = false) {
    const last = rows.at(-1);
    const cursor = { afterAt: last ? Number(last.received_at) : FIRST_AT, afterId: last?.unrouted_id ?? 0n };
    rows = await queries.all(sql.unroutedAfter, { ...cursor, limit: PAGE });
    for (const row of rows.filter(({ sender }) => isSame(sender))) {
      const { connector, sender, destination, text, received_at } = row;
      unrouted.push(row.unrouted_id);
      messages.push({ connector, sender, destination, text, receivedAt: Number(received_at) });
    }
  }
  for (let rows: sql.HeldIncomingRow[] = [], isFirst = true; isFirst || rows.length === PAGE; isFirst = false) {
    rows = await queries.all(sql.groupsAfter, { after: rows.at(-1)?.group_hash ?? '', limit: PAGE });
    for (const row of rows.filter(({ sender }) => isSame(sender))) {
      held.push(row.group_hash);
      messages.push(joinParts(row));
    }
  }
  return { unrouted, held, messages: messages.slice(0, MESSAGES_MAX) };
}

export async function eraseUnrouted(queries: Queries, { unrouted, held }: UnroutedOfPerson): Promise<void> {
  for (const id of unrouted) await queries.first(sql.takeUnrouted, { id });
  for (const hash of held) await queries.first(sql.takeGroup, { hash });
}
