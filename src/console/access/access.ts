import { renderSVG } from 'uqr';
import { type Html, html } from '../../base/html.ts';
import { Problem } from '../../base/problem.ts';
import { otpauthUri } from '../../domain/access/totp.ts';
import { field, hidden, noticeOf, problemNote, refusalOf, screen, table } from '../lists.ts';
import { get, noticed, type PageRequest, page, post, redirect, type View } from '../page-request.ts';
import { acts, button, chip, formPanel, head, named, note, panel, tablePanel } from '../parts.ts';
import { sessionCookie } from '../session.ts';
import { browserName, time } from '../words.ts';

/** Password, second factor and sessions of the person who is signed in. */

const texts = {
  title: 'Access',
  lead: 'Programs and people that can use this account',
  tokenName: 'Purpose',
  tokenScopes: 'What it may do',
  sessions: 'Where you are signed in',
  sessionColumns: ['Where', 'Since', 'Last seen', ''],
  thisSession: 'this one',
  endSession: 'End',
  endOthers: 'End all others',
  password: 'Password',
  current: 'Current password',
  next: 'New password',
  nextHint: 'At least 12 characters. A new password ends all other sessions.',
  setPassword: 'Set the password',
  factor: 'Second step at sign-in',
  factorOff: 'Off',
  factorOffLead: 'If you turn it on, signing in also needs a code from your phone.',
  factorOn: 'On',
  factorOnLead: (left: number) => `Recovery codes left: ${left}.`,
  beginFactor: 'Turn on',
  factorTitle: 'Turn on the second step',
  factorSteps:
    'Scan the picture with an authenticator program, or type the key into the program. Then enter the code that it shows.',
  factorPicture: 'The key as a QR code',
  key: 'Key',
  code: 'Code',
  confirmFactor: 'Turn on',
  recovery: 'Your recovery codes',
  recoveryLead:
    'Each of them works once instead of a code. Keep them where you find them without your phone. They cannot be shown again.',
  removeFactor: 'Turn off',
  renewCodes: 'Create new recovery codes',
  needPassword: 'Enter your current password, because you have been signed in for more than 10 minutes.',
  done: 'Go on',
  notices: {
    password: 'The password is set. All other sessions are ended.',
    revoked: 'Revoked.',
    ended: 'The session is ended.',
    endedAll: (count: bigint) => `Ended ${count} other sessions.`,
    factorOff: 'The second step is off.',
  },
} as const;

/** The labels of the forms for a token, a password and a code. */
export const ACCESS_LABELS = {
  name: texts.tokenName,
  scopes: texts.tokenScopes,
  password: texts.next,
  code: texts.code,
};

/** For this long after a sign-in, the password need not be given again. */
const FRESH_MS = 10 * 60_000;
const isFresh = ({ session, now }: PageRequest): boolean => now - session.createdAt < FRESH_MS;

/** Asks for the password, so that somebody who finds an open session cannot take over. */
async function confirmSelf(request: PageRequest): Promise<void> {
  if (isFresh(request)) return;
  if (request.form.raw('current') === '') throw new Problem('bad-argument', texts.needPassword);
  await request.signIn.checkPassword(request.session.owner, request.form.raw('current'), request.origin.address);
}

const currentField = (request: PageRequest, name: string): Html =>
  isFresh(request)
    ? html``
    : html`<div class="field"><label for="${name}">${texts.current}</label><input id="${name}" name="current" type="password" required autocomplete="current-password" maxlength="200"></div>`;

/** The part of the page that customers and operators share. */
async function ownAccess(request: PageRequest): Promise<Html> {
  const { signIn, session, zone } = request;
  const { isOn, recoveryCodesLeft } = await signIn.factorState(session.owner);
  const sessions = (await signIn.sessionsOf(session.owner)).map((each) => ({
    key: each.id.toString(),
    cells: [
      named(html`<span title="${each.agent.slice(0, 200)}">${browserName(each.agent)}</span>`, each.address),
      time(each.createdAt, zone),
      time(each.seenAt, zone),
      each.id === session.id
        ? chip('', 'user', texts.thisSession)
        : acts(
            html`<form method="post" action="/console/access/sessions">${hidden({ session: each.id.toString() })}${button(texts.endSession, { look: 's', label: `${texts.endSession} ${each.address}` })}</form>`,
          ),
    ],
  }));
  const others =
    sessions.length > 1
      ? html`<form method="post" action="/console/access/sessions"><button class="btn s" name="session" value="others">${texts.endOthers}</button></form>`
      : '';
  const password = html`<input type="hidden" name="username" autocomplete="username" value="${session.owner.name}">${currentField(request, 'current-password')}
${field({ name: 'password', label: texts.next, type: 'password', hint: texts.nextHint, isRequired: true, autocomplete: 'new-password', lengthMax: 200 })}`;
  const factor = html`<form class="stack" method="post" action="/console/access/factor"><p class="small quiet">${isOn ? texts.factorOnLead(recoveryCodesLeft) : texts.factorOffLead}</p>${currentField(request, 'current-factor')}<div class="row">${
    isOn
      ? html`${button(texts.renewCodes, { act: 'renew' })}${button(texts.removeFactor, { act: 'remove', look: 'danger' })}`
      : button(texts.beginFactor, { act: 'begin' })
  }</div></form>`;
  const state = isOn ? chip('good', 'tick', texts.factorOn) : chip('off', 'shield', texts.factorOff);
  return html`<div class="cols even">${formPanel({ title: texts.password, action: '/console/access/password', fields: password, submit: texts.setPassword })}
${panel({ title: texts.factor, acts: state, content: factor })}</div>
${tablePanel(texts.sessions, table({ caption: texts.sessions, columns: texts.sessionColumns, rows: sessions }), others)}`;
}

