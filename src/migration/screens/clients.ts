import { type Html, html } from '../../base/html.ts';
import type { Problem } from '../../base/problem.ts';
import { counted, grouped } from '../../console/counts.ts';
import {
  field,
  fieldRow,
  filterField,
  filters,
  hidden,
  isFilteredBy,
  listOf,
  listPanel,
  noticeOf,
  pageQuery,
  pagerOf,
  problemNote,
  refusalOf,
  screen,
  select,
} from '../../console/lists.ts';
import { get, noticed, type PageRequest, post, type View } from '../../console/page-request.ts';
import { acts, backLink, button, formPanel, head, num, tablePanel } from '../../console/parts.ts';
import { time } from '../../console/words.ts';
import type { Item } from '../../operator/action.ts';
import { migrateClientRule, migrateClientRules, migrateClients, migrateRemoveClientRule } from '../actions/clients.ts';

/** The programs that call the old server, and which server answers their reads. */

const texts = {
  title: 'Clients of the old server',
  lead: 'The programs that call through the proxy. A proxy writes them every ten seconds.',
  back: 'Migration',
  columns: ['Program', 'Address', 'Account', 'Calls a day', 'Last seen', 'Operations and calls a day'],
  noAgent: '(no User-Agent)',
  noAccount: '(no user_id)',
  unknown: 'no account of Columba has this user_id',
  silent: (days: number) => html`not seen for ${counted(days, 'day')}`,
  more: (count: number) => html`${counted(count, 'operation')} more`,
  call: (operation: string, protocol: string, calls: number) => html`${operation} ${protocol}: ${grouped(calls)}`,
  empty: 'No client was seen yet.',
  emptyHint: 'Point the clients at columba migrate proxy.',
  noMatch: 'No client matches.',
  noMatchHint: 'Empty the filter to see all.',
  account: 'Account',
  silentFilter: 'Not seen for days',
  rules: 'Which server answers the reads of a client',
  rulesLead:
    'A rule applies to accounts in the stages compare and lead, where both servers have all data. Writes follow the stage of their account. Of several rules that match, one with an account wins, then one with a header field, then the longer prefix.',
  ruleColumns: ['Rule', 'Client', 'Account', 'Reads', ''],
  noRules: 'There is no rule: the stage of each account decides.',
  noRulesHint: 'With rules one program after the other gets the answers of Columba.',
  everyAccount: 'every account',
  stages: {
    lead: 'lead: Columba answers',
    compare: 'compare: the old server answers, and Columba is compared with it',
  } as Readonly<Record<string, string>>,
  addRule: 'Set a rule',
  name: 'Name of the rule',
  address: 'Address or network',
  addressHint: 'Such as 10.0.0.17 or 10.0.0.0/24.',
  header: 'Header field',
  headerHint: 'Such as X-Client: invoices.',
  onlyAccount: 'Only this account',
  reads: 'Who answers its reads',
  set: 'Set the rule',
  remove: 'Remove',
  notices: {
    set: 'The rule is set. Every proxy follows within a second.',
    removed: 'The rule is removed. Every proxy follows within a second.',
  },
} as const;

type Client = Item<typeof migrateClients>;

const MIGRATION = '/console/migration';
const HERE = `${MIGRATION}/clients`;
const SILENT_DAYS = 7;
const LABELS = {
  name: texts.name,
  address: texts.address,
  header: texts.header,
  username: texts.onlyAccount,
  stage: texts.reads,
};

const show = async (request: PageRequest, problem: Problem | null = null): Promise<View> => {
  const isFiltered = isFilteredBy(request, 'username', 'silent');
  const { silent, ...query } = pageQuery(request, 'username', 'silent');
  const isDays = silent !== undefined && /^[1-9]\d{0,2}$/.test(silent);
  const given = { query: { ...query, ...(isDays ? { silent } : {}) } };
  const { items, next } = await request.act.run(migrateClients, given);
  const filter = filters(request, [
    filterField(request, 'username', texts.account),
    filterField(request, 'silent', texts.silentFilter, 'number'),
  ]);
  const list = listPanel(
    texts,
    items.map((client, index) => ({ key: String(index), cells: cellsOf(request, client) })),
    isFiltered,
  );
  const main = html`${backLink(MIGRATION, texts.back)}${head(texts.title, texts.lead)}
${noticeOf(request, texts.notices)}${problemNote(problem, LABELS)}${filter}${list}${pagerOf(request, next)}${await rules(request)}`;
  return screen(texts.title, 'migration', main, problem);
};

