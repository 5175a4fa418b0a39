import { hash } from 'node:crypto';
import { type Html, html } from '../../base/html.ts';
import type { Problem } from '../../base/problem.ts';
import { randomBytes } from '../../base/random.ts';
import type { Output } from '../../operator/action.ts';
import { accountSignInLink } from '../../operator/actions/access/operators.ts';
import {
  accountChange,
  accountDisable,
  accountEnable,
  accountRemove,
  accountShow,
} from '../../operator/actions/accounts/accounts.ts';
import { accountCounts } from '../../operator/actions/accounts/counts.ts';
import { creditsAdd } from '../../operator/actions/accounts/credits.ts';
import { connectorList } from '../../operator/actions/carriers/connectors.ts';
import { CHART_HOURS, dayChart } from '../charts.ts';
import { grouped } from '../counts.ts';
import {
  area,
  asking,
  check,
  field,
  fieldRow,
  noticeOf,
  onOff,
  problemNote,
  refusalOf,
  screen,
  select,
} from '../lists.ts';
import { get, noticed, type PageRequest, page, post, type View } from '../page-request.ts';
import { backLink, button, formPanel, head, linkButton, panel, secretPage } from '../parts.ts';
import { listOf, time } from '../words.ts';

/** One account: its settings, its credits, its sign-in link, switching it off, removing it. */

const texts = {
  enabled: 'Enabled',
  disabled: 'Disabled',
  accounts: 'Accounts',
  open: 'Open as the customer',
  guard: 'Spend guard',
  guardLead: 'What the account may send and spend, and what is held.',
  guardOpen: 'Open the spend guard',
  chart: 'Messages, last 14 days',
  settings: 'Settings',
  done: 'Go on',
  fields: {
    company: 'Company',
    contactName: 'First name of the contact',
    contactSurname: 'Surname of the contact',
    email: 'E-mail',
    tel: 'Phone',
    mobile: 'Mobile',
    region: 'Region, such as ZA',
    timeZone: 'Time zone, such as Africa/Johannesburg',
    quietHours: 'Quiet hours, such as 22:00-06:00',
    allowedNetworks: 'Networks from which the account may be used, separated by commas',
    priority: 'Priority, 0 to 3',
    connector: 'Connector',
    wordLanguages: 'Languages whose STOP, START and HELP words count, such as en, de',
    stopWords: 'Its own STOP words, separated by commas',
    startWords: 'Its own START words, separated by commas',
    helpWords: 'Its own HELP words, separated by commas',
    stopAnswer: 'Answer to STOP, once for a sender in 24 hours; it costs credits',
    helpAnswer: 'Answer to HELP, once for a sender in 24 hours; it costs credits',
  },
  optional: '(optional)',
  usual: 'the default one',
  save: 'Save',
  link: 'Sign-in link',
  linkLead: 'A link with which the customer can sign in once, within 24 hours. It replaces any earlier link.',
  linkSubmit: 'Create a sign-in link',
  linkReset: 'Turn off the second step, for somebody who has lost it',
  linkTitle: 'Sign-in link, which cannot be shown again',
  grant: 'Credits',
  grantLead: (free: Html, used: Html) => html`Free: ${free}. Used: ${used}.`,
  amount: 'Number of credits (negative to take back)',
  reason: 'Reason',
  reference: 'Reference',
  grantSubmit: 'Move credits',
  enable: 'Enable',
  disable: 'Disable',
  disableAct: 'Disable…',
  close: 'Close it',
  disableQuestion: (username: string) =>
    `Disable ${username}? Its calls are denied and its sessions end until it is enabled again.`,
  remove: 'Remove with all its data',
  removeAct: 'Remove with all its data…',
  removeQuestion: (username: string) => `Remove ${username} with all of its data? This cannot be undone.`,
  removeType: 'Type the username to confirm',
  removeWrong: 'The username does not match, so nothing was removed.',
  since: 'Made',
  lastLogin: 'Last sign-in',
  notices: {
    changed: 'The account is changed.',
    granted: 'The credits are moved.',
    enabled: 'The account is enabled.',
    disabled: 'The account is disabled.',
  },
} as const;

type Account = Output<typeof accountShow>;
type Setting = keyof typeof texts.fields;

