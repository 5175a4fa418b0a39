import { type Html, html } from '../../base/html.ts';
import { connectorList } from '../../operator/actions/connectors.ts';
import { queueList } from '../../operator/actions/queue.ts';
import { status as serviceStatus } from '../../operator/actions/service.ts';
import { unroutedList } from '../../operator/actions/unrouted.ts';
import { type Connector, connectorTable, texts as connectorTexts } from '../carriers/connectors.ts';
import { get, type PageRequest, page, type View } from '../page-request.ts';
import { counted, grouped } from '../words.ts';

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
  due: 'Messages that are due',
  submitting: 'Messages on their way to a carrier',
  accounts: 'Accounts',
  database: 'Database',
  version: 'Version',
  bytes: (bytes: number) => `${grouped(Math.round(bytes / 1_048_576))} MiB`,
} as const;

const COUNTED_MAX = 500;

/** If a message is due for this long, something is wrong. */
const LATE_SECONDS = 120;

async function needs({ act }: PageRequest, connectors: readonly Connector[]): Promise<Html[]> {
  const found: Html[] = [];
  if (connectors.length === 0) found.push(html`<li>${texts.noConnector}</li>`);
  for (const { name, state, downReason } of connectors) {
    if (state === 'down')
      found.push(
        html`<li class="bad">${texts.down(name, downReason ?? '')} <a href="/console/connectors">${connectorTexts.title}</a></li>`,
      );
    if (state === 'paused')
      found.push(html`<li>${texts.paused(name)} <a href="/console/connectors">${connectorTexts.title}</a></li>`);
  }
  const unknown = await act.run(queueList, { query: { open: 'true', limit: String(COUNTED_MAX) } });
  if (unknown.items.length > 0)
    found.push(
      html`<li class="bad">${texts.unknownOutcome(unknown.items.length, unknown.next !== null)} <a href="/console/queue?show=open">${texts.decide}</a></li>`,
    );
  const unrouted = await act.run(unroutedList, { query: { limit: '1' } });
  if (unrouted.items.length > 0)
    found.push(html`<li>${texts.unrouted} <a href="/console/unrouted">${texts.route}</a></li>`);
  return found;
}

async function content(request: PageRequest): Promise<Html> {
  const { act } = request;
  const connectors = (await act.run(connectorList)).items;
  const found = await needs(request, connectors);
  const status = await act.run(serviceStatus);
  const { due, submitting, oldestDueSeconds, unconnected } = status.sending;
  for (const { connector, waiting } of unconnected)
    found.push(
      html`<li class="bad">${texts.unconnected(connector, waiting)} <a href="/console/connectors">${connectorTexts.title}</a></li>`,
    );
  if (oldestDueSeconds > LATE_SECONDS) found.push(html`<li class=\"bad\">${texts.late(oldestDueSeconds)}</li>`);
  return html`<h2>${texts.needs}</h2>${found.length === 0 ? html`<p class="note done">${texts.nothing}</p>` : html`<ul>${found}</ul>`}
<ul class="tiles"><li><a href="/console/accounts"><strong>${grouped(status.accounts)}</strong>${texts.accounts}</a></li>
<li><a href="/console/queue"><strong>${grouped(due)}</strong>${texts.due}</a></li><li><strong>${grouped(submitting)}</strong>${texts.submitting}</li>
<li><strong>${texts.bytes(status.database.bytes)}</strong>${texts.database} (${status.database.engine})</li>
<li><strong>${status.version}</strong>${texts.version}</li></ul>
${connectors.length === 0 ? '' : html`<h2>${connectorTexts.title}</h2>${connectorTable(request, connectors)}`}`;
}

const show = async (request: PageRequest): Promise<View> => {
  const shown = await content(request);
  if (request.query.get('part') === 'counts') return { kind: 'fragment', html: shown };
  const main = html`<h1>${texts.title}</h1><div data-live="/console/?part=counts" data-mode="whole">${shown}</div>`;
  return page(texts.title, main, { current: 'overview' });
};

export const operatorOverviewRoutes = [get('/', show)];
