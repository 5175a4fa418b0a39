import { type Html, html } from '../../base/html.ts';
import type { Problem } from '../../base/problem.ts';
import { routeList, routePut, routeRemove } from '../../operator/actions/carriers/routes.ts';
import {
  unroutedAssign,
  unroutedList,
  unroutedRemove,
  unroutedReplay,
} from '../../operator/actions/carriers/unrouted.ts';
import { counted } from '../counts.ts';
import {
  asking,
  field,
  fieldRow,
  hidden,
  noticeOf,
  pageQuery,
  pagerOf,
  problemNote,
  refusalOf,
  screen,
  table,
} from '../lists.ts';
import { get, noticed, type PageRequest, post, type View } from '../page-request.ts';
import { acts, button, empty, formPanel, head, named, num, tablePanel } from '../parts.ts';
import { clamped, party, time } from '../words.ts';

/** Incoming messages without a route, and the routes. */

const texts = {
  title: 'Unrouted',
  lead: 'Messages that people have sent to numbers for which there is no route. None is lost.',
  columns: ['From', 'To', 'Text', 'Connector', 'Received', ''],
  assign: 'Give to account',
  assignSubmit: 'Give',
  remove: 'Delete',
  removeAct: 'Delete…',
  removeQuestion: 'Delete this message for good?',
  replay: 'Apply the routes again to all of them',
  empty: 'Every message has found its account.',
  emptyHint: 'Messages without a route appear here.',
  routes: 'Routes',
  routeColumns: ['Name', 'To', 'First word', 'Priority', 'Account', ''],
  noRoutes: 'There are no routes yet.',
  noRoutesHint: 'A route says which account gets the messages to a number.',
  addRoute: 'Create or replace a route',
  name: 'Name',
  destination: 'Number or short code',
  keyword: 'First word of the text',
  priority: 'Priority',
  username: 'Account',
  save: 'Save the route',
  removeRoute: 'Remove',
  removeRouteAct: 'Remove…',
  removeRouteQuestion: (name: string) => `Remove the route ${name}? Messages that it matches will have no route.`,
  notices: {
    assigned: 'The message is in the inbox of the account.',
    removed: 'The message is deleted.',
    replayed: (count: bigint) => html`${counted(count, 'message')} given to an account.`,
    saved: 'The route is saved.',
    routeRemoved: 'The route is removed.',
  },
} as const;

const ROUTES_MAX = 500;
const HERE = '/console/unrouted';
const LABELS = {
  name: texts.name,
  destination: texts.destination,
  keyword: texts.keyword,
  priority: texts.priority,
  username: texts.username,
};

const show = async (request: PageRequest, problem: Problem | null = null): Promise<View> => {
  const { act, zone, form } = request;
  const { items, next } = await act.run(unroutedList, {
    query: pageQuery(request),
  });
  const rows = items.map(({ id, connector, sender, destination, text, receivedAt }) => ({
    key: id,
    cells: [
      named(party(sender)),
      party(destination),
      clamped(text, 200),
      html`${connector}`,
      time(receivedAt, zone),
      acts(html`<form class="row" method="post" action="${HERE}"><label class="small" for="to-${id}">${texts.assign}</label><input id="to-${id}" name="username" required maxlength="200" value="${form.text('id') === id ? form.text('username') : ''}">${hidden({ id })}
${button(texts.assignSubmit, { act: 'assign', look: 's' })}</form><form method="post" action="${HERE}">${hidden({ id })}${button(texts.removeAct, { act: 'remove', look: 's danger', label: `${texts.remove} ${id}` })}</form>`),
    ],
  }));
  const list =
    rows.length === 0
      ? empty(texts.empty, texts.emptyHint, '', 'tick')
      : html`${table({ caption: texts.title, columns: texts.columns, rows })}<footer><form method="post" action="${HERE}">${button(texts.replay, { act: 'replay', look: 's', icon: 'again' })}</form></footer>`;
  const main = html`${head(texts.title, texts.lead)}${noticeOf(request, texts.notices)}${problemNote(problem, LABELS)}<section class="panel" aria-label="${texts.title}">${list}</section>${pagerOf(request, next)}${await routes(request)}`;
  return screen(texts.title, 'unrouted', main, problem);
};

