import type { AccountKey } from '../../store/caller.ts';
import { defineColumns, type RowOf, type ValuesOf } from '../../store/columns.ts';
import { statement } from '../../store/statement.ts';

/** Messages that carriers bring, before they belong to an account. */
const UNROUTED_FIELDS = {
  id: 'long',
  connector: 'text',
  sender: 'text',
  destination: 'text',
  text: 'text',
  receivedAt: 'instant',
} as const;
const UNROUTED_ID = { id: 'unrouted_id' } as const;
export type UnroutedValues = ValuesOf<typeof UNROUTED_FIELDS>;
export type UnroutedRow = RowOf<typeof UNROUTED_FIELDS, typeof UNROUTED_ID>;
export const unroutedColumns = defineColumns(UNROUTED_FIELDS, UNROUTED_ID);

/** A message of which parts are missing. */
const HELD_FIELDS = {
  hash: 'text',
  connector: 'text',
  sender: 'text',
  destination: 'text',
  total: 'number',
  /** A JSON object: the texts of the parts that came, by their numbers. */
  parts: 'text',
  receivedAt: 'instant',
  heldAt: 'instant',
} as const;
const HELD_HASH = { hash: 'group_hash' } as const;
type HeldValues = ValuesOf<typeof HELD_FIELDS>;
export type HeldIncomingRow = RowOf<typeof HELD_FIELDS, typeof HELD_HASH>;
const held = defineColumns(HELD_FIELDS, HELD_HASH);

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

/** Reads or adds a group of parts and locks it, so that parts of one message take turns. */
export const holdGroup = statement<HeldValues, HeldIncomingRow>(
  'incoming.holdGroup',
  `insert into held_incoming (${held.names}) values (${held.parameters})
   on conflict (group_hash) do update set total = excluded.total returning ${held.names}`,
  { affects: 'none' },
);
export const setParts = statement<Pick<HeldValues, 'hash' | 'parts' | 'receivedAt' | 'heldAt'>>(
  'incoming.setParts',
  'update held_incoming set parts = :parts, received_at = :receivedAt, held_at = :heldAt where group_hash = :hash',
  { affects: 'none' },
);
/** Returns no row if another process has taken the group. */
export const takeGroup = statement<Group, HeldIncomingRow>(
  'incoming.takeGroup',
  `delete from held_incoming where group_hash = :hash returning ${held.names}`,
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
  `select ${held.names} from held_incoming where group_hash > :after order by group_hash {limit :limit}`,
);

export const addUnrouted = statement<UnroutedValues>(
  'incoming.addUnrouted',
  `insert into unrouted (${unroutedColumns.names}) values (${unroutedColumns.parameters})`,
  { affects: 'none' },
);
/** A page, oldest first. */
export const unroutedAfter = statement<{ afterAt: number; afterId: bigint; limit: number }, UnroutedRow>(
  'incoming.unroutedAfter',
  `select ${unroutedColumns.names} from unrouted where (received_at, unrouted_id) > (:afterAt, :afterId)
   order by received_at, unrouted_id {limit :limit}`,
);
export const unroutedWithId = statement<Unrouted, UnroutedRow>(
  'incoming.unroutedWithId',
  `select ${unroutedColumns.names} from unrouted where unrouted_id = :id`,
);
/** Returns no row if another process has taken the message. */
export const takeUnrouted = statement<Unrouted, UnroutedRow>(
  'incoming.takeUnrouted',
  `delete from unrouted where unrouted_id = :id returning ${unroutedColumns.names}`,
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
