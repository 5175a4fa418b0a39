import { type Html, html } from '../../base/html.ts';
import type { Problem } from '../../base/problem.ts';
import {
  asking,
  field,
  filters,
  hidden,
  listOf,
  noticeOf,
  pageQuery,
  pagerOf,
  problemNote,
  refusalOf,
  screen,
} from '../../console/lists.ts';
import { get, noticed, type PageRequest, page, post, type View } from '../../console/page-request.ts';
import { counted, grouped, time } from '../../console/words.ts';
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

/** Moving from an old server: whether it is safe, what differs, and the stage of each account. */

const texts = {
  title: 'Migration',
  lead: 'Moving accounts from an old server, account by account. Until the last stage every step can be taken back.',
  safe: (days: number) => `Safe: every rule is met by the last ${days} days.`,
  unsafe: (days: number) => `Not safe yet, by the last ${days} days.`,
  next: 'Next step',
  ready: 'ready',
  notYet: 'not yet',
  blocked: (blocks: readonly string[]) =>
    blocks.length <= 2 ? blocks.join(' ') : `${blocks.slice(0, 2).join(' ')} … (${blocks.length})`,
  byDefault: '(default)',
  clients: (total: number, silent: number) =>
    `${counted(total, 'client')} of the old server${silent === 0 ? '' : `, ${grouped(silent)} not seen for 7 days`}`,
  unknownUserIds: (count: number) => `${counted(count, 'user_id')} without an account here`,
  print: 'Report to print',
  days: 'Days to look back',
  calls: 'Calls that each operation needs',
  waiting: (count: number) => `${counted(count, 'write')} that one of the servers is still to get`,
  oldest: 'the oldest since',
  rules: 'Rules',
  ruleColumns: ['Rule', 'Met', 'Found'],
  met: 'yes',
  unmet: 'no',
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
    'From the stage alone no way leads back without loss. Move carriers and sending first, and let the schedule there run out.',
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
  ms: (ms: number | null) => (ms === null ? '–' : `${ms < 10 ? ms.toFixed(1) : grouped(Math.round(ms))} ms`),
  empty: 'No call was seen yet.',
  emptyHint: 'Point the clients at columba migrate proxy: it writes down what it sees here.',
  differences: 'Differences and failures',
  differenceColumns: ['Operation', 'Protocol', 'When', 'What differs'],
  noDifferences: 'No answer differs.',
  noDifferencesHint: 'Texts and numbers would be shown as pseudonyms.',
  knownDifferences: 'What is not compared',
  knownDifferenceColumns: ['Known difference', 'Times', 'Example'],
  noKnownDifferences: 'No known difference was found.',
  noKnownDifferencesHint: 'Header fields and notations that may differ appear here, with their number.',
  unseen: 'Operations that nobody called',
  unseenLead: 'Accept those that no client of yours uses. Then the verdict does not wait for them.',
  unseenNone: 'Every operation was called or is accepted.',
  unknown: 'Operations that Columba lacks',
  unknownLead:
    'Clients call these operations, and only the old server has them. They will fail when Columba answers. Change the clients first, or accept it.',
  unknownNone: 'No client called one, or all are accepted.',
  unknownCalls: (calls: number) => counted(calls, 'call'),
  accept: 'Accept the selected ones',
  acceptQuestion: (count: number) =>
    `Accept that ${counted(count, 'operation')} ${count === 1 ? 'was' : 'were'} not compared? Your name is kept with it.`,
  acceptSubmit: (count: number) => `Accept ${counted(count, 'operation')}`,
  acceptances: 'Accepted by a person',
  acceptanceColumns: ['Operation', 'By', 'When', 'Reason', ''],
  reason: 'Reason',
  reasonHint: 'The report shows it to the people who decide.',
  noReason: '–',
  noAcceptances: 'Nothing is accepted yet.',
  noAcceptancesHint: 'What is accepted appears here with who did it.',
  withdraw: 'Withdraw',
  notices: {
    staged: 'The stage is set. Every proxy follows within a second.',
    accepted: (count: bigint) => `Accepted ${counted(count, 'operation')}.`,
    withdrawn: 'The acceptance is withdrawn.',
    nothing: 'Nothing was selected, so nothing was done.',
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
  const main = html`<h1>${texts.title}</h1><p class="lead">${texts.lead}</p>${noticeOf(request, texts.notices)}${problemNote(problem, { username: texts.username, stage: texts.stage })}
${nextStep(due)}${filter}<div data-live="${address}" data-mode="whole">${counts}</div>
<p><a href="${HERE}/report?${new URLSearchParams(settingsOf(request)).toString()}">${texts.print}</a></p>
${await stages(request, report)}${differences(request, report)}${knownDifferences(report)}${unseen(report)}${unknown(report)}${acceptances(request, report)}`;
  return screen(texts.title, 'migration', main, problem);
};

function verdict({ zone }: PageRequest, { isSafe, days, rules, waitingWrites: { total, oldestAt } }: Report): Html {
  const rows = rules.map(({ name, isMet, detail }) => ({
    key: name,
    cells: [
      html`${(RULES as Readonly<Record<string, string>>)[name] ?? name}`,
      html`<span class="${isMet ? 'good' : 'bad'}">${isMet ? texts.met : texts.unmet}</span>`,
      html`${detail.length > DETAIL_LENGTH_MAX ? `${detail.slice(0, DETAIL_LENGTH_MAX)} …` : detail}`,
    ],
  }));
  const said = isSafe ? texts.safe(days) : texts.unsafe(days);
  const waiting = html`<p>${texts.waiting(total)}${oldestAt === null ? '' : html`, ${texts.oldest} ${time(oldestAt, zone)}`}</p>`;
  return html`<p class="note ${isSafe ? 'done' : 'problem'}"><strong>${said}</strong></p>${total === 0 ? '' : waiting}
<h2>${texts.rules}</h2>${listOf({ ...texts, title: texts.rules, columns: texts.ruleColumns }, rows)}`;
}

/** Shows the step that is due, what blocks it, and its commands. */
const nextStep = ({
  title,
  isReady,
  blocks,
  commands,
  clients,
}: Output<typeof migrateNext>): Html => html`<section class="note" aria-labelledby="next-step">
<h2 id="next-step">${texts.next}</h2><p><strong>${title}</strong> <span class="${isReady ? 'good' : 'bad'}">${isReady ? texts.ready : texts.notYet}</span></p>
${blocks.length === 0 ? '' : html`<ul>${blocks.map((block) => html`<li>${block}</li>`)}</ul>`}
<pre class="commands"><code>${commands.join('\n')}</code></pre>
${clients === null ? '' : clientLine(clients)}</section>`;

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
        return html`<span class="${count > 0 && BAD.includes(name) ? 'bad' : ''}">${grouped(count)}</span>`;
      }),
      html`${texts.ms(each.oldP95Ms)}`,
      html`${texts.ms(each.ourP95Ms)}`,
    ],
  }));
  return html`<h2>${texts.operations}</h2>${listOf({ ...texts, title: texts.operations }, rows)}`;
}

