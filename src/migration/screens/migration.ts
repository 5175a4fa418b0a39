import { type Html, html } from '../../base/html.ts';
import type { Problem } from '../../base/problem.ts';
import { counted, decimal, grouped } from '../../console/counts.ts';
import {
  asking,
  bullets,
  field,
  fieldRow,
  filters,
  hidden,
  listOf,
  noticeOf,
  optionsOf,
  pageQuery,
  pagerOf,
  problemNote,
  refusalOf,
  screen,
  select,
} from '../../console/lists.ts';
import { get, noticed, type PageRequest, page, post, type View } from '../../console/page-request.ts';
import {
  acts,
  backLink,
  button,
  chip,
  formPanel,
  head,
  linkButton,
  note,
  num,
  panel,
  tablePanel,
} from '../../console/parts.ts';
import { time } from '../../console/words.ts';
import type { Output } from '../../operator/action.ts';
import {
  migrateAccept,
  migrateDefaultStage,
  migrateReport,
  migrateStage,
  migrateWithdraw,
} from '../actions/migration.ts';
import { migrateAccounts, migrateNext } from '../actions/plan.ts';
import { decisionPart } from '../stages/decision.ts';
import { migrationPlan } from '../stages/plan.ts';
import { migrationReport, RULES, reportMain } from '../stages/report.ts';
import { findings } from './findings.ts';

/** Moving from an old server: whether it is safe, what differs, and the stage of each account. */

const texts = {
  title: 'Migration',
  lead: 'Moving accounts from an old server, account by account. Until the last stage every step can be taken back.',
  safe: (days: number) => html`Safe: every rule is met by the last ${counted(days, 'day')}.`,
  unsafe: (days: number) => html`Not safe yet, by the last ${counted(days, 'day')}.`,
  next: 'Next step',
  ready: 'Ready',
  notYet: 'Not yet',
  blocked: (blocks: readonly string[]) =>
    blocks.length <= 2 ? blocks.join(' ') : `${blocks.slice(0, 2).join(' ')} … (${blocks.length})`,
  byDefault: '(default)',
  clients: (total: number, silent: number) =>
    html`${counted(total, 'client')} of the old server${silent === 0 ? '' : html`, ${grouped(silent)} not seen for 7 days`}`,
  unknownUserIds: (count: number) => html`${counted(count, 'user_id')} without an account in Columba`,
  print: 'Report to print',
  days: 'Days to look back',
  calls: 'Calls that each operation needs',
  waiting: (count: number) => html`${counted(count, 'write')} waiting for one of the servers`,
  oldest: 'the oldest since',
  rules: 'Rules',
  ruleColumns: ['Rule', 'Met', 'Found'],
  met: 'Yes',
  unmet: 'No',
  stages: 'Stages',
  stageNames: {
    record: 'record: the old server answers',
    compare: 'compare: the old server answers, and Columba is compared with it',
    lead: 'lead: Columba answers, and the old server gets the writes too',
    alone: 'alone: only Columba is asked',
  } as Readonly<Record<string, string>>,
  defaultStage: 'All accounts without a stage of their own',
  stageColumns: ['Account', 'Stage', 'Since', 'Days', 'Next step', ''],
  noStages: 'No account was copied, and none has a stage of its own.',
  noStagesHint: 'All have the default stage.',
  username: 'Account',
  stage: 'Stage',
  setStage: 'Set the stage of an account',
  change: 'Change',
  question: (who: string, before: string, stage: string) => `Move ${who} from ${before} to ${stage}?`,
  everybody: 'all accounts without a stage of their own',
  toAlone:
    'There is no way back from the stage alone without loss. Move carriers and sending first, and let the schedule of the old server run out.',
  toLead: 'Clients get the answers of Columba from now on. The way back loses nothing.',
  fromAlone: 'What Columba received and sent since then is not at the old server: it would be missing there.',
  submit: (stage: string) => `Move to ${stage}`,
  operations: 'Operations',
  columns: [
    'Operation',
    'Recorded',
    'Compared',
    'Same',
    'Order',
    'Lag',
    'By design',
    'Different',
    'Failed',
    'Left out',
    'p95 there',
    'p95 here',
  ],
  ms: (ms: number | null) => (ms === null ? '–' : html`${ms < 10 ? decimal(ms) : grouped(Math.round(ms))} ms`),
  empty: 'No call was seen yet.',
  emptyHint: 'Point the clients at columba migrate proxy, whose counts appear here.',
  acceptQuestion: (count: number) =>
    html`Accept that ${counted(count, 'operation')} ${count === 1 ? 'was' : 'were'} not compared? Your name is kept with it.`,
  acceptSubmit: (count: number) => html`Accept ${counted(count, 'operation')}`,
  reason: 'Reason',
  reasonHint: 'The report shows it to the people who decide.',
  notices: {
    staged: 'The stage is set. Every proxy follows within a second.',
    accepted: (count: bigint) => html`Accepted ${counted(count, 'operation')}.`,
    withdrawn: 'The acceptance is withdrawn.',
    nothing: { nothingDone: 'Nothing was selected, so nothing was done.' },
  },
} as const;