const FIELDS = Object.entries(texts.fields) as [Setting, string][];
const LABELS = { ...texts.fields, amount: texts.amount, reason: texts.reason, reference: texts.reference };
const newKey = (): string => randomBytes(16).toString('hex');
const paramsOf = ({ params }: PageRequest) => ({ username: params.username ?? '' });
const addressOf = ({ params }: PageRequest): string => `/console/accounts/${encodeURIComponent(params.username ?? '')}`;

/** Fields that are lists, typed with commas. */
const LISTS: readonly string[] = ['allowedNetworks', 'wordLanguages', 'stopWords', 'startWords', 'helpWords'];

/** Texts that may have several lines. */
const ANSWERS: readonly string[] = ['stopAnswer', 'helpAnswer'];

const typed = ({ form }: PageRequest, name: string): string =>
  ANSWERS.includes(name) ? form.raw(name).replaceAll('\r\n', '\n').trim() : form.text(name);

const fieldValue = (account: Account, name: Setting): string => {
  const value = account[name];
  return Array.isArray(value) ? value.join(', ') : String(value ?? '');
};

const show = async (request: PageRequest, problem: Problem | null = null): Promise<View> => {
  const { act, form, zone, now } = request;
  const account = await act.run(accountShow, { params: paramsOf(request) });
  const here = addressOf(request);
  const connectors = (await act.run(connectorList)).items.map(({ name }) => name);
  const inputs = FIELDS.map(([name, label]) => {
    const value = problem && form.has(name) ? typed(request, name) : fieldValue(account, name);
    if (ANSWERS.includes(name)) {
      const optional = html`${label} <span class="quiet">${texts.optional}</span>`;
      return area({ name, label: optional, value, rows: 2, lengthMax: 1_000 });
    }
    if (name !== 'connector') return field({ name, label, value, lengthMax: 1_000 });
    const names = value === '' || connectors.includes(value) ? connectors : [...connectors, value];
    return select({ name, label, value, choices: [['', texts.usual], ...names.map((each) => [each, each] as const)] });
  });
  const isEnabled = account.state === 'enabled';
  const lead = html`${account.company === null ? '' : `${account.company} · `}${texts.since} ${time(account.createdAt, zone)} · ${texts.lastLogin} ${time(account.lastLoginAt, zone)}`;
  const top = html`${onOff(isEnabled, texts.enabled, texts.disabled)}${linkButton(`${here}/`, texts.open, { icon: 'user' })}`;
  const toggle = isEnabled ? button(texts.disableAct, { look: 'danger' }) : button(texts.enable);
  const close = html`<div class="row"><form method="post" action="${here}/${isEnabled ? 'disable' : 'enable'}">${toggle}</form>
${isEnabled ? '' : html`<form method="post" action="${here}/remove">${button(texts.removeAct, { look: 'danger' })}</form>`}</div>`;
  const link = {
    title: texts.link,
    action: `${here}/sign-in-link`,
    lead: texts.linkLead,
    fields: check('reset', texts.linkReset),
    submit: texts.linkSubmit,
  };
  const hours = (await act.run(accountCounts, { params: paramsOf(request), query: { hours: String(CHART_HOURS) } }))
    .items;
  const counts = hours.map((hour) => ({ ...hour, at: Date.parse(hour.at) }));
  const chart = panel({ title: texts.chart, content: dayChart(texts.chart, counts, now, zone) });
  const guard = html`<p class="small quiet">${texts.guardLead}</p><p>${linkButton(`${here}/guard`, texts.guardOpen, { icon: 'shield' })}</p>`;
  const settings = { title: texts.settings, action: `${here}/settings`, submit: texts.save, isPrimary: true };
  const main = html`${backLink('/console/accounts', texts.accounts)}${head(account.username, lead, top)}${noticeOf(request, texts.notices)}${problemNote(problem, LABELS)}
<div class="cols"><div class="stack">${chart}${formPanel({ ...settings, fields: fieldRow(inputs) })}</div>
<div class="stack">${grantForm(request, here, texts.grantLead(grouped(account.credits), grouped(account.usedCredits)))}${panel({ title: texts.guard, content: guard })}${formPanel(link)}${panel({ title: texts.close, content: close })}</div></div>`;
  return screen(account.username, 'accounts', main, problem);
};

