import { type Html, html } from '../../base/html.ts';
import { badField, type Problem } from '../../base/problem.ts';
import type { Output } from '../../operator/action.ts';
import { connectorCounts } from '../../operator/actions/accounts/counts.ts';
import { connectorKinds } from '../../operator/actions/carriers/connector-kinds.ts';
import {
  connectorList,
  connectorPut,
  connectorRemove,
  connectorTest,
} from '../../operator/actions/carriers/connectors.ts';
import { CHART_HOURS, dayChart } from '../charts.ts';
import { durationSaid, grouped } from '../counts.ts';
import { asking, bullets, field, hidden, noticeOf, problemNote, refusalOf, screen } from '../lists.ts';
import { get, noticed, type PageRequest, page, post, redirect, type View } from '../page-request.ts';
import { backLink, button, fact, facts, formPanel, head, linkButton, note, panel, tile } from '../parts.ts';
import { time } from '../words.ts';
import { bodyOf, type Kind, labelsOf, settingsFields } from './connector-form.ts';
import { type Connector, texts as listTexts, refusedSaid, refuses } from './connectors.ts';

/** One connector: its state in words, its settings, a test, and adding one. */

const texts = {
  add: 'Add a connector',
  addLead: 'Choose what the carrier speaks. The next page asks for the rest.',
  kind: 'Kind',
  next: 'Next',
  addOf: (kind: string) => `Add a connector: ${kind}`,
  settings: 'Settings',
  name: 'Name',
  nameHint: 'Lower-case letters, digits and hyphens. Accounts and routes name it.',
  save: 'Save',
  saveLead: 'Every process takes a change over within a second. What is on its way is not lost.',
  ofFile: 'This connector is configured in the connector file. Change it there.',
  tilesName: 'Now',
  waiting: 'Waiting',
  oldest: (time: Html) => html`the oldest for ${time}`,
  lastMinute: 'Last minute',
  limit: (rate: number | null) => (rate === null ? 'no limit' : html`limit ${grouped(rate)} a second`),
  refused: 'Refused for good',
  others: (temporary: number, unknown: number) =>
    html`${grouped(temporary)} for a while, ${grouped(unknown)} unanswered`,
  lag: 'Receipts after',
  half: 'half of them',
  none: '–',
  accepted: 'Accepted',
  allTime: 'since it was added',
  down: 'It is down.',
  downNext: 'It is tried again by itself. Messages wait and nothing is lost.',
  since: 'Since',
  avoided: 'Outbound routes pass over it.',
  avoidedNext: 'It refused most of their messages. They try it again by themselves at',
  refuses: 'The carrier refuses messages for good.',
  refusesNext: 'Those messages have failed. Find the reason before more are sent; pausing makes messages wait.',
  unread: 'An answer that nothing reads',
  unreadLead: 'The connector has no rule for this answer, so the outcome is unknown. Its beginning:',
  last: 'Last error',
  lastAccepted: 'Last accepted',
  test: 'Test',
  testLead: 'Connects to the carrier and looks for the usual mistakes. Nothing is sent.',
  works: (name: string) => `The connector ${name} can be used. Nothing was sent.`,
  worksNot: (name: string) => `The connector ${name} cannot be used as it is. Nothing was sent.`,
  showRequest: 'Show the request',
  requestLead: 'What would be sent for a message to this number. Nothing is sent.',
  to: 'To',
  remove: 'Remove…',
  removeSubmit: 'Remove it',
  removeTitle: 'Remove it',
  removeQuestion: (name: string) => `Remove the connector ${name}? Its counts go too.`,
  chart: (name: string) => `Parts of ${name}, last 14 days`,
  notices: {
    ...listTexts.notices,
    saved: 'The connector is saved.',
    added: 'The connector is added. Test it before you give it messages.',
  },
} as const;

const HERE = '/console/connectors';
const addressOf = (name: string): string => `${HERE}/${encodeURIComponent(name)}`;

const kindsOf = async ({ act }: PageRequest): Promise<readonly Kind[]> => (await act.run(connectorKinds)).items;

async function connectorOf({ act, params }: PageRequest): Promise<Connector | undefined> {
  return (await act.run(connectorList)).items.find(({ name }) => name === params.name);
}

const choose = async (request: PageRequest): Promise<View> => {
  const kinds = await kindsOf(request);
  const kind = kinds.find((each) => each.kind === request.query.get('kind'));
  if (kind) return addPage(request, kind, null);
  const rows = kinds.map(
    (each) =>
      html`<li><div><a href="${HERE}/new?kind=${each.kind}"><strong>${each.kind}</strong></a><p>${each.summary}</p></div>${linkButton(`${HERE}/new?kind=${each.kind}`, texts.next, { look: 's', about: each.kind })}</li>`,
  );
  const main = html`${backLink(HERE, listTexts.title)}${head(texts.add, texts.addLead)}${panel({ title: texts.kind, content: html`<ul class="needs">${rows}</ul>`, isFlush: true })}`;
  return page(texts.add, main, { current: 'connectors' });
};

