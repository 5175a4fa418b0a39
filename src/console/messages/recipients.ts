import { grouped } from '../../base/counted.ts';
import { Problem } from '../../base/problem.ts';
import { numberKey } from '../../sms/numbers.ts';
import { guessColumns } from '../../transfer/contact-columns.ts';
import { type FieldRows, readFieldRows, readNumberRows } from '../../transfer/contact-csv.ts';
import { readHeader } from '../../transfer/csv.ts';
import { readWorkbook } from '../../transfer/workbook.ts';
import type { PageRequest } from '../page-request.ts';

/** Joins the recipients that were typed, chosen and uploaded into one list without duplicates. */

const texts = {
  tooMany: (max: number) => `A message goes to at most ${grouped(max)} numbers at once.`,
  tooManyNames: (max: number) => `At most ${grouped(max)} recipients can be given by name. Choose a group instead.`,
  severalNamed: (name: string, fitting: readonly string[]) =>
    `To: ${name} fits more than one contact: ${fitting.slice(0, 5).join(', ')}${fitting.length > 5 ? ' …' : ''}. Write the number instead.`,
  noColumn:
    'File with numbers: no column is called mobile, number or phone, also not in German, French, Spanish, Portuguese or Afrikaans. Name it so, or leave only numbers in the file.',
  line: (line: number) => `line ${grouped(line)}`,
  row: (row: number) => `row ${grouped(row)} of the file`,
  contact: (name: string) => `contact ${name}`,
} as const;

export interface Recipient {
  readonly number: string;
  /** Where the number was found, in words. */
  readonly from: string;
  /** Values of the file for fields of the text, by the names of its columns. */
  readonly values?: Readonly<Record<string, string>>;
}
export interface Recipients {
  readonly list: readonly Recipient[];
  readonly duplicates: readonly Recipient[];
  /** The rows of the file, each a number and its values with tabs between. The page keeps them. */
  readonly fileNumbers: readonly string[];
  readonly fileColumns: readonly string[];
  readonly fileName: string;
}

export const RECIPIENTS_MAX = 20_000;
const NUMBER_LENGTH_MAX = 200;
const PAGE = 500;

export async function readRecipients(request: PageRequest): Promise<Recipients> {
  const { form, domain, account } = request;
  const all: Recipient[] = [];
  const names = new Map<string, string>();
  const add = (number: string, from: string, values?: Recipient['values']) => {
    if (all.length >= RECIPIENTS_MAX) throw new Problem('bad-argument', texts.tooMany(RECIPIENTS_MAX));
    all.push({ number: number.slice(0, NUMBER_LENGTH_MAX), from, ...(values && { values }) });
  };
  for (const [index, line] of form.raw('to').split('\n').entries()) {
    for (const typed of line.split(/[,;]/)) {
      if (typed.trim() !== '') add(await numberOf(request, typed.trim(), names), texts.line(index + 1));
    }
  }
  for (const group of new Set(form.all('group'))) await addGroup(request, group, add);
  const file = await fileOf(request);
  for (const [index, line] of file.lines.entries()) {
    const { number, values } = readLine(line, file.columns);
    if (number !== '') add(number, texts.row(index + 1), values);
  }
  const { list, duplicates } = eachOnce(all, await domain.region(account.id));
  return { list, duplicates, fileNumbers: file.lines, fileColumns: file.columns, fileName: file.name };
}

/**
 * The number of the contact with this name. What has a digit is a number itself, and a name that
 * nobody has is refused by the check as any other text that is no number.
 */
async function numberOf({ domain, account }: PageRequest, typed: string, names: Map<string, string>): Promise<string> {
  if (/\d/.test(typed) || !/\p{L}/u.test(typed)) return typed;
  const known = names.get(typed);
  if (known !== undefined) return known;
  if (names.size === 0) await domain.search.isComplete(account.id); // contacts of a moment ago are found too
  if (names.size === NAMES_MAX) throw new Problem('bad-argument', texts.tooManyNames(NAMES_MAX));
  const found = (await domain.search.contacts(account.id, typed)).filter(({ number }) => number !== null);
  const whole = found.filter(({ name }) => name.localeCompare(typed, undefined, { sensitivity: 'base' }) === 0);
  const fitting = whole.length > 0 ? whole : found;
  if (fitting.length > 1) throw new Problem('bad-argument', texts.severalNamed(typed, fitting.map(saidOf)));
  const number = fitting[0]?.number ?? typed;
  names.set(typed, number);
  return number;
}
const NAMES_MAX = 100;
const saidOf = ({ name, number }: { readonly name: string; readonly number: string | null }) => `${name} ${number}`;

