import { grouped } from '../../base/counted.ts';
import { type Html, html } from '../../base/html.ts';
import type { Item, Output } from '../../operator/action.ts';
import { connectorList, connectorPause, connectorResume, connectorTest } from '../../operator/actions/connectors.ts';
import { bullets, hidden, noticeOf, table } from '../lists.ts';
import { get, noticed, type PageRequest, page, post, type View } from '../page-request.ts';
import { acts, button, chip, empty, head, named, note } from '../parts.ts';
import { time } from '../words.ts';

/** The connectors to carriers and their state. */

/** `0.4 s`, `12 s`, `3 min`. */
const seconds = (ms: number): string =>
  ms < 10_000
    ? `${(ms / 1_000).toFixed(1)} s`
    : ms < 120_000
      ? `${Math.round(ms / 1_000)} s`
      : `${Math.round(ms / 60_000)} min`;

export const texts = {
  title: 'Connectors',
  columns: ['Connector', 'State', 'Waiting', 'Rate', 'Accepted', 'Refused', 'Receipts after', 'Last error', ''],
  working: 'Works',
  paused: 'Paused',
  down: 'Down',
  since: 'since',
  default: 'default',
  oldest: 'the oldest since',
  last: 'last',
  rate: (lastMinute: number, limit: number | null) =>
    `${lastMinute >= 1_000 ? '1,000+' : grouped(lastMinute)} in the last minute, ${limit === null ? 'no limit' : `at most ${grouped(limit)} in a second`}`,
  refused: (permanent: number, temporary: number, unknownOutcome: number) =>
    `${grouped(permanent)} permanent, ${grouped(temporary)} temporary, ${grouped(unknownOutcome)} without an answer`,
  lag: (ms: number | null) => (ms === null ? 'no receipt known' : seconds(ms)),
  pause: 'Pause',
  test: 'Test',
  works: (name: string) => `The connector ${name} can be used. Nothing was sent.`,
  worksNot: (name: string) => `The connector ${name} cannot be used as it is. Nothing was sent.`,
  resume: 'Resume',
  empty: 'There is no connector yet.',
  emptyHint: 'The service creates a loopback at its first start. Add others with columba connector put.',
  notices: { paused: 'The connector is paused.', resumed: 'The connector works again.' },
} as const;

export type Connector = Item<typeof connectorList>;

export function connectorTable({ zone }: PageRequest, connectors: readonly Connector[]): Html {
  const rows = connectors.map((each) => ({
    key: each.name,
    cells: [
      named(each.name, `${each.kind}${each.isDefault ? `, ${texts.default}` : ''}`),
      stateOf(each, zone),
      html`${grouped(each.waiting)} ${each.oldestDueAt === null ? '' : html`<span class="quiet">${texts.oldest} ${time(each.oldestDueAt, zone)}</span>`}`,
      html`${texts.rate(each.lastMinute, each.ratePerSecond)}`,
      html`${grouped(each.accepted)} <span class="quiet">${texts.last} ${time(each.lastAcceptedAt, zone)}</span>`,
      html`${texts.refused(each.permanent, each.temporary, each.unknownOutcome)}`,
      html`${texts.lag(each.receiptLagMs)}`,
      each.lastError === null
        ? html`<span class="quiet">–</span>`
        : html`${each.lastError} <span class="quiet">${time(each.lastErrorAt, zone)}</span>`,
      acts(
        html`<form class="row" method="post" action="/console/connectors">${hidden({ name: each.name })}${
          each.state === 'paused'
            ? button(texts.resume, { act: 'resume', look: 's', icon: 'play', label: `${texts.resume} ${each.name}` })
            : button(texts.pause, { act: 'pause', look: 's', icon: 'pause', label: `${texts.pause} ${each.name}` })
        }${button(texts.test, { act: 'test', look: 's', label: `${texts.test} ${each.name}` })}</form>`,
      ),
    ],
  }));
  return table({ caption: texts.title, columns: texts.columns, rows });
}

/** Works, paused or down, with the reason and since when. */
function stateOf({ state, downReason, downSince }: Connector, zone: string): Html {
  if (state === 'working') return chip('good', 'tick', texts.working);
  if (state === 'paused') return chip('off', 'pause', texts.paused);
  const since = downSince === null ? '' : html` ${texts.since} ${time(downSince, zone)}`;
  return html`${chip('bad', 'cross', texts.down)}<span class="why quiet">${downReason ?? ''}${since}</span>`;
}

const testedOf = ({ name, works, mistakes, notes }: Output<typeof connectorTest>): Html =>
  note(
    works ? 'good' : 'bad',
    html`<p>${works ? texts.works(name) : texts.worksNot(name)}</p>${bullets([...mistakes, ...notes])}`,
  );

const show = async (request: PageRequest, tested: Html = html``): Promise<View> => {
  const { items } = await request.act.run(connectorList);
  const list = items.length > 0 ? connectorTable(request, items) : empty(texts.empty, texts.emptyHint, '', 'plug');
  if (request.query.get('part') === 'counts') return { kind: 'fragment', html: list };
  const main = html`${head(texts.title)}${noticeOf(request, texts.notices)}${tested}<section class="panel" aria-label="${texts.title}" data-live="/console/connectors?part=counts" data-mode="whole">${list}</section>`;
  return page(texts.title, main, { current: 'connectors' });
};

const act = async (request: PageRequest): Promise<View> => {
  const { act: acting, form } = request;
  if (form.text('act') === 'test') {
    return show(request, testedOf(await acting.run(connectorTest, { params: { name: form.text('name') } })));
  }
  const isResume = form.text('act') === 'resume';
  await acting.run(isResume ? connectorResume : connectorPause, { params: { name: form.text('name') } });
  return noticed('/console/connectors', isResume ? 'resumed' : 'paused');
};

export const connectorRoutes = [get('/connectors', (request) => show(request)), post('/connectors', act)];
