import { type Html, html } from '../../base/html.ts';
import type { Problem } from '../../base/problem.ts';
import type { Output } from '../../operator/action.ts';
import {
  outboundRouteList,
  outboundRoutePut,
  outboundRouteRemove,
  outboundRouteTry,
} from '../../operator/actions/carriers/outbound-routes.ts';
import { counted } from '../counts.ts';
import {
  asking,
  bullets,
  emptyNote,
  field,
  fieldRow,
  noticeOf,
  problemNote,
  refusalOf,
  screen,
  table,
} from '../lists.ts';
import { get, noticed, type PageRequest, post, redirect, type View } from '../page-request.ts';
import { acts, backLink, button, formPanel, head, linkButton, named, note, num, tablePanel } from '../parts.ts';
import { bodyOf, LABELS, type Route, routeFields } from './outbound-route-form.ts';

/** Outbound routes: which connectors carry a message, in which order, and where one would go. */

const texts = {
  title: 'Routes',
  lead: 'Of the routes that fit a message, the one with the highest priority counts.',
  columns: ['Route', 'For', 'Ways', 'Priority', ''],
  everything: 'every message',
  account: (name: string) => `account ${name}`,
  tag: (tag: number) => `accounts with the tag ${tag}`,
  hours: (hours: string) => `due ${hours}`,
  senders: (senders: readonly string[]) => `sender ${senders.join(', ')}`,
  shares: (weight: number) => `weight ${weight}`,
  empty: 'There is no route.',
  emptyHint: 'Each message goes to the connector of its account, or to the default one.',
  add: 'Add a route',
  addTitle: 'Add a route',
  name: 'Name',
  nameHint: 'Letters, digits, full stops, hyphens and underscores.',
  save: 'Save',
  remove: 'Remove…',
  removeSubmit: 'Remove it',
  removeQuestion: (name: string) => `Remove the route ${name}? Messages that wait already keep their connector.`,
  counts: 'What became of the parts',
  countColumns: ['Way', 'Accepted', 'Refused for a while', 'Refused for good', 'No answer', 'Went on'],
  try: 'Where would this go?',
  tryLead: 'Shows which route and which connector a message would take, and why. Nothing is sent.',
  tryUsername: 'Account',
  tryRecipient: 'Number of the recipient',
  trySender: 'Sender',
  trySubmit: 'Show the way',
  goes: (connector: string) => `It would go to ${connector}.`,
  theDefault: 'the default connector',
  byRoute: (route: string, credits: string) =>
    html`By the route ${route}. ${counted(BigInt(credits), 'credit')} would be held for each part.`,
  noRoute: 'No route fits, so the connector of the account takes it.',
  sender: (sender: string) => `The recipient would see ${sender}.`,
  wayUsed: (connector: string, price: number) => html`${connector}: ${counted(price, 'credit')} for a part`,
  passed: (connector: string, why: string) => `${connector} is passed over: ${why}`,
  otherRoute: (route: string, why: string) => `Not ${route}: ${why}`,
  notices: { saved: 'The route is saved.', removed: 'The route is removed.', moved: 'The order is changed.' },
} as const;

const HERE = '/console/outbound-routes';
const addressOf = (name: string): string => `${HERE}/${encodeURIComponent(name)}`;

/** The conditions of a route in words. */
function conditionsOf({ username, tag, prefixes, senders, hours }: Route): string {
  const found = [
    ...(username === null ? [] : [texts.account(username)]),
    ...(tag === null ? [] : [texts.tag(tag)]),
    ...(prefixes.length === 0 ? [] : [prefixes.slice(0, 5).join(', ') + (prefixes.length > 5 ? ' …' : '')]),
    ...(senders.length === 0 ? [] : [texts.senders(senders.slice(0, 3))]),
    ...(hours === null ? [] : [texts.hours(hours)]),
  ];
  return found.length === 0 ? texts.everything : found.join(' · ');
}

const waysSaid = ({ ways, mode }: Route): Html =>
  html`${ways.map(({ connector, weight }, index) => html`${index === 0 ? '' : mode === 'order' ? ' → ' : ' | '}<strong>${connector}</strong>${mode === 'spread' ? ` (${texts.shares(weight)})` : ''}`)}`;

const show = async (request: PageRequest, tried: Html = html``, problem: Problem | null = null): Promise<View> => {
  const { items } = await request.act.run(outboundRouteList);
  const byPriority = [...items].sort((one, other) => other.priority - one.priority || (one.name < other.name ? -1 : 1));
  const rows = byPriority.map((route) => ({
    key: route.name,
    cells: [
      named(html`<a class="open" href="${addressOf(route.name)}">${route.name}</a>`),
      html`${conditionsOf(route)}`,
      waysSaid(route),
      num(route.priority),
      acts(
        html`<form class="row" method="post" action="${addressOf(route.name)}/remove">${button(texts.remove, { look: 's danger', label: `${texts.remove} ${route.name}` })}</form>`,
      ),
    ],
  }));
  const add = linkButton(`${HERE}/new`, texts.add, { icon: 'plus' });
  const list =
    rows.length === 0 ? emptyNote(texts, false, add) : table({ caption: texts.title, columns: texts.columns, rows });
  const main = html`${head(texts.title, texts.lead, add)}${noticeOf(request, texts.notices)}${problemNote(problem, TRY_LABELS)}${tried}<section class="panel" aria-label="${texts.title}">${list}</section>${tryForm(request)}`;
  return screen(texts.title, 'outbound-routes', main, problem);
};

const TRY_LABELS = { username: texts.tryUsername, recipient: texts.tryRecipient, sender: texts.trySender };