type Report = Output<typeof migrateReport>;

const HERE = '/console/migration';
const STAGES = Object.keys(texts.stageNames);
const DAYS_MAX = 90;
const CALLS_MAX = 1_000_000;
/** Details are cut here; the lists further down and the printed report have them whole. */
const DETAIL_LENGTH_MAX = 120;

/** The settings of the verdict in the address. Invalid numbers are left out. */
function settingsOf({ query }: PageRequest): { days?: string; calls?: string } {
  const given = (name: string, max: number) => {
    const value = query.get(name) ?? '';
    return /^[1-9]\d{0,6}$/.test(value) && Number(value) <= max ? { [name]: value } : {};
  };
  return { ...given('days', DAYS_MAX), ...given('calls', CALLS_MAX) };
}

const show = async (request: PageRequest, problem: Problem | null = null): Promise<View> => {
  const { act, query } = request;
  const report = await act.run(migrateReport, { query: settingsOf(request) });
  const counts = html`${verdict(request, report)}${operations(report)}`;
  if (query.get('part') === 'counts') return { kind: 'fragment', html: counts };
  const address = `${HERE}?${new URLSearchParams({ ...settingsOf(request), part: 'counts' })}`;
  const filter = filters(request, [
    field({ isFilter: true, name: 'days', label: texts.days, type: 'number', value: String(report.days) }),
    field({ isFilter: true, name: 'calls', label: texts.calls, type: 'number', value: String(report.callsMin) }),
  ]);
  const due = await act.run(migrateNext);
  const toReport = linkButton(`${HERE}/report?${new URLSearchParams(settingsOf(request))}`, texts.print, {
    icon: 'page',
  });
  const main = html`${head(texts.title, texts.lead, toReport)}${noticeOf(request, texts.notices)}${problemNote(problem, { username: texts.username, stage: texts.stage })}
${nextStep(due)}${filter}<div class="stack" data-live="${address}" data-mode="whole">${counts}</div>
${await stages(request, report)}${findings(request, report)}`;
  return screen(texts.title, 'migration', main, problem);
};

function verdict({ zone }: PageRequest, { isSafe, days, rules, waitingWrites: { total, oldestAt } }: Report): Html {
  const rows = rules.map(({ name, isMet, detail }) => ({
    key: name,
    cells: [
      html`${(RULES as Readonly<Record<string, string>>)[name] ?? name}`,
      isMet ? chip('good', 'tick', texts.met) : chip('bad', 'cross', texts.unmet),
      html`${detail.length > DETAIL_LENGTH_MAX ? `${detail.slice(0, DETAIL_LENGTH_MAX)} …` : detail}`,
    ],
  }));
  const said = isSafe ? texts.safe(days) : texts.unsafe(days);
  const waiting = html`<p>${texts.waiting(total)}${oldestAt === null ? '' : html`, ${texts.oldest} ${time(oldestAt, zone)}`}</p>`;
  return html`${note(isSafe ? 'good' : 'wait', html`<p><strong>${said}</strong></p>${total === 0 ? '' : waiting}`)}
${tablePanel(texts.rules, listOf({ ...texts, title: texts.rules, columns: texts.ruleColumns }, rows))}`;
}