const options = (chosen: string): Html[] =>
  STAGES.map((stage) => html`<option value="${stage}"${stage === chosen ? html` selected` : ''}>${stage}</option>`);

/** The form for the stage of an account, or for the default stage. */
const stageForm = (username: string | null, stage: string, name: string): Html =>
  html`<form method="post" action="${HERE}/stage" class="buttons">${hidden(username === null ? { isDefault: 'yes' } : { username })}
<label class="unseen" for="stage-${name}">${texts.stage} ${username ?? ''}</label><select id="stage-${name}" name="stage">${options(stage)}</select>
<button aria-label="${texts.change} ${username ?? texts.defaultStage}">${texts.change}</button></form>`;

async function stages(request: PageRequest, { defaultStage }: Report): Promise<Html> {
  const { items, next } = await request.act.run(migrateAccounts, { query: pageQuery(request) });
  const rows = items.map(({ username, stage, isDefault, since, days, title, isReady, blocks }, index) => ({
    key: username,
    cells: [
      html`<a href="/console/accounts/${encodeURIComponent(username)}">${username}</a>`,
      html`${texts.stageNames[stage] ?? stage}${isDefault ? html` <span class="quiet">${texts.byDefault}</span>` : ''}`,
      since === null ? html`–` : time(since, request.zone),
      html`${grouped(Math.floor(days[stage] ?? 0))}`,
      html`${title} ${isReady ? html`<span class="good">${texts.ready}</span>` : html`<small class="quiet">${texts.blocked(blocks)}</small>`}`,
      stageForm(username, stage, String(index)),
    ],
  }));
  const list = listOf(
    { title: texts.stages, columns: texts.stageColumns, empty: texts.noStages, emptyHint: texts.noStagesHint },
    rows,
  );
  return html`<h2>${texts.stages}</h2><p>${texts.defaultStage}: ${texts.stageNames[defaultStage] ?? defaultStage}</p>${stageForm(null, defaultStage, 'default')}
${list}${pagerOf(request, next)}
<h3>${texts.setStage}</h3><form method="post" action="${HERE}/stage" class="fields">${field({ name: 'username', label: texts.username, value: request.form.text('username'), isRequired: true, lengthMax: 200, autocomplete: 'off' })}
<p><label for="stage">${texts.stage}</label><select id="stage" name="stage">${options(request.form.text('stage') || 'compare')}</select></p><button>${texts.change}</button></form>`;
}