const tryForm = ({ form }: PageRequest): Html =>
  formPanel({
    title: texts.try,
    action: `${HERE}/try`,
    lead: texts.tryLead,
    fields: fieldRow([
      field({
        name: 'username',
        label: texts.tryUsername,
        value: form.text('username'),
        isRequired: true,
        lengthMax: 200,
      }),
      field({
        name: 'recipient',
        label: texts.tryRecipient,
        value: form.text('recipient'),
        isRequired: true,
        lengthMax: 200,
      }),
      field({ name: 'sender', label: texts.trySender, value: form.text('sender'), lengthMax: 16 }),
    ]),
    submit: texts.trySubmit,
    id: 'try',
  });

const triedNote = ({ route, connector, sender, creditsHeld, ways, others }: Output<typeof outboundRouteTry>): Html =>
  note(
    connector === null && route !== null ? 'wait' : 'good',
    html`<h2>${texts.goes(connector ?? texts.theDefault)}</h2><p>${route === null ? texts.noRoute : texts.byRoute(route, creditsHeld)}${sender === null ? '' : ` ${texts.sender(sender)}`}</p>${bullets(
      [
        ...ways.map(({ connector: own, price, passedOver }) =>
          passedOver === null ? texts.wayUsed(own, price) : texts.passed(own, passedOver),
        ),
        ...others.map(({ route: other, why }) => texts.otherRoute(other, why)),
      ],
    )}`,
    'move',
  );

/** A dry run changes nothing, so its result is shown at once and not after a redirect. */
const tryRoute = async (request: PageRequest): Promise<View> => {
  const { form, act } = request;
  const sender = form.text('sender');
  const body = {
    username: form.text('username'),
    recipient: form.text('recipient'),
    ...(sender === '' ? {} : { sender }),
  };
  try {
    return await show(request, triedNote(await act.run(outboundRouteTry, { body })));
  } catch (thrown) {
    return show(request, html``, refusalOf(thrown, 'not-found'));
  }
};

async function formPage(request: PageRequest, route: Route | undefined, problem: Problem | null): Promise<View> {
  const isAgain = problem !== null;
  const title = route?.name ?? texts.addTitle;
  const name = route
    ? ''
    : field({
        name: 'name',
        label: texts.name,
        value: request.form.text('name'),
        hint: texts.nameHint,
        isRequired: true,
        lengthMax: 64,
      });
  const form = formPanel({
    title: route ? conditionsOf(route) : texts.addTitle,
    action: route ? addressOf(route.name) : `${HERE}/new`,
    fields: html`${name}${await routeFields(request, route, isAgain)}`,
    submit: texts.save,
    isPrimary: true,
  });
  const main = html`${backLink(HERE, texts.title)}${head(title, route ? waysSaid(route) : '')}${noticeOf(request, texts.notices)}${problemNote(problem, LABELS)}${form}${route ? countsOf(route) : ''}`;
  return screen(title, 'outbound-routes', main, problem);
}

function countsOf({ ways }: Route): Html {
  const rows = ways.map(({ connector, counts }) => ({
    key: connector,
    cells: [
      named(connector),
      ...[counts.accepted, counts.temporary, counts.permanent, counts.unknownOutcome, counts.failovers].map(num),
    ],
  }));
  return tablePanel(texts.counts, table({ caption: texts.counts, columns: texts.countColumns, rows }));
}

const routeOf = async ({ act, params }: PageRequest): Promise<Route | undefined> =>
  (await act.run(outboundRouteList)).items.find(({ name }) => name === params.name);

/** The body with the way at `index` one place further up. */
function movedUp<B extends { readonly ways: readonly unknown[] }>(body: B, index: number): B {
  const ways = [...body.ways];
  const [way] = ways.splice(index, 1);
  if (way !== undefined) ways.splice(Math.max(0, index - 1), 0, way);
  return { ...body, ways };
}

async function put(request: PageRequest, route: Route | undefined): Promise<View> {
  const name = route?.name ?? request.form.text('name');
  const place = /^up([1-9])$/.exec(request.form.text('act'))?.[1];
  try {
    const typed = bodyOf(request);
    const body = place === undefined ? typed : movedUp(typed, Number(place));
    // What the form does not ask for stays as it is.
    const { from = null, until = null } = route ?? {};
    await request.act.run(outboundRoutePut, { params: { name }, body: { ...body, from, until } });
  } catch (thrown) {
    return formPage(request, route, refusalOf(thrown, 'not-found'));
  }
  return place === undefined ? noticed(HERE, 'saved') : noticed(addressOf(name), 'moved');
}

const one = async (request: PageRequest): Promise<View> => {
  const route = await routeOf(request);
  return route ? formPage(request, route, null) : redirect(HERE);
};

const save = async (request: PageRequest): Promise<View> => {
  const route = await routeOf(request);
  return route ? put(request, route) : redirect(HERE);
};

const remove = async (request: PageRequest): Promise<View> => {
  const { form, path, params, act } = request;
  const name = params.name ?? '';
  if (form.text('confirmed') !== 'yes') {
    const question = texts.removeQuestion(name);
    return asking('outbound-routes', { question, action: path, submit: texts.removeSubmit, back: HERE });
  }
  await act.run(outboundRouteRemove, { params: { name } });
  return noticed(HERE, 'removed');
};

export const outboundRouteRoutes = [
  get('/outbound-routes', (request) => show(request)),
  post('/outbound-routes/try', tryRoute),
  get('/outbound-routes/new', (request) => formPage(request, undefined, null)),
  post('/outbound-routes/new', (request) => put(request, undefined)),
  get('/outbound-routes/:name', one),
  post('/outbound-routes/:name', save),
  post('/outbound-routes/:name/remove', remove),
];
