/** Values for `{among}`, `{amongtexts}` and `{records}`: JSON with exact 64-bit numbers. */
type Cell = bigint | number | string | null;

function jsonOf(cell: Cell): string {
  if (typeof cell === 'bigint') return cell.toString();
  const json = JSON.stringify(cell);
  // PostgreSQL's json refuses U+0000 and half a surrogate pair, which JSON writes as \u escapes.
  if (typeof cell !== 'string' || !json.includes('\\u')) return json;
  return JSON.stringify(cell.toWellFormed().replaceAll('\0', '\ufffd'));
}

export const elementsOf = (ids: readonly bigint[]): string => `[${ids.join()}]`;

export const textsOf = (texts: Iterable<string>): string => `[${[...texts].map(jsonOf).join()}]`;

export const recordsOf = (rows: readonly (readonly Cell[])[]): string =>
  `[${rows.map((row) => `[${row.map(jsonOf).join()}]`).join()}]`;

/**
 * Records whose first column is the account. Without statistics, SQLite would read every row of the
 * account for each record; with the account in the join, it looks up one row for each.
 */
export const accountRecordsOf = (account: bigint, rows: readonly (readonly Cell[])[]): string =>
  recordsOf(rows.map((row) => [account, ...row]));
