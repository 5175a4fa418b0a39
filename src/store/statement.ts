/**
 * A statement: SQL text with `:name` parameters, the same for every engine. Where engines differ the text has a fragment
 * in braces, `{name}` or `{name :parameter}`, which each engine writes in its own words (see Dialect).
 */
export interface Statement<P = never, R = unknown> {
  readonly name: string;
  readonly text: string;
  /** Parameter names in the order of their numbers. */
  readonly parameters: readonly (keyof P & string)[];
  /** Changes data, so it belongs on the connection that writes. */
  readonly writes: boolean;
  /** Which accounts see other answers after it has changed a row. Undefined for a read. */
  readonly affects: Affected | undefined;
  /** It may change which account a user_id names, or from where: the identity cache is cleared. */
  readonly invalidatesIdentities: boolean;
  readonly row?: R;
}

/**
 * own: the account of the parameter `:account`. returned: the `account_id` of each row that it returns.
 * none: no account, such as a table of the operator. all: every account.
 */
export type Affected = 'own' | 'returned' | 'none' | 'all';

export interface StatementOptions {
  /** Needed for a write without the parameter `:account`. */
  readonly affects?: Exclude<Affected, 'own'>;
  readonly invalidatesIdentities?: boolean;
}

export type Value = string | bigint | number | null | Caller;

/**
 * An account: by its number, or as the one that a user_id names. Where asking is a round trip, who that is comes back with
 * the first statement about it.
 */
export type AccountKey = bigint | Caller;

export class Caller {
  readonly userIdHash: string;
  /** Whether the call comes from a network to which the account is restricted. */
  readonly admits: (networks: string) => boolean;
  /** Known from the first answer on. */
  id: bigint | undefined;
  /** The account's before it was identified, where the engine can tell: see Database.version. */
  readonly version: number | undefined;

  constructor(userIdHash: string, admits: Caller['admits'] = nowhere, id?: bigint, version?: number) {
    this.userIdHash = userIdHash;
    this.admits = admits;
    this.id = id;
    this.version = version;
  }
}

/** A call of which nobody says where it comes from. */
const nowhere = () => false;

// The broadcast address, from which nothing comes.
const NO_NETWORK = '255.255.255.255';

/**
 * Whether an account may be used from where the call comes: `networks` are those to which it is restricted, undefined where there is no
 * account. Every refusal takes one check of networks, so that the work does not tell why.
 */
export function isAdmitted(admits: Caller['admits'] = nowhere, networks: string | null | undefined): boolean {
  if (networks === null) return true;
  return admits(networks ?? NO_NETWORK) && networks !== undefined;
}

/** The number of an account, where it is known. */
export const numberOf = (account: unknown): bigint | undefined =>
  account instanceof Caller ? account.id : typeof account === 'bigint' ? account : undefined;

/** How an engine writes what SQL has no common words for. */
export interface Dialect {
  readonly engine: 'sqlite' | 'postgres';
  /** The number of a parameter. */
  parameter(number: number): string;
  readonly fragments: Readonly<Record<Fragment, (argument: string) => string>>;
}
/**
 * binary: text ordered by its bytes. clustered: a table kept in the order of its key. elements: the numbers of a JSON array, as rows.
 * ending: the last 6 characters of a text. limit: so many rows at most. rare: a condition that few rows of an account meet, so that its own
 * index is the one to use. size: of the database, in bytes. using: the index to use, where the engine would not find it by itself.
 */
export type Fragment = 'binary' | 'clustered' | 'elements' | 'ending' | 'limit' | 'rare' | 'size' | 'using';

/** Throws where a write does not tell which accounts it affects: cached answers would outlive it. */
export function statement<P extends Record<keyof P, Value>, R = never>(
  name: string,
  text: string,
  { affects, invalidatesIdentities = false }: StatementOptions = {},
): Statement<P, R> {
  const parameters = [...new Set([...text.matchAll(PARAMETER)].map((match) => match[1] as keyof P & string))];
  const writes = !/^\s*select\b/i.test(text);
  const affected = affects ?? ((parameters as string[]).includes('account') ? 'own' : undefined);
  if (writes && affected === undefined) throw new TypeError(`${name} writes and does not declare whom it affects`);
  return { name, text, parameters, writes, affects: writes ? affected : undefined, invalidatesIdentities };
}

// Not the :: of a cast.
const PARAMETER = /(?<!:):([a-z][A-Za-z]*)/g;
const FRAGMENT = /\{([a-z]+) ?([^}]*)\}/g;

/** The text as an engine takes it. */
export function render(text: string, parameters: readonly string[], dialect: Dialect): string {
  return text
    .replace(FRAGMENT, (_, name: Fragment, argument: string) => dialect.fragments[name](argument))
    .replace(PARAMETER, (_, name: string) => dialect.parameter(parameters.indexOf(name) + 1));
}
