import type { Caller } from './caller.ts';

/**
 * SQL text with `:name` parameters, the same for every engine. Where engines differ, the text has a
 * fragment in braces: `{name}` or `{name :parameter}`. Each engine replaces it by its own SQL, see
 * SqlDialect.
 */
export interface Statement<P = never, R = unknown> {
  readonly name: string;
  readonly text: string;
  /** Parameter names in the order of their numbers. */
  readonly parameters: readonly (keyof P & string)[];
  /** A statement that changes data runs on the connection that writes. */
  readonly writes: boolean;
  /**
   * The accounts that may see different answers after the statement has changed a row. Undefined
   * for a read.
   */
  readonly affects: Affected | undefined;
  /** Names what the statement deletes, for the audit: ids, never a text or a phone number. */
  readonly deletes: ((parameters: P) => string) | undefined;
  readonly distributed: Distributed<P> | undefined;
  readonly row?: R;
}

/** What differs on a distributed database: see schema/distribution.ts. */
export interface Distributed<P> {
  /** The text, where Citus refuses the one for all engines. */
  readonly text?: string;
  /**
   * Finds the account in tables that every node has, before the statement, which names it
   * `:account`. Where it finds none, the statement does not run.
   */
  readonly found?: Statement<P, { account_id: bigint }>;
  /**
   * The name of a parameter with a JSON array of accounts. The statement runs once for each, which
   * the text names `:account`, because rows of several nodes cannot be locked by one statement.
   */
  readonly eachOf?: keyof P & string;
  /**
   * The only table of a question whose columns are whole numbers. While a node is missing, the
   * others answer it for their accounts, in any order: see postgres/reachable-nodes.ts.
   */
  readonly answeredInPart?: string;
  /**
   * Statements that run in the same transaction, before this one, with its parameters. They change
   * tables that are on other nodes, where keys, foreign keys and triggers do not reach.
   */
  readonly everywhere?: readonly Statement<P>[];
}

/**
 * own: the account of the parameter `:account`. returned: the `account_id` of each row that it
 * returns. none: no account, such as a table of the operator. all: every account.
 */
export type Affected = 'own' | 'returned' | 'none' | 'all';

export interface StatementOptions<P> {
  /** Needed for a write without the parameter `:account`. */
  readonly affects?: Exclude<Affected, 'own'>;
  /**
   * If a call of the contract runs the statement, the same transaction writes an audit entry,
   * unless no row was changed.
   */
  readonly deletes?: (parameters: P) => string;
  readonly distributed?: Distributed<P>;
}

export type Value = string | bigint | number | null | Caller;

/** The SQL of one engine where the engines differ. */
export interface SqlDialect {
  readonly engine: 'sqlite' | 'postgres';
  /** A parameter by its number, from 1. */
  parameter(number: number): string;
  readonly fragments: Readonly<Record<Fragment, (argument: string) => string>>;
}
/**
 * among: a number is one of those of a JSON array: `message_id {among :ids}`.
 * amongtexts: a text is one of those of a JSON array.
 * binary: a text is ordered by its bytes.
 * clustered: the table is stored in the order of its primary key.
 * ending: the last 6 characters of a text.
 * joined: the account of rows that are joined with `records` of the account. Rows are found by the
 * records. Without statistics both engines would compare each row of the account with each record.
 * limit: at most so many rows.
 * lock: the rows of a table, named, are locked until the transaction ends. SQLite locks all anyway.
 * locknew: the same for rows that nobody else has locked; the others are left out.
 * share: nobody changes the rows of a table until the transaction ends. Many may hold this lock.
 * records: the arrays of a JSON array, as rows: `{records :rows id bigint, state text}`.
 * rare: few rows of an account meet this condition, so its own index is the best.
 * size: the bytes of the database.
 * using: the index to use, where the engine does not choose it.
 */
export type Fragment =
  | 'among'
  | 'amongtexts'
  | 'binary'
  | 'clustered'
  | 'ending'
  | 'joined'
  | 'limit'
  | 'lock'
  | 'locknew'
  | 'rare'
  | 'records'
  | 'share'
  | 'size'
  | 'using';

/**
 * Throws if a write does not declare which accounts it affects, because cached answers would
 * outlive it.
 */
export function statement<P extends Record<keyof P, Value>, R = never>(
  name: string,
  text: string,
  { affects, deletes, distributed }: StatementOptions<P> = {},
): Statement<P, R> {
  const parameters = parametersOf(text) as (keyof P & string)[];
  const writes = !/^\s*select\b/i.test(text);
  const affected = affects ?? ((parameters as string[]).includes('account') ? 'own' : undefined);
  if (writes && affected === undefined) throw new TypeError(`${name} writes and does not declare whom it affects`);
  return { name, text, parameters, writes, affects: writes ? affected : undefined, deletes, distributed };
}

/**
 * A condition that is true for every account. A statement that reads a whole table contains it, so
 * that PostgreSQL reads along the key; other ways are switched off, see postgres/pool.ts.
 */
export const EVERY_ACCOUNT = 'account_id >= 0';

// Leaves out the :: of a cast.
const PARAMETER = /(?<!:):([a-z][A-Za-z]*)/g;
const FRAGMENT = /\{([a-z]+) ?([^}]*)\}/g;

/** The names of the parameters in a text, in the order in which they come first. */
export const parametersOf = (text: string): string[] => [
  ...new Set([...text.matchAll(PARAMETER)].map((match) => match[1] as string)),
];

/** The text in the SQL of one engine. */
export function render(text: string, parameters: readonly string[], dialect: SqlDialect): string {
  return text
    .replace(FRAGMENT, (_, name: Fragment, argument: string) => dialect.fragments[name](argument))
    .replace(PARAMETER, (_, name: string) => dialect.parameter(parameters.indexOf(name) + 1));
}

/** Names and types of the columns of `{records …}`, and its parameter. */
export function readRecords(argument: string): { rows: string; columns: { name: string; type: string }[] } {
  const [, rows = '', columns = ''] = /^(\S+) (.*)$/s.exec(argument) ?? [];
  return {
    rows,
    columns: columns.split(',').map((column) => {
      const [name = '', type = ''] = column.trim().split(/\s+/);
      return { name, type };
    }),
  };
}
