import type { Database, Queries } from '../../store/database.ts';
import type { AccountRemoval } from '../accounts/accounts.ts';

/** Counts and deletes what is older than its retention. */
export interface RetentionRule {
  count(queries: Queries, before: number): Promise<number>;
  /** At most `limit` rows. Returns how many there were. */
  remove(database: Database, before: number, limit: number): Promise<number>;
}

/**
 * What a program beside the service, such as a move from an old server, keeps about accounts and
 * their callers in the same database. The commands pass the list to the service, which does not
 * know the programs.
 */
export interface Extension {
  readonly removeWithAccount: AccountRemoval;
  /** By the kind of retention that an operator sets. */
  readonly retention: Readonly<Record<string, RetentionRule>>;
  /** For the demo: something to see on the program's screens. */
  addSample(database: Database, now: () => number): Promise<void>;
}
