/** Values for `{elements}` and `{records}`: JSON with exact 64-bit numbers. */
type Cell = bigint | number | string | null;

const jsonOf = (cell: Cell): string => (typeof cell === 'bigint' ? cell.toString() : JSON.stringify(cell));

export const elementsOf = (ids: readonly bigint[]): string => `[${ids.join()}]`;

export const recordsOf = (rows: readonly (readonly Cell[])[]): string =>
  `[${rows.map((row) => `[${row.map(jsonOf).join()}]`).join()}]`;