/** Shows the step that is due, what blocks it, and its commands. */
const nextStep = ({ title, isReady, blocks, commands, clients }: Output<typeof migrateNext>): Html =>
  panel({
    title: texts.next,
    acts: isReady ? chip('good', 'tick', texts.ready) : chip('wait', 'clock', texts.notYet),
    content: html`<p><strong>${title}</strong></p>${blocks.length === 0 ? '' : bullets(blocks)}
<pre class="commands"><code>${commands.join('\n')}</code></pre>${clients === null ? '' : clientLine(clients)}`,
  });

const clientLine = ({ total, silent, unknownUserIds }: NonNullable<Output<typeof migrateNext>['clients']>): Html =>
  html`<p><a href="${HERE}/clients">${texts.clients(total, silent)}</a>${unknownUserIds === 0 ? '' : html` · <span class="bad">${texts.unknownUserIds(unknownUserIds)}</span>`}</p>`;

const COUNTS = ['recorded', 'calls', 'equal', 'order', 'lag', 'byDesign', 'different', 'failed', 'dropped'] as const;
const BAD: readonly string[] = ['different', 'failed', 'dropped'];

function operations({ operations: all }: Report): Html {
  const rows = all.map((each) => ({
    key: `${each.operation} ${each.protocol}`,
    cells: [
      html`<code>${each.operation}</code> <span class="quiet">${each.protocol}</span>`,
      ...COUNTS.map((name) => {
        const count = each[name];
        return count > 0 && BAD.includes(name)
          ? ({ ...html`<span class="bad">${grouped(count)}</span>`, kind: 'num' } as const)
          : num(count);
      }),
      { ...html`${texts.ms(each.oldP95Ms)}`, kind: 'num' } as const,
      { ...html`${texts.ms(each.ourP95Ms)}`, kind: 'num' } as const,
    ],
  }));
  return tablePanel(texts.operations, listOf({ ...texts, title: texts.operations }, rows));
}

const STAGE_CHOICES = STAGES.map((stage) => [stage, stage] as const);

/** The form for the stage of an account, or for the default stage. */
const stageForm = (username: string | null, stage: string, name: string): Html =>
  html`<form class="row" method="post" action="${HERE}/stage">${hidden(username === null ? { isDefault: 'yes' } : { username })}
<label class="unseen" for="stage-${name}">${texts.stage} ${username ?? ''}</label><select id="stage-${name}" name="stage">${optionsOf(STAGE_CHOICES, stage)}</select>
${button(texts.change, { look: 's', label: `${texts.change} ${username ?? texts.defaultStage}` })}</form>`;

async function stages(request: PageRequest, { defaultStage }: Report): Promise<Html> {
  const { items, next } = await request.act.run(migrateAccounts, { query: pageQuery(request) });
  const rows = items.map(({ username, stage, isDefault, since, days, title, isReady, blocks }, index) => ({
    key: username,
    cells: [
      html`<a href="/console/accounts/${encodeURIComponent(username)}">${username}</a>`,
      html`${texts.stageNames[stage] ?? stage}${isDefault ? html` <span class="quiet">${texts.byDefault}</span>` : ''}`,
      time(since, request.zone),
      num(Math.floor(days[stage] ?? 0)),
      html`${title} ${isReady ? chip('good', 'tick', texts.ready) : html`<small class="quiet">${texts.blocked(blocks)}</small>`}`,
      acts(stageForm(username, stage, String(index))),
    ],
  }));
  const list = listOf(
    { title: texts.stages, columns: texts.stageColumns, empty: texts.noStages, emptyHint: texts.noStagesHint },
    rows,
  );
  const username = request.form.text('username');
  const stage = request.form.text('stage') || 'compare';
  const fields = fieldRow([
    field({
      name: 'username',
      label: texts.username,
      value: username,
      isRequired: true,
      lengthMax: 200,
      autocomplete: 'off',
    }),
    select({ name: 'stage', label: texts.stage, value: stage, choices: STAGE_CHOICES }),
  ]);
  const byDefault = html`<p>${texts.defaultStage}: ${texts.stageNames[defaultStage] ?? defaultStage}</p>${stageForm(null, defaultStage, 'default')}`;
  return html`${tablePanel(texts.stages, html`<div class="in">${byDefault}</div>${list}`)}${pagerOf(request, next)}
${formPanel({ title: texts.setStage, action: `${HERE}/stage`, fields, submit: texts.change })}`;
}