function cellsOf({ zone }: PageRequest, client: Client): Html[] {
  const { agent, address, account, isKnown, calls, silentDays } = client;
  const customer = isKnown
    ? html`<a href="/console/accounts/${encodeURIComponent(account)}">${account}</a>`
    : account === ''
      ? html`<span class="quiet">${texts.noAccount}</span>`
      : html`<code>${account}</code> <small class="bad">${texts.unknown}</small>`;
  const silence = silentDays < SILENT_DAYS ? '' : html` <small class="bad">${texts.silent(silentDays)}</small>`;
  return [
    html`<bdi>${agent === '' ? texts.noAgent : agent}</bdi>`,
    html`<code class="num">${address}</code>`,
    customer,
    num(client.callsPerDay),
    html`${time(client.lastSeen, zone)}${silence}`,
    callList(calls),
  ];
}

/** The first calls are enough to recognise the program. */
const CALLS_SHOWN = 4;
function callList(calls: Client['calls']): Html {
  const lines = calls.map(({ operation, protocol, callsPerDay }) => texts.call(operation, protocol, callsPerDay));
  const list = (some: readonly Html[]) => html`<ul>${some.map((each) => html`<li>${each}</li>`)}</ul>`;
  if (calls.length <= CALLS_SHOWN + 1) return list(lines);
  return html`${list(lines.slice(0, CALLS_SHOWN))}<details class="fold"><summary>${texts.more(calls.length - CALLS_SHOWN)}</summary>${list(lines.slice(CALLS_SHOWN))}</details>`;
}

async function rules({ act, form }: PageRequest): Promise<Html> {
  const { rules: all } = await act.run(migrateClientRules);
  const rows = all.map(({ name, stage, address, header, username }) => ({
    key: name,
    cells: [
      html`${name}`,
      html`<code>${[address, header].filter((each) => each !== null).join(', ')}</code>`,
      html`${username ?? texts.everyAccount}`,
      html`${texts.stages[stage] ?? stage}`,
      acts(
        html`<form method="post" action="${HERE}/remove">${hidden({ name })}${button(texts.remove, { look: 's', label: `${texts.remove} ${name}` })}</form>`,
      ),
    ],
  }));
  const { rules: title, ruleColumns: columns, noRules: empty, noRulesHint: emptyHint } = texts;
  const value = (name: string) => ({ name, value: form.text(name), autocomplete: 'off' });
  const fields = fieldRow([
    field({ ...value('name'), label: texts.name, isRequired: true, lengthMax: 64 }),
    field({ ...value('address'), label: texts.address, hint: texts.addressHint, lengthMax: 64 }),
    field({ ...value('header'), label: texts.header, hint: texts.headerHint, lengthMax: 300 }),
    field({ ...value('username'), label: texts.onlyAccount, lengthMax: 200 }),
    select({ name: 'stage', label: texts.reads, value: form.text('stage'), choices: Object.entries(texts.stages) }),
  ]);
  return html`${tablePanel(title, listOf({ title, columns, empty, emptyHint }, rows))}
${formPanel({ title: texts.addRule, action: HERE, lead: texts.rulesLead, fields, submit: texts.set })}`;
}

const setRule = async (request: PageRequest): Promise<View> => {
  const { act, form } = request;
  const given = ['address', 'header', 'username'].flatMap((name) => {
    const value = form.text(name).trim();
    return value === '' ? [] : [[name, value] as const];
  });
  try {
    await act.run(migrateClientRule, {
      params: { name: form.text('name').trim() },
      body: { stage: form.text('stage'), ...Object.fromEntries(given) },
    });
    return noticed(HERE, 'set');
  } catch (thrown) {
    return show(request, refusalOf(thrown, 'not-found'));
  }
};

const removeRule = async (request: PageRequest): Promise<View> => {
  try {
    await request.act.run(migrateRemoveClientRule, { params: { name: request.form.text('name') } });
    return noticed(HERE, 'removed');
  } catch (thrown) {
    return show(request, refusalOf(thrown, 'not-found'));
  }
};

export const migrationClientRoutes = [
  get('/migration/clients', (request) => show(request)),
  post('/migration/clients', setRule),
  post('/migration/clients/remove', removeRule),
];
