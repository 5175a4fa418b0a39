import type { AccountKey } from '../../store/caller.ts';
import { statement } from '../../store/statement.ts';
import { UNDELIVERED_STATUSES } from '../messages/statuses.ts';
import { CONTACT, type Kind, RECEIVED, SCHEDULED, SENT } from './tokens.ts';

/** The index of messages and contacts: see store/schema/search.ts. */
type One = { account: AccountKey };
type Item = { account: AccountKey; kind: Kind; id: bigint };

export interface EntryRow {
  at: bigint;
  kind: bigint;
  item_id: bigint;
}
export interface DocumentRow {
  item_id: bigint;
  at: bigint;
  number: string | null;
  text: string | null;
  reference: string | null;
  /** Whether a sent message may have reached nobody. */
  is_failed: bigint;
}

const none = { affects: 'none' } as const;

/** The last entries of each kind that are read, for one list in the order of time. */
interface Before {
  receivedAt: number;
  receivedId: bigint;
  sentAt: number;
  sentId: bigint;
  scheduledAt: number;
  scheduledId: bigint;
}
const newestOf = (kind: Kind, name: string) =>
  `select * from (select at, kind, item_id from search_entry
     where account_id = :account and token = :token and kind = ${kind} and (at, item_id) <= (:${name}At, :${name}Id)
     order by at desc, item_id desc {limit :limit}) as of_${name}`;
/** The newest messages with a token from a position on, of each kind at most `limit`. */
export const entriesBefore = statement<One & Before & { token: string; limit: number }, EntryRow>(
  'search.entriesBefore',
  [newestOf(RECEIVED, 'received'), newestOf(SENT, 'sent'), newestOf(SCHEDULED, 'scheduled')].join('\n   union all '),
);
type KindFrom = Item & { token: string; at: number; limit: number };
/** Entries of one kind from a position on, newest or oldest first. */
export const entriesDown = statement<KindFrom, EntryRow>(
  'search.entriesDown',
  `select at, kind, item_id from search_entry
   where account_id = :account and token = :token and kind = :kind and (at, item_id) <= (:at, :id)
   order by at desc, item_id desc {limit :limit}`,
);
export const entriesUp = statement<KindFrom, EntryRow>(
  'search.entriesUp',
  `select at, kind, item_id from search_entry
   where account_id = :account and token = :token and kind = :kind and (at, item_id) >= (:at, :id)
   order by at, item_id {limit :limit}`,
);
/** The next word in the order of words; `to` is where the words with a beginning end. */
export const nextToken = statement<One & { after: string; to: string }, { token: string }>(
  'search.nextToken',
  `select token from search_entry where account_id = :account and token > :after and token < :to
   order by token {limit 1}`,
);
/** Counts up to a limit, to find the rarest of several words. */
export const countEntries = statement<
  One & { token: string; first: Kind; last: Kind; limit: number },
  { total: bigint }
>(
  'search.countEntries',
  `select count(*) as total from (select 1 from search_entry
   where account_id = :account and token = :token and kind >= :first and kind <= :last
   order by kind {limit :limit}) as counted`,
);
/** For operators: numbers, references and ids of all accounts. */
export const entriesEverywhere = statement<
  { token: string; at: number; accountId: bigint; kind: number; id: bigint; limit: number },
  EntryRow & { account_id: bigint }
>(
  'search.entriesEverywhere',
  `select account_id, at, kind, item_id from search_entry
   where token = :token and token < '0' and (at, account_id, kind, item_id) < (:at, :accountId, :kind, :id)
   order by at desc, account_id desc, kind desc, item_id desc {limit :limit}`,
);

type Entry = Item & { token: string; at: number };
export const addEntry = statement<Entry>(
  'search.addEntry',
  `insert into search_entry (account_id, token, kind, at, item_id) values (:account, :token, :kind, :at, :id)
   on conflict (account_id, token, kind, at, item_id) do nothing`,
  none,
);
export const removeEntry = statement<Entry>(
  'search.removeEntry',
  `delete from search_entry
   where account_id = :account and token = :token and kind = :kind and at = :at and item_id = :id`,
  none,
);

export interface ChangeRow {
  kind: bigint;
  item_id: bigint;
  was_at: bigint | null;
  was_number: string | null;
  was_text: string | null;
  was_reference: string | null;
}
/**
 * The newest changes first, because somebody may be waiting for them. They stay as they are until
 * the transaction ends. Changes that another transaction holds are left out.
 */
export const changes = statement<One & { kind: Kind; limit: number }, ChangeRow>(
  'search.changes',
  `select kind, item_id, was_at, was_number, was_text, was_reference from search_change
   where account_id = :account and kind = :kind order by item_id desc {limit :limit} {locknew search_change}`,
);
export const removeChanges = statement<One & { kind: Kind; ids: string }>(
  'search.removeChanges',
  'delete from search_change where account_id = :account and kind = :kind and item_id {among :ids}',
  none,
);
export const anyChange = statement<One, { item_id: bigint }>(
  'search.anyChange',
  'select item_id from search_change where account_id = :account order by kind, item_id {limit 1}',
);
export const nextChanged = statement<{ after: bigint }, { account_id: bigint }>(
  'search.nextChanged',
  'select account_id from search_change where account_id > :after order by account_id {limit 1}',
);

