import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import { type Html, html } from '../../base/html.ts';
import { Problem, toProblem } from '../../base/problem.ts';
import { CONTACT_TEXT_LENGTH_MAX } from '../../domain/contacts/contacts.ts';
import type { Output } from '../../operator/action.ts';
import { contactImport } from '../../operator/actions/contacts/files.ts';
import { type ContactField, FILE_FIELDS, guessColumns } from '../../transfer/contact-columns.ts';
import { type Mend, mended } from '../../transfer/contact-csv.ts';
import { CSV_BYTES_MAX, LIKE_A_NUMBER, readHeader, readRows } from '../../transfer/csv.ts';
import { readWorkbook } from '../../transfer/workbook.ts';
import { counted, grouped } from '../counts.ts';
import type { Form } from '../form.ts';
import { fieldRow, hidden, problemNote, type Row, refusalOf, screen, select, table, check as tick } from '../lists.ts';
import { get, type PageRequest, post, type View } from '../page-request.ts';
import { backLink, button, head, note, steps, tablePanel, tile } from '../parts.ts';
import { reporting } from '../progress.ts';
import { clamped } from '../words.ts';

/**
 * Imports contacts from a CSV file or an Excel workbook in steps: read, mend, import. The page
 * itself carries the file from step to step, as CSV, so that any process can answer the next step,
 * and nothing is stored of a file that is not imported. What is mended in the page is written into
 * that file.
 */

const texts = {
  title: 'Import contacts',
  steps: ['File', 'Columns and rows', 'Done'],
  back: 'Contacts',
  counted: 'The rows of the file',
  file: 'CSV file or Excel workbook',
  fileHint:
    'At most 10 MiB and 100,000 rows. Of a workbook (.xlsx), the first sheet is read. Any usual separator and encoding of CSV will do.',
  read: 'Read the file',
  noFile: 'Choose a file first.',
  check: 'Check the file',
  columns: 'Columns',
  columnsLabel: 'Columns',
  fields: { mobile: 'Number', name: 'First name', surname: 'Surname', group: 'Group' },
  unused: 'not in the file',
  position: (letter: string, example: string) =>
    example === '' ? `Column ${letter}` : `Column ${letter} (${example})`,
  noHeader: 'The first row is one of the data',
  choose: 'Choose the column that has the numbers, then check again.',
  group: 'Group for rows that name no group',
  noGroup: 'no group',
  again: 'Check again',
  counts: (name: string, rows: number) => html`${name === '' ? 'The file' : `“${name}”`} has ${counted(rows, 'row')}.`,
  added: 'To be added',
  changed: 'To be changed',
  unchanged: 'Unchanged',
  duplicates: 'Repeated in the file',
  bad: 'To be mended',
  groupsAdded: 'New groups',
  mend: 'Rows to be mended',
  mendColumns: ['Row', 'Who', 'In the file', 'Use instead', 'What is wrong'],
  mendLabel: (field: string, row: number) => `${field} to use in row ${row}`,
  mendHint: 'Correct what is in the fields. A row whose number you leave empty is left out.',
  more: (count: number) =>
    html`${counted(count, 'more row')} ${count === 1 ? 'is' : 'are'} wrong. Check again to see the next ones; otherwise they are left out.`,
  still: (count: number) => `${count === 1 ? '1 row is' : `${count} rows are`} still wrong. Nothing was imported.`,
  submit: (rows: number) => html`Import ${counted(rows, 'row')}`,
  importing: 'The contacts are being imported …',
  done: (added: number, changed: number, bad: number) =>
    html`Imported: ${counted(added, 'contact')} added, ${grouped(changed)} changed, ${grouped(bad)} left out.`,
  toContacts: 'To the contacts',
} as const;

type Found = Output<typeof contactImport>;

const LABELS = { file: texts.file, columns: texts.columnsLabel, group: texts.group };
const COLUMNS_MAX = 100;
const MENDED_AT_ONCE = 100;
const EXAMPLE_LENGTH = 20;
/** Enough for the file in base64 and the other fields. */
const FORM_BYTES_MAX = Math.ceil((CSV_BYTES_MAX * 4) / 3) + 131_072;