async function addPage(request: PageRequest, kind: Kind, problem: Problem | null): Promise<View> {
  const isAgain = problem !== null;
  const name = field({
    name: 'name',
    label: texts.name,
    value: request.form.text('name'),
    hint: texts.nameHint,
    isRequired: true,
    lengthMax: 64,
    autocomplete: 'off',
  });
  const form = formPanel({
    title: texts.settings,
    action: `${HERE}/new`,
    fields: html`${name}${settingsFields(request, kind, undefined, isAgain)}`,
    submit: texts.add,
    isPrimary: true,
  });
  const main = html`${backLink(`${HERE}/new`, texts.add)}${head(texts.addOf(kind.kind), kind.summary)}${problemNote(problem, labelsOf(kind.fields))}${form}`;
  return screen(texts.addOf(kind.kind), 'connectors', main, problem);
}

async function kindInForm(request: PageRequest): Promise<Kind | undefined> {
  return (await kindsOf(request)).find(({ kind }) => kind === request.form.text('kind'));
}

const add = async (request: PageRequest): Promise<View> => {
  const kind = await kindInForm(request);
  if (!kind) return redirect(`${HERE}/new`);
  const name = request.form.text('name');
  try {
    const known = (await request.act.run(connectorList)).items.some((each) => each.name === name);
    if (known) throw badField('name', 'there is a connector of this name already');
    await request.act.run(connectorPut, { params: { name }, body: bodyOf(request, kind) });
  } catch (thrown) {
    return addPage(request, kind, refusalOf(thrown));
  }
  return noticed(addressOf(name), 'added');
};

const save = async (request: PageRequest): Promise<View> => {
  const kind = await kindInForm(request);
  const name = request.params.name ?? '';
  if (!kind) return redirect(addressOf(name));
  try {
    await request.act.run(connectorPut, { params: { name }, body: bodyOf(request, kind) });
  } catch (thrown) {
    return show(request, { problem: refusalOf(thrown) });
  }
  return noticed(addressOf(name), 'saved');
};

function stateNote(connector: Connector, zone: string): Html {
  const { state, downReason, downSince } = connector;
  if (state === 'paused') return note('wait', listTexts.paused, 'pause');
  if (state === 'down') {
    const since = html`${texts.since} ${time(downSince, zone)}`;
    return note(
      'bad',
      html`<h2>${texts.down}</h2><p>${texts.downNext} ${since}.</p><p class="said"><code>${downReason ?? ''}</code></p>`,
      'cross',
    );
  }
  if (connector.avoidedUntil !== null) {
    const until = html`${texts.avoidedNext} ${time(connector.avoidedUntil, zone)}.`;
    return note(
      'bad',
      html`<h2>${texts.avoided}</h2><p>${until}</p><p class="said">${connector.avoidedReason ?? ''}</p>`,
    );
  }
  if (!refuses(connector)) return html``;
  return note(
    'bad',
    html`<h2>${texts.refuses}</h2><p>${texts.refusesNext}</p><p class="said">${refusedSaid(connector)}</p>`,
  );
}

function tiles(connector: Connector, now: number): Html {
  const { waiting, oldestDueAt, lastMinute, ratePerSecond, permanent, temporary, unknownOutcome, receiptLagMs } =
    connector;
  const oldest = oldestDueAt === null ? '' : texts.oldest(durationSaid(Math.max(0, now - Date.parse(oldestDueAt))));
  return html`<ul class="tiles" aria-label="${texts.tilesName}">${[
    tile({ key: 'waiting', label: texts.waiting, value: grouped(waiting), more: oldest }),
    tile({ key: 'rate', label: texts.lastMinute, value: grouped(lastMinute), more: texts.limit(ratePerSecond) }),
    tile({ key: 'accepted', label: texts.accepted, value: grouped(connector.accepted), more: texts.allTime }),
    tile({
      key: 'refused',
      label: texts.refused,
      value: grouped(permanent),
      more: texts.others(temporary, unknownOutcome),
    }),
    tile({
      key: 'lag',
      label: texts.lag,
      value: receiptLagMs === null ? texts.none : durationSaid(receiptLagMs),
      more: texts.half,
    }),
  ]}</ul>`;
}

interface Shown {
  readonly problem?: Problem | null;
  readonly tested?: Html;
}