function differences({ zone }: PageRequest, { examples }: Report): Html {
  const rows = examples.map(({ operation, protocol, name, example, at }, index) => ({
    key: String(index),
    cells: [html`<code>${operation}</code>`, html`${protocol}`, time(at, zone), html`${name}: ${example}`],
  }));
  const { noDifferences: empty, noDifferencesHint: emptyHint, differences: title, differenceColumns: columns } = texts;
  return html`<h2>${title}</h2>${listOf({ title, columns, empty, emptyHint }, rows)}`;
}

function knownDifferences({ knownDifferences: all }: Report): Html {
  const rows = all.map(({ name, total, example }) => ({
    key: name,
    cells: [html`<code>${name}</code>`, html`${grouped(total)}`, html`${example ?? ''}`],
  }));
  const {
    noKnownDifferences: empty,
    noKnownDifferencesHint: emptyHint,
    knownDifferences: title,
    knownDifferenceColumns: columns,
  } = texts;
  return html`<h2>${title}</h2>${listOf({ title, columns, empty, emptyHint }, rows)}`;
}

const acceptForm = (title: string, lead: string, choices: readonly { operation: string; shown: Html }[]): Html =>
  html`<h2>${title}</h2><p>${lead}</p><form method="post" action="${HERE}/accept">
<fieldset class="columns"><legend>${title}</legend>${choices.map(
    ({ operation, shown }) =>
      html`<label class="choice"><input type="checkbox" name="operation" value="${operation}"> ${shown}</label>`,
  )}</fieldset><button>${texts.accept}</button></form>`;

function unseen({ neverSeen }: Report): Html {
  if (neverSeen.length === 0) return html`<h2>${texts.unseen}</h2><p>${texts.unseenNone}</p>`;
  const choices = neverSeen.map((operation) => ({ operation, shown: html`<code>${operation}</code>` }));
  return acceptForm(texts.unseen, texts.unseenLead, choices);
}

function unknown({ unknown: all }: Report): Html {
  const open = all.filter(({ isAccepted }) => !isAccepted);
  if (open.length === 0) return html`<h2>${texts.unknown}</h2><p>${texts.unknownNone}</p>`;
  const choices = open.map(({ operation, calls }) => ({
    operation,
    shown: html`<code>${operation}</code> <span class="quiet">${texts.unknownCalls(calls)}</span>`,
  }));
  return acceptForm(texts.unknown, texts.unknownLead, choices);
}

function acceptances({ zone }: PageRequest, { acceptances: all }: Report): Html {
  const rows = all.map(({ operation, by, at, reason }) => ({
    key: operation,
    cells: [
      html`<code>${operation}</code>`,
      html`<bdi>${by}</bdi>`,
      time(at, zone),
      html`${reason === '' ? texts.noReason : reason}`,
      html`<form method="post" action="${HERE}/withdraw">${hidden({ operation })}<button aria-label="${texts.withdraw} ${operation}">${texts.withdraw}</button></form>`,
    ],
  }));
  const { noAcceptances: empty, noAcceptancesHint: emptyHint, acceptances: title, acceptanceColumns: columns } = texts;
  return html`<h2>${title}</h2>${listOf({ title, columns, empty, emptyHint }, rows)}`;
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
      details: html`<ul>${chosen.map((each) => html`<li><code>${each}</code></li>`)}</ul>`,
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
  const main = html`<div class="report" role="region" tabindex="0" aria-label="${texts.print}">${reportMain(report, decisionPart(await migrationPlan(database, now), report))}</div><p class="unprinted"><a href="${HERE}">${texts.title}</a></p>`;
  return page(texts.print, main, { current: 'migration' });
};

export const migrationRoutes = [
  get('/migration', (request) => show(request)),
  get('/migration/report', printed),
  post('/migration/stage', setStage),
  post('/migration/accept', accept),
  post('/migration/withdraw', withdraw),
];