/** Compresses in another thread, because 10 MiB of random bytes take more than 200 ms. */
export const compressed = async (bytes: Uint8Array): Promise<string> =>
  (await promisify(gzip)(bytes, { level: 1 })).toString('base64');
export async function decompressed(text: string): Promise<Uint8Array> {
  try {
    return await promisify(gunzip)(Buffer.from(text, 'base64'), { maxOutputLength: CSV_BYTES_MAX + 1 });
  } catch {
    throw new Problem('malformed', texts.noFile);
  }
}

const fileForm = ({ base }: PageRequest, problem: Problem | null): View => {
  const main = html`${backLink(`${base}/contacts`, texts.back)}${head(texts.title)}${steps(texts.steps, 0)}${problemNote(problem, LABELS)}
<section class="panel"><form class="in" method="post" action="${base}/import" enctype="multipart/form-data">
<div class="field"><label for="file">${texts.file}</label><input id="file" name="file" type="file" accept=".csv,.txt,.xlsx,text/csv" required aria-describedby="file-hint"><p class="hint" id="file-hint">${texts.fileHint}</p></div>
<div class="row">${button(texts.read, { look: 'primary' })}</div></form></section>`;
  return screen(texts.title, 'contacts', main, problem);
};

/** The file as CSV, with what the page knows about it. */
interface KeptFile {
  readonly csv: Uint8Array;
  readonly name: string;
  /** The cells of the first row. */
  readonly first: readonly string[];
  readonly hasHeader: boolean;
  readonly columns: Columns;
  /** The rows that were left out until now. */
  readonly leftOut: number;
}
/** The index of the column of each field. */
type Columns = Partial<Record<ContactField, number>>;

async function keptFile({ form }: PageRequest): Promise<KeptFile> {
  const file = form.file('file');
  if (!file) {
    if (!form.has('kept')) throw new Problem('bad-argument', texts.noFile);
    const mends = mendsOf(form);
    const csv = await mended(await decompressed(form.raw('kept')), mends);
    const before = /^\d{1,6}$/.test(form.text('leftOut')) ? Number(form.text('leftOut')) : 0;
    const leftOut = before + [...mends.values()].filter((each) => each === 'left-out').length;
    const first = (await readHeader(csv)).slice(0, COLUMNS_MAX);
    const columns = columnsIn(form, (field) => `column-${field}`);
    return { csv, name: form.text('fileName'), first, hasHeader: !form.has('noHeader'), columns, leftOut };
  }
  const sheet = await readWorkbook(file.bytes);
  const csv = sheet?.csv ?? file.bytes;
  const first = (await readHeader(csv)).slice(0, COLUMNS_MAX);
  const hasHeader = !first.some((cell) => LIKE_A_NUMBER.test(cell));
  const name = (sheet ? `${file.name}, ${sheet.name}` : file.name).slice(0, NAME_LENGTH_MAX);
  return { csv, name, first, hasHeader, columns: hasHeader ? guessColumns(first) : guessByContent(first), leftOut: 0 };
}
const NAME_LENGTH_MAX = 100;

/** Without a header: the first number, and the texts from the left. */
function guessByContent(first: readonly string[]): Columns {
  const mobile = first.findIndex((cell) => LIKE_A_NUMBER.test(cell));
  const [name, surname] = first.flatMap((cell, index) => (/\p{L}/u.test(cell) ? [index] : []));
  return { mobile, ...(name === undefined ? {} : { name }), ...(surname === undefined ? {} : { surname }) };
}

function columnsIn(form: Form, nameOf: (field: ContactField) => string): Columns {
  const columns: Columns = {};
  for (const field of FILE_FIELDS) {
    const value = form.text(nameOf(field));
    if (/^\d{1,2}$/.test(value)) columns[field] = Number(value);
  }
  return columns;
}

const MEND = /^mend-(\d{1,6})-(mobile|name|surname|group)$/;

/** The values that a person typed into the rows, at the columns that the page had then. */
function mendsOf(form: Form): Map<number, Mend> {
  const columns = columnsIn(form, (field) => `mapped-${field}`);
  const mends = new Map<number, Mend>();
  for (const [key, value] of form.fields) {
    const [, number, field] = MEND.exec(key) ?? [];
    const row = Number(number);
    const column = columns[field as ContactField];
    if (column === undefined) continue;
    const known = mends.get(row);
    if (known === 'left-out') continue;
    if (field === 'mobile' && value.trim() === '') mends.set(row, 'left-out');
    else mends.set(row, new Map([...(known ?? []), [column, value.trim()]]));
  }
  return mends;
}

