import { type Html, html } from '../../base/html.ts';
import { badField } from '../../base/problem.ts';
import type { Item } from '../../operator/action.ts';
import { connectorList } from '../../operator/actions/carriers/connectors.ts';
import type { outboundRouteList } from '../../operator/actions/carriers/outbound-routes.ts';
import { field, fieldRow, select } from '../lists.ts';
import type { PageRequest } from '../page-request.ts';
import { button } from '../parts.ts';
import { listOf } from '../words.ts';

/** The form of an outbound route: which messages it is for, and its ways in their order. */

const texts = {
  name: 'Name',
  when: 'Which messages',
  username: 'Only of this account',
  prefixes: 'Only numbers that begin with',
  prefixesHint: 'Such as +27, +2782, separated by commas.',
  sendersField: 'Only messages with these senders',
  sendersHint: 'Separated by commas.',
  hoursField: 'Only messages that are due in these hours',
  hoursHint: 'Such as 08:00-18:00, in the zone of the account.',
  priority: 'Priority',
  priorityHint: 'Higher goes first; 0 if it is empty.',
  tagField: 'Only of accounts with this tag',
  where: 'Where they go',
  mode: 'How the ways are used',
  modes: [
    ['order', 'In order: the first one that works'],
    ['spread', 'Spread by weight'],
  ] as const,
  onThrottle: 'If a carrier asks to be called later',
  throttles: [
    ['wait', 'Wait for it'],
    ['next', 'Take the next way'],
  ] as const,
  way: (place: number) => `Way ${place}`,
  connector: 'Connector',
  noWay: 'none',
  price: 'Credits for a part',
  weight: 'Weight',
  cost: 'What it costs, such as 0.0125 EUR',
  ifRefused: 'Next way if the refusal contains',
  up: 'Move up',
  pool: 'Senders of messages that name none',
  poolHint: 'Separated by commas. A recipient always gets the same one.',
  errors: { noWay: 'choose at least one connector' },
} as const;

export type Route = Item<typeof outboundRouteList>;
type Way = Route['ways'][number];

/** Empty fields for ways, so that one can be added. The action takes at most ten ways. */
const WAYS_SHOWN = 4;
const WAYS_MAX = 10;

/** What the form shows: what was typed, or the stored route. */
function shownRoute({ form }: PageRequest, route: Route | undefined, isAgain: boolean) {
  const of = (name: string, stored: string): string => (isAgain ? form.text(name) : stored);
  const shown = Math.min(Math.max(WAYS_SHOWN, (route?.ways.length ?? 0) + 1), WAYS_MAX);
  const ways = Array.from({ length: shown }, (_, index) => {
    const way: Way | undefined = route?.ways[index];
    return {
      connector: of(`way${index}`, way?.connector ?? ''),
      price: of(`price${index}`, way ? String(way.price) : ''),
      weight: of(`weight${index}`, way ? String(way.weight) : ''),
      cost: of(`cost${index}`, way?.cost ?? ''),
      ifRefused: of(`ifRefused${index}`, way?.ifRefused.join(', ') ?? ''),
    };
  });
  return {
    username: of('username', route?.username ?? ''),
    tag: of('tag', route?.tag === null || route === undefined ? '' : String(route.tag)),
    prefixes: of('prefixes', route?.prefixes.join(', ') ?? ''),
    senders: of('senders', route?.senders.join(', ') ?? ''),
    hours: of('hours', route?.hours ?? ''),
    priority: of('priority', route ? String(route.priority) : ''),
    mode: of('mode', route?.mode ?? 'order'),
    onThrottle: of('onThrottle', route?.onThrottle ?? 'wait'),
    senderPool: of('senderPool', route?.senderPool.join(', ') ?? ''),
    ways,
  };
}

