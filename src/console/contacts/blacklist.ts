import { html } from '../../base/html.ts';
import type { Problem } from '../../base/problem.ts';
import { blacklistAdd, blacklistList, blacklistRemove } from '../../operator/actions/contacts/blacklist.ts';
import {
  asking,
  field,
  hidden,
  listPanel,
  noticeOf,
  pageQuery,
  pagerOf,
  problemNote,
  refusalOf,
  screen,
} from '../lists.ts';
import { get, noticed, type PageRequest, post, type View } from '../page-request.ts';
import { acts, button, formPanel, head, linkButton, named, person } from '../parts.ts';
import { clamped, telephone, time } from '../words.ts';
import { contactNames } from './contact-names.ts';

/** Numbers to which nothing is sent, with the reason. */

const texts = {
  title: 'Blacklist',
  lead: 'Nothing is sent to these numbers.',
  columns: ['Number', 'Why', 'Evidence', 'Since', ''],
  origins: { user: 'put here by you', STOP: 'asked to stop', import: 'imported' } as Readonly<Record<string, string>>,
  erased: '(erased; only a hash is kept)',
  empty: 'No number is on the blacklist.',
  emptyHint: 'People who ask not to get messages belong here.',
  add: 'Put a number on the blacklist',
  addAct: 'Add a number',
  addHint: 'Messages that wait for this number are cancelled, and their credits are free again.',
  number: 'Number',
  submit: 'Put on the blacklist',
  remove: 'Remove',
  removeAct: 'Remove…',
  question: (number: string) =>
    html`Allow messages to ${telephone(number)} again? Make sure that the person wants them.`,
  notices: {
    added: (count: bigint) =>
      count === 0n
        ? 'The number is on the blacklist.'
        : `The number is on the blacklist. Messages that waited for it were cancelled: ${count}.`,
    there: 'The number is on the blacklist already.',
    removed: 'Messages can be sent to the number again.',
  },
} as const;

const show = async (request: PageRequest, problem: Problem | null = null): Promise<View> => {
  const { act, base, account, query, form, zone } = request;
  const { items, next } = await act.run(blacklistList, {
    params: { username: account.username },
    query: pageQuery(request),
  });
  const names = await contactNames(
    request,
    items.map(({ number }) => number),
  );
  const rows = items.map(({ number, origin, evidence, blockedAt }, index) => ({
    key: number ?? `erased-${index}`,
    cells: [
      number === null ? named(html`<span class="quiet">${texts.erased}</span>`) : person(number, names(number), null),
      html`${texts.origins[origin] ?? origin}`,
      evidence === null ? html`` : clamped(evidence, 200),
      time(blockedAt, zone),
      number === null
        ? html``
        : acts(
            html`<form method="post" action="${base}/blacklist/remove">${hidden({ number })}${button(texts.removeAct, { look: 's', label: `${texts.remove} ${number}` })}</form>`,
          ),
    ],
  }));
  const value = form.text('number') || (query.get('number') ?? '');
  const fields = field({
    name: 'number',
    label: texts.number,
    type: 'tel',
    value,
    hint: texts.addHint,
    isRequired: true,
    lengthMax: 200,
  });
  const main = html`${head(texts.title, texts.lead, linkButton('#add', texts.addAct, { icon: 'plus' }))}${noticeOf(request, texts.notices)}${problemNote(problem, { number: texts.number })}${listPanel(texts, rows)}${pagerOf(request, next)}
${formPanel({ title: texts.add, id: 'add', action: `${base}/blacklist`, fields, submit: texts.submit })}`;
  return screen(texts.title, 'blacklist', main, problem);
};

const add = async (request: PageRequest): Promise<View> => {
  const { account, form, base, act } = request;
  try {
    const given = { params: { username: account.username }, body: { number: form.text('number') } };
    const { status, output } = await act.full(blacklistAdd, given);
    return noticed(`${base}/blacklist`, status === 200 ? 'there' : 'added', output.cancelled);
  } catch (thrown) {
    return show(request, refusalOf(thrown));
  }
};

const remove = async ({ act, account, form, base }: PageRequest): Promise<View> => {
  const number = form.text('number');
  if (form.text('confirmed') !== 'yes') {
    const question = texts.question(number);
    const given = {
      question,
      action: `${base}/blacklist/remove`,
      fields: hidden({ number }),
      submit: texts.remove,
      back: `${base}/blacklist`,
    };
    return asking('blacklist', given);
  }
  await act.run(blacklistRemove, { params: { username: account.username, number } });
  return noticed(`${base}/blacklist`, 'removed');
};

export const blacklistRoutes = [
  get('/blacklist', (request) => show(request)),
  post('/blacklist', add),
  post('/blacklist/remove', remove),
];
