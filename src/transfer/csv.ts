import { isUtf8 } from 'node:buffer';
import { Readable } from 'node:stream';
import { CsvError, parse } from 'csv-parse';
import { counted } from '../base/counted.ts';
import { nextTurn } from '../base/event-loop.ts';
import { type FieldError, Problem } from '../base/problem.ts';

/** CSV by RFC 4180, with the deviations of spreadsheets. */

export const CSV_BYTES_MAX = 10 * 1024 * 1024;
export const CSV_ROWS_MAX = 100_000;
/** Empty rows count too: 10 MiB of line ends alone would take 45 s of CPU. */
export const CSV_LINES_MAX = 200_000;

/** A cell without the apostrophe that a spreadsheet adds. */
export interface Cell {
  readonly text: string;
  /** The cell began with an apostrophe, which marks text. So no spreadsheet has changed it. */
  readonly isText: boolean;
}
export interface CsvRow {
  /** The row number of a spreadsheet: the header is row 1, and empty rows count. */
  readonly row: number;
  readonly cells: Readonly<Record<string, Cell>>;
}

export interface CsvColumn {
  readonly name: string;
  readonly required: boolean;
  /** Other headers of this column, in lower case. */
  readonly aliases: readonly string[];
}

/**
 * Reads the rows of a file. `named` has the headers of columns: `mobile:Cell,name:First name`; `#2`
 * stands for the second column, and `-` for none. Without a header, the first row is one of the
 * data, and all columns are named by their position.
 */
export async function* readCsv(
  bytes: Uint8Array,
  columns: readonly CsvColumn[],
  named: string | null,
  hasHeader = true,
): AsyncGenerator<CsvRow> {
  let header: ReadonlyMap<string, number> | undefined;
  let width = 0;
  for await (const { row, record } of readRows(bytes)) {
    if (header) {
      checkWidth(row, record, width);
      yield { row, cells: cellsOf(record, header) };
      continue;
    }
    const names = readNames(named, columns);
    header = headerOf(hasHeader ? record : [], columns, names, (name) => `${name}:Header`);
    width = hasHeader ? record.length : RECORD_CELLS_MAX;
    if (!hasHeader) yield { row, cells: cellsOf(record, header) };
  }
  if (!header) throw refusal('file', '#', 'it is empty');
}

export const cellsOf = (record: readonly string[], header: ReadonlyMap<string, number>): CsvRow['cells'] =>
  Object.fromEntries([...header].map(([name, index]) => [name, unguarded(record[index] ?? '')]));

/**
 * A text with a comma that nobody put into quotes moves all cells after it by one, so a row with
 * more cells than the header is refused. Spreadsheets write empty cells at the end of rows, which
 * do no harm.
 */
export function checkWidth(row: number, record: readonly string[], width: number): void {
  if (record.length <= width || record.slice(width).every((cell) => cell.trim() === '')) return;
  throw badRow(
    row,
    `it has ${counted(record.length, 'cell')}, and the header has ${width}; a text that contains the separator must be in quotes`,
  );
}

/** Reads the first cell of each row of a file without a header, numbered as in `readCsv`. */
export async function* readFirstCells(bytes: Uint8Array): AsyncGenerator<{ row: number; cell: Cell }> {
  for await (const { row, record } of readRows(bytes)) yield { row, cell: unguarded(record[0] ?? '') };
}

/** All rows that are not empty, as they are written. */
export async function* readRows(bytes: Uint8Array): AsyncGenerator<{ row: number; record: string[] }> {
  if (bytes.length > CSV_BYTES_MAX) throw new Problem('too-large', `A file may have at most ${CSV_BYTES_MAX} bytes.`);
  const { text, delimiter } = withoutHint(await decode(bytes));
  let row = 0;
  for await (const record of recordsOf(piecesOf(text), delimiter ?? delimiterOf(text))) {
    row += 1;
    if (row > CSV_LINES_MAX) {
      throw new Problem('too-large', `A file may have at most ${CSV_LINES_MAX} rows, including empty ones.`);
    }
    if (record.every((cell) => cell.trim() === '')) continue;
    if (row > CSV_ROWS_MAX + 1) throw new Problem('too-large', `A file may have at most ${CSV_ROWS_MAX} rows.`);
    yield { row, record };
  }
}

