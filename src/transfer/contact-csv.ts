import type { ImportRow } from '../domain/contacts/contact-import.ts';
import type { Contact } from '../domain/contacts/contacts.ts';
import type { BatchMember } from '../domain/messages/batches.ts';
import type { InboxMessage } from '../domain/messages/received.ts';
import type { SentMessage } from '../domain/messages/sent.ts';
import {
  CSV_START,
  type CsvColumn,
  type CsvRow,
  csvLine,
  plainLine,
  readCsv,
  readFirstCells,
  readHeader,
  readRows,
} from './csv.ts';

/** Reads and writes contacts as CSV, and writes messages as CSV. */

export const CONTACT_COLUMNS: readonly CsvColumn[] = [
  {
    name: 'mobile',
    required: true,
    aliases: ['cell', 'cellphone', 'mobile number', 'msisdn', 'number', 'phone', 'phone number', 'tel', 'telephone'],
  },
  { name: 'name', required: false, aliases: ['first name', 'firstname'] },
  { name: 'surname', required: false, aliases: ['last name', 'lastname'] },
  { name: 'group', required: false, aliases: ['group name'] },
];

/** `columns` names the headers of columns: `mobile:Cell,name:First name`. */
export async function readContactRows(
  bytes: Uint8Array,
  columns: string | null,
  hasHeader = true,
): Promise<ImportRow[]> {
  const rows: ImportRow[] = [];
  for await (const { row, cells } of readCsv(bytes, CONTACT_COLUMNS, columns, hasHeader))
    rows.push(contactRow(row, cells));
  return rows;
}

export const contactRow = (row: number, cells: CsvRow['cells']): ImportRow => ({
  row,
  name: cells.name?.text ?? '',
  surname: cells.surname?.text ?? '',
  mobile: withoutInvisible(cells.mobile?.text ?? ''),
  isText: cells.mobile?.isText ?? false,
  group: cells.group?.text ?? '',
});

/** Phones and web pages put marks of direction and width around numbers that are copied. */
const withoutInvisible = (number: string): string => number.replace(/\p{Cf}/gu, '').trim();

/** A file of recipients: a column of numbers, and columns with values for fields of a text. */
export interface FieldRows {
  readonly columns: readonly string[];
  readonly rows: readonly { readonly row: number; readonly mobile: string; readonly values: readonly string[] }[];
}

/** The most columns whose values are read. */
const FIELD_COLUMNS_MAX = 20;

/** `mobileAt` is the column of the numbers, from 0; without it, its name tells. */
export async function readFieldRows(bytes: Uint8Array, mobileAt?: number): Promise<FieldRows> {
  const mobile = CONTACT_COLUMNS[0] as CsvColumn;
  const isMobile = (name: string, index: number) =>
    mobileAt === undefined ? name === mobile.name || mobile.aliases.includes(name) : index === mobileAt;
  const header = (await readHeader(bytes)).map((name) => name.toLowerCase());
  const once = header.filter((name, index) => name !== '' && !isMobile(name, index) && header.indexOf(name) === index);
  const columns = once.filter((name) => header.lastIndexOf(name) === header.indexOf(name)).slice(0, FIELD_COLUMNS_MAX);
  const rows: FieldRows['rows'][number][] = [];
  const named = mobileAt === undefined ? null : `mobile:#${mobileAt + 1}`;
  const read: CsvColumn[] = [mobile, ...columns.map((name) => ({ name, required: false, aliases: [] }))];
  for await (const { row, cells } of readCsv(bytes, read, named)) {
    const values = columns.map((name) => cells[name]?.text ?? '');
    rows.push({ row, mobile: withoutInvisible(cells.mobile?.text ?? ''), values });
  }
  return { columns, rows };
}

