import { type Html, html } from '../../base/html.ts';
import { BUILTIN_NAME } from '../../domain/sending/connectors.ts';
import type { Output } from '../../operator/action.ts';
import { connectorCounts } from '../../operator/actions/accounts/counts.ts';
import { status as serviceStatus } from '../../operator/actions/accounts/service.ts';
import { connectorList } from '../../operator/actions/carriers/connectors.ts';
import { queueList } from '../../operator/actions/carriers/queue.ts';
import { unroutedList } from '../../operator/actions/carriers/unrouted.ts';
import {
  type Connector,
  connectorTable,
  texts as connectorTexts,
  failureRate,
  refusedSaid,
  refuses,
} from '../carriers/connectors.ts';
import { CHART_HOURS, dayChart } from '../charts.ts';
import { counted, durationSaid, grouped } from '../counts.ts';
import type { IconName } from '../icons.ts';
import { get, type PageRequest, page, type View } from '../page-request.ts';
import { head, linkButton, need, note, panel, tablePanel, tile } from '../parts.ts';
import type { Tone } from '../words.ts';

/** The first screen of the operator: what needs attention, in words, and what is on its way. */

const texts = {
  title: 'Overview',
  needs: 'What needs your attention',
  nothing: 'Nothing needs your attention now.',
  down: (name: string) => `${name} is down.`,
  downWhy: (reason: string, waiting: Html | string) => html`${reason}. ${waiting}`,
  waits: (count: number, oldest: Html | null) =>
    count === 0
      ? 'No message waits for it.'
      : html`${counted(count, 'message waits', 'messages wait')}${oldest === null ? '' : html`, the oldest for ${oldest}`}.`,
  avoided: (name: string) => `Outbound routes pass over ${name}.`,
  avoidedWhy: (reason: string) => `The reason: ${reason}. They try it again by themselves after some minutes.`,
  refuses: (name: string) => `${name} refuses messages for good.`,
  refusesWhy: (said: Html | string) => html`It ${said}. Those messages have failed.`,
  paused: (name: string) => `${name} is paused.`,
  unknownOutcome: (count: number, isAtLeast: boolean) =>
    count === 1 && !isAtLeast
      ? '1 message has an unknown outcome.'
      : html`${grouped(count)}${isAtLeast ? '+' : ''} messages have an unknown outcome.`,
  unknownWhy: (count: number) => `Nobody knows whether the carrier has ${count === 1 ? 'it' : 'them'}.`,
  held: (count: number, isAtLeast: boolean) =>
    html`${grouped(count)}${isAtLeast ? '+' : ''} ${count === 1 ? 'message is' : 'messages are'} held by the spend guard.`,
  heldWhy: 'Release or refuse each of them.',
  decide: 'Decide',
  unrouted: 'Incoming messages have no route.',
  unroutedWhy: 'Nobody gets them until they are assigned.',
  show: 'Show them',
  open: 'Open',
  noAccount: 'There is no account yet.',
  noAccountWhy: 'Customers and their programs need one.',
  create: 'Create one',
  onlyLoopback: 'Messages reach nobody yet.',
  onlyLoopbackWhy: 'The connector loopback answers in place of a carrier.',
  noConnector: 'There is no connector.',
  noConnectorWhy: 'Nothing is sent.',
  add: 'Add one',
  addConnector: 'Add a connector',
  unconnected: (connector: string | null) =>
    connector === null ? 'No connector is the default.' : `The connector ${connector} does not exist.`,
  late: 'Messages are late.',
  lateWhy: (oldest: Html) => html`The oldest was due ${oldest} ago.`,
  waiting: 'Waiting',
  waitingMore: 'with retries',
  oldest: 'Oldest of them',
  oldestMore: 'since it was first due',
  submitting: 'Being submitted',
  sent: 'Accepted, 24 hours',
  sentMore: 'parts, by carriers',
  failed: 'Failed, 24 hours',
  failedMore: 'refused, undelivered',
  database: 'Database',
  backup: 'Backup',
  behind: (seconds: number | null) =>
    seconds === null ? 'no snapshot yet' : html`${grouped(Math.ceil(seconds))} s behind`,
  backedUp: (snapshot: string | null, verified: string | null) =>
    `last snapshot ${snapshot ?? 'never'}, last verified ${verified ?? 'never'}`,
  chart: 'Parts of all connectors, last 14 days',
  tilesName: 'Now',
  none: '–',
  bytes: (bytes: number) => html`${grouped(Math.round(bytes / 1_048_576))} MiB`,
} as const;

