import { type Html, html } from '../../base/html.ts';
import type { Problem } from '../../base/problem.ts';
import type { Output } from '../../operator/action.ts';
import { guardPut, guardRemove, guardShow } from '../../operator/actions/accounts/guard.ts';
import { queueList } from '../../operator/actions/carriers/queue.ts';
import { field, fieldRow, noticeOf, problemNote, refusalOf, screen, table } from '../lists.ts';
import { get, noticed, type PageRequest, post, type View } from '../page-request.ts';
import { backLink, button, empty, formPanel, head, linkButton, named, num, panel, tablePanel } from '../parts.ts';
import { listOf, time } from '../words.ts';

/** The spend guard of an account: what it may send, and what is held. */

const texts = {
  title: (username: string) => `Spend guard of ${username}`,
  lead: 'A message over a ceiling is held, with its credits, until an operator releases or refuses it. Hours and days are those of UTC.',
  limits: 'Limits',
  fields: {
    countries: 'Countries that the account may send to',
    recipientDay: 'Messages to one recipient in a day',
    blockHour: 'Messages in an hour to numbers that differ only in their last three digits',
    creditsHour: 'Credits in an hour',
    creditsDay: 'Credits in a day',
  },
  countriesHint: 'Codes such as ZA, GB, or the word region for its own country alone. Empty: all countries.',
  noCeiling: 'Empty: no ceiling.',
  save: 'Save',
  remove: 'Remove the guard',
  removeTitle: 'No guard',
  removeLead: 'Without a guard the account may send everywhere, as much as its credits allow. What is held stays held.',
  held: 'Held now',
  heldColumns: ['Message', 'Rule', 'Credits held', 'Due'],
  noneHeld: 'Nothing is held.',
  noneHeldHint: 'Messages over a ceiling appear here.',
  decide: 'Decide about them',
  notices: { saved: 'The spend guard is set.', removed: 'The account has no spend guard now.' },
} as const;

type Guard = Output<typeof guardShow>;
type Ceiling = 'recipientDay' | 'blockHour' | 'creditsHour' | 'creditsDay';
const CEILINGS: readonly Ceiling[] = ['recipientDay', 'blockHour', 'creditsHour', 'creditsDay'];
const HELD_READ = 200;
const HELD_SHOWN = 20;

const usernameOf = ({ params }: PageRequest): string => params.username ?? '';
const accountAddress = (request: PageRequest): string => `/console/accounts/${encodeURIComponent(usernameOf(request))}`;

const countriesSaid = ({ countries }: Guard): string =>
  countries === null ? '' : countries === 'region' ? countries : countries.join(', ');

const show = async (request: PageRequest, problem: Problem | null = null): Promise<View> => {
  const { act, form } = request;
  const username = usernameOf(request);
  const guard = await act.run(guardShow, { params: { username } });
  const here = `${accountAddress(request)}/guard`;
  const value = (name: Ceiling): string => (problem ? form.text(name) : String(guard[name] ?? ''));
  const inputs = [
    field({
      name: 'countries',
      label: texts.fields.countries,
      value: problem ? form.text('countries') : countriesSaid(guard),
      hint: texts.countriesHint,
      lengthMax: 1_000,
    }),
    ...CEILINGS.map((name) =>
      field({ name, label: texts.fields[name], value: value(name), hint: texts.noCeiling, lengthMax: 19 }),
    ),
  ];
  const remove = html`<p>${texts.removeLead}</p><form method="post" action="${here}/remove">${button(texts.remove)}</form>`;
  const limits = { title: texts.limits, action: here, fields: fieldRow(inputs), submit: texts.save, isPrimary: true };
  const main = html`${backLink(accountAddress(request), username)}${head(texts.title(username), texts.lead)}${noticeOf(request, texts.notices)}${problemNote(problem, texts.fields)}
${await heldPanel(request)}<div class="cols">${formPanel(limits)}${panel({ title: texts.removeTitle, content: remove })}</div>`;
  return screen(texts.title(username), 'accounts', main, problem);
};

/** Messages of the account that wait for a decision. */
async function heldPanel(request: PageRequest): Promise<Html> {
  const { act, zone } = request;
  const { items } = await act.run(queueList, { query: { held: 'true', limit: String(HELD_READ) } });
  const own = items.filter(({ username }) => username === usernameOf(request)).slice(0, HELD_SHOWN);
  const rows = own.map(({ id, reason, held, dueAt }) => ({
    key: id,
    cells: [
      named(html`<a class="open" href="${accountAddress(request)}/messages/${id}">${id}</a>`),
      html`${reason ?? ''}`,
      num(held),
      time(dueAt, zone),
    ],
  }));
  if (rows.length === 0)
    return panel({
      title: texts.held,
      content: empty(texts.noneHeld, texts.noneHeldHint, '', 'shield'),
      isFlush: true,
    });
  const decide = linkButton('/console/queue?show=held', texts.decide, { look: 's' });
  return tablePanel(texts.held, table({ caption: texts.held, columns: texts.heldColumns, rows }), decide);
}

const save = async (request: PageRequest): Promise<View> => {
  const { act, form } = request;
  const number = (name: Ceiling) => {
    const text = form.text(name);
    return text === '' ? null : /^\d{1,9}$/.test(text) ? Number(text) : (text as unknown as number);
  };
  const amount = (name: Ceiling) => (form.text(name) === '' ? null : form.text(name));
  const countries = listOf(form.text('countries')).map((each) => (each === 'region' ? each : each.toUpperCase()));
  const body = {
    countries: countries.length === 0 ? null : countries,
    recipientDay: number('recipientDay'),
    blockHour: number('blockHour'),
    creditsHour: amount('creditsHour'),
    creditsDay: amount('creditsDay'),
  };
  try {
    await act.run(guardPut, { params: { username: usernameOf(request) }, body });
  } catch (thrown) {
    return show(request, refusalOf(thrown));
  }
  return noticed(`${accountAddress(request)}/guard`, 'saved');
};

const remove = async (request: PageRequest): Promise<View> => {
  const params = { username: usernameOf(request) };
  await request.act.run(guardRemove, { params }).catch((thrown) => refusalOf(thrown, 'not-found'));
  return noticed(`${accountAddress(request)}/guard`, 'removed');
};

export const guardRoutes = [
  get('/accounts/:username/guard', (request) => show(request)),
  post('/accounts/:username/guard', save),
  post('/accounts/:username/guard/remove', remove),
];
