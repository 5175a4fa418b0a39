import type { Database, Queries } from '../../store/database.ts';
import type { AccountRemoval } from '../accounts/accounts.ts';

/** Counts and deletes rows that are older than their retention. */
export interface RetentionRule {
  count(queries: Queries, before: number): Promise<number>;
  /** Deletes at most `limit` rows. Returns how many were deleted. */
  remove(database: Database, before: number, limit: number): Promise<number>;
}

/**
 * What another program, such as the migration from an old server, stores about accounts and their
 * callers in the same database. The commands pass the list to the service, which does not know
 * these programs.
 */
export interface Extension {
  readonly removeWithAccount: AccountRemoval;
  /** Rules by the kind of retention that an operator sets. */
  readonly retention: Readonly<Record<string, RetentionRule>>;
  /** Adds data to see on the program's screens, for the demo. */
  addSample(database: Database, now: () => number): Promise<void>;
}