/** The columns as the action takes them. Every field is named, so that it guesses none. */
const queryOf = (
  { form }: PageRequest,
  { columns, hasHeader }: KeptFile,
  isDryRun: boolean,
): Record<string, string> => ({
  dry_run: String(isDryRun),
  skip_bad: 'true',
  no_header: String(!hasHeader),
  columns: FILE_FIELDS.map(
    (field) => `${field}:${columns[field] === undefined ? '-' : `#${columns[field] + 1}`}`,
  ).join(),
  ...(form.text('group') === '' ? {} : { group: form.text('group') }),
});

const check = async (request: PageRequest): Promise<View> => {
  const { form, act, account } = request;
  let file: KeptFile;
  try {
    file = await keptFile(request);
  } catch (thrown) {
    return fileForm(request, refusalOf(thrown));
  }
  if (file.columns.mobile === undefined)
    return checkPage(request, file, null, new Problem('bad-argument', texts.choose));
  let found: Found;
  try {
    const query = queryOf(request, file, true);
    found = await act.run(contactImport, { params: { username: account.username }, query, upload: file.csv });
  } catch (thrown) {
    return checkPage(request, file, null, refusalOf(thrown));
  }
  if (form.text('act') !== 'import') return checkPage(request, file, found, null);
  // Rows that the page has shown are not left out silently: they were to be mended.
  const shown = mendsOf(form);
  const still = new Set(found.errors.flatMap(({ row }) => (shown.has(row) ? [row] : []))).size;
  if (still > 0) return checkPage(request, file, found, new Problem('bad-argument', texts.still(still)));
  return importNow(request, file);
};

async function checkPage(
  request: PageRequest,
  file: KeptFile,
  found: Found | null,
  problem: Problem | null,
): Promise<View> {
  const { base, form, domain, account } = request;
  const { csv, name, first, hasHeader, columns } = file;
  const groups = await domain.contacts.groups(account.id, 500, null);
  const choices = first.map(
    (cell, index) => [String(index), hasHeader && cell !== '' ? cell : columnName(index, cell)] as const,
  );
  const mapping = FILE_FIELDS.map((field) =>
    select({
      name: `column-${field}`,
      label: texts.fields[field],
      value: String(columns[field] ?? ''),
      choices: [['', texts.unused], ...choices],
    }),
  );
  const groupNames = groups.map(({ id, name: groupName }) => [String(id), groupName ?? String(id)] as const);
  const groupChoices: (readonly [string, string])[] = [['', texts.noGroup], ...groupNames];
  const mapped = FILE_FIELDS.flatMap((field) =>
    columns[field] === undefined ? [] : [[`mapped-${field}`, String(columns[field])]],
  );
  const kept = {
    kept: await compressed(csv),
    fileName: name,
    leftOut: String(file.leftOut),
    ...Object.fromEntries(mapped),
  };
  const faults = found ? await faultRows(found, file) : [];
  const rows = found
    ? found.rows - found.bad + new Set(faults.flatMap(({ key, isReady }) => (isReady ? [key.split('/')[0]] : []))).size
    : 0;
  const main = html`${backLink(`${base}/contacts`, texts.back)}${head(texts.check)}${steps(texts.steps, 1)}${problemNote(problem, LABELS)}${found ? countsOf(name, found) : ''}
<form class="stack" method="post" action="${base}/import" enctype="multipart/form-data">${hidden(kept)}
${found && faults.length > 0 ? mendPanel(found, faults) : ''}
<section class="panel"><header><h2>${texts.columns}</h2></header><div class="in">${fieldRow(mapping)}${fieldRow([select({ name: 'group', label: texts.group, value: form.text('group'), choices: groupChoices })])}${tick('noHeader', texts.noHeader, 'on', !hasHeader)}</div></section>
<div class="cta"><span class="small">${faults.length > 0 ? texts.mendHint : ''}</span>${button(texts.again, { act: 'check' })}${rows > 0 ? button(texts.submit(rows), { act: 'import', look: 'primary' }) : ''}</div></form>`;
  return screen(texts.check, 'contacts', main, problem);
}

