import { html } from '../../base/html.ts';
import type { Problem } from '../../base/problem.ts';
import { EVENT_TYPES } from '../../domain/accounts/events.ts';
import {
  webhookAdd,
  webhookAttempts,
  webhookEnable,
  webhookList,
  webhookRemove,
  webhookResend,
  webhookRotate,
  webhookTest,
} from '../../operator/actions/accounts/webhooks.ts';
import {
  asking,
  check,
  checks,
  field,
  hidden,
  listPanel,
  noticeOf,
  pageQuery,
  pagerOf,
  problemNote,
  refusalOf,
  screen,
  table,
} from '../lists.ts';
import { get, noticed, type PageRequest, page, post, type View } from '../page-request.ts';
import { acts, backLink, button, chip, empty, formPanel, head, named, num, secretPage } from '../parts.ts';
import { breakable, time } from '../words.ts';

/** The addresses to which events are delivered, and every attempt. */

const texts = {
  title: 'Webhooks',
  lead: 'URLs to which events are posted, signed as Standard Webhooks describes.',
  columns: ['Address', 'Events', 'Account', 'State', ''],
  attemptColumns: ['Event', 'When', 'Attempt', 'Answer', 'Next', ''],
  all: 'all accounts',
  enabled: 'Enabled',
  disabled: 'Switched off',
  attempts: 'Attempts',
  remove: 'Remove',
  question: (url: string) => `Remove the webhook ${url} with its events and attempts?`,
  enable: 'Enable',
  test: 'Test',
  rotate: 'New secret',
  resend: 'Send again',
  empty: 'There are no webhooks.',
  emptyHint: 'Add the URL of a program that wants to know about messages.',
  noAttempts: 'Nothing has been delivered yet.',
  noAttemptsHint: 'Events appear here when they happen.',
  add: 'Add a webhook',
  url: 'Address',
  events: 'Events',
  eventWords: {
    'message.received': 'a message was received',
    'message.status': 'the state of a sent message has changed',
    'message.needs_decision': 'nobody knows whether the carrier has a message',
    'credits.low': 'an account has few credits left',
    'connector.down': 'a connector does not work',
    'connector.up': 'a connector works again',
    'service.restored': 'a backup was restored',
    'connector.failover': 'messages went on to the next connector of their route',
    'guard.stopped': 'the spend guard of an account has held or refused messages',
  } as Readonly<Record<string, string>>,
  username: 'Only events of this account',
  full: 'Send numbers and texts too, not only ids',
  submit: 'Add',
  secret: 'The secret, which cannot be shown again',
  done: 'Go on',
  notices: {
    removed: 'The webhook is removed.',
    enabled: 'The webhook is enabled.',
    resent: 'The event is being delivered once more.',
    tested: 'An event of the type webhook.test is on its way. Its attempt appears here in a moment.',
  },
} as const;

const HERE = '/console/webhooks';
const LABELS = { url: texts.url, events: texts.events, username: texts.username };

const show = async (request: PageRequest, problem: Problem | null = null): Promise<View> => {
  const { act, form } = request;
  const { items, next } = await act.run(webhookList, {
    query: pageQuery(request),
  });
  const press = (value: string, label: string, url: string) =>
    button(label, { act: value, look: 's', label: `${label}: ${url}` });
  const rows = items.map(({ id, url, events, username, state, disabledReason }) => ({
    key: id,
    cells: [
      html`<a href="${HERE}/${id}">${breakable(url)}</a>`,
      html`${events.join(', ')}`,
      html`${username ?? texts.all}`,
      state === 'enabled'
        ? chip('good', 'tick', texts.enabled)
        : html`${chip('bad', 'pause', texts.disabled)}<span class="why quiet">${disabledReason ?? ''}</span>`,
      acts(
        html`<form class="row" method="post" action="${HERE}">${hidden({ id, url })}${state === 'disabled' ? press('enable', texts.enable, url) : press('test', texts.test, url)}${press('rotate', texts.rotate, url)}${press('remove', texts.remove, url)}</form>`,
      ),
    ],
  }));
  const choices = EVENT_TYPES.map((event) => {
    const said = html`${texts.eventWords[event] ?? event} <span class="small quiet">${event}</span>`;
    return check('event', said, event, !form.has('event') || form.all('event').includes(event));
  });
  const fields = html`${field({ name: 'url', label: texts.url, type: 'url', value: form.text('url'), isRequired: true, lengthMax: 2_000 })}
${checks(texts.events, choices)}${field({ name: 'username', label: texts.username, value: form.text('username'), lengthMax: 200, autocomplete: 'off' })}${check('full', texts.full)}`;
  const main = html`${head(texts.title, texts.lead)}${noticeOf(request, texts.notices)}${problemNote(problem, LABELS)}${listPanel(texts, rows)}${pagerOf(request, next)}
${formPanel({ title: texts.add, action: HERE, fields, submit: texts.submit, act: 'add' })}`;
  return screen(texts.title, 'webhooks', main, problem);
};

