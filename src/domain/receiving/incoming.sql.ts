import type { AccountKey } from '../../store/caller.ts';
import { statement } from '../../store/statement.ts';

/** Messages that carriers bring, before they belong to an account. */
export interface UnroutedRow {
  unrouted_id: bigint;
  connector: string;
  sender: string;
  destination: string;
  text: string;
  received_at: bigint;
}
export interface HeldIncomingRow {
  group_hash: string;
  connector: string;
  sender: string;
  destination: string;
  total: bigint;
  parts: string;
  received_at: bigint;
  held_at: bigint;
}
type Unrouted = { id: bigint };
type Group = { hash: string };

/** Changes no row if the message has arrived before. */
export const addOnce = statement<{ hash: string; receivedAt: number; forgetAt: number }>(
  'incoming.addOnce',
  `insert into incoming_once (key_hash, received_at, forget_at) values (:hash, :receivedAt, :forgetAt)
   on conflict (key_hash) do nothing`,
  { affects: 'none' },
);
/** Does the same for a key that counts only for `withinMs` milliseconds. */
export const addOnceWithin = statement<{ hash: string; receivedAt: number; forgetAt: number; withinMs: number }>(
  'incoming.addOnceWithin',
  `insert into incoming_once (key_hash, received_at, forget_at) values (:hash, :receivedAt, :forgetAt)
   on conflict (key_hash) do update set received_at = excluded.received_at, forget_at = excluded.forget_at
   where abs(incoming_once.received_at - excluded.received_at) > :withinMs`,
  { affects: 'none' },
);
export const forgetOnce = statement<{ now: number; limit: number }>(
  'incoming.forgetOnce',
  `delete from incoming_once where key_hash in
     (select key_hash from incoming_once where forget_at <= :now order by forget_at {limit :limit})`,
  { affects: 'none' },
);

const heldColumns = 'group_hash, connector, sender, destination, total, parts, received_at, held_at';

/** Reads or adds a group of parts and locks it, so that parts of one message take turns. */
export const holdGroup = statement<
  Group & { connector: string; sender: string; destination: string; total: number; receivedAt: number; now: number },
  HeldIncomingRow
>(
  'incoming.holdGroup',
  `insert into held_incoming (group_hash, connector, sender, destination, total, parts, received_at, held_at)
   values (:hash, :connector, :sender, :destination, :total, '{}', :receivedAt, :now)
   on conflict (group_hash) do update set total = excluded.total returning ${heldColumns}`,
  { affects: 'none' },
);
export const setParts = statement<Group & { parts: string; receivedAt: number; heldAt: number }>(
  'incoming.setParts',
  'update held_incoming set parts = :parts, received_at = :receivedAt, held_at = :heldAt where group_hash = :hash',
  { affects: 'none' },
);
/** Returns no row if another process has taken the group. */
export const takeGroup = statement<Group, HeldIncomingRow>(
  'incoming.takeGroup',
  `delete from held_incoming where group_hash = :hash returning ${heldColumns}`,
  { affects: 'none' },
);
export const oldGroups = statement<{ before: number; limit: number }, { group_hash: string }>(
  'incoming.oldGroups',
  'select group_hash from held_incoming where held_at < :before order by held_at {limit :limit}',
);
/** The groups that have more than `newer` newer ones, except those of the same millisecond. */
export const groupsBeyond = statement<{ newer: number; limit: number }, { group_hash: string }>(
  'incoming.groupsBeyond',
  `select group_hash from held_incoming where held_at <
     (select held_at from held_incoming order by held_at desc limit 1 offset :newer) order by held_at {limit :limit}`,
);
/** A page of the groups that follow `after`. */
export const groupsAfter = statement<{ after: string; limit: number }, HeldIncomingRow>(
  'incoming.groupsAfter',
  `select ${heldColumns} from held_incoming where group_hash > :after order by group_hash {limit :limit}`,
);

const unroutedColumns = 'unrouted_id, connector, sender, destination, text, received_at';

export const addUnrouted = statement<
  Unrouted & { connector: string; sender: string; destination: string; text: string; receivedAt: number }
>(
  'incoming.addUnrouted',
  `insert into unrouted (unrouted_id, connector, sender, destination, text, received_at)
   values (:id, :connector, :sender, :destination, :text, :receivedAt)`,
  { affects: 'none' },
);
/** A page, oldest first. */
export const unroutedAfter = statement<{ afterAt: number; afterId: bigint; limit: number }, UnroutedRow>(
  'incoming.unroutedAfter',
  `select ${unroutedColumns} from unrouted where (received_at, unrouted_id) > (:afterAt, :afterId)
   order by received_at, unrouted_id {limit :limit}`,
);
export const unroutedWithId = statement<Unrouted, UnroutedRow>(
  'incoming.unroutedWithId',
  `select ${unroutedColumns} from unrouted where unrouted_id = :id`,
);
/** Returns no row if another process has taken the message. */
export const takeUnrouted = statement<Unrouted, UnroutedRow>(
  'incoming.takeUnrouted',
  `delete from unrouted where unrouted_id = :id returning ${unroutedColumns}`,
  { affects: 'none' },
);
export const countUnrouted = statement<Record<string, never>, { total: bigint }>(
  'incoming.countUnrouted',
  'select count(*) as total from unrouted',
);
export const countUnroutedBefore = statement<{ before: number }, { total: bigint }>(
  'incoming.countUnroutedBefore',
  'select count(*) as total from unrouted where received_at < :before',
);
export const deleteUnroutedBefore = statement<{ before: number; limit: number }>(
  'incoming.deleteUnroutedBefore',
  `delete from unrouted where unrouted_id in
     (select unrouted_id from unrouted where received_at < :before order by received_at, unrouted_id {limit :limit})`,
  { affects: 'none' },
);

/** The settings of an account for messages that it receives. */
export const receiver = statement<
  { account: AccountKey },
  {
    username: string;
    region: string | null;
    mobile: string | null;
    tel: string | null;
    stop_words: string | null;
    start_words: string | null;
    help_words: string | null;
    word_languages: string | null;
    stop_answer: string | null;
    help_answer: string | null;
    time_zone: string | null;
    quiet_hours: string | null;
    disabled_at: bigint | null;
  }
>(
  'incoming.receiver',
  `select username, region, mobile, tel, stop_words, start_words, help_words, word_languages, stop_answer, help_answer,
     time_zone, quiet_hours, disabled_at from account where account_id = :account`,
);