/** A spreadsheet's letters: A to Z, then AA. */
const columnName = (index: number, example: string): string => {
  const letter = index < 26 ? '' : String.fromCharCode(64 + Math.floor(index / 26));
  return texts.position(`${letter}${String.fromCharCode(65 + (index % 26))}`, example.slice(0, EXAMPLE_LENGTH));
};

function countsOf(name: string, found: Found): Html {
  const names = ['added', 'changed', 'unchanged', 'duplicates', 'bad', 'groupsAdded'] as const;
  return html`<p>${texts.counts(name, found.rows)}</p><ul class="tiles" aria-label="${texts.counted}">${names.map((each) => tile({ key: each, label: texts[each], value: grouped(found[each]) }))}</ul>`;
}

interface FaultRow extends Row {
  /** Whether the row would be imported with what is proposed. */
  readonly isReady: boolean;
}

/** Each wrong value with the person that it is about, and a field with the proposal. */
async function faultRows({ errors }: Found, { csv, columns }: KeptFile): Promise<FaultRow[]> {
  const shown = errors.slice(0, MENDED_AT_ONCE);
  const wanted = new Set(shown.map(({ row }) => row));
  const records = new Map<number, readonly string[]>();
  if (wanted.size > 0) {
    for await (const { row, record } of readRows(csv)) if (wanted.has(row)) records.set(row, record);
  }
  return shown.map((fault) => {
    const cellOf = (field: ContactField) =>
      (records.get(fault.row)?.[columns[field] ?? -1] ?? '').slice(0, VALUE_LENGTH_MAX);
    const field = fault.field as ContactField;
    const value = fault.proposal ?? (field === 'mobile' ? '' : proposedText(cellOf(field)));
    const input = html`<input name="mend-${fault.row}-${field}" value="${value}" aria-label="${texts.mendLabel(texts.fields[field], fault.row)}"${field === 'mobile' ? html` inputmode="tel"` : ''} autocomplete="off">`;
    return {
      key: `${fault.row}/${field}`,
      cells: [
        html`${fault.row}`,
        clamped(`${cellOf('name')} ${cellOf('surname')}`, 100),
        cellOf(field).length > SHORT
          ? html`<bdi>${cellOf(field)}</bdi>`
          : html`<bdi class="num">${cellOf(field)}</bdi>`,
        input,
        html`${fault.detail}`,
      ],
      isReady: value !== '' && errors.every((each) => each.row !== fault.row || each.proposal !== null),
    };
  });
}
const VALUE_LENGTH_MAX = 300;
/** Such a value is on one line. */
const SHORT = 20;

const proposedText = (text: string): string => text.replace(/\p{Cc}+/gu, ' ').slice(0, CONTACT_TEXT_LENGTH_MAX);

function mendPanel({ errors, errorsLeftOut }: Found, faults: readonly FaultRow[]): Html {
  const more = errors.length - faults.length + errorsLeftOut;
  return html`${tablePanel(texts.mend, table({ caption: texts.mend, columns: texts.mendColumns, rows: faults }))}
${more > 0 ? html`<p class="hint">${texts.more(more)}</p>` : ''}`;
}

/** An import may take some seconds, so the page says so before it begins. */
const importNow = (request: PageRequest, file: KeptFile): View => ({
  kind: 'progress',
  title: texts.title,
  pieces: importing(request, file),
});

async function* importing(request: PageRequest, file: KeptFile): AsyncGenerator<Html> {
  const { act, account, base } = request;
  yield head(texts.title, texts.importing);
  try {
    const given = { params: { username: account.username }, query: queryOf(request, file, false), upload: file.csv };
    const { added, changed, bad } = yield* reporting((progress) => act.run(contactImport, { ...given, progress }));
    yield note('good', texts.done(added, changed, bad + file.leftOut));
  } catch (thrown) {
    yield problemNote(toProblem(thrown, ''), LABELS);
  }
  yield html`<p><a class="btn" href="${base}/contacts">${texts.toContacts}</a></p>`;
}

export const importRoutes = [
  get('/import', async (request) => fileForm(request, null)),
  post('/import', check, FORM_BYTES_MAX),
];
