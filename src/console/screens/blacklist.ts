import { html } from '../../base/html.ts';
import type { Problem } from '../../base/problem.ts';
import { blacklistAdd, blacklistList, blacklistRemove } from '../../operator/actions/blacklist.ts';
import {
  asking,
  field,
  hidden,
  listOf,
  noticeOf,
  pageQuery,
  pagerOf,
  problemNote,
  refusalOf,
  screen,
} from '../lists.ts';
import { texts } from '../texts/blacklist.ts';
import { get, noticed, post, type View, type Visit } from '../visit.ts';
import { messageText, time } from '../words.ts';

/** Numbers to which nothing is sent, with the reason. */

const show = async (visit: Visit, problem: Problem | null = null): Promise<View> => {
  const { act, base, account, query, form, zone } = visit;
  const { items, next } = await act.run(blacklistList, {
    params: { username: account.username },
    query: pageQuery(visit),
  });
  const rows = items.map(({ number, origin, evidence, blockedAt }, index) => ({
    key: number ?? `erased-${index}`,
    cells: [
      html`${number ?? html`<span class="quiet">${texts.erased}</span>`}`,
      html`${texts.origins[origin] ?? origin}`,
      evidence === null ? html`` : messageText(evidence, 200),
      time(blockedAt, zone),
      number === null
        ? html``
        : html`<form method="post" action="${base}/blacklist/remove">${hidden({ number })}<button aria-label="${texts.remove} ${number}">${texts.remove}</button></form>`,
    ],
  }));
  const list = listOf(texts, rows);
  const main = html`<h1>${texts.title}</h1><p class="lead">${texts.lead}</p>${noticeOf(visit, texts.notices)}${problemNote(problem, { number: texts.number })}${list}${pagerOf(visit, next)}
<h2>${texts.add}</h2><form method="post" action="${base}/blacklist" class="fields">
${field({ name: 'number', label: texts.number, type: 'tel', value: form.text('number') || (query.get('number') ?? ''), hint: texts.addHint, isRequired: true, lengthMax: 200 })}<button class="main">${texts.submit}</button></form>`;
  return screen(texts.title, 'blacklist', main, problem);
};

const add = async (visit: Visit): Promise<View> => {
  const { account, form, base, act } = visit;
  try {
    const given = { params: { username: account.username }, body: { number: form.text('number') } };
    const { status, output } = await act.full(blacklistAdd, given);
    return noticed(`${base}/blacklist`, status === 200 ? 'there' : 'added', output.cancelled);
  } catch (thrown) {
    return show(visit, refusalOf(thrown));
  }
};

const remove = async ({ act, account, form, base }: Visit): Promise<View> => {
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
  get('/blacklist', (visit) => show(visit)),
  post('/blacklist', add),
  post('/blacklist/remove', remove),
];
