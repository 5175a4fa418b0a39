import { type Html, html } from '../../base/html.ts';
import { Problem } from '../../base/problem.ts';
import type { Origin, Session } from '../../domain/access/sessions.ts';
import type { SignedIn, SignIn } from '../../domain/access/sign-in.ts';
import { STATUS } from '../../operator/problem-json.ts';
import { createForm, type Form, readForm, type SentForm } from '../form.ts';
import { bullets, field, withFirstLine } from '../lists.ts';
import { page, redirect, type View } from '../page-request.ts';
import { button, gate, linkButton, note } from '../parts.ts';
import { noCookie, type Site, sessionCookie } from '../session.ts';

/** Signing in and out: what somebody without a session can do. */

const texts = {
  title: 'Sign in',
  lead: 'This is the console of the message service.',
  kind: 'Who are you?',
  kinds: { account: 'Customer', operator: 'Operator' },
  name: 'Name',
  nameHint: 'The username of the account, or the name of the operator.',
  password: 'Password',
  submit: 'Sign in',
  noPassword:
    'You have no password yet? Ask the operator for a sign-in link. It opens the console once, and there you choose a password.',
  link: {
    title: 'Sign in with your link',
    lead: (name: string) => `This link signs in ${name}.`,
    once: 'It works once. Choose a password afterwards, or ask for another link the next time.',
    submit: 'Sign in',
    invalid: 'The link is no longer valid. Ask the operator for a new one.',
  },
  code: {
    title: 'Second step',
    lead: 'Open your authenticator program and enter the code that it shows. A recovery code works too.',
    code: 'Code',
    submit: 'Go on',
    cancel: 'Cancel and sign out',
  },
  tls: {
    title: 'The console needs HTTPS here',
    lead: 'Passwords must not cross a network unencrypted, so over plain HTTP the console works only on the machine itself.',
    steps: [
      'Put a reverse proxy with TLS in front of the web listener, and name it in COLUMBA_TRUSTED_PROXIES.',
      'Set COLUMBA_WEB_URL to the address that people use, such as https://sms.example.',
      'Or open the console on the machine itself, for instance through ssh -L 8081:localhost:8081.',
    ],
  },
  signedOut: 'You are signed out.',
  ended:
    'Your session has ended, so you have to sign in again; you then come back to the same page. A session ends after 8 hours without use, that of an operator after 30 minutes.',
  expired: 'Your session has ended, so you have to sign in again. The form that you sent is kept here.',
  expiredLost:
    'Your session has ended, so you have to sign in again. The form that you sent was too long to be kept here: go back in your browser to copy it.',
  resume: {
    title: 'You are signed in again',
    lead: 'The form that you sent before is still here. Nothing has been done with it yet.',
    submit: 'Continue with it',
    drop: 'Drop it',
  },
} as const;

export interface Guest {
  readonly request: Request;
  readonly sent: SentForm;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly site: Site;
  readonly origin: Origin;
  readonly session: Session | null;
  /** Whether the browser brought a session that has ended. */
  readonly hasEnded: boolean;
}

const SIGN_IN = '/console/sign-in';
const CODE = `${SIGN_IN}/code`;
/** The most bytes of a form that somebody without a session sends. */
const GUEST_FORM_BYTES_MAX = 64 * 1_024;
/**
 * A form whose session has ended is kept up to this length; a longer one is lost. It comes back
 * together with the password, in a form in which its names are longer, so it must be shorter.
 */
const KEPT_BYTES_MAX = GUEST_FORM_BYTES_MAX * (3 / 4);

/** Returns null if the person is signed in and wants a screen. */
export type SignInPages = (guest: Guest) => Promise<View | null>;

