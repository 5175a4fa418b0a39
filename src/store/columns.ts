/**
 * The columns of a table, declared once. The types of rows and values, the SQL and the conversion
 * follow.
 */
type Kind = 'text' | 'text?' | 'long' | 'long?' | 'number' | 'number?';

/**
 * What the program holds. A `long` is exact over 64 bits; a `number` is an instant or a small
 * count.
 */
interface Values {
  text: string;
  'text?': string | null;
  long: bigint;
  'long?': bigint | null;
  number: number;
  'number?': number | null;
}
/** What a database returns: every whole number is a bigint. */
interface Cells {
  text: string;
  'text?': string | null;
  long: bigint;
  'long?': bigint | null;
  number: bigint;
  'number?': bigint | null;
}

type Fields = Readonly<Record<string, Kind>>;
type SnakeCase<S extends string> = S extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${SnakeCase<Rest>}`
  : S;

export type ValuesOf<F extends Fields> = { readonly [N in keyof F]: Values[F[N]] };
export type RowOf<F extends Fields> = { [N in keyof F & string as SnakeCase<N>]: Cells[F[N]] };

export const columnOf = (field: string): string => field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/**
 * To copy and fill. V8 makes a slow dictionary of an object to which more than a dozen names are
 * added one by one. Reading and writing such rows took 15 % of the CPU of a Profile.
 */
export const emptyRecord = (names: readonly string[]): Record<string, unknown> =>
  JSON.parse(`{${names.map((name) => `${JSON.stringify(name)}:null`).join()}}`);

export function defineColumns<const F extends Fields>(fields: F) {
  const names = Object.keys(fields);
  const columns = names.map((name) => ({
    name,
    column: columnOf(name),
    isNumber: fields[name] === 'number' || fields[name] === 'number?',
  }));
  const empty = emptyRecord(names);
  return {
    /** For `select` and `insert`: `username, password_hash, …` */
    names: columns.map(({ column }) => column).join(', '),
    /** For `values`: `:username, :passwordHash, …` */
    parameters: names.map((name) => `:${name}`).join(', '),
    /** The values of a row. */
    read(row: Readonly<RowOf<F>>): ValuesOf<F> {
      const values = { ...empty };
      for (const { name, column, isNumber } of columns) {
        const cell = (row as Readonly<Record<string, unknown>>)[column];
        values[name] = isNumber && cell !== null ? Number(cell) : cell;
      }
      return values as ValuesOf<F>;
    },
  };
}