async function routes({ act, form }: PageRequest): Promise<Html> {
  const { items } = await act.run(routeList, { query: { limit: String(ROUTES_MAX) } });
  const rows = items.map(({ name, destination, keyword, priority, username }) => ({
    key: name,
    cells: [
      html`${name}`,
      html`${destination ? party(destination) : '*'}`,
      html`${keyword ?? '*'}`,
      num(priority),
      html`<a href="/console/accounts/${encodeURIComponent(username)}/">${username}</a>`,
      acts(
        html`<form method="post" action="${HERE}">${hidden({ name })}${button(texts.removeRouteAct, { act: 'remove-route', look: 's danger', label: `${texts.removeRoute} ${name}` })}</form>`,
      ),
    ],
  }));
  const list =
    rows.length > 0
      ? table({ caption: texts.routes, columns: texts.routeColumns, rows })
      : empty(texts.noRoutes, texts.noRoutesHint, '', 'hook');
  const fields = html`${fieldRow([
    field({ name: 'name', label: texts.name, value: form.text('name'), isRequired: true, lengthMax: 64 }),
    field({ name: 'routeTo', label: texts.username, value: form.text('routeTo'), isRequired: true, lengthMax: 200 }),
  ])}${fieldRow([
    field({ name: 'destination', label: texts.destination, value: form.text('destination'), lengthMax: 50 }),
    field({ name: 'keyword', label: texts.keyword, value: form.text('keyword'), lengthMax: 50 }),
    field({ name: 'priority', label: texts.priority, type: 'number', value: form.text('priority') }),
  ])}`;
  return html`${tablePanel(texts.routes, list)}
${formPanel({ title: texts.addRoute, action: HERE, fields, submit: texts.save, act: 'save-route' })}`;
}

const act = async (request: PageRequest): Promise<View> => {
  try {
    return (await change(request)) ?? (await show(request));
  } catch (thrown) {
    return show(request, refusalOf(thrown, 'not-found'));
  }
};

async function change({ act: acting, form }: PageRequest): Promise<View | null> {
  const [id, name] = [form.text('id'), form.text('name')];
  const isConfirmed = form.text('confirmed') === 'yes';
  switch (form.text('act')) {
    case 'assign':
      await acting.run(unroutedAssign, { params: { id }, body: { username: form.text('username') } });
      return noticed(HERE, 'assigned');
    case 'replay':
      return noticed(HERE, 'replayed', (await acting.run(unroutedReplay, { body: {} })).routed);
    case 'remove':
      if (!isConfirmed) return ask(texts.removeQuestion, { id, act: 'remove' }, texts.remove);
      await acting.run(unroutedRemove, { params: { id } });
      return noticed(HERE, 'removed');
    case 'remove-route':
      if (!isConfirmed) return ask(texts.removeRouteQuestion(name), { name, act: 'remove-route' }, texts.removeRoute);
      await acting.run(routeRemove, { params: { name } });
      return noticed(HERE, 'routeRemoved');
    case 'save-route': {
      const priority = form.text('priority') === '' ? {} : { priority: Number(form.text('priority')) };
      const body = {
        username: form.text('routeTo'),
        destination: form.text('destination') || null,
        keyword: form.text('keyword') || null,
        ...priority,
      };
      await acting.run(routePut, { params: { name }, body });
      return noticed(HERE, 'saved');
    }
    default:
      return null;
  }
}

const ask = (question: string, fields: Record<string, string>, submit: string): View =>
  asking('unrouted', { question, action: HERE, fields: hidden(fields), submit, back: HERE });

export const unroutedRoutes = [get('/unrouted', (request) => show(request)), post('/unrouted', act)];