/** The first row that is not empty: the names of the columns. */
export async function readHeader(bytes: Uint8Array): Promise<string[]> {
  if (bytes.length > CSV_BYTES_MAX) throw new Problem('too-large', `A file may have at most ${CSV_BYTES_MAX} bytes.`);
  const { text, delimiter } = withoutHint(await decode(bytes));
  const start = text.slice(0, RECORD_LENGTH_MAX);
  for await (const record of recordsOf(piecesOf(start), delimiter ?? delimiterOf(text))) {
    if (record.some((cell) => cell.trim() !== '')) return record.map((cell) => unguarded(cell).text.trim());
  }
  throw refusal('file', '#', 'it is empty');
}

// Parses 16 KiB in each turn of the event loop: 10 MiB at once would delay other calls by seconds.
const PIECE = 16_384;
/**
 * A row takes about 20 µs however short it is, so 16 KiB of the shortest rows would take 180 ms. A
 * turn of the event loop may get two pieces.
 */
export const PIECE_LINES_MAX = 250;
export const RECORD_LENGTH_MAX = 65_536;
/** A spreadsheet of contacts has some ten columns. */
const RECORD_CELLS_MAX = 1_000;

function* piecesOf(text: string): Generator<string> {
  for (let start = 0; start < text.length; ) {
    const end = pieceEnd(text, start);
    yield text.slice(start, end);
    start = end;
  }
}

/** The records of a text that comes in pieces, one piece in each turn of the event loop. */
export async function* recordsOf(
  texts: Iterable<string> | AsyncIterable<string>,
  delimiter: string,
): AsyncGenerator<string[]> {
  const parser = parse({
    delimiter,
    record_delimiter: ['\r\n', '\n', '\r'],
    relax_column_count: true,
    relax_quotes: true,
    max_record_size: RECORD_LENGTH_MAX,
  });
  const pieces = async function* () {
    let lineLength = 0;
    for await (const piece of texts) {
      // csv-parse counts only the characters of cells, so it made a record of 10 MiB of commas.
      const lineEnd = Math.max(piece.lastIndexOf('\n'), piece.lastIndexOf('\r'));
      lineLength = piece.length - 1 - lineEnd + (lineEnd < 0 ? lineLength : 0);
      if (lineLength > RECORD_LENGTH_MAX) throw badRow(parser.info.records + 1, 'it is too long');
      yield piece;
      await nextTurn();
    }
  };
  const source = Readable.from(pieces());
  source.on('error', (thrown) => parser.destroy(thrown));
  try {
    for await (const record of source.pipe(parser)) {
      if (record.length > RECORD_CELLS_MAX)
        throw badRow(parser.info.records, `it has more than ${RECORD_CELLS_MAX} cells`);
      yield record;
    }
  } catch (thrown) {
    if (!(thrown instanceof CsvError)) throw thrown;
    const reason = { CSV_QUOTE_NOT_CLOSED: 'a quote is not closed', CSV_MAX_RECORD_SIZE: 'it is too long' };
    throw badRow(parser.info.records + 1, reason[thrown.code as keyof typeof reason] ?? 'it is not CSV');
  } finally {
    source.destroy();
    parser.destroy();
  }
}

/** A piece ends after 16 KiB, or after the most lines that a piece may have. */
function pieceEnd(text: string, start: number): number {
  const most = Math.min(start + PIECE, text.length);
  for (let at = start, lines = 0; at < most; at += 1) {
    const code = text.charCodeAt(at);
    const isEnd = code === LF || (code === CR && text.charCodeAt(at + 1) !== LF);
    if (isEnd && ++lines === PIECE_LINES_MAX) return at + 1;
  }
  return most;
}
const [LF, CR] = [0x0a, 0x0d];

const badRow = (row: number, detail: string): Problem =>
  new Problem('bad-argument', `Row ${row}: ${detail}.`, {
    errors: [{ pointer: `#/${row}`, detail: `row ${row}: ${detail}` }],
  });

/**
 * Decodes by the byte order mark, else by the bytes. Excel writes Windows-1252, UTF-8 or UTF-16, as
 * its user chooses.
 */
async function decode(bytes: Uint8Array): Promise<string> {
  refuseOtherFiles(bytes);
  const decode = textDecoder(charsetOf(bytes));
  let text = '';
  for (let start = 0; start < bytes.length; start += DECODED_BYTES) {
    text += decode(bytes.subarray(start, start + DECODED_BYTES));
    await nextTurn();
  }
  return text + decode();
}

/**
 * Decodes a file piece by piece; a call without bytes ends it. Bytes that are no text are refused.
 */