export function createSignInPages(signIn: SignIn): SignInPages {
  return async (guest) => {
    const { request, path, site, session } = guest;
    const isPost = request.method === 'POST';
    if (path === '/console/sign-out' && isPost) return signOut(guest);
    if (path === CODE && session?.awaitsCode) return isPost ? giveCode(guest, session) : codePage();
    if (path === SIGN_IN || path === CODE) {
      if (!site.isUsable) return tlsPage();
      if (!isPost) return session && !session.awaitsCode ? redirect('/console/') : passwordPage(guest);
      return withPassword(guest);
    }
    const [, token] = /^\/console\/sign-in\/([\w-]{1,100})$/.exec(path) ?? [];
    if (token !== undefined) {
      if (!site.isUsable) return tlsPage();
      return isPost ? redeem(guest, token) : linkPage(signIn, token);
    }
    if (session && !session.awaitsCode) return null;
    if (guest.query.has('part')) throw new Problem('denied', 'You are signed out.');
    if (isPost) return expired(guest);
    if (session?.awaitsCode) return redirect(CODE);
    const query = new URLSearchParams(path === '/console/' ? {} : { next: path + searchOf(request) });
    if (guest.hasEnded) query.set('ended', '');
    return redirect(query.size === 0 ? SIGN_IN : `${SIGN_IN}?${query}`);
  };

  async function signOut({ session, site }: Guest): Promise<View> {
    if (session) await signIn.signOut(session);
    return redirect(`${SIGN_IN}?out`, noCookie(site));
  }

  async function withPassword(guest: Guest): Promise<View> {
    const form = await readForm(guest.sent, GUEST_FORM_BYTES_MAX);
    const kind = form.text('kind') === 'operator' ? 'operator' : 'account';
    try {
      const signedIn = await signIn.withPassword(
        kind,
        form.text('name').slice(0, 200),
        form.raw('password'),
        guest.origin,
      );
      return await entered(signIn, guest, signedIn, form);
    } catch (thrown) {
      if (!(thrown instanceof Problem)) throw thrown;
      return passwordPage(guest, form, thrown);
    }
  }

  async function redeem(guest: Guest, token: string): Promise<View> {
    try {
      return await entered(signIn, guest, await signIn.redeemLink(token, guest.origin), null);
    } catch (thrown) {
      if (thrown instanceof Problem && thrown.kind === 'denied') return invalidLink();
      throw thrown;
    }
  }

  async function giveCode(guest: Guest, pending: Session): Promise<View> {
    const form = await readForm(guest.sent, GUEST_FORM_BYTES_MAX);
    try {
      return await entered(
        signIn,
        guest,
        await signIn.giveCode(pending, form.text('code').slice(0, 100), guest.origin),
        null,
      );
    } catch (thrown) {
      if (!(thrown instanceof Problem)) throw thrown;
      return codePage(thrown);
    }
  }
}

/** Ends an earlier session, so that a cookie that somebody planted opens nothing. */
async function entered(
  signIn: SignIn,
  { site, session: before }: Guest,
  { session, secret }: SignedIn,
  form: Form | null,
): Promise<View> {
  if (before) await signIn.endSession(before.owner, before.id);
  const cookie = sessionCookie(site, secret, session);
  if (session.awaitsCode) return redirect(CODE, cookie);
  if (form?.has('resume')) return resumePage(form, cookie);
  return redirect(localPath(form?.text('next') ?? ''), cookie);
}

async function linkPage(signIn: SignIn, token: string): Promise<View> {
  const owner = await signIn.ownerOfLink(token);
  if (!owner) return invalidLink();
  const { title, lead, once, submit } = texts.link;
  return page(
    title,
    gate(
      title,
      lead(owner.name),
      html`<form class="stack" method="post">${button(submit, { look: 'primary' })}</form>`,
      once,
    ),
  );
}

const searchOf = (request: Request): string => new URL(request.url).search;

/** A sign-in leads only to addresses below the console. */
const localPath = (next: string): string => (/^\/console\/(?!\/)[^\\\p{Cc}]*$/u.test(next) ? next : '/console/');

const problemNote = (problem: Problem | undefined): Html => (problem ? note('bad', problem.message) : html``);

