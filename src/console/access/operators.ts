import { html } from '../../base/html.ts';
import type { Problem } from '../../base/problem.ts';
import {
  operatorAdd,
  operatorEnable,
  operatorList,
  operatorRemove,
  operatorSignInLink,
} from '../../operator/actions/access/operators.ts';
import { asking, field, hidden, noticeOf, onOff, pageQuery, pagerOf, problemNote, screen, table } from '../lists.ts';
import { get, noticed, type PageRequest, page, post, type View } from '../page-request.ts';
import { acts, button, chip, formPanel, head, secretPage } from '../parts.ts';
import { time } from '../words.ts';
import { refusal } from './access.ts';

/** The people who sign in for the whole service. */

const texts = {
  title: 'Operators',
  lead: 'People who sign in here for the whole service.',
  columns: ['Name', 'State', 'Password', 'Made', 'Last sign-in', ''],
  enabled: 'Enabled',
  disabled: 'Disabled',
  hasPassword: 'chosen',
  noPassword: 'none yet',
  enable: 'Enable',
  disable: 'Disable',
  question: (name: string) => `Disable ${name}? Sessions and links end at once.`,
  self: 'you',
  link: 'Sign-in link',
  reset: 'Reset the second step',
  resetQuestion: (name: string) => `Turn off the second step of ${name}, and create a sign-in link?`,
  resetHint: 'Enter a code of your own second step. If you have none, turn it on under Access first.',
  code: 'Your code',
  linkTitle: 'Sign-in link, which cannot be shown again',
  linkLead: 'The link opens the console once, within 24 hours.',
  add: 'Add an operator',
  name: 'Name',
  submit: 'Add',
  done: 'Go on',
  notices: { disabled: 'The operator is disabled.', enabled: 'The operator is enabled.' },
} as const;

const HERE = '/console/operators';

const show = async (request: PageRequest, problem: Problem | null = null): Promise<View> => {
  const { act, zone, form, session } = request;
  const { items, next } = await act.run(operatorList, {
    query: pageQuery(request),
  });
  const press = (value: string, label: string, name: string) =>
    button(label, { act: value, look: 's', label: `${label} ${name}` });
  const rows = items.map(({ name, state, hasPassword, createdAt, lastSignInAt }) => ({
    key: name,
    cells: [
      html`<bdi>${name}</bdi>`,
      onOff(state === 'enabled', texts.enabled, texts.disabled),
      html`${hasPassword ? texts.hasPassword : texts.noPassword}`,
      time(createdAt, zone),
      time(lastSignInAt, zone),
      acts(
        html`<form class="row" method="post" action="${HERE}">${hidden({ name })}${
          state === 'disabled'
            ? press('enable', texts.enable, name)
            : html`${press('link', texts.link, name)}${press('reset', texts.reset, name)}${name === session.owner.name ? chip('', 'user', texts.self) : press('disable', texts.disable, name)}`
        }</form>`,
      ),
    ],
  }));
  const fields = field({
    name: 'name',
    label: texts.name,
    value: form.text('name'),
    isRequired: true,
    lengthMax: 100,
    autocomplete: 'off',
  });
  const main = html`${head(texts.title, texts.lead)}${noticeOf(request, texts.notices)}${problemNote(problem, { name: texts.name, code: texts.code })}
<section class="panel" aria-label="${texts.title}">${table({ caption: texts.title, columns: texts.columns, rows })}</section>${pagerOf(request, next)}
${formPanel({ title: texts.add, action: HERE, fields, submit: texts.submit, act: 'add' })}`;
  return screen(texts.title, 'operators', main, problem);
};

const linkPage = (link: string): View =>
  page(texts.linkTitle, secretPage(texts.linkTitle, texts.linkLead, link, { href: HERE, words: texts.done }), {
    current: 'operators',
  });

/** Only for an operator who gives a code of their own; without one the action refuses it. */
const resetFactor = async (
  { act: acting, form, signIn, session, origin }: PageRequest,
  name: string,
): Promise<View> => {
  const code = form.text('code').slice(0, 100);
  if (code === '') {
    const fields = html`${hidden({ name, act: 'reset' })}<p>${texts.resetHint}</p>
${field({ name: 'code', label: texts.code, isRequired: true, autocomplete: 'one-time-code', lengthMax: 20 })}`;
    const question = texts.resetQuestion(name);
    return asking('operators', { question, action: HERE, fields, submit: texts.reset, back: HERE });
  }
  await signIn.checkCode(session.owner, code, origin.address);
  const given = { params: { name }, body: { resetSecondFactor: true }, hasFreshFactor: true };
  return linkPage((await acting.run(operatorSignInLink, given)).link);
};

const act = async (request: PageRequest): Promise<View> => {
  const { act: acting, form } = request;
  const name = form.text('name');
  try {
    switch (form.text('act')) {
      case 'add':
        return linkPage((await acting.run(operatorAdd, { body: { name } })).link);
      case 'link':
        return linkPage((await acting.run(operatorSignInLink, { params: { name }, body: {} })).link);
      case 'reset':
        return await resetFactor(request, name);
      case 'enable':
        await acting.run(operatorEnable, { params: { name } });
        return noticed(HERE, 'enabled');
      default: {
        if (form.text('confirmed') !== 'yes') {
          const question = texts.question(name);
          return asking('operators', {
            question,
            action: HERE,
            fields: hidden({ name, act: 'disable' }),
            submit: texts.disable,
            back: HERE,
          });
        }
        await acting.run(operatorRemove, { params: { name } });
        return noticed(HERE, 'disabled');
      }
    }
  } catch (thrown) {
    return show(request, refusal(thrown));
  }
};

export const operatorListRoutes = [get('/operators', (request) => show(request)), post('/operators', act)];