export async function routeFields(request: PageRequest, route: Route | undefined, isAgain: boolean): Promise<Html> {
  const connectors = (await request.act.run(connectorList)).items.map(({ name }) => name);
  const value = shownRoute(request, route, isAgain);
  const conditions = fieldRow([
    field({
      name: 'prefixes',
      label: texts.prefixes,
      value: value.prefixes,
      hint: texts.prefixesHint,
      lengthMax: 4_000,
    }),
    field({ name: 'username', label: texts.username, value: value.username, lengthMax: 200 }),
    field({
      name: 'senders',
      label: texts.sendersField,
      value: value.senders,
      hint: texts.sendersHint,
      lengthMax: 2_000,
    }),
    field({ name: 'hours', label: texts.hoursField, value: value.hours, hint: texts.hoursHint, lengthMax: 11 }),
    field({ name: 'tag', label: texts.tagField, value: value.tag, lengthMax: 11 }),
    field({ name: 'priority', label: texts.priority, value: value.priority, hint: texts.priorityHint, lengthMax: 5 }),
  ]);
  const ways = value.ways.map((way, index) => {
    const names =
      way.connector === '' || connectors.includes(way.connector) ? connectors : [...connectors, way.connector];
    const choices = [['', texts.noWay] as const, ...names.map((name) => [name, name] as const)];
    const up =
      index === 0 || !route?.ways[index]
        ? ''
        : button(texts.up, { act: `up${index}`, look: 's', label: `${texts.up}: ${way.connector}` });
    const fields = fieldRow([
      select({ name: `way${index}`, label: texts.connector, value: way.connector, choices }),
      field({ name: `price${index}`, label: texts.price, value: way.price, lengthMax: 7 }),
      field({ name: `weight${index}`, label: texts.weight, value: way.weight, lengthMax: 4 }),
      field({ name: `cost${index}`, label: texts.cost, value: way.cost, lengthMax: 20 }),
      field({ name: `ifRefused${index}`, label: texts.ifRefused, value: way.ifRefused, lengthMax: 1_000 }),
    ]);
    const isOpen = index === 0 || way.connector !== '';
    return html`<details class="fold"${isOpen ? html` open` : ''}><summary>${texts.way(index + 1)}</summary><fieldset class="stack tight"><legend class="unseen">${texts.way(index + 1)}</legend>${fields}${up}</fieldset></details>`;
  });
  const how = fieldRow([
    select({ name: 'mode', label: texts.mode, value: value.mode, choices: texts.modes }),
    select({ name: 'onThrottle', label: texts.onThrottle, value: value.onThrottle, choices: texts.throttles }),
    field({ name: 'senderPool', label: texts.pool, value: value.senderPool, hint: texts.poolHint, lengthMax: 2_000 }),
  ]);
  return html`<h3>${texts.when}</h3>${conditions}<h3>${texts.where}</h3>${ways}${how}`;
}

/** The labels of the form by the field names of the action. */
export const LABELS = {
  name: texts.name,
  username: texts.username,
  tag: texts.tagField,
  prefixes: texts.prefixes,
  senders: texts.sendersField,
  hours: texts.hoursField,
  priority: texts.priority,
  senderPool: texts.pool,
  ways: texts.where,
};

const numberIn = (text: string): number => (/^-?\d{1,10}$/.test(text) ? Number(text) : (text as unknown as number));

/** The fields of the form as the input of the action. */
export function bodyOf({ form }: PageRequest) {
  const ways = Array.from({ length: WAYS_MAX }, (_, index) => index)
    .filter((index) => form.text(`way${index}`) !== '')
    .map((index) => {
      const [price, weight, cost] = [
        form.text(`price${index}`),
        form.text(`weight${index}`),
        form.text(`cost${index}`),
      ];
      return {
        connector: form.text(`way${index}`),
        ...(price === '' ? {} : { price: numberIn(price) }),
        ...(weight === '' ? {} : { weight: numberIn(weight) }),
        ...(cost === '' ? {} : { cost }),
        ifRefused: listOf(form.text(`ifRefused${index}`)),
      };
    });
  if (ways.length === 0) throw badField('ways', texts.errors.noWay);
  const [tag, hours, username] = [form.text('tag'), form.text('hours'), form.text('username')];
  return {
    ways,
    priority: form.text('priority') === '' ? 0 : numberIn(form.text('priority')),
    username: username === '' ? null : username,
    tag: tag === '' ? null : numberIn(tag),
    prefixes: listOf(form.text('prefixes')).map((each) => each.replace(/[\s()-]/g, '')),
    senders: listOf(form.text('senders')),
    hours: hours === '' ? null : hours,
    mode: form.text('mode') || 'order',
    onThrottle: form.text('onThrottle') || 'wait',
    senderPool: listOf(form.text('senderPool')),
  };
}
