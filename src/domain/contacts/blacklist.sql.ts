import type { AccountKey } from '../../store/caller.ts';
import { defineColumns, type RowOf, type ValuesOf } from '../../store/columns.ts';
import { statement } from '../../store/statement.ts';

/** The blacklist: numbers to which nothing is sent, with who asked for it and what they wrote. */
const ENTRY_FIELDS = { number: 'text', sample: 'text?', blockedAt: 'instant', origin: 'text?' } as const;

export type EntryValues = ValuesOf<typeof ENTRY_FIELDS>;
type EntryRow = RowOf<typeof ENTRY_FIELDS>;
export const entryColumns = defineColumns(ENTRY_FIELDS);

type One = { account: AccountKey };
type Number = { account: AccountKey; number: string };

const columns = entryColumns.names;

/** A page of the entries whose numbers follow `after`. */
export const listed = statement<One & { after: string; limit: number }, EntryRow>(
  'blacklist.listed',
  `select ${columns} from blocked_number where account_id = :account and number > :after order by number {limit :limit}`,
);
export const entry = statement<Number, EntryRow>(
  'blacklist.entry',
  `select ${columns} from blocked_number where account_id = :account and number = :number`,
);
/**
 * Candidates by their last digits, whose whole numbers the domain compares, and the first entry
 * after the text `after`. `ends` are records of one text.
 */
export const byEnds = statement<One & { ends: string; after: string }, { number: string }>(
  'blacklist.byEnds',
  `select number from blocked_number where account_id = :account and number in (
     select number from blocked_number {using blocked_by_number_end}
     where account_id = :account and {ending number_key} in (select ending from {records :ends ending text} as wanted)
     union all
     select (select min(number) from blocked_number where account_id = :account and number > :after))`,
);
export const entries = statement<One & { numbers: string }, { number: string }>(
  'blacklist.entries',
  `select number from blocked_number
   where account_id = :account and number in (select number from {records :numbers number text} as wanted)`,
);
/** The whole blacklist, for an export. */
export const all = statement<One, EntryRow>(
  'blacklist.all',
  `select ${columns} from blocked_number where account_id = :account order by blocked_at, number`,
);
/** A page of the entries whose numbers have this ending and follow `after`. */
export const byEnd = statement<One & { end: string; after: string; limit: number }, { number: string }>(
  'blacklist.byEnd',
  `select number from blocked_number {using blocked_by_number_end}
   where account_id = :account and {ending number_key} = :end and number > :after order by number {limit :limit}`,
);
type NewEntry = One & EntryValues & { key: string };
const insert = `insert into blocked_number (account_id, ${columns}, number_key)
   values (:account, ${entryColumns.parameters}, :key)`;

export const add = statement<NewEntry>('blacklist.add', insert);
/** Changes nothing if an entry with exactly this text exists. */
export const block = statement<NewEntry>('blacklist.block', `${insert} on conflict (account_id, number) do nothing`);
/**
 * A call of the account turns an entry that a STOP made into its own, which a START does not
 * remove. The evidence stays.
 */
export const adopt = statement<One & { numbers: string; sample: string | null }>(
  'blacklist.adopt',
  `update blocked_number set origin = 'user', sample = coalesce(sample, :sample)
   where account_id = :account and origin = 'STOP'
     and number in (select number from {records :numbers number text} as wanted)`,
);
export const unblock = statement<Number>(
  'blacklist.unblock',
  'delete from blocked_number where account_id = :account and number = :number',
);