export function textDecoder(encoding: string): (bytes?: Uint8Array) => string {
  const decoder = new TextDecoder(encoding, { fatal: true });
  return (bytes) => {
    let text: string;
    try {
      text = decoder.decode(bytes, { stream: bytes !== undefined });
    } catch (thrown) {
      if ((thrown as NodeJS.ErrnoException).code !== 'ERR_ENCODING_INVALID_ENCODED_DATA') throw thrown;
      throw refusal('file', '#', `some of its bytes are not ${encoding.toUpperCase()}; ${SAVE_AGAIN}`);
    }
    if (text.includes('\0')) throw refusal('file', '#', `it contains NUL bytes, so it is not a text; ${SAVE_AGAIN}`);
    return text;
  };
}

const SAVE_AGAIN = 'open it in a spreadsheet, save it as "CSV UTF-8", and use that file';

/** The first bytes of files that people take for CSV. */
const OTHER_FILES = [
  { start: Buffer.from('PK\x03\x04'), what: 'an Excel workbook (.xlsx), another spreadsheet or a zip archive' },
  { start: Buffer.from([0xd0, 0xcf, 0x11, 0xe0]), what: 'an Excel workbook (.xls)' },
  { start: Buffer.from('%PDF'), what: 'a PDF document' },
];

export function refuseOtherFiles(bytes: Uint8Array): void {
  const other = OTHER_FILES.find(({ start }) => start.equals(bytes.subarray(0, start.length)));
  if (other) throw refusal('file', '#', `it is ${other.what}, not CSV; ${SAVE_AGAIN}`);
}

/** The bytes of one step: decoding 10 MiB of Windows-1252 at once would take 44 ms. */
const DECODED_BYTES = 1_048_576;

function charsetOf(bytes: Uint8Array): string {
  return markedCharset(bytes) ?? (isUtf8(bytes) ? 'utf-8' : 'windows-1252');
}

/** The charset that the first bytes reveal; undefined if they reveal none. */
export function markedCharset(bytes: Uint8Array): string | undefined {
  const [first, second, third] = bytes;
  // A byte order mark decides, because a text may contain NUL.
  if (first === 0xef && second === 0xbb && third === 0xbf) return 'utf-8';
  if (first === 0xff && second === 0xfe) return 'utf-16le';
  if (first === 0xfe && second === 0xff) return 'utf-16be';
  const sample = bytes.subarray(0, 1_000);
  const zeros: [even: number, odd: number] = [0, 0];
  for (const [index, byte] of sample.entries()) if (byte === 0) zeros[(index % 2) as 0 | 1] += 1;
  // Of a file with numbers at least a quarter are digits and separators; a few NULs are damage.
  const isWide = Math.max(...zeros) * 8 >= Math.max(1, sample.length);
  if (isWide && Math.min(...zeros) === 0) return zeros[1] > 0 ? 'utf-16le' : 'utf-16be';
  return undefined;
}

export const DELIMITERS = [',', ';', '\t', '|'] as const;

/** Excel writes a first line such as `sep=;`, which is no row. */
export function withoutHint(text: string): { text: string; delimiter: string | undefined } {
  const [hint, delimiter] = /^"?sep=([,;\t|])"?(?:\r\n|\n|\r)/i.exec(text) ?? [];
  return { text: text.slice(hint?.length ?? 0), delimiter };
}

/** The most frequent delimiter outside quotes, in the first line that has one. */
export function delimiterOf(text: string): string {
  const line = /^[\s,;|]*([^\r\n]*)/.exec(text.slice(0, RECORD_LENGTH_MAX))?.[0] ?? '';
  const plain = line.replace(/"[^"]*"/g, '');
  const counts = DELIMITERS.map((delimiter) => plain.split(delimiter).length);
  return DELIMITERS[counts.indexOf(Math.max(...counts))] as string;
}

/** Parses `mobile:Cell,name:First name` to pairs. */
function readNames(named: string | null, columns: readonly CsvColumn[]): ReadonlyMap<string, string> {
  const pairs = (named ?? '').split(',').filter((pair) => pair.trim() !== '');
  return new Map(
    pairs.map((pair): [string, string] => {
      const [name = '', header = ''] = pair.split(/:(.*)/s).map((part) => part.trim());
      if (!columns.some((column) => column.name === name) || header === '') {
        throw refusal(
          'columns',
          '?columns',
          `expected pairs such as ${columns[0]?.name}:Header, with ${namesOf(columns)}`,
        );
      }
      return [name, header === '-' ? '' : header.toLowerCase()];
    }),
  );
}