const grantForm = ({ form }: PageRequest, here: string, lead: Html): Html => {
  const fields = html`<input type="hidden" name="key" value="${form.text('key') || newKey()}">
${field({ name: 'amount', label: texts.amount, value: form.text('amount'), isRequired: true, lengthMax: 20 })}
${field({ name: 'reason', label: texts.reason, value: form.text('reason'), isRequired: true, lengthMax: 200 })}
${field({ name: 'reference', label: texts.reference, value: form.text('reference'), lengthMax: 200 })}`;
  return formPanel({ title: texts.grant, action: `${here}/credits`, lead, fields, submit: texts.grantSubmit });
};

/** Shows the page again if the person can correct something. */
const acting =
  (work: (request: PageRequest) => Promise<View>) =>
  async (request: PageRequest): Promise<View> => {
    try {
      return await work(request);
    } catch (thrown) {
      return show(request, refusalOf(thrown));
    }
  };

const save = acting(async (request) => {
  const { act } = request;
  const account = await act.run(accountShow, { params: paramsOf(request) });
  const body: Record<string, unknown> = {};
  for (const [name] of FIELDS) {
    const value = typed(request, name);
    // An imported value may be one that the form would refuse. It stays unless somebody changes it.
    if (value === fieldValue(account, name)) continue;
    if (LISTS.includes(name)) body[name] = listOf(value);
    else if (name === 'priority') body[name] = value === '' ? 0 : Number(value);
    else body[name] = value === '' ? null : value;
  }
  if (Object.keys(body).length > 0) await act.run(accountChange, { params: paramsOf(request), body });
  return noticed(addressOf(request), 'changed');
});

const grant = acting(async (request) => {
  const { act, form } = request;
  const body = {
    amount: form.text('amount'),
    reason: form.text('reason'),
    ...(form.text('reference') === '' ? {} : { reference: form.text('reference') }),
  };
  // The key covers page and content, so a form that is sent twice moves credits once.
  const key = hash('sha256', JSON.stringify([form.text('key') || newKey(), body]));
  await act.once(key, creditsAdd, { params: paramsOf(request), body }, () => true);
  return noticed(addressOf(request), 'granted');
});

const link = acting(async (request) => {
  const body = { resetSecondFactor: request.form.has('reset') };
  const made = await request.act.run(accountSignInLink, { params: paramsOf(request), body });
  const main = secretPage(texts.linkTitle, texts.linkLead, made.link, { href: addressOf(request), words: texts.done });
  return page(texts.linkTitle, main, { current: 'accounts' });
});

const enable = acting(async (request) => {
  await request.act.run(accountEnable, { params: paramsOf(request) });
  return noticed(addressOf(request), 'enabled');
});

const disable = acting(async (request) => {
  const { params, form, path } = request;
  if (form.text('confirmed') !== 'yes') {
    const question = texts.disableQuestion(params.username ?? '');
    return asking('accounts', { question, action: path, submit: texts.disable, back: addressOf(request) });
  }
  await request.act.run(accountDisable, { params: paramsOf(request) });
  return noticed(addressOf(request), 'disabled');
});

const remove = acting(async (request) => {
  const { params, form, path, act } = request;
  const isTyped = form.text('typed') === params.username;
  if (form.text('confirmed') !== 'yes' || !isTyped) {
    const question = texts.removeQuestion(params.username ?? '');
    const details = form.has('typed') && !isTyped ? texts.removeWrong : '';
    const fields = field({ name: 'typed', label: texts.removeType, isRequired: true, autocomplete: 'off' });
    return asking('accounts', {
      question,
      details,
      action: path,
      fields,
      submit: texts.remove,
      back: addressOf(request),
    });
  }
  const { removed } = await act.run(accountRemove, {
    params: paramsOf(request),
  });
  return noticed('/console/accounts', 'removed', removed.inbox + removed.sent + removed.scheduled);
});

/** Routes of the account itself. The screens of its customer are below it. */
export const accountRoutes = [
  get('/accounts/:username', (request) => show(request)),
  post('/accounts/:username/settings', save),
  post('/accounts/:username/credits', grant),
  post('/accounts/:username/sign-in-link', link),
  post('/accounts/:username/enable', enable),
  post('/accounts/:username/disable', disable),
  post('/accounts/:username/remove', remove),
];
