/** Values for `{among}` and `{records}`: JSON with exact 64-bit numbers. */
type Cell = bigint | number | string | null;

const jsonOf = (cell: Cell): string => (typeof cell === 'bigint' ? cell.toString() : JSON.stringify(cell));

export const elementsOf = (ids: readonly bigint[]): string => `[${ids.join()}]`;

export const recordsOf = (rows: readonly (readonly Cell[])[]): string =>
  `[${rows.map((row) => `[${row.map(jsonOf).join()}]`).join()}]`;

/**
 * Records whose first column is the account. Without statistics SQLite would read every row of the
 * account for each record. Joined by the account too, it looks up one row for each.
 */
export const accountRecordsOf = (account: bigint, rows: readonly (readonly Cell[])[]): string =>
  recordsOf(rows.map((row) => [account, ...row]));