const COUNTED_MAX = 500;
const DAY_MS = 86_400_000;
/** If a message is due for this long, something is wrong. */
const LATE_SECONDS = 120;

const sentence = (words: Html | string, why: Html | string, href: string): Html =>
  html`<a href="${href}"><strong>${words}</strong></a><p>${why}</p>`;
const needOf = (
  look: readonly [Tone, IconName],
  words: Html | string,
  why: Html | string,
  href: string,
  act: string,
): Html => need(look[0], look[1], sentence(words, why, href), linkButton(href, act, { look: 's', about: words }));

function ofConnector(connector: Connector, now: number): Html[] {
  const { name, state, downReason, waiting, oldestDueAt } = connector;
  const href = `/console/connectors/${encodeURIComponent(name)}`;
  const oldest = oldestDueAt === null ? null : durationSaid(Math.max(0, now - Date.parse(oldestDueAt)));
  const waits = texts.waits(waiting, oldest);
  const found: Html[] = [];
  if (state === 'down') {
    const why = texts.downWhy(downReason ?? '', waits);
    found.push(needOf(['bad', 'cross'], texts.down(name), why, href, texts.open));
  }
  if (state === 'working' && connector.avoidedUntil !== null) {
    const why = texts.avoidedWhy(connector.avoidedReason ?? '');
    found.push(needOf(['bad', 'alert'], texts.avoided(name), why, href, texts.open));
  }
  if (refuses(connector)) {
    const why = texts.refusesWhy(refusedSaid(connector));
    found.push(needOf(['bad', 'alert'], texts.refuses(name), why, href, texts.open));
  }
  if (state === 'paused') found.push(needOf(['wait', 'pause'], texts.paused(name), waits, href, texts.open));
  return found;
}

async function needs({ act, now }: PageRequest, connectors: readonly Connector[]): Promise<Html[]> {
  const found = connectors.flatMap((each) => ofConnector(each, now));
  if (connectors.length === 0) {
    const add = '/console/connectors/new';
    found.push(needOf(['bad', 'alert'], texts.noConnector, texts.noConnectorWhy, add, texts.add));
  }
  if (connectors.every(({ name, kind }) => name === BUILTIN_NAME && kind === 'loopback') && connectors.length > 0) {
    const add = '/console/connectors/new';
    found.push(needOf(['wait', 'plug'], texts.onlyLoopback, texts.onlyLoopbackWhy, add, texts.addConnector));
  }
  const unknown = await act.run(queueList, { query: { open: 'true', limit: String(COUNTED_MAX) } });
  if (unknown.items.length > 0) {
    const [count, isAtLeast] = [unknown.items.length, unknown.next !== null];
    const said = texts.unknownOutcome(count, isAtLeast);
    found.push(needOf(['bad', 'question'], said, texts.unknownWhy(count), '/console/queue?show=open', texts.decide));
  }
  const held = await act.run(queueList, { query: { held: 'true', limit: String(COUNTED_MAX) } });
  if (held.items.length > 0) {
    const said = texts.held(held.items.length, held.next !== null);
    found.push(needOf(['wait', 'shield'], said, texts.heldWhy, '/console/queue?show=held', texts.decide));
  }
  const unrouted = await act.run(unroutedList, { query: { limit: '1' } });
  if (unrouted.items.length > 0)
    found.push(needOf(['wait', 'box'], texts.unrouted, texts.unroutedWhy, '/console/unrouted', texts.show));
  return found;
}

interface Backup {
  readonly lagSeconds: number | null;
  readonly snapshotAt: string | number | null;
  readonly verifiedAt: string | number | null;
}

const minuteOf = (at: string | number | null): string | null =>
  at === null ? null : new Date(at).toISOString().slice(0, 16).replace('T', ' ');

const backupTile = ({ lagSeconds, snapshotAt, verifiedAt }: Backup): Html =>
  tile({
    key: 'backup',
    label: texts.backup,
    value: texts.behind(lagSeconds),
    more: texts.backedUp(minuteOf(snapshotAt), minuteOf(verifiedAt)),
  });

