import { type Html, html } from '../../base/html.ts';
import type { Item } from '../../operator/action.ts';
import { connectorCounts } from '../../operator/actions/accounts/counts.ts';
import { connectorList, connectorPause, connectorResume } from '../../operator/actions/carriers/connectors.ts';
import { spark } from '../charts.ts';
import { decimal, durationSaid, grouped } from '../counts.ts';
import { hidden, noticeOf, table } from '../lists.ts';
import { get, noticed, type PageRequest, page, post, type View } from '../page-request.ts';
import { acts, button, chip, empty, head, linkButton, named, num } from '../parts.ts';
import { type Cell, time } from '../words.ts';

/** The connectors to carriers and their state. */

export const texts = {
  title: 'Connectors',
  columns: ['Connector', 'State', 'Waiting', 'Oldest', 'Last minute', 'Last 24 hours', 'Failed', 'Receipts after', ''],
  working: 'Works',
  paused: 'Paused',
  down: 'Down',
  refuses: 'Refuses',
  avoided: 'Passed over',
  avoidedBy: 'By outbound routes, until',
  since: 'since',
  default: 'default',
  rate: (lastMinute: number, limit: number | null) =>
    html`${lastMinute >= 1_000 ? html`${grouped(1_000)}+` : grouped(lastMinute)}${limit === null ? '' : html`, limit ${grouped(limit)} a second`}`,
  line: (accepted: number, most: number) =>
    html`${grouped(accepted)} accepted in 24 hours, at most ${grouped(most)} in an hour`,
  refusedOf: (permanent: number, all: number, reason: string | null) =>
    html`refused ${grouped(permanent)} of the last ${grouped(all)}${reason === null ? '' : `: ${reason}`}`,
  none: '–',
  pause: 'Pause',
  add: 'Add a connector',
  lead: 'The ways to carriers. Open one to change or test it.',
  resume: 'Resume',
  empty: 'There is no connector yet.',
  emptyHint: 'The service creates a loopback at its first start, which only pretends to send.',
  notices: {
    paused: 'The connector is paused.',
    resumed: 'The connector works again.',
    removed: 'The connector is removed.',
  },
} as const;

export type Connector = Item<typeof connectorList>;
export type Hour = Item<typeof connectorCounts>;

const HOUR_MS = 3_600_000;

/** A carrier that refuses a fifth of what it answered has a reason that somebody must remove. */
export const refuses = ({ recent: { accepted, permanent } }: Connector): boolean =>
  permanent >= REFUSALS_MIN && permanent * 5 >= accepted + permanent;
const REFUSALS_MIN = 3;

export const refusedSaid = ({ recent: { accepted, permanent }, lastError }: Connector): Html =>
  texts.refusedOf(permanent, accepted + permanent, lastError);

/** Parts that the carrier accepted in each of the last 24 hours. */
export function hourLine(hours: readonly Hour[], now: number, isBad: boolean): Html {
  const counts = Array.from({ length: 24 }, () => 0);
  const last = Math.floor(now / HOUR_MS);
  for (const { at, accepted } of hours) {
    const place = 23 - (last - Math.floor(Date.parse(at) / HOUR_MS));
    if (place >= 0 && place < 24) counts[place] = accepted;
  }
  const sum = counts.reduce((all, each) => all + each, 0);
  return spark(counts, texts.line(sum, Math.max(...counts)), isBad);
}

/** The share of parts that were refused for good or not delivered, such as `2.6 %`. */
export function failureRate(hours: readonly Hour[]): Html | null {
  const sum = (name: 'accepted' | 'permanent' | 'failed') => hours.reduce((all, hour) => all + hour[name], 0);
  const all = sum('accepted') + sum('permanent');
  if (all === 0) return null;
  const share = Math.min(1, (sum('permanent') + sum('failed')) / all) * 100;
  return html`${share === 0 || share >= 10 ? Math.round(share) : decimal(share)} %`;
}

