import { type Html, html, joined } from '../../base/html.ts';
import type { Problem } from '../../base/problem.ts';
import { hasFields } from '../../sms/fields.ts';
import { charactersBeyondGsm7, partsOf, splitText } from '../../sms/parts.ts';
import { counted, grouped } from '../counts.ts';
import { area, check, checks, field, fieldRow, problemNote, withFirstLine } from '../lists.ts';
import { get, type PageRequest, page, post, type View } from '../page-request.ts';
import { button, head, note, panel, steps } from '../parts.ts';
import { CHECK_BYTES_MAX, COMPOSE_LABELS, checkDraft, newKey, writeDraft } from './check.ts';
import { asWritten, findDraft } from './draft.ts';
import { columnsOf } from './recipients.ts';
import { sendMessage } from './send.ts';

/** Writing a message. Nothing is sent from here: the next page checks it first. */

const texts = {
  title: 'New message',
  steps: ['Write', 'Check', 'Sent'],
  to: 'To whom',
  text: 'What',
  when: 'When',
  toHint: 'Phone numbers or names of contacts, one per line or separated by commas.',
  chooseContacts: 'Choose contacts',
  groups: 'Groups',
  groupSaid: (name: string, count: number) => html`${name} (${grouped(count)})`,
  fileHint:
    'CSV with a column mobile, number or phone, or numbers alone. Its other columns can be put into the text. At most 10 MiB.',
  fields: 'Put in for each person:',
  fieldsHint:
    'Write the name of a column of the file, or of what is known of a contact, in double parentheses. The check shows what each person will read, and names whoever lacks a value.',
  fileKept: (name: string, count: number) => html`Kept from ${name}: ${counted(count, 'number')}.`,
  fileDrop: 'Do not use these numbers',
  template: 'Template',
  noTemplate: 'no template',
  useTemplate: 'Put it into the text',
  whenHint: 'Empty: at once.',
  notAfterHint: 'Empty: Columba tries for the usual time before it gives up.',
  referenceHint: 'Your own, such as an order number. It appears in the list of sent messages.',
  submit: 'Check',
  credits: (free: Html) => html`Free credits: ${free}. Each part costs one.`,
  count: {
    parts: (parts: number) => counted(parts, 'part'),
    gsm7: 'GSM alphabet',
    ucs2: 'Unicode alphabet',
    cost: (parts: number) => html`${counted(parts, 'credit')} for each number`,
    because: (characters: string) => `because of ${characters}`,
    instead: (character: string, cheaper: string) => `${character} (use ${cheaper} to pay less)`,
    blank: 'a blank',
    fields: 'counted again with the values of each person at the check',
  },
} as const;

/** Characters that make a text Unicode, with their equivalents in the GSM alphabet. */
const cheaper: Readonly<Record<string, string>> = {
  '’': "'",
  '‘': "'",
  '‚': "'",
  '`': "'",
  '´': "'",
  '“': '"',
  '”': '"',
  '„': '"',
  '«': '"',
  '»': '"',
  '…': '...',
  '–': '-',
  '—': '-',
  '−': '-',
  '•': '*',
  '×': 'x',
  '\u00a0': ' ',
  '\u202f': ' ',
  '\t': ' ',
};

const TEXT_LENGTH_MAX = 10_000;
const GROUPS_MAX = 500;
const CHARACTERS_MAX = 5;
/** The length of the numbers in an address, such as those of selected contacts. */
const ADDRESS_NUMBERS_MAX = 2_000;

/** What was typed, from a form or an address. */
interface Typed {
  readonly key: string;
  readonly to: string;
  readonly groups: readonly string[];
  readonly text: string;
  readonly when: string;
  readonly notAfter: string;
  readonly reference: string;
  readonly fileNumbers: string;
  readonly fileColumns: string;
  readonly fileName: string;
}

/** Returns '' if there is no such template. */
async function templateText({ domain, account }: PageRequest, position: string): Promise<string> {
  if (!/^\d{1,19}$/.test(position)) return '';
  const all = await domain.templates.all(account.id, GROUPS_MAX);
  return all.find((each) => each.position === BigInt(position))?.text ?? '';
}