export const nextBackfill = statement<{ after: bigint }, { account_id: bigint }>(
  'search.nextBackfill',
  'select account_id from search_backfill where account_id > :after order by account_id {limit 1}',
);
export const backfill = statement<One, { kind: bigint; to_id: bigint }>(
  'search.backfill',
  'select kind, to_id from search_backfill where account_id = :account',
);
export const moveBackfill = statement<One & { kind: number; toId: bigint }>(
  'search.moveBackfill',
  'update search_backfill set kind = :kind, to_id = :toId where account_id = :account',
  none,
);
export const endBackfill = statement<One>(
  'search.endBackfill',
  'delete from search_backfill where account_id = :account',
  none,
);

interface Source {
  readonly columns: string;
  readonly table: string;
  readonly id: string;
}
const SOURCES: Readonly<Record<Kind, Source>> = {
  [RECEIVED]: {
    columns: 'message_id as item_id, received_at as at, sender as number, text, null as reference, 0 as is_failed',
    table: 'received',
    id: 'message_id',
  },
  [SENT]: {
    columns: `message_id as item_id, sent_at as at, recipient as number, text, reference,
      case when status in (${UNDELIVERED_STATUSES.map((each) => `'${each}'`).join(', ')}) or (status = 'DELETED' and deleted_by_carrier = 1)
        then 1 else 0 end as is_failed`,
    table: 'sent',
    id: 'message_id',
  },
  [SCHEDULED]: {
    columns: 'message_id as item_id, scheduled_at as at, recipient as number, text, reference, 0 as is_failed',
    table: 'scheduled',
    id: 'message_id',
  },
  [CONTACT]: {
    columns:
      "contact_id as item_id, 0 as at, mobile as number, coalesce(name, '') || ' ' || coalesce(surname, '') as text, null as reference, 0 as is_failed",
    table: 'contact',
    id: 'contact_id',
  },
};
const among = (kind: Kind) => {
  const { columns, table, id } = SOURCES[kind];
  return statement<One & { ids: string }, DocumentRow>(
    `search.${table}Among`,
    `select ${columns} from ${table} where account_id = :account and ${id} {among :ids}`,
  );
};
const down = (kind: Kind) => {
  const { columns, table, id } = SOURCES[kind];
  return statement<One & { to: bigint; limit: number }, DocumentRow>(
    `search.${table}Down`,
    `select ${columns} from ${table} where account_id = :account and ${id} <= :to order by ${id} desc {limit :limit}`,
  );
};
/** Items by their ids, of every generation of the inbox. */
export const documentsAmong = {
  [RECEIVED]: among(RECEIVED),
  [SENT]: among(SENT),
  [SCHEDULED]: among(SCHEDULED),
  [CONTACT]: among(CONTACT),
};
export const documentsDown = {
  [RECEIVED]: down(RECEIVED),
  [SENT]: down(SENT),
  [SCHEDULED]: down(SCHEDULED),
  [CONTACT]: down(CONTACT),
};

export interface ConversationRow {
  number: string;
  last_at: bigint;
  last_kind: bigint;
  last_id: bigint;
  is_failed: bigint;
}
type ConversationPage = One & { at: number; number: string; limit: number };
const conversationsOf = (name: string, condition: string) =>
  statement<ConversationPage, ConversationRow>(
    `search.${name}`,
    `select number, last_at, last_kind, last_id, is_failed from conversation
   where account_id = :account${condition} and (last_at, number) < (:at, :number) order by last_at desc, number desc {limit :limit}`,
  );
/** The newest conversations before a position. */
export const conversationsBefore = conversationsOf('conversationsBefore', '');
/** Conversations that end with a received message, or with one that did not arrive. */
export const unansweredBefore = conversationsOf('unansweredBefore', ` and last_kind = ${RECEIVED}`);
export const failedBefore = conversationsOf('failedBefore', ' and is_failed = 1');
export const conversation = statement<One & { number: string }, ConversationRow>(
  'search.conversation',
  'select number, last_at, last_kind, last_id, is_failed from conversation where account_id = :account and number = :number',
);
/** `numbers` is a JSON array. */
export const conversationsAmong = statement<One & { numbers: string }, ConversationRow>(
  'search.conversationsAmong',
  `select number, last_at, last_kind, last_id, is_failed from conversation where account_id = :account
   and number {amongtexts :numbers}`,
);
/** A message that is older than the last one changes nothing. */
export const putConversation = statement<
  One & { number: string; at: number; kind: number; id: bigint; isFailed: number }
>(
  'search.putConversation',
  `insert into conversation (account_id, number, last_at, last_kind, last_id, is_failed)
   values (:account, :number, :at, :kind, :id, :isFailed)
   on conflict (account_id, number) do update set last_at = excluded.last_at, last_kind = excluded.last_kind,
     last_id = excluded.last_id, is_failed = excluded.is_failed
   where (excluded.last_at, excluded.last_kind, excluded.last_id) >= (conversation.last_at, conversation.last_kind, conversation.last_id)`,
  none,
);
export const removeConversation = statement<One & { number: string }>(
  'search.removeConversation',
  'delete from conversation where account_id = :account and number = :number',
  none,
);