export function refusal(field: string, pointer: string, detail: string): Problem {
  const errors: FieldError[] = [{ pointer, detail }];
  return new Problem('bad-argument', `${field}: ${detail}`, { errors });
}

const namesOf = (columns: readonly CsvColumn[]): string => columns.map(({ name }) => name).join(', ');

/**
 * Finds the index of each column. `named` has headers in lower case, and an empty header for a
 * column to leave out. `way` tells a person how to name the header of a column.
 */
export function headerOf(
  record: readonly string[],
  columns: readonly CsvColumn[],
  named: ReadonlyMap<string, string>,
  way: (name: string) => string,
): ReadonlyMap<string, number> {
  const titles = record.map((cell) => unguarded(cell).text.trim());
  const headers = titles.map((title) => title.toLowerCase());
  const wrong = (detail: string): Problem => {
    const shown = titles.slice(0, TITLES_SHOWN).map((title) => `"${title.slice(0, TITLE_LENGTH_SHOWN)}"`);
    const more = titles.length > TITLES_SHOWN ? ` and ${titles.length - TITLES_SHOWN} more` : '';
    const needed = namesOf(columns.filter(({ required }) => required));
    const detailWithFile = `${detail}. The first row has ${shown.join(', ')}${more}. Needed: ${needed}`;
    return refusal('columns', '?columns', detailWithFile);
  };
  if (titles.some((title) => LIKE_A_NUMBER.test(title))) {
    const example = columns.map(({ name }) => name).join();
    throw wrong(`there is no header; write the names of the columns into the first row, such as ${example}`);
  }
  const found = new Map<string, number>();
  for (const { name, required, aliases } of columns) {
    const given = named.get(name);
    if (given === '' && !required) continue;
    const [, position] = POSITION.exec(given ?? '') ?? [];
    if (position !== undefined) {
      found.set(name, Number(position) - 1);
      continue;
    }
    const wanted = given === undefined ? [name.toLowerCase(), ...aliases] : [given];
    const indexes = headers.flatMap((header, index) => (wanted.includes(header) ? [index] : []));
    if (indexes.length > 1) throw wrong(`several columns may be ${name}; choose one with ${way(name)}`);
    const [index] = indexes;
    if (index !== undefined) found.set(name, index);
    else if (given !== undefined || required) {
      throw wrong(`the first row names no column for ${name}; choose one with ${way(name)}`);
    }
  }
  return found;
}

/** No column is called like a phone number: the first row is one of the data. */
export const LIKE_A_NUMBER = /^\+?[\d\s()./-]{7,}$/;
const POSITION = /^#([1-9]\d{0,2})$/;

// If the file is no CSV, its first row may be anything, so only its beginning is shown.
const TITLES_SHOWN = 30;
const TITLE_LENGTH_SHOWN = 40;

/**
 * A cell that a spreadsheet would read as a formula or a number gets an apostrophe. So does a cell
 * that begins with an apostrophe or has spaces at its ends. Reading removes exactly one apostrophe.
 * Spreadsheets in Japanese and Chinese read the full-width signs ＝＋－＠ as = + - @.
 */
const GUARDED = /^[=+\-@＝＋－＠'\s]|\s$|^\d[\d.,E+\s]*$/i;

export const guarded = (text: string): string => (GUARDED.test(text) ? `'${text}` : text);

function unguarded(cell: string): Cell {
  const rest = cell.slice(1);
  if (cell.startsWith("'") && GUARDED.test(rest)) return { text: rest, isText: true };
  return { text: cell.trim(), isText: false };
}

/** The byte order mark makes spreadsheets read UTF-8. */
export const CSV_START = '\uFEFF';

/**
 * Writes a line by RFC 4180. Texts get an apostrophe where they need one. A number is written as it
 * is, so that a spreadsheet can sum it. Ids are given as texts, because a spreadsheet rounds
 * numbers of more than 15 digits.
 */
export const csvLine = (cells: readonly (string | bigint)[]): string =>
  `${cells.map((cell) => (typeof cell === 'bigint' ? String(cell) : quoted(guarded(cell)))).join()}\r\n`;

/** Writes a line without apostrophes, for a file that is only read by Columba. */
export const plainLine = (cells: readonly string[]): string => `${cells.map(quoted).join()}\r\n`;

const quoted = (cell: string): string => (/[",;|\t\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell);