async function typedInAddress(request: PageRequest): Promise<Typed> {
  const { query } = request;
  const draft = await findDraft(request, query.get('draft') ?? '');
  if (draft?.written) return typedInForm(asWritten(request, draft.written));
  const text = await templateText(request, query.get('template') ?? '');
  const groups = query.get('group') ? [query.get('group') as string] : [];
  const others = { when: '', notAfter: '', reference: '', fileNumbers: '', fileColumns: '', fileName: '' };
  return { key: newKey(), to: (query.get('to') ?? '').slice(0, ADDRESS_NUMBERS_MAX), groups, text, ...others };
}

const typedInForm = ({ form }: PageRequest): Typed => ({
  key: form.text('key') || newKey(),
  to: form.raw('to'),
  groups: form.all('group'),
  text: form.raw('text'),
  when: form.text('when'),
  notAfter: form.text('notAfter'),
  reference: form.text('reference'),
  fileNumbers: form.has('dropFile') ? '' : form.raw('fileNumbers'),
  fileColumns: form.raw('fileColumns'),
  fileName: form.text('fileName'),
});

async function composePage(request: PageRequest, typed: Typed, problem: Problem | null): Promise<View> {
  const { base, domain, account } = request;
  const groups = await domain.contacts.groups(account.id, GROUPS_MAX, null);
  const templates = await domain.templates.all(account.id, GROUPS_MAX);
  const { free } = await domain.ledger.balances(account.id);
  const choices = groups.map(({ id, name, total }) => {
    const isChosen = typed.groups.includes(String(id));
    return check('group', texts.groupSaid(name ?? String(id), total), String(id), isChosen);
  });
  const counter = html` data-count="${base}/compose/count" data-output="text-hint"`;
  const toHint = html`${texts.toHint} <a href="${base}/contacts">${texts.chooseContacts}</a>`;
  const to = html`${area({ name: 'to', label: COMPOSE_LABELS.recipients, value: typed.to, hint: toHint })}
${groups.length > 0 ? checks(texts.groups, choices) : ''}
<div class="field"><label for="file">${COMPOSE_LABELS.file}</label><input id="file" name="file" type="file" accept=".csv,.txt,text/csv" aria-describedby="file-hint"><p class="hint" id="file-hint">${texts.fileHint}</p></div>${keptFile(typed)}`;
  const text = html`${area({ name: 'text', label: COMPOSE_LABELS.text, value: typed.text, rows: 5, isRequired: true, lengthMax: TEXT_LENGTH_MAX, more: html`${counter} aria-describedby="text-hint"` })}
<p class="count" id="text-hint" aria-live="polite">${typed.text === '' ? '' : countSaid(typed.text)}</p>${fieldsSaid(typed)}${templates.length > 0 ? templatePicker(templates) : ''}`;
  const when = fieldRow([
    field({
      name: 'when',
      label: COMPOSE_LABELS.sendAt,
      type: 'datetime-local',
      value: typed.when,
      hint: texts.whenHint,
    }),
    field({
      name: 'notAfter',
      label: COMPOSE_LABELS.notAfter,
      type: 'datetime-local',
      value: typed.notAfter,
      hint: texts.notAfterHint,
    }),
    field({
      name: 'reference',
      label: COMPOSE_LABELS.reference,
      value: typed.reference,
      hint: texts.referenceHint,
      lengthMax: 200,
    }),
  ]);
  const main = html`${head(texts.title)}${steps(texts.steps, 0)}${problemNote(problem, COMPOSE_LABELS)}
<form class="stack" method="post" action="${base}/compose/check" enctype="multipart/form-data"><input type="hidden" name="key" value="${typed.key}">
${panel({ title: texts.to, content: to })}${panel({ title: texts.text, content: text })}${panel({ title: texts.when, content: when })}
<div class="cta"><span class="small">${texts.credits(grouped(free))}</span>${button(texts.submit, { look: 'primary' })}</div></form>`;
  // The page holds no stored message, so a browser that goes back may keep what was typed.
  const cacheControl = problem === null ? 'private, no-cache' : 'no-store';
  return page(texts.title, main, { current: 'compose', cacheControl, ...(problem ? { status: 400 } : {}) });
}

