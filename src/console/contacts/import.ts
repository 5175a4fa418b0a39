import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import { counted, grouped } from '../../base/counted.ts';
import { type Html, html } from '../../base/html.ts';
import { Problem, toProblem } from '../../base/problem.ts';
import type { Output } from '../../operator/action.ts';
import { contactImport } from '../../operator/actions/files.ts';
import { CSV_BYTES_MAX, readHeader } from '../../transfer/csv.ts';
import { fieldRow, hidden, problemNote, refusalOf, screen, select, table, check as tick } from '../lists.ts';
import { get, type PageRequest, post, type View } from '../page-request.ts';
import { backLink, button, head, note, steps, tablePanel, tile } from '../parts.ts';
import { reporting } from '../progress.ts';

/**
 * Imports contacts from a CSV file in steps: read, check, import. The page itself carries the file
 * from step to step, so that any process can answer the next step, and nothing is stored of a file
 * that is not imported.
 */

const texts = {
  title: 'Import contacts',
  steps: ['File', 'Columns and check', 'Done'],
  back: 'Contacts',
  counted: 'The rows of the file',
  file: 'CSV file',
  fileHint:
    'At most 10 MiB and 100,000 rows. Commas, semicolons, tabs or vertical bars; UTF-8, UTF-16 or Windows-1252. The first row names the columns.',
  read: 'Read the file',
  noFile: 'Choose a file first.',
  check: 'Check the file',
  columns: 'Choose the columns',
  columnsLabel: 'Columns',
  fields: { mobile: 'Number', name: 'First name', surname: 'Surname', group: 'Group' },
  byName: 'by its name, if there is one',
  group: 'Group for rows that name no group',
  noGroup: 'no group',
  again: 'Check again',
  counts: (rows: number) => `The file has ${counted(rows, 'row')}.`,
  added: 'to be added',
  changed: 'to be changed',
  unchanged: 'unchanged',
  duplicates: 'more than once in the file (the first row counts)',
  bad: 'wrong',
  groupsAdded: 'new groups',
  errors: 'Rows that are wrong',
  errorColumns: ['Row', 'Column', 'What is wrong', 'Proposal'],
  lost: 'type the number again',
  more: (count: number) => `and ${grouped(count)} more`,
  skip: 'Leave out the wrong rows and import the others',
  submit: 'Import',
  refused: 'If a row is wrong, nothing is imported unless you leave the wrong rows out.',
  importing: 'The contacts are being imported …',
  done: (added: number, changed: number, bad: number) =>
    `Imported: ${counted(added, 'contact')} added, ${grouped(changed)} changed, ${grouped(bad)} left out.`,
  toContacts: 'To the contacts',
} as const;

type Found = Output<typeof contactImport>;

