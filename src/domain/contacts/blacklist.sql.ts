import { type AccountKey, statement } from '../../store/statement.ts';

/** The blacklist with its origins and evidence, for the operator. */
export interface BlacklistRow {
  number: string;
  sample: string | null;
  blocked_at: bigint;
  origin: string | null;
}
type One = { account: AccountKey };
type Number = { account: AccountKey; number: string };

const columns = 'number, sample, blocked_at, origin';

/** In pages: the numbers after `after`. */
export const listed = statement<One & { after: string; limit: number }, BlacklistRow>(
  'blacklist.listed',
  `select ${columns} from blocked_number where account_id = :account and number > :after order by number {limit :limit}`,
);
export const entry = statement<Number, BlacklistRow>(
  'blacklist.entry',
  `select ${columns} from blocked_number where account_id = :account and number = :number`,
);
/**
 * Candidates, by their last digits, which the domain compares, and the first entry after the text
 * `after`. `ends` are records of one text.
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
/** Nothing, where this very text is there already. */
export const block = statement<Number & { key: string; sample: string | null; blockedAt: number; origin: string }>(
  'blacklist.block',
  `insert into blocked_number (account_id, number, number_key, sample, blocked_at, origin)
   values (:account, :number, :key, :sample, :blockedAt, :origin) on conflict (account_id, number) do nothing`,
);
/**
 * A call of the account makes an entry of a STOP its own, which a START does not remove. The
 * evidence stays.
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
