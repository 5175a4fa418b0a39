import { counted, grouped } from '../../base/counted.ts';
import { type Html, html } from '../../base/html.ts';
import { connectorList } from '../../operator/actions/connectors.ts';
import { queueList } from '../../operator/actions/queue.ts';
import { status as serviceStatus } from '../../operator/actions/service.ts';
import { unroutedList } from '../../operator/actions/unrouted.ts';
import { type Connector, connectorTable, texts as connectorTexts } from '../carriers/connectors.ts';
import { get, type PageRequest, page, type View } from '../page-request.ts';
import { head, linkButton, need, note, panel, tablePanel, tile } from '../parts.ts';

/** The first screen of the operator: what needs attention, in words. */

const texts = {
  title: 'Overview',
  needs: 'What needs your attention',
  nothing: 'Nothing needs your attention now.',
  down: (name: string, reason: string) =>
    `The connector ${name} does not work: ${reason}. Messages wait, and are sent when it works again.`,
  paused: (name: string) => `The connector ${name} is paused. Messages for it wait.`,
  unknownOutcome: (count: number, isAtLeast: boolean) =>
    count === 1 && !isAtLeast
      ? '1 message has an unknown outcome: nobody knows whether the carrier has it.'
      : `${grouped(count)}${isAtLeast ? '+' : ''} messages have an unknown outcome: nobody knows whether the carrier has them.`,
  decide: 'Decide',
  unrouted: 'Incoming messages have no route.',
  route: 'Show them',
  noConnector: 'There is no connector, so nothing is sent.',
  unconnected: (connector: string | null, count: number) =>
    connector === null
      ? `${counted(count, 'message waits', 'messages wait')}, and no connector is the default.`
      : `${counted(count, 'message waits', 'messages wait')} for the connector ${connector}, which does not exist.`,
  late: (seconds: number) =>
    `The oldest message that is due has waited for ${counted(Math.round(seconds / 60), 'minute')}.`,
  due: 'Messages due',
  submitting: 'On their way to a carrier',
  accounts: 'Accounts',
  database: 'Database',
  version: 'version',
  backup: 'Backup',
  behind: (seconds: number | null) =>
    seconds === null ? 'no snapshot yet' : `${grouped(Math.ceil(seconds))} s behind`,
  backedUp: (snapshot: string | null, verified: string | null) =>
    `last snapshot ${snapshot ?? 'never'}, last verified ${verified ?? 'never'}`,
  figures: 'Now',
  bytes: (bytes: number) => `${grouped(Math.round(bytes / 1_048_576))} MiB`,
} as const;

const COUNTED_MAX = 500;

/** If a message is due for this long, something is wrong. */
const LATE_SECONDS = 120;

const toConnectors = linkButton('/console/connectors', connectorTexts.title, { look: 's' });

async function needs({ act }: PageRequest, connectors: readonly Connector[]): Promise<Html[]> {
  const found: Html[] = [];
  if (connectors.length === 0) found.push(need('bad', 'alert', texts.noConnector));
  for (const { name, state, downReason } of connectors) {
    if (state === 'down') found.push(need('bad', 'cross', texts.down(name, downReason ?? ''), toConnectors));
    if (state === 'paused') found.push(need('wait', 'pause', texts.paused(name), toConnectors));
  }
  const unknown = await act.run(queueList, { query: { open: 'true', limit: String(COUNTED_MAX) } });
  if (unknown.items.length > 0) {
    const said = texts.unknownOutcome(unknown.items.length, unknown.next !== null);
    found.push(need('bad', 'question', said, linkButton('/console/queue?show=open', texts.decide, { look: 's' })));
  }
  const unrouted = await act.run(unroutedList, { query: { limit: '1' } });
  if (unrouted.items.length > 0)
    found.push(need('wait', 'box', texts.unrouted, linkButton('/console/unrouted', texts.route, { look: 's' })));
  return found;
}

interface Backup {
  readonly lagSeconds: number | null;
  readonly snapshotAt: string | number | null;
  readonly verifiedAt: string | number | null;
}

const day = (at: string | number | null): string | null =>
  at === null ? null : new Date(at).toISOString().slice(0, 16).replace('T', ' ');

const backupTile = ({ lagSeconds, snapshotAt, verifiedAt }: Backup): Html =>
  tile({
    key: 'backup',
    label: texts.backup,
    figure: texts.behind(lagSeconds),
    more: texts.backedUp(day(snapshotAt), day(verifiedAt)),
  });

async function content(request: PageRequest): Promise<Html> {
  const { act } = request;
  const connectors = (await act.run(connectorList)).items;
  const found = await needs(request, connectors);
  const status = await act.run(serviceStatus);
  const { due, submitting, oldestDueSeconds, unconnected } = status.sending;
  for (const { connector, waiting } of unconnected)
    found.push(need('bad', 'alert', texts.unconnected(connector, waiting), toConnectors));
  const { backup } = status;
  if (backup?.fault) found.push(need('bad', 'alert', backup.fault));
  if (oldestDueSeconds > LATE_SECONDS) found.push(need('bad', 'clock', texts.late(oldestDueSeconds)));
  const figures = [
    tile({ key: 'due', label: texts.due, figure: grouped(due), href: '/console/queue' }),
    tile({ key: 'submitting', label: texts.submitting, figure: grouped(submitting) }),
    tile({ key: 'accounts', label: texts.accounts, figure: grouped(status.accounts), href: '/console/accounts' }),
    tile({
      key: 'database',
      label: texts.database,
      figure: texts.bytes(status.database.bytes),
      more: `${status.database.engine}, ${texts.version} ${status.version}`,
    }),
    ...(backup ? [backupTile(backup)] : []),
  ];
  return html`${
    found.length === 0
      ? note('good', texts.nothing)
      : panel({ title: texts.needs, content: html`<ul class="needs">${found}</ul>`, isFlush: true })
  }<ul class="tiles" aria-label="${texts.figures}">${figures}</ul>
${connectors.length === 0 ? '' : tablePanel(connectorTexts.title, connectorTable(request, connectors))}`;
}

const show = async (request: PageRequest): Promise<View> => {
  const shown = await content(request);
  if (request.query.get('part') === 'counts') return { kind: 'fragment', html: shown };
  const main = html`${head(texts.title)}<div class="stack" data-live="/console/?part=counts" data-mode="whole">${shown}</div>`;
  return page(texts.title, main, { current: 'overview' });
};

export const operatorOverviewRoutes = [get('/', show)];