/** The fields that a text may have: columns of the file, and what contacts have. */
const TEXT_FIELDS = ['first name', 'last name', 'full name', 'mobile'];
const fieldsSaid = ({ fileColumns }: Typed): Html =>
  html`<details class="fold"><summary>${texts.fields} <code>((first name))</code> …</summary><p>${[...columnsOf(fileColumns), ...TEXT_FIELDS].map((name) => html`<code data-copy>((${name}))</code> `)}</p><p class="hint">${texts.fieldsHint}</p></details>`;

/** The picker is within the form, so that nothing that was typed is lost. */
const templatePicker = (templates: readonly { readonly position: bigint; readonly text: string }[]): Html =>
  html`<div class="row end"><div class="field"><label for="template">${texts.template}</label><select id="template" name="template"><option value="">${texts.noTemplate}</option>${templates.map(
    ({ position, text }) => html`<option value="${position.toString()}">${text.slice(0, 60)}</option>`,
  )}</select></div><button class="btn s" name="act" value="template" formnovalidate>${texts.useTemplate}</button></div>`;

function keptFile({ fileNumbers, fileColumns, fileName }: Typed): Html {
  if (fileNumbers === '') return html``;
  const count = fileNumbers.split('\n').filter((number) => number !== '').length;
  return html`${note('', html`<p>${texts.fileKept(fileName, count)}</p>${check('dropFile', texts.fileDrop)}`)}
<textarea hidden name="fileNumbers">${withFirstLine(fileNumbers)}</textarea><input type="hidden" name="fileColumns" value="${fileColumns}"><input type="hidden" name="fileName" value="${fileName}">`;
}

/** `2 parts · Unicode alphabet because of ’ (use ' to pay less) · 2 credits for each number`. */
function countSaid(text: string): Html {
  const { parts, encoding } = splitText(text);
  const alphabet = encoding === 'gsm7' ? texts.count.gsm7 : `${texts.count.ucs2} ${costly(text, parts.length)}`;
  const said = [texts.count.parts(parts.length), alphabet, texts.count.cost(parts.length)];
  return joined(hasFields(text) ? [...said, texts.count.fields] : said, ' · ');
}

/** The characters that make a text Unicode, with cheaper ones if they save a part. */
function costly(text: string, parts: number): string {
  const characters = charactersBeyondGsm7(text);
  const written = [...text].map((character) => cheaper[character] ?? character).join('');
  const isCheaper = partsOf(written) < parts;
  const shown = characters.slice(0, CHARACTERS_MAX).map((character) => {
    const other = isCheaper ? cheaper[character] : undefined;
    return other === undefined ? character : texts.count.instead(character, other === ' ' ? texts.count.blank : other);
  });
  return texts.count.because(shown.join(', ') + (characters.length > CHARACTERS_MAX ? ' …' : ''));
}

const count = async ({ form }: PageRequest): Promise<View> => ({
  kind: 'fragment',
  html: countSaid(form.raw('text').slice(0, TEXT_LENGTH_MAX)),
});

const again = (request: PageRequest, problem: Problem | null): Promise<View> =>
  composePage(request, typedInForm(request), problem);

const write = async (request: PageRequest): Promise<View> => {
  const act = request.form.text('act');
  // Enter in a field presses the first button of the form; without a template it is the check.
  if (act === 'template' && request.form.text('template') !== '') return withTemplate(request);
  return writeDraft(request, request.form.text('key'), again);
};

/** Shows everything as it was typed, with the template added to the text. */
async function withTemplate(request: PageRequest): Promise<View> {
  const typed = typedInForm(request);
  const template = await templateText(request, request.form.text('template'));
  const text = [typed.text, template].filter((each) => each.trim() !== '').join('\n');
  return composePage(request, { ...typed, text }, null);
}

export const composeRoutes = [
  get('/compose', async (request) => composePage(request, await typedInAddress(request), null)),
  // Another address than that of the form, because a browser forgets a page after a POST to its
  // address, and going back must find the same page with the same key.
  post('/compose/check', write, CHECK_BYTES_MAX),
  get('/compose/check/:draft', (request) => checkDraft(request, again)),
  post('/compose/count', count),
  post('/compose/send', (request) => sendMessage(request, again)),
];
