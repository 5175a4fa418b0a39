import { createReadStream } from 'node:fs';
import {
  type Cell,
  type CsvColumn,
  cellsOf,
  checkWidth,
  delimiterOf,
  headerOf,
  markedCharset,
  RECORD_LENGTH_MAX,
  recordsOf,
  refusal,
  refuseOtherFiles,
  textDecoder,
  withoutHint,
} from './csv.ts';

/** A CSV file of any size: only a piece of it is in memory. */
export interface CsvFile {
  readonly encoding: string;
  readonly delimiter: string;
  readonly rows: AsyncGenerator<FileRow>;
}
export interface FileRow {
  /** The line of a text editor where the row begins. The first line has number 1. */
  readonly line: number;
  readonly cells: Readonly<Record<string, Cell>>;
  /** The text of a cell with the spaces at its ends. */
  exact(name: string): string;
}
export interface CsvFileOptions {
  /** The header of a column, in lower case; empty for a column that is left out. */
  readonly named: ReadonlyMap<string, string>;
  /** How a person names the header of a column. */
  readonly way: (name: string) => string;
  /** Without it, the most frequent delimiter of the first row. */
  readonly delimiter?: string;
  /** A label of the WHATWG Encoding Standard. Without it, the bytes decide. */
  readonly encoding?: string;
}

/** Reads the header. Throws if a required column is missing. */
export async function openCsvFile(
  path: string,
  columns: readonly CsvColumn[],
  { named, way, delimiter: given, encoding: label }: CsvFileOptions,
): Promise<CsvFile> {
  const encoding = label ?? (await encodingOf(path));
  const texts = decoded(path, encoding);
  let first = '';
  while (first.length < RECORD_LENGTH_MAX) {
    const { value, done } = await texts.next();
    if (done) break;
    first += value;
  }
  const { text, delimiter: hinted } = withoutHint(first);
  const delimiter = given ?? hinted ?? delimiterOf(text);
  // If the hint was cut off, the first record is on line 2.
  const records = numbered(recordsOf(chained(text, texts), delimiter), text === first ? 1 : 2);
  for (;;) {
    const { value, done } = await records.next();
    if (done) throw refusal('file', '#', 'it is empty');
    if (isEmpty(value.record)) continue;
    const header = headerOf(value.record, columns, named, way);
    return { encoding, delimiter, rows: rowsOf(records, header, value.record.length) };
  }
}

const isEmpty = (record: readonly string[]): boolean => record.every((cell) => cell.trim() === '');

async function* rowsOf(
  records: AsyncGenerator<NumberedRecord>,
  header: ReadonlyMap<string, number>,
  width: number,
): AsyncGenerator<FileRow> {
  for await (const { line, record } of records) {
    if (isEmpty(record)) continue;
    checkWidth(line, record, width);
    const cells = cellsOf(record, header);
    const exact = (name: string) => {
      const cell = cells[name];
      return cell?.isText ? cell.text : (record[header.get(name) ?? -1] ?? '');
    };
    yield { line, cells, exact };
  }
}

interface NumberedRecord {
  readonly line: number;
  readonly record: string[];
}

/** Numbers each record by the line where it begins: a quoted cell may span several lines. */
async function* numbered(records: AsyncGenerator<string[]>, first: number): AsyncGenerator<NumberedRecord> {
  let line = first;
  for await (const record of records) {
    yield { line, record };
    line += 1;
    for (const cell of record) if (LINE_END.test(cell)) line += cell.split(LINE_END).length - 1;
  }
}
const LINE_END = /\r\n|\n|\r/;

async function* chained(first: string, rest: AsyncGenerator<string>): AsyncGenerator<string> {
  yield first;
  yield* rest;
}

async function* decoded(path: string, encoding: string): AsyncGenerator<string> {
  const decode = textDecoder(encoding);
  for await (const chunk of createReadStream(path)) yield decode(chunk);
  yield decode();
}

/**
 * Whether a file is UTF-8 or Windows-1252 is known only at its end, so a file without a byte order
 * mark is read twice.
 */
async function encodingOf(path: string): Promise<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let isFirst = true;
  try {
    for await (const chunk of createReadStream(path)) {
      if (isFirst) refuseOtherFiles(chunk);
      const marked = isFirst ? markedCharset(chunk) : undefined;
      if (marked !== undefined) return marked;
      isFirst = false;
      decoder.decode(chunk, { stream: true });
    }
    decoder.decode();
    return 'utf-8';
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== 'ERR_ENCODING_INVALID_ENCODED_DATA') throw thrown;
    return 'windows-1252';
  }
}