/** Digits with what people write between them, or what a spreadsheet has made of them. */
const NUMBER = /^[+(]{0,2}\d[\d\s()./E+-]*$/i;

/** Reads a list of numbers without a header; null if the first cell of some row is no number. */
export async function readNumberRows(bytes: Uint8Array): Promise<Pick<ImportRow, 'row' | 'mobile'>[] | null> {
  const rows: Pick<ImportRow, 'row' | 'mobile'>[] = [];
  for await (const { row, cell } of readFirstCells(bytes)) {
    const mobile = withoutInvisible(cell.text);
    if (!NUMBER.test(mobile)) return null;
    rows.push({ row, mobile });
  }
  return rows.length > 0 ? rows : null;
}

/** Writes what `readContactRows` reads. `groups` has the names of groups. */
export async function* contactsCsv(
  contacts: AsyncIterable<readonly Contact[]>,
  groups: ReadonlyMap<bigint, string>,
): AsyncGenerator<string> {
  yield CSV_START + csvLine(['name', 'surname', 'mobile', 'group']);
  const groupOf = (id: bigint | null): string => (id === null ? '' : (groups.get(id) ?? ''));
  yield* lines(contacts, ({ name, surname, mobile, groupId }) => [
    name ?? '',
    surname ?? '',
    mobile ?? '',
    groupOf(groupId),
  ]);
}

export async function* inboxCsv(messages: AsyncIterable<readonly InboxMessage[]>): AsyncGenerator<string> {
  yield CSV_START + csvLine(['id', 'receivedAt', 'sender', 'shortCode', 'read', 'text']);
  yield* lines(messages, ({ id, receivedAt, sender, shortCode, read, text }) => [
    id.toString(),
    new Date(receivedAt).toISOString(),
    sender ?? '',
    shortCode ?? '',
    read ? 'yes' : 'no',
    text ?? '',
  ]);
}

export async function* sentCsv(messages: AsyncIterable<readonly SentMessage[]>): AsyncGenerator<string> {
  yield CSV_START + csvLine(['id', 'reference', 'sentAt', 'updatedAt', 'recipient', 'status', 'text']);
  yield* lines(messages, ({ id, reference, sentAt, updatedAt, recipient, status, text }) => [
    id.toString(),
    reference ?? '',
    new Date(sentAt).toISOString(),
    new Date(updatedAt).toISOString(),
    recipient ?? '',
    status,
    text ?? '',
  ]);
}

export async function* batchCsv(messages: AsyncIterable<readonly BatchMember[]>): AsyncGenerator<string> {
  yield CSV_START + csvLine(['id', 'recipient', 'status', 'at', 'updatedAt', 'resentAs', 'text']);
  yield* lines(messages, ({ id, recipient, status, at, updatedAt, resentAs, text }) => [
    id.toString(),
    recipient ?? '',
    status ?? 'SCHEDULED',
    new Date(at).toISOString(),
    updatedAt === null ? '' : new Date(updatedAt).toISOString(),
    resentAs?.toString() ?? '',
    text ?? '',
  ]);
}

/** Writes each page of rows as one piece of text. */
async function* lines<T>(pages: AsyncIterable<readonly T[]>, cellsOf: (row: T) => string[]): AsyncGenerator<string> {
  for await (const rows of pages) if (rows.length > 0) yield rows.map((row) => csvLine(cellsOf(row))).join('');
}

/** Cells of a row by their index, or `left-out` for a row that is not imported. */
export type Mend = ReadonlyMap<number, string> | 'left-out';

/**
 * The file with other texts in some cells and without some rows, as UTF-8 with commas. The rows
 * keep their numbers.
 */
export async function mended(bytes: Uint8Array, mends: ReadonlyMap<number, Mend>): Promise<Uint8Array> {
  const lines: string[] = [];
  for await (const { row, record } of readRows(bytes)) {
    while (lines.length < row - 1) lines.push('\r\n');
    const mend = mends.get(row);
    if (mend === undefined) lines.push(plainLine(record));
    else if (mend === 'left-out') lines.push('\r\n');
    else {
      const width = Math.max(record.length, ...[...mend.keys()].map((index) => index + 1));
      lines.push(plainLine(Array.from({ length: width }, (_, index) => mend.get(index) ?? record[index] ?? '')));
    }
  }
  return Buffer.from(lines.join(''), 'utf8');
}