export function connectorTable(
  { zone, now }: PageRequest,
  connectors: readonly Connector[],
  hours: readonly Hour[],
): Html {
  const rows = connectors.map((each) => {
    const own = hours.filter(({ connector }) => connector === each.name);
    const isBad = each.state === 'down' || each.avoidedUntil !== null || refuses(each);
    const address = `/console/connectors/${encodeURIComponent(each.name)}`;
    const oldest =
      each.oldestDueAt === null ? texts.none : durationSaid(Math.max(0, now - Date.parse(each.oldestDueAt)));
    return {
      key: each.name,
      cells: [
        named(
          html`<a class="open" href="${address}">${each.name}</a>`,
          `${each.kind}${each.isDefault ? `, ${texts.default}` : ''}`,
        ),
        stateOf(each, zone),
        num(each.waiting),
        numText(oldest),
        numText(texts.rate(each.lastMinute, each.ratePerSecond)),
        hourLine(own, now, isBad),
        numText(failureRate(own) ?? texts.none),
        numText(each.receiptLagMs === null ? texts.none : durationSaid(each.receiptLagMs)),
        acts(
          html`<form class="row" method="post" action="/console/connectors">${hidden({ name: each.name })}${
            each.state === 'paused'
              ? button(texts.resume, { act: 'resume', look: 's', icon: 'play', label: `${texts.resume} ${each.name}` })
              : button(texts.pause, { act: 'pause', look: 's', icon: 'pause', label: `${texts.pause} ${each.name}` })
          }</form>`,
        ),
      ],
    };
  });
  return table({ caption: texts.title, columns: texts.columns, rows });
}

const numText = (words: Html | string): Cell => ({ ...html`${words}`, kind: 'num' });

/** Works, paused, down or refusing, with the reason and since when. */
export function stateOf(connector: Connector, zone: string): Html {
  const { state, downReason, downSince } = connector;
  if (state === 'paused') return chip('off', 'pause', texts.paused);
  if (state === 'down') {
    const since = downSince === null ? '' : html` ${texts.since} ${time(downSince, zone)}`;
    return html`${chip('bad', 'cross', texts.down)}<span class="why quiet">${downReason ?? ''}${since}</span>`;
  }
  if (connector.avoidedUntil !== null) {
    const until = time(connector.avoidedUntil, zone);
    return html`${chip('bad', 'alert', texts.avoided)}<span class="why quiet">${texts.avoidedBy} ${until}: ${connector.avoidedReason ?? ''}</span>`;
  }
  if (!refuses(connector)) return chip('good', 'tick', texts.working);
  return html`${chip('bad', 'alert', texts.refuses)}<span class="why quiet">${refusedSaid(connector)}</span>`;
}

const DAY_HOURS = '24';
export const dayHours = async ({ act }: PageRequest): Promise<readonly Hour[]> =>
  (await act.run(connectorCounts, { query: { hours: DAY_HOURS } })).items;

const show = async (request: PageRequest): Promise<View> => {
  const { items } = await request.act.run(connectorList);
  const list =
    items.length > 0
      ? connectorTable(request, items, await dayHours(request))
      : empty(texts.empty, texts.emptyHint, linkButton('/console/connectors/new', texts.add), 'plug');
  if (request.query.get('part') === 'counts') return { kind: 'fragment', html: list };
  const add = linkButton('/console/connectors/new', texts.add, { icon: 'plus' });
  const main = html`${head(texts.title, texts.lead, add)}${noticeOf(request, texts.notices)}<section class="panel" aria-label="${texts.title}" data-live="/console/connectors?part=counts" data-mode="whole">${list}</section>`;
  return page(texts.title, main, { current: 'connectors' });
};

const act = async (request: PageRequest): Promise<View> => {
  const { act: acting, form } = request;
  const isResume = form.text('act') === 'resume';
  await acting.run(isResume ? connectorResume : connectorPause, { params: { name: form.text('name') } });
  const back =
    form.text('back') === 'one'
      ? `/console/connectors/${encodeURIComponent(form.text('name'))}`
      : '/console/connectors';
  return noticed(back, isResume ? 'resumed' : 'paused');
};

export const connectorListRoutes = [get('/connectors', show), post('/connectors', act)];