async function addGroup(
  { domain, account }: PageRequest,
  group: string,
  add: (number: string, from: string) => void,
): Promise<void> {
  if (!/^\d{1,10}$/.test(group)) return;
  const filter = { group: BigInt(group), q: undefined, mobile: undefined };
  for (let after: bigint | null = null; ; ) {
    const { items, next }: Awaited<ReturnType<typeof domain.contacts.list>> = await domain.contacts.list(
      account.id,
      filter,
      PAGE,
      after,
    );
    for (const { mobile, name, surname } of items) {
      if (mobile !== null) add(mobile, texts.contact([name, surname].filter(Boolean).join(' ') || mobile));
    }
    if (next === null) return;
    after = next;
  }
}

interface FileLines {
  readonly lines: string[];
  readonly columns: readonly string[];
  readonly name: string;
}

/** A number and its values, which have no tab and no line end. */
export const lineOf = (number: string, values: readonly string[]): string =>
  [number, ...values.map((value) => value.slice(0, VALUE_LENGTH_MAX))]
    .map((cell) => cell.replace(/[\r\n\t]+/g, ' '))
    .join('\t');

export function readLine(line: string, columns: readonly string[]): Pick<Recipient, 'values'> & { number: string } {
  const [number = '', ...cells] = line.split('\t');
  if (columns.length === 0) return { number };
  return { number, values: Object.fromEntries(columns.map((name, index) => [name, cells[index] ?? ''])) };
}

const VALUE_LENGTH_MAX = 500;
export const columnsOf = (text: string): string[] =>
  text
    .split('\t')
    .filter((name) => name !== '')
    .slice(0, 20);

/** The rows of the file that was just chosen, or of the file before, each at its row. */
async function fileOf({ form }: PageRequest): Promise<FileLines> {
  const file = form.file('file');
  if (file) {
    const lines: string[] = [];
    const { columns, rows } = await rowsOf(file.bytes);
    for (const { row, mobile, values } of rows) {
      while (lines.length < row - 1) lines.push('');
      lines.push(mobile === '' ? '' : lineOf(mobile, values));
    }
    return { lines, columns, name: file.name.slice(0, 100) };
  }
  if (form.raw('fileNumbers') === '' || form.has('dropFile')) return { lines: [], columns: [], name: '' };
  const columns = columnsOf(form.raw('fileColumns'));
  return { lines: form.raw('fileNumbers').split('\n'), columns, name: form.text('fileName').slice(0, 100) };
}

/** Reads a file with a column of numbers, or with numbers alone. This page asks for no column. */
async function rowsOf(file: Uint8Array): Promise<FieldRows> {
  const bytes = (await readWorkbook(file))?.csv ?? file;
  const numbers = await readNumberRows(bytes);
  if (numbers) return { columns: [], rows: numbers.map((each) => ({ ...each, values: [] })) };
  const { mobile } = guessColumns(await readHeader(bytes));
  return readFieldRows(bytes, mobile).catch((thrown) => {
    const isOfColumns = thrown instanceof Problem && thrown.details.errors?.[0]?.pointer === '?columns';
    throw isOfColumns ? new Problem('bad-argument', texts.noColumn) : thrown;
  });
}

export function eachOnce(all: readonly Recipient[], region: string | null): Pick<Recipients, 'list' | 'duplicates'> {
  const list = new Map<string, Recipient>();
  const duplicates: Recipient[] = [];
  for (const recipient of all) {
    const key = numberKey(recipient.number, region);
    if (list.has(key)) duplicates.push(recipient);
    else list.set(key, recipient);
  }
  return { list: [...list.values()], duplicates };
}