const FIELDS = ['mobile', 'name', 'surname', 'group'] as const;
const LABELS = { file: texts.file, columns: texts.columnsLabel, group: texts.group };
const COLUMNS_MAX = 100;
const ERRORS_SHOWN = 200;
/** Enough for the file in base64 and the other fields. */
const FORM_BYTES_MAX = Math.ceil((CSV_BYTES_MAX * 4) / 3) + 65_536;

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
<div class="field"><label for="file">${texts.file}</label><input id="file" name="file" type="file" accept=".csv,.txt,text/csv" required aria-describedby="file-hint"><p class="hint" id="file-hint">${texts.fileHint}</p></div>
<div class="row">${button(texts.read, { look: 'primary' })}</div></form></section>`;
  return screen(texts.title, 'contacts', main, problem);
};

/** The chosen columns, as `mobile:Cell,name:First name`. */
const columnsOf = ({ form }: PageRequest): string =>
  FIELDS.flatMap((name) =>
    form.text(`column-${name}`) === '' ? [] : [`${name}:${form.text(`column-${name}`)}`],
  ).join();

function queryOf(request: PageRequest, isDryRun: boolean): Record<string, string> {
  const { form } = request;
  const columns = columnsOf(request);
  return {
    dry_run: String(isDryRun),
    skip_bad: String(form.has('skip_bad') || isDryRun),
    ...(columns === '' ? {} : { columns }),
    ...(form.text('group') === '' ? {} : { group: form.text('group') }),
  };
}

const check = async (request: PageRequest): Promise<View> => {
  const { form, act, account } = request;
  const file = form.file('file');
  let upload: Uint8Array;
  let headers: string[];
  try {
    if (!file && !form.has('kept')) throw new Problem('bad-argument', texts.noFile);
    upload = file?.bytes ?? (await decompressed(form.raw('kept')));
    headers = (await readHeader(upload)).slice(0, COLUMNS_MAX);
  } catch (thrown) {
    return fileForm(request, refusalOf(thrown));
  }
  if (form.text('act') === 'import') return importNow(request, upload);
  let problem: Problem | null = null;
  let found: Found | null = null;
  try {
    found = await act.run(contactImport, {
      params: { username: account.username },
      query: queryOf(request, true),
      upload,
    });
  } catch (thrown) {
    problem = refusalOf(thrown);
  }
  return checkPage(request, upload, headers, found, problem);
};

async function checkPage(
  request: PageRequest,
  upload: Uint8Array,
  headers: readonly string[],
  found: Found | null,
  problem: Problem | null,
): Promise<View> {
  const { base, form, domain, account } = request;
  const groups = await domain.contacts.groups(account.id, 500, null);
  // The action separates pairs by commas, so a header with a comma can only be found by its name.
  const named = headers.filter((each) => each !== '' && !each.includes(','));
  const choices: (readonly [string, string])[] = [['', texts.byName], ...named.map((each) => [each, each] as const)];
  const mapping = FIELDS.map((name) =>
    select({ name: `column-${name}`, label: texts.fields[name], value: form.text(`column-${name}`), choices }),
  );
  const groupNames = groups.map(({ id, name }) => [String(id), name ?? String(id)] as const);
  const groupChoices: (readonly [string, string])[] = [['', texts.noGroup], ...groupNames];
  const canImport = found !== null && found.rows > found.bad;
  const skip = found && found.bad > 0 ? html`${note('wait', texts.refused)}${tick('skip_bad', texts.skip)}` : '';
  const main = html`${backLink(`${base}/contacts`, texts.back)}${head(texts.check)}${steps(texts.steps, 1)}${problemNote(problem, LABELS)}${found ? countsOf(found) : ''}
<section class="panel"><header><h2>${texts.columns}</h2></header><form class="in" method="post" action="${base}/import" enctype="multipart/form-data">${hidden({ kept: await compressed(upload) })}
${fieldRow([...mapping, select({ name: 'group', label: texts.group, value: form.text('group'), choices: groupChoices })])}${skip}
<div class="row">${button(texts.again, { act: 'check' })}${canImport ? button(texts.submit, { act: 'import', look: 'primary' }) : ''}</div></form></section>
${found ? errorsOf(found) : ''}`;
  return screen(texts.check, 'contacts', main, problem);
}

function countsOf(found: Found): Html {
  const names = ['added', 'changed', 'unchanged', 'duplicates', 'bad', 'groupsAdded'] as const;
  return html`<p>${texts.counts(found.rows)}</p><ul class="tiles" aria-label="${texts.counted}">${names.map((name) => tile({ key: name, label: texts[name], figure: grouped(found[name]) }))}</ul>`;
}

function errorsOf({ errors, errorsLeftOut }: Found): Html {
  if (errors.length === 0) return html``;
  const rows = errors.slice(0, ERRORS_SHOWN).map(({ row, field, detail, proposal }) => ({
    key: `${row}/${field}`,
    cells: [
      html`${row}`,
      html`${field}`,
      html`${detail}`,
      html`${proposal ?? (/digits are lost/.test(detail) ? texts.lost : '')}`,
    ],
  }));
  const more = errors.length - rows.length + errorsLeftOut;
  return html`${tablePanel(texts.errors, table({ caption: texts.errors, columns: texts.errorColumns, rows }))}${more > 0 ? html`<p>${texts.more(more)}</p>` : ''}`;
}

/** An import may take some seconds, so the page says so before it begins. */
const importNow = (request: PageRequest, upload: Uint8Array): View => ({
  kind: 'progress',
  title: texts.title,
  pieces: importing(request, upload),
});

async function* importing(request: PageRequest, upload: Uint8Array): AsyncGenerator<Html> {
  const { act, account, base } = request;
  yield head(texts.title, texts.importing);
  try {
    const given = { params: { username: account.username }, query: queryOf(request, false), upload };
    const { added, changed, bad } = yield* reporting((progress) => act.run(contactImport, { ...given, progress }));
    yield note('good', texts.done(added, changed, bad));
  } catch (thrown) {
    yield problemNote(toProblem(thrown, ''), LABELS);
  }
  yield html`<p><a class="btn" href="${base}/contacts">${texts.toContacts}</a></p>`;
}

export const importRoutes = [
  get('/import', async (request) => fileForm(request, null)),
  post('/import', check, FORM_BYTES_MAX),
];
