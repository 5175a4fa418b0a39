import { promisify } from 'node:util';
import { inflateRaw } from 'node:zlib';
import { SaxesParser } from 'saxes';
import { nextTurn } from '../base/event-loop.ts';
import { Problem } from '../base/problem.ts';
import { CSV_BYTES_MAX, CSV_LINES_MAX, markedCharset, plainLine, refusal } from './csv.ts';

/**
 * Reads the first visible sheet of an Excel workbook (.xlsx, ECMA-376) as CSV. A workbook is a zip
 * archive of XML. Node unpacks it in another thread, with a limit for all files, and `saxes` reads
 * the XML piece by piece; it expands no entities of a document type. Formats are not applied: a
 * number is the number itself, which has all its digits even where the sheet shows 2.78E+10.
 */
export interface Sheet {
  readonly csv: Uint8Array;
  readonly name: string;
}

/** Null for a file that is no workbook. */
export async function readWorkbook(bytes: Uint8Array): Promise<Sheet | null> {
  if (bytes.length > CSV_BYTES_MAX) throw new Problem('too-large', `A file may have at most ${CSV_BYTES_MAX} bytes.`);
  const archive = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (!archive.subarray(0, 4).equals(LOCAL_FILE)) return null;
  const entries = entriesOf(archive);
  if (!entries.has(WORKBOOK)) return null;
  let room = UNPACKED_BYTES_MAX;
  const read = async (name: string) => {
    const entry = entries.get(name);
    if (!entry) return null;
    const file = await unpacked(archive, entry, room);
    room -= file.length;
    return file;
  };
  const { name, path } = await firstSheet(await read(WORKBOOK), await read(RELATIONS));
  const sheet = await read(path);
  if (!sheet) throw damaged();
  return { name, csv: await sheetAsCsv(sheet, await sharedTexts(await read('xl/sharedStrings.xml'))) };
}

const WORKBOOK = 'xl/workbook.xml';
const RELATIONS = 'xl/_rels/workbook.xml.rels';
const LOCAL_FILE = Buffer.from('PK\x03\x04');
const END_OF_DIRECTORY = Buffer.from('PK\x05\x06');
const DIRECTORY_ENTRY = 0x02014b50;
/** The end of the directory is followed by a comment of at most 65,535 bytes. */
const END_BYTES_MAX = 65_557;
const ENTRIES_MAX = 10_000;
/** All files that are read, together; a sheet of 100,000 contacts has about 30 MiB. */
const UNPACKED_BYTES_MAX = 64 * 1_048_576;
/** The parser keeps every open element: 6 KB with a million of them took 400 MB. Sheets have 7. */
const DEPTH_MAX = 64;
/** The most attributes of one element: the parser keeps them until the element ends. */
const ATTRIBUTES_MAX = 256;
/** A workbook has each text once, and a file may have so many lines with some texts each. */
const TEXTS_MAX = 1_000_000;
const PIECE = 16_384;
const COLUMNS_MAX = 1_000;

const damaged = (): Problem =>
  refusal('file', '#', 'the Excel workbook is damaged or protected; save it as "CSV UTF-8", and use that file');

interface Entry {
  readonly method: number;
  readonly size: number;
  readonly start: number;
}

/** The directory at the end of a zip archive (APPNOTE 4.3). */
function entriesOf(archive: Buffer): ReadonlyMap<string, Entry> {
  const from = Math.max(0, archive.length - END_BYTES_MAX);
  const end = archive.subarray(from).lastIndexOf(END_OF_DIRECTORY);
  if (end < 0 || from + end + 22 > archive.length) throw damaged();
  const count = archive.readUInt16LE(from + end + 10);
  const entries = new Map<string, Entry>();
  let at = archive.readUInt32LE(from + end + 16);
  for (let index = 0; index < Math.min(count, ENTRIES_MAX); index += 1) {
    if (at + 46 > archive.length || archive.readUInt32LE(at) !== DIRECTORY_ENTRY) throw damaged();
    const [name, extra, comment] = [28, 30, 32].map((offset) => archive.readUInt16LE(at + offset)) as [
      number,
      number,
      number,
    ];
    const isEncrypted = (archive.readUInt16LE(at + 8) & 1) === 1;
    if (isEncrypted) throw damaged();
    entries.set(archive.toString('utf8', at + 46, at + 46 + name), {
      method: archive.readUInt16LE(at + 10),
      size: archive.readUInt32LE(at + 20),
      start: archive.readUInt32LE(at + 42),
    });
    at += 46 + name + extra + comment;
  }
  return entries;
}

async function unpacked(archive: Buffer, { method, size, start }: Entry, room: number): Promise<Buffer> {
  if (start + 30 > archive.length) throw damaged();
  const data = start + 30 + archive.readUInt16LE(start + 26) + archive.readUInt16LE(start + 28);
  const packed = archive.subarray(data, data + size);
  if (packed.length < size) throw damaged();
  if (method === 0 && size <= room) return packed;
  if (method !== 0 && method !== 8) throw damaged();
  try {
    if (method === 8 && room > 0) return await promisify(inflateRaw)(packed, { maxOutputLength: room });
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== 'ERR_BUFFER_TOO_LARGE') throw damaged();
  }
  throw new Problem('too-large', `An unpacked workbook may have at most ${UNPACKED_BYTES_MAX} bytes.`);
}

type Attributes = Readonly<Record<string, string>>;
interface Handlers {
  readonly open?: (name: string, attributes: Attributes) => void;
  readonly close?: (name: string) => void;
  readonly text?: (text: string) => void;
}

const localName = (name: string): string => name.slice(name.indexOf(':') + 1);

