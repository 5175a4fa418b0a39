/**
 * The columns of a table are declared once. The types of rows and values, the SQL and the
 * conversions are derived from the declaration.
 */
interface Kinds {
  text: { value: string; cell: string };
  /** A 64-bit integer, exactly. */
  long: { value: bigint; cell: bigint };
  /** A small count. */
  number: { value: number; cell: bigint };
  /** Milliseconds since 1970. */
  instant: { value: number; cell: bigint };
  /** 0 or 1 in the database. */
  flag: { value: boolean; cell: bigint };
}
type Plain = keyof Kinds;
/** A column that may be null has a question mark. */
export type Kind = Plain | `${Plain}?`;

type Value<K extends Kind> = K extends `${infer P extends Plain}?`
  ? Kinds[P]['value'] | null
  : Kinds[K & Plain]['value'];
/** What a database returns: every whole number is a bigint. */
type Cell<K extends Kind> = K extends `${infer P extends Plain}?` ? Kinds[P]['cell'] | null : Kinds[K & Plain]['cell'];

type Fields = Readonly<Record<string, Kind>>;
type SnakeCase<S extends string> = S extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${SnakeCase<Rest>}`
  : S;
type Renamed = Readonly<Record<string, string>>;
type Column<N extends string, C extends Renamed> = N extends keyof C ? C[N] : SnakeCase<N>;

export type ValuesOf<F extends Fields> = { readonly [N in keyof F]: Value<F[N]> };
/** The values as parameters of a statement: a flag is 0 or 1. */
export type ParametersOf<F extends Fields> = {
  readonly [N in keyof F]: boolean extends Value<F[N]> ? number : Value<F[N]>;
};
export type RowOf<F extends Fields, C extends Renamed = Record<never, never>> = {
  [N in keyof F & string as Column<N, C>]: Cell<F[N]>;
};

const columnOf = (field: string): string => field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/**
 * A record to be copied and filled. V8 turns an object to which more than a dozen names are added
 * one by one into a slow dictionary; reading and writing such rows took 15 % of the CPU of a
 * Profile.
 */
export const emptyRecord = (names: readonly string[]): Record<string, unknown> =>
  JSON.parse(`{${names.map((name) => `${JSON.stringify(name)}:null`).join()}}`);

const READ: Partial<Record<Kind, (cell: bigint) => unknown>> = {
  number: Number,
  instant: Number,
  flag: (cell) => cell !== 0n,
};
const EMPTY: Readonly<Record<Plain, unknown>> = { text: '', long: 0n, number: 0, instant: 0, flag: false };

const plainOf = (kind: Kind): Plain => kind.replace('?', '') as Plain;

/** `renamed` names the columns that are not their field in snake case: `{ id: 'contact_id' }`. */
export function defineColumns<const F extends Fields, const C extends Renamed = Record<never, never>>(
  fields: F,
  renamed?: C,
) {
  const names = Object.keys(fields) as (keyof F & string)[];
  const columnNamed = (name: string): string => renamed?.[name] ?? columnOf(name);
  const columns = names.map((name) => ({
    name,
    column: columnNamed(name),
    read: READ[plainOf(fields[name] as Kind)],
  }));
  const empty = emptyRecord(names);
  return {
    fields,
    /** For `select` and `insert`: `username, password_hash, …` */
    names: columns.map(({ column }) => column).join(', '),
    /** For a `select` from several tables: `account.username, account.password_hash, …` */
    namesOf: (table: string): string => columns.map(({ column }) => `${table}.${column}`).join(', '),
    /** For `values`: `:username, :passwordHash, …` */
    parameters: names.map((name) => `:${name}`).join(', '),
    /** For `update … set`: `company = :company, …` */
    assignments: (some: readonly (keyof F & string)[] = names): string =>
      some.map((name) => `${columnNamed(name)} = :${name}`).join(', '),
    /** For `on conflict … do update set`: `company = excluded.company, …` */
    replacements: (except: keyof F & string): string =>
      columns
        .filter(({ name }) => name !== except)
        .map(({ column }) => `${column} = excluded.${column}`)
        .join(', '),
    columnNamed: columnNamed as (name: keyof F & string) => string,
    /** Null where a column may be null, else an empty text, zero or false. */
    empty: Object.fromEntries(
      Object.entries(fields).map(([name, kind]) => [name, kind.endsWith('?') ? null : EMPTY[plainOf(kind)]]),
    ) as ValuesOf<F>,
    /** The values of a row. */
    read(row: Readonly<RowOf<F, C>>): ValuesOf<F> {
      const values = { ...empty };
      for (const { name, column, read } of columns) {
        const cell = (row as Readonly<Record<string, unknown>>)[column];
        values[name] = read && cell !== null ? read(cell as bigint) : cell;
      }
      return values as ValuesOf<F>;
    },
  };
}

/** The named fields of a record, and no others. */
export function pick<T extends object, K extends keyof T & string>(record: T, names: readonly K[]): Pick<T, K> {
  const picked = emptyRecord(names);
  for (const name of names) picked[name] = record[name];
  return picked as Pick<T, K>;
}