/** Asks first, because clients notice a new stage. The question says if data would be lost. */
const setStage = async (request: PageRequest): Promise<View> => {
  const { act, form } = request;
  const [username, stage] = [form.text('username'), form.text('stage')];
  const isDefault = form.text('isDefault') === 'yes';
  const isForced = form.text('force') === 'yes';
  const set = (isDryRun: boolean, force: boolean) => {
    const given = { query: { dry_run: String(isDryRun) }, body: { stage, force } };
    return isDefault ? act.run(migrateDefaultStage, given) : act.run(migrateStage, { ...given, params: { username } });
  };
  try {
    if (form.text('confirmed') === 'yes') {
      await set(false, isForced);
      return noticed(HERE, 'staged');
    }
    const { before } = await set(true, stage !== 'alone');
    const isBack = before === 'alone' && stage !== 'alone';
    const details = isBack ? texts.fromAlone : stage === 'alone' ? texts.toAlone : stage === 'lead' ? texts.toLead : '';
    return asking('migration', {
      question: texts.question(isDefault ? texts.everybody : username, before, stage),
      details,
      action: `${HERE}/stage`,
      fields: hidden({ username, stage, isDefault: isDefault ? 'yes' : 'no', force: isBack ? 'yes' : 'no' }),
      submit: texts.submit(stage),
      back: HERE,
    });
  } catch (thrown) {
    return show(request, refusalOf(thrown, 'not-found'));
  }
};

const accept = async (request: PageRequest): Promise<View> => {
  const { act, form } = request;
  const chosen = [...new Set(form.all('operation'))].slice(0, 100);
  if (chosen.length === 0) return noticed(HERE, 'nothing');
  if (form.text('confirmed') !== 'yes') {
    return asking('migration', {
      question: texts.acceptQuestion(chosen.length),
      details: bullets(chosen.map((each) => html`<code>${each}</code>`)),
      action: `${HERE}/accept`,
      fields: [
        ...chosen.flatMap((operation) => hidden({ operation })),
        field({ name: 'reason', label: texts.reason, hint: texts.reasonHint, lengthMax: 200, autocomplete: 'off' }),
      ],
      submit: texts.acceptSubmit(chosen.length),
      back: HERE,
    });
  }
  try {
    const body = { reason: form.text('reason') };
    for (const operation of chosen) await act.run(migrateAccept, { params: { operation }, body });
  } catch (thrown) {
    return show(request, refusalOf(thrown));
  }
  return noticed(HERE, 'accepted', chosen.length);
};

const withdraw = async ({ act, form }: PageRequest): Promise<View> => {
  await act.run(migrateWithdraw, { params: { operation: form.text('operation') } });
  return noticed(HERE, 'withdrawn');
};

/** The same numbers as a page to print. */
const printed = async (request: PageRequest): Promise<View> => {
  const { days = '7', calls = '100' } = settingsOf(request);
  const { database, now } = request.services;
  const report = await migrationReport(database, now, { days: Number(days), callsMin: Number(calls) });
  const main = html`<div class="report" role="region" tabindex="0" aria-label="${texts.print}">${reportMain(report, decisionPart(await migrationPlan(database, now), report))}</div>${backLink(HERE, texts.title)}`;
  return page(texts.print, main, { current: 'migration' });
};

export const migrationRoutes = [
  get('/migration', (request) => show(request)),
  get('/migration/report', printed),
  post('/migration/stage', setStage),
  post('/migration/accept', accept),
  post('/migration/withdraw', withdraw),
];