function passwordPage({ query, site }: Guest, form?: Form, problem?: Problem): View {
  if (!site.isUsable) return tlsPage();
  const next = form?.text('next') ?? localPath(query.get('next') ?? '');
  const isOperator = form?.text('kind') === 'operator';
  const radio = (kind: 'account' | 'operator', isChecked: boolean) =>
    html`<label><input type="radio" name="kind" value="${kind}"${isChecked ? html` checked` : ''}>${texts.kinds[kind]}</label>`;
  const ended = query.has('ended') && !problem ? note('wait', texts.ended) : '';
  const content = html`${ended}${query.has('out') && !problem ? note('good', texts.signedOut) : ''}${problemNote(problem)}
<form class="stack" method="post" action="${SIGN_IN}"${form ? encodingOf(form) : ''}>
<fieldset><legend class="unseen">${texts.kind}</legend><div class="seg">${radio('account', !isOperator)}${radio('operator', isOperator)}</div></fieldset>
${field({ name: 'name', label: texts.name, value: form?.text('name') ?? '', hint: texts.nameHint, isRequired: true, lengthMax: 200, autocomplete: 'username' })}
${field({ name: 'password', label: texts.password, type: 'password', isRequired: true, lengthMax: 200, autocomplete: 'current-password' })}
<input type="hidden" name="next" value="${next}">${form ? keptFields(form) : ''}
${button(texts.submit, { look: 'primary' })}</form>`;
  const main = gate(texts.title, texts.lead, content, texts.noPassword);
  return page(texts.title, main, { status: problem ? STATUS[problem.kind] : 200 });
}

function codePage(problem?: Problem): View {
  const { title, lead, code, submit, cancel } = texts.code;
  const content = html`${problemNote(problem)}<form class="stack" method="post" action="${CODE}">
<div class="field"><label for="code">${code}</label><input id="code" name="code" required maxlength="100" autocomplete="one-time-code" autofocus></div>
${button(submit, { look: 'primary' })}</form>
<form class="stack" method="post" action="/console/sign-out">${button(cancel, { look: 'ghost s' })}</form>`;
  return page(title, gate(title, lead, content), { status: problem ? STATUS[problem.kind] : 200 });
}

function invalidLink(): View {
  const { title, invalid } = texts.link;
  const main = gate(title, '', html`${note('bad', invalid)}${linkButton(SIGN_IN, texts.title)}`);
  return page(title, main, { status: 404 });
}

function tlsPage(): View {
  const { title, lead, steps } = texts.tls;
  return page(title, gate(title, lead, bullets(steps)), { status: 403 });
}

/** Keeps the fields of a form that came after its session had ended in the sign-in form. */
async function expired(guest: Guest): Promise<View> {
  const sent = await readForm(guest.sent, KEPT_BYTES_MAX).catch(() => null);
  const fields: [string, string][] = [['resume', guest.path + searchOf(guest.request)]];
  for (const [name, value] of sent?.fields ?? [])
    if (!/password|code/i.test(name)) fields.push([`kept.${name}`, value]);
  const form = createForm(fields);
  const isKept = sent !== null && Math.min(encodedBytes(form), partBytes(form)) <= KEPT_BYTES_MAX;
  return isKept
    ? passwordPage(guest, form, new Problem('denied', texts.expired))
    : passwordPage(guest, createForm([]), new Problem('denied', texts.expiredLost));
}

const asSent = (value: string): string => value.replaceAll('\n', '\r\n');

const encodedBytes = ({ fields }: Form): number =>
  new URLSearchParams(fields.map(([name, value]): [string, string] => [name, asSent(value)])).toString().length;

/** The bytes of a boundary line, of up to 70 characters, and of the head of a part. */
const PART_HEAD_BYTES = 130;
const partBytes = ({ fields }: Form): number =>
  fields.reduce((sum, [name, value]) => sum + PART_HEAD_BYTES + Buffer.byteLength(name + asSent(value)), 0);

/** The shorter encoding: text beyond ASCII triples in a URL, and short fields grow in parts. */
const encodingOf = (form: Form): Html =>
  partBytes(form) < encodedBytes(form) ? html` enctype="multipart/form-data"` : html``;

const keptFields = ({ fields }: Form): Html[] =>
  fields
    .filter(([name]) => name === 'resume' || name.startsWith('kept.'))
    .map(([name, value]) => html`<textarea hidden name="${name}">${withFirstLine(value)}</textarea>`);

function resumePage(form: Form, cookie: string): View {
  const { title, lead, submit, drop } = texts.resume;
  const fields = form.fields
    .filter(([name]) => name.startsWith('kept.'))
    .map(([name, value]) => html`<textarea hidden name="${name.slice(5)}">${withFirstLine(value)}</textarea>`);
  const content = html`<form class="stack" method="post" action="${localPath(form.text('resume'))}"${encodingOf(form)}>${fields}${button(submit, { look: 'primary' })}</form>
${linkButton('/console/', drop)}`;
  return page(title, gate(title, lead, content), { cookie });
}