async function show(request: PageRequest, { problem = null, tested = html`` }: Shown = {}): Promise<View> {
  const { zone, now, act, params } = request;
  const connector = await connectorOf(request);
  const kind = (await kindsOf(request)).find((each) => each.kind === connector?.kind);
  if (!connector || !kind) return redirect(HERE);
  const { name, state } = connector;
  const here = addressOf(name);
  const query = { hours: String(CHART_HOURS), connector: params.name ?? '' };
  const hours = (await act.run(connectorCounts, { query })).items.map((hour) => ({
    at: Date.parse(hour.at),
    accepted: hour.accepted,
    delivered: hour.delivered,
    failed: hour.permanent + hour.failed,
  }));
  const isPaused = state === 'paused';
  const toggle = html`<form method="post" action="${HERE}">${hidden({ name, back: 'one' })}${button(isPaused ? listTexts.resume : listTexts.pause, { act: isPaused ? 'resume' : 'pause', icon: isPaused ? 'play' : 'pause' })}</form>`;
  const lead = `${connector.kind}${connector.isDefault ? `, ${listTexts.default}` : ''}`;
  const settings =
    connector.origin === 'file'
      ? panel({ title: texts.settings, content: html`<p>${texts.ofFile}</p>` })
      : formPanel({
          title: texts.settings,
          action: here,
          lead: texts.saveLead,
          fields: settingsFields(request, kind, connector, problem !== null),
          submit: texts.save,
          isPrimary: true,
        });
  const main = html`${backLink(HERE, listTexts.title)}${head(name, lead, toggle)}${noticeOf(request, texts.notices)}${problemNote(problem, labelsOf(kind.fields))}${tested}${stateNote(connector, zone)}${tiles(connector, now)}
<div class="cols"><div class="stack">${settings}${panel({ title: texts.chart(name), content: dayChart(texts.chart(name), hours, now, zone) })}</div><div class="stack">${testPanels(request, connector)}${lastPanel(connector, zone)}${connector.origin === 'file' ? '' : removePanel(here)}</div></div>`;
  return screen(name, 'connectors', main, problem);
}

function testPanels({ form }: PageRequest, { name, kind }: Connector): Html {
  const here = `${addressOf(name)}/test`;
  const plain = formPanel({
    title: texts.test,
    action: here,
    lead: texts.testLead,
    fields: html``,
    submit: texts.test,
  });
  if (kind !== 'http') return plain;
  const to = field({ name: 'to', label: texts.to, value: form.text('to'), isRequired: true, lengthMax: 20 });
  return html`${plain}${formPanel({ title: texts.showRequest, action: here, lead: texts.requestLead, fields: to, submit: texts.showRequest })}`;
}

function lastPanel(
  { lastError, lastErrorAt, lastAcceptedAt, unreadAnswer, unreadAnswerAt }: Connector,
  zone: string,
): Html {
  const rows = [
    fact(texts.lastAccepted, time(lastAcceptedAt, zone)),
    fact(texts.last, lastError === null ? texts.none : html`${lastError} ${time(lastErrorAt, zone)}`),
  ];
  const unread =
    unreadAnswer === null
      ? ''
      : panel({
          title: texts.unread,
          content: html`<p>${texts.unreadLead} ${time(unreadAnswerAt, zone)}</p><pre><code>${unreadAnswer}</code></pre>`,
        });
  return html`${panel({ title: texts.tilesName, content: facts(rows) })}${unread}`;
}

const removePanel = (here: string): Html =>
  panel({
    title: texts.removeTitle,
    content: html`<form method="post" action="${here}/remove">${button(texts.remove, { look: 'danger' })}</form>`,
  });

const testedNote = ({ name, works, mistakes, notes, request, answer }: Output<typeof connectorTest>): Html => {
  if (!request) {
    return note(
      works ? 'good' : 'bad',
      html`<p>${works ? texts.works(name) : texts.worksNot(name)}</p>${bullets([...mistakes, ...notes])}`,
    );
  }
  const lines = [
    `${request.method} ${request.url}`,
    ...Object.entries(request.headers).map(([field, value]) => `${field}: ${value}`),
    '',
    request.body,
  ].join('\n');
  return note('', html`<pre><code>${lines.trim()}</code></pre>${answer === null ? '' : html`<p>${answer.says}</p>`}`);
};

/** A test changes nothing, so its result is shown at once and not after a redirect. */
const test = async (request: PageRequest): Promise<View> => {
  const to = request.form.text('to');
  try {
    const given = { params: { name: request.params.name ?? '' }, query: to === '' ? {} : { to } };
    return await show(request, { tested: testedNote(await request.act.run(connectorTest, given)) });
  } catch (thrown) {
    return show(request, { problem: refusalOf(thrown) });
  }
};

const remove = async (request: PageRequest): Promise<View> => {
  const { form, path, params } = request;
  const name = params.name ?? '';
  if (form.text('confirmed') !== 'yes') {
    const question = texts.removeQuestion(name);
    return asking('connectors', { question, action: path, submit: texts.removeSubmit, back: addressOf(name) });
  }
  try {
    await request.act.run(connectorRemove, { params: { name } });
  } catch (thrown) {
    return show(request, { problem: refusalOf(thrown) });
  }
  return noticed(HERE, 'removed');
};

export const connectorRoutes = [
  get('/connectors/new', choose),
  post('/connectors/new', add),
  get('/connectors/:name', (request) => show(request)),
  post('/connectors/:name', save),
  post('/connectors/:name/test', test),
  post('/connectors/:name/remove', remove),
];