async function parse(bytes: Uint8Array, { open, close, text }: Handlers): Promise<void> {
  const parser = new SaxesParser();
  let depth = 0;
  let attributes = 0;
  parser.on('opentagstart', () => {
    depth += 1;
    attributes = 0;
    if (depth > DEPTH_MAX) throw damaged();
  });
  parser.on('attribute', () => {
    attributes += 1;
    if (attributes > ATTRIBUTES_MAX) throw damaged();
  });
  if (open) parser.on('opentag', (tag) => open(localName(tag.name), tag.attributes as Attributes));
  parser.on('closetag', (tag) => {
    depth -= 1;
    close?.(localName(tag.name));
  });
  if (text) parser.on('text', text);
  parser.on('error', () => {
    throw damaged();
  });
  const decoder = new TextDecoder(markedCharset(bytes) ?? 'utf-8');
  for (let start = 0; start < bytes.length; start += PIECE) {
    parser.write(decoder.decode(bytes.subarray(start, start + PIECE), { stream: true }));
    await nextTurn();
  }
  parser.close();
}

async function firstSheet(workbook: Buffer | null, relations: Buffer | null) {
  const sheets: Attributes[] = [];
  const targets = new Map<string, string>();
  const open = (name: string, attributes: Attributes) => {
    if (name === 'sheet' && (attributes.state ?? 'visible') === 'visible') sheets.push(attributes);
    if (name === 'Relationship') targets.set(attributes.Id ?? '', attributes.Target ?? '');
  };
  if (!workbook || !relations) throw damaged();
  await parse(workbook, { open });
  await parse(relations, { open });
  const [sheet] = sheets;
  const key = Object.keys(sheet ?? {}).find((each) => localName(each) === 'id' && each.includes(':'));
  const target = targets.get(sheet?.[key ?? ''] ?? '');
  if (!sheet || target === undefined) throw damaged();
  return { name: sheet.name ?? '', path: target.startsWith('/') ? target.slice(1) : `xl/${target}` };
}

/** Texts that cells refer to by their number. Phonetic hints (`rPh`) are no part of them. */
async function sharedTexts(bytes: Buffer | null): Promise<readonly string[]> {
  const texts: string[] = [];
  let [current, hints, isText] = ['', 0, false];
  if (!bytes) return texts;
  await parse(bytes, {
    open: (name) => {
      if (name === 'si') current = '';
      if (name === 'rPh') hints += 1;
      isText = name === 't' && hints === 0;
    },
    text: (text) => {
      if (isText) current += text;
    },
    close: (name) => {
      if (name === 'si' && texts.push(current) > TEXTS_MAX) {
        throw new Problem('too-large', `A workbook may have at most ${TEXTS_MAX} texts.`);
      }
      if (name === 'rPh') hints -= 1;
      if (name === 't') isText = false;
    },
  });
  return texts;
}

/** `C5` is the column with the index 2. */
function columnOf(reference: string | undefined, next: number): number {
  const letters = /^[A-Z]{1,3}/.exec(reference ?? '')?.[0];
  if (letters === undefined) return next;
  return [...letters].reduce((sum, letter) => sum * 26 + letter.charCodeAt(0) - 64, 0) - 1;
}

/** Writes rows at the numbers that the sheet shows: rows between them are empty lines. */
async function sheetAsCsv(bytes: Buffer, texts: readonly string[]): Promise<Uint8Array> {
  const lines: string[] = [];
  let length = 0;
  /** The length of the cells of this row, which may all refer to one long text. */
  let rowLength = 0;
  let row = 0;
  let cells: string[] = [];
  let cell = { column: -1, type: '', text: '', isValue: false };
  const checkLength = (characters: number) => {
    if (characters <= CSV_BYTES_MAX) return;
    throw new Problem('too-large', `A file may have at most ${CSV_BYTES_MAX} bytes.`);
  };
  const add = (line: string) => {
    length += line.length;
    checkLength(length);
    lines.push(line);
  };
  function endCell(): void {
    const { column, type, text } = cell;
    const value = type === 's' ? (texts[Number(text)] ?? '') : type === 'e' ? '' : type === '' ? whole(text) : text;
    if (value === '') return;
    rowLength += value.length;
    checkLength(length + rowLength);
    if (column >= COLUMNS_MAX) throw refusal('file', '#', `row ${row} has more than ${COLUMNS_MAX} columns`);
    while (cells.length < column) cells.push('');
    cells[column] = value;
  }
  function endRow(): void {
    if (cells.length === 0) return;
    if (row <= lines.length) throw damaged();
    if (row > CSV_LINES_MAX) {
      throw new Problem('too-large', `A file may have at most ${CSV_LINES_MAX} rows, including empty ones.`);
    }
    while (lines.length < row - 1) add('\r\n');
    add(plainLine(cells));
  }
  await parse(bytes, {
    open: (name, { r, t = '' }) => {
      if (name === 'row') {
        row = r === undefined ? row + 1 : Number(r);
        cells = [];
        rowLength = 0;
        cell.column = -1;
      }
      if (name === 'c') {
        const type = t === 'n' ? '' : t;
        cell = { column: columnOf(r, cell.column + 1), type, text: '', isValue: false };
      }
      cell.isValue = name === 'v' || name === 't';
    },
    text: (text) => {
      if (cell.isValue) cell.text += text;
    },
    close: (name) => {
      if (name === 'c') endCell();
      if (name === 'row') endRow();
      cell.isValue = false;
    },
  });
  if (lines.length === 0) throw refusal('file', '#', 'its first sheet is empty');
  return Buffer.from(lines.join(''), 'utf8');
}

/** A number may be written as 2.7825550201E10, with all its digits. */
const whole = (text: string): string =>
  /E/i.test(text) && Number.isSafeInteger(Number(text)) ? String(Number(text)) : text;