export const accessPage = (request: PageRequest, more: Html, problem: Problem | null): Promise<View> =>
  ownAccess(request).then((own) =>
    page(
      texts.title,
      html`${head(texts.title, request.isOperator ? '' : texts.lead)}${noticeOf(request, texts.notices)}${problemNote(problem, ACCESS_LABELS)}${more}${own}`,
      {
        current: 'access',
        ...(problem ? { status: 400 } : {}),
      },
    ),
  );

type Shown = (request: PageRequest, problem: Problem | null) => Promise<View>;

/** Shows a wrong code or password on the page, like a wrong field. */
export const refusal = (thrown: unknown): Problem => {
  if (thrown instanceof Problem && ['denied', 'too-many'].includes(thrown.kind)) return thrown;
  return refusalOf(thrown);
};

const setPassword =
  (show: Shown) =>
  async (request: PageRequest): Promise<View> => {
    const { signIn, session, form, origin, site } = request;
    try {
      await confirmSelf(request);
      const renewed = await signIn.setPassword(session, form.raw('password'), origin);
      return redirect('/console/access?notice=password', sessionCookie(site, renewed.secret, renewed.session));
    } catch (thrown) {
      return show(request, refusal(thrown));
    }
  };

const endSessions = async ({ signIn, session, form }: PageRequest): Promise<View> => {
  if (form.text('session') === 'others') {
    return noticed('/console/access', 'endedAll', await signIn.endOtherSessions(session.owner, session));
  }
  if (/^\d{1,19}$/.test(form.text('session'))) await signIn.endSession(session.owner, BigInt(form.text('session')));
  return noticed('/console/access', 'ended');
};

const changeFactor =
  (show: Shown) =>
  async (request: PageRequest): Promise<View> => {
    const { signIn, session, form, origin } = request;
    const { owner } = session;
    try {
      if (form.text('act') === 'confirm') {
        try {
          return recoveryPage(await signIn.confirmFactor(session, form.text('code').slice(0, 100), origin));
        } catch (thrown) {
          return factorPage(request, form.text('secret'), refusal(thrown));
        }
      }
      await confirmSelf(request);
      if (form.text('act') === 'begin') return factorPage(request, (await signIn.beginFactor(owner)).secret, null);
      if (form.text('act') === 'renew') return recoveryPage(await signIn.renewRecoveryCodes(owner, origin));
      await signIn.removeFactor(owner, origin);
      return noticed('/console/access', 'factorOff');
    } catch (thrown) {
      return show(request, refusal(thrown));
    }
  };

function factorPage({ session, site }: PageRequest, secret: string, problem: Problem | null): View {
  const key = secret.replace(/[^A-Z2-7]/g, '').slice(0, 100);
  const issuer = new URL(site.origin).hostname;
  const uri = otpauthUri(key, issuer, session.owner.name);
  const fields = html`<div class="qr" role="img" aria-label="${texts.factorPicture}">${{ html: renderSVG(uri) }}</div>
<p>${texts.key}: <code data-copy>${key}</code></p>${hidden({ secret: key, act: 'confirm' })}
${field({ name: 'code', label: texts.code, isRequired: true, autocomplete: 'one-time-code', lengthMax: 20 })}`;
  const form = { title: texts.factor, action: '/console/access/factor', submit: texts.confirmFactor, isPrimary: true };
  const main = html`${head(texts.factorTitle, texts.factorSteps)}${problemNote(problem, ACCESS_LABELS)}${formPanel({ ...form, fields })}`;
  return screen(texts.factorTitle, 'access', main, problem);
}

const recoveryPage = (codes: readonly string[]): View =>
  page(
    texts.recovery,
    html`${head(texts.recovery)}${note('wait', html`<p>${texts.recoveryLead}</p><pre data-copy>${codes.join('\n')}</pre>`, 'key')}
<p><a class="btn" href="/console/access">${texts.done}</a></p>`,
    { current: 'access' },
  );

/** The routes of customers and operators alike; `show` is the page that they return to. */
export const ownAccessRoutes = (show: Shown) => [
  get('/access', (request) => show(request, null)),
  post('/access/password', setPassword(show)),
  post('/access/sessions', endSessions),
  post('/access/factor', changeFactor(show)),
];