type Status = Output<typeof serviceStatus>;

function ofService({ sending, backup, accounts }: Status): Html[] {
  const ofAccounts =
    accounts > 0
      ? []
      : [needOf(['wait', 'people'], texts.noAccount, texts.noAccountWhy, '/console/accounts#add', texts.create)];
  const ofBackup = backup?.fault ? [need('bad', 'alert', backup.fault)] : [];
  const unconnected = sending.unconnected.map(({ connector, waiting }) =>
    needOf(
      ['bad', 'alert'],
      texts.unconnected(connector),
      texts.waits(waiting, null),
      '/console/connectors',
      texts.open,
    ),
  );
  const found = [...unconnected, ...ofBackup, ...ofAccounts];
  if (sending.oldestDueSeconds <= LATE_SECONDS) return found;
  const why = texts.lateWhy(durationSaid(sending.oldestDueSeconds * 1_000));
  return [...found, needOf(['bad', 'clock'], texts.late, why, '/console/queue', texts.show)];
}

type Hours = Output<typeof connectorCounts>['items'];

function tiles({ sending, database, backup }: Status, day: Hours): Html {
  const accepted = day.reduce((sum, hour) => sum + hour.accepted, 0);
  const oldest = sending.waiting === 0 ? texts.none : durationSaid(sending.oldestDueSeconds * 1_000);
  const tiles = [
    tile({
      key: 'waiting',
      label: texts.waiting,
      value: grouped(sending.waiting),
      href: '/console/queue',
      more: texts.waitingMore,
    }),
    tile({ key: 'oldest', label: texts.oldest, value: oldest, more: texts.oldestMore }),
    tile({ key: 'sent', label: texts.sent, value: grouped(accepted), more: texts.sentMore }),
    tile({ key: 'failed', label: texts.failed, value: failureRate(day) ?? texts.none, more: texts.failedMore }),
    tile({
      key: 'submitting',
      label: texts.submitting,
      value: grouped(sending.submitting),
      href: '/console/queue?show=claimed',
    }),
    tile({ key: 'database', label: texts.database, value: texts.bytes(database.bytes), more: database.engine }),
    ...(backup ? [backupTile(backup)] : []),
  ];
  return html`<ul class="tiles" aria-label="${texts.tilesName}">${tiles}</ul>`;
}

/** The parts that carriers accepted or refused, for the chart. */
const chartHours = (hours: Hours) =>
  hours.map(({ at, accepted, permanent, delivered, failed }) => ({
    at: Date.parse(at),
    accepted,
    delivered,
    failed: permanent + failed,
  }));

/** It is drawn once and not with the live part, so that its table stays open. */
const chart = ({ now, zone }: PageRequest, hours: Hours): Html =>
  panel({ title: texts.chart, content: dayChart(texts.chart, chartHours(hours), now, zone) });

async function content(request: PageRequest, hours: Hours): Promise<Html> {
  const { act, now } = request;
  const connectors = (await act.run(connectorList)).items;
  const status = await act.run(serviceStatus);
  const found = [...(await needs(request, connectors)), ...ofService(status)];
  const day = hours.filter(({ at }) => Date.parse(at) > now - DAY_MS);
  return html`${
    found.length === 0
      ? note('good', texts.nothing)
      : panel({ title: texts.needs, content: html`<ul class="needs">${found}</ul>`, isFlush: true })
  }${tiles(status, day)}
${connectors.length === 0 ? '' : tablePanel(connectorTexts.title, connectorTable(request, connectors, day), linkButton('/console/connectors/new', connectorTexts.add, { look: 's', icon: 'plus' }))}`;
}

const show = async (request: PageRequest): Promise<View> => {
  const hours = (await request.act.run(connectorCounts, { query: { hours: String(CHART_HOURS) } })).items;
  const shown = await content(request, hours);
  if (request.query.get('part') === 'counts') return { kind: 'fragment', html: shown };
  const main = html`${head(texts.title)}<div class="stack" data-live="/console/?part=counts" data-mode="whole">${shown}</div>${chart(request, hours)}`;
  return page(texts.title, main, { current: 'overview' });
};

export const operatorOverviewRoutes = [get('/', show)];
