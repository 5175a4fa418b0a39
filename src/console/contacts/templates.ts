import { html } from '../../base/html.ts';
import type { Problem } from '../../base/problem.ts';
import { TEMPLATE_LENGTH_MAX } from '../../domain/contacts/templates.ts';
import { templateAdd, templateList, templateRemove } from '../../operator/actions/contacts/templates.ts';
import { partsOf } from '../../sms/parts.ts';
import {
  area,
  asking,
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
import { acts, button, formPanel, head, linkButton, num, wide } from '../parts.ts';
import { messageText } from '../words.ts';

/** Texts that are sent often. */

const texts = {
  title: 'Templates',
  columns: ['Text', 'Parts', ''],
  empty: 'There are no templates yet.',
  emptyHint: 'Save a text that you send often.',
  add: 'Save a template',
  text: 'Text',
  submit: 'Save',
  remove: 'Remove',
  removeAct: 'Remove…',
  question: 'Remove this template?',
  use: 'Use it',
  notices: {
    added: 'The template is saved.',
    there: 'You have this template already.',
    removed: 'The template is removed.',
  },
} as const;

const SHOWN_MAX = 500;

const show = async (request: PageRequest, problem: Problem | null = null): Promise<View> => {
  const { act, base, account, form } = request;
  const { items, next } = await act.run(templateList, {
    params: { username: account.username },
    query: pageQuery(request),
  });
  const rows = items.map(({ id, text }) => ({
    key: id,
    cells: [
      wide(messageText(text)),
      num(partsOf(text)),
      acts(html`${linkButton(`${base}/compose?template=${id}`, texts.use, { icon: 'pen', look: 's', about: text.slice(0, 40) })}
<form method="post" action="${base}/templates/${id}/remove">${hidden({ text: text.slice(0, SHOWN_MAX) })}${button(texts.removeAct, { look: 's', label: `${texts.remove}: ${text.slice(0, 40)}` })}</form>`),
    ],
  }));
  const fields = area({
    name: 'text',
    label: texts.text,
    value: form.raw('text'),
    isRequired: true,
    lengthMax: TEMPLATE_LENGTH_MAX,
  });
  const main = html`${head(texts.title)}${noticeOf(request, texts.notices)}${problemNote(problem, { text: texts.text })}${listPanel(texts, rows)}${pagerOf(request, next)}
${formPanel({ title: texts.add, action: `${base}/templates`, fields, submit: texts.submit })}`;
  return screen(texts.title, 'templates', main, problem);
};

const add = async (request: PageRequest): Promise<View> => {
  const { act, account, form, base } = request;
  try {
    const { status } = await act.full(templateAdd, {
      params: { username: account.username },
      body: { text: form.raw('text') },
    });
    return noticed(`${base}/templates`, status === 200 ? 'there' : 'added');
  } catch (thrown) {
    return show(request, refusalOf(thrown));
  }
};

const remove = async ({ act, account, params, base, form, path }: PageRequest): Promise<View> => {
  if (form.text('confirmed') !== 'yes') {
    return asking('templates', {
      question: texts.question,
      details: html`<pre>${messageText(form.raw('text'), SHOWN_MAX)}</pre>`,
      action: path,
      submit: texts.remove,
      back: `${base}/templates`,
    });
  }
  await act.run(templateRemove, { params: { username: account.username, id: params.id ?? '' } });
  return noticed(`${base}/templates`, 'removed');
};

export const templateRoutes = [
  get('/templates', (request) => show(request)),
  post('/templates', add),
  post('/templates/:id/remove', remove),
];