const shownOnce = (secret: string): View =>
  page(texts.secret, secretPage(texts.secret, '', secret, { href: HERE, words: texts.done }), { current: 'webhooks' });

const act = async (request: PageRequest): Promise<View> => {
  const { act: acting, form } = request;
  const params = { id: form.text('id') };
  try {
    switch (form.text('act')) {
      case 'add': {
        const username = form.text('username');
        const body = {
          url: form.text('url'),
          events: form.all('event'),
          full: form.has('full'),
          ...(username === '' ? {} : { username }),
        };
        return shownOnce((await acting.run(webhookAdd, { body })).secret);
      }
      case 'rotate':
        return shownOnce((await acting.run(webhookRotate, { params })).secret);
      case 'test':
        await acting.run(webhookTest, { params });
        return noticed(`${HERE}/${params.id}`, 'tested');
      case 'enable':
        await acting.run(webhookEnable, { params });
        return noticed(HERE, 'enabled');
      default: {
        if (form.text('confirmed') !== 'yes') {
          const question = texts.question(form.text('url'));
          return asking('webhooks', {
            question,
            action: HERE,
            fields: hidden({ ...params, act: 'remove' }),
            submit: texts.remove,
            back: HERE,
          });
        }
        await acting.run(webhookRemove, { params });
        return noticed(HERE, 'removed');
      }
    }
  } catch (thrown) {
    return show(request, refusalOf(thrown, 'not-found'));
  }
};

const attempts = async (request: PageRequest): Promise<View> => {
  const { act: acting, params, zone } = request;
  const id = params.id ?? '';
  const { items, next } = await acting.run(webhookAttempts, {
    params: { id },
    query: pageQuery(request),
  });
  const rows = items.map(({ eventId, type, number, at, status, error, nextAt }) => ({
    key: `${eventId}/${number}`,
    cells: [
      named(type, eventId),
      time(at, zone),
      num(number),
      html`${status ?? error ?? ''}`,
      time(nextAt, zone),
      acts(
        html`<form method="post" action="${HERE}/${id}">${hidden({ event: eventId })}${button(texts.resend, { look: 's', label: `${texts.resend} ${eventId}` })}</form>`,
      ),
    ],
  }));
  const list =
    rows.length > 0
      ? table({ caption: texts.attempts, columns: texts.attemptColumns, rows })
      : empty(texts.noAttempts, texts.noAttemptsHint, '', 'hook');
  if (request.query.get('part') === 'rows') return { kind: 'fragment', html: list };
  const live = request.query.has('after') ? '' : html` data-live="${request.path}?part=rows" data-mode="whole"`;
  const main = html`${backLink(HERE, texts.title)}${head(texts.attempts)}${noticeOf(request, texts.notices)}<section class="panel" aria-label="${texts.attempts}"${live}>${list}</section>${pagerOf(request, next)}`;
  return page(texts.attempts, main, { current: 'webhooks' });
};

const resend = async ({ act: acting, params, form }: PageRequest): Promise<View> => {
  const id = params.id ?? '';
  await acting.run(webhookResend, { params: { id }, body: { eventId: form.text('event') } });
  return noticed(`${HERE}/${id}`, 'resent');
};

export const webhookRoutes = [
  get('/webhooks', (request) => show(request)),
  post('/webhooks', act),
  get('/webhooks/:id', attempts),
  post('/webhooks/:id', resend),
];
