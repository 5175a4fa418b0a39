import { hash } from 'node:crypto';
import { type Html, html } from '../base/html.ts';
import { NO_DEVICES, pageFrame, protectionOf } from '../base/page-frame.ts';
import { programText } from '../base/program-files.ts';
import { unmarked } from './counts.ts';
import { dove, icon, spriteOf } from './icons.ts';
import { face, note, unreadBadge, unreadSaid } from './parts.ts';
import { type MenuGroup, type MenuItem, menus, navigation } from './screens.ts';
import { frameTexts as texts } from './texts.ts';
import { zoneName } from './words.ts';

/** The frame around every screen, its assets, and the header fields that protect it. */

const asset = (name: string) => programText(`console/assets/${name}`);

interface Asset {
  readonly path: string;
  readonly type: string;
  readonly text: string;
}
const ASSETS = '/console/assets/';
function assetOf(name: string, type: string, text: string): Asset {
  const [stem, extension] = name.split('.') as [string, string];
  return { path: `${ASSETS}${stem}-${hash('sha256', text).slice(0, 16)}.${extension}`, type, text };
}

/** A style without its comments and indentation, about a third shorter. */
const compact = (style: string): string =>
  style
    .replace(/\/\*.*?\*\//gs, '')
    .replace(/\s+/g, ' ')
    .replace(/ ?([{};,>]) ?/g, '$1')
    .replace(/([{;][\w-]+): /g, '$1:')
    .replace(/([ (:,-])0\./g, '$1.')
    .replaceAll(';}', '}')
    .trim();

const style = assetOf('console.css', 'text/css; charset=utf-8', compact(asset('tokens.css') + asset('console.css')));

/** The modules of the script. Each imports only modules that stand before it. */
const MODULES = ['page.js', 'locale.js', 'live.js', 'forms.js', 'keys.js', 'console.js'];
const scripts: Asset[] = [];
for (const name of MODULES) {
  const imported = (stem: string) => scripts.find(({ path }) => path.startsWith(`${ASSETS}${stem}-`))?.path;
  const text = asset(name).replace(/'\.\/(\w+)\.js'/g, (_, stem: string) => `'${imported(stem)}'`);
  scripts.push(assetOf(name, 'text/javascript; charset=utf-8', text));
}
const script = scripts.at(-1) as Asset;
/** A browser requests all modules at once, instead of each when it has read the one before. */
const preloads = scripts.slice(0, -1).map(({ path }) => html`<link rel="modulepreload" href="${path}">`);

/** Assets by path. The name changes with the content, so browsers may cache them for ever. */
export const assets: ReadonlyMap<string, Asset> = new Map([style, ...scripts].map((each) => [each.path, each]));

export const protection = protectionOf(
  ["style-src 'self'", "script-src 'self'", "connect-src 'self'", 'img-src data:', "form-action 'self'"],
  'same-origin', // with no-referrer, browsers would send `Origin: null` with our own forms
  NO_DEVICES,
);

/** Who sees the page, and in which zone. */
export interface Viewer {
  /** The company of the customer, if it is known, or else the name of the person. */
  readonly name: string;
  readonly signedInAs: string;
  readonly isOperator: boolean;
  /** The account that an operator looks at. */
  readonly viewed: { readonly username: string; readonly base: string } | null;
  readonly zone: string;
  readonly now: number;
  /** The unread messages of the account; null if no account is shown. */
  readonly unread: bigint | null;
}

export interface FramedPage {
  readonly title: Html | string;
  readonly main: Html;
  readonly viewer: Viewer | null;
  /** The key of the screen in the navigation. */
  readonly current: string;
  /** The class of the main part, if it is not one column. */
  readonly layout?: string;
}

const MARK = '<!--main-->';

export const framed = ({ main, ...page }: FramedPage): string => frame(page, main, main.html).html;

/** The frame before and after the main part, for a page that is written in pieces. */
export function frameAround(framedPage: Omit<FramedPage, 'main'>): [string, string] {
  const [before, after] = frame(framedPage, { html: MARK }, null).html.split(MARK);
  return [before as string, after as string];
}

/** `text` is what the main part will be, if it is known already. */
function frame({ title, viewer, current, layout }: Omit<FramedPage, 'main'>, main: Html, text: string | null): Html {
  const [before, after] = viewer ? shell(viewer, current) : [html`<div class="gate">`, html`</div>`];
  const zone = viewer ? html`<p class="zone-line">${texts.zone(zoneName(viewer.zone, viewer.now))}</p>` : '';
  const viewed = viewer?.viewed ? viewedNote(viewer.viewed) : '';
  const unread = viewer?.unread ?? 0n;
  return pageFrame({
    title: unmarked(html`${unread > 0n ? `(${unreadSaid(unread)}) ` : ''}${title} – ${texts.product}`),
    head: html`<link rel="stylesheet" href="${style.path}">${preloads}\n<script type="module" src="${script.path}"></script>`,
    bodyAttributes: [
      ...Object.entries(texts.script).map(([name, words]) => html` data-${name}="${words}"`),
      html` data-zone="${viewer?.zone ?? 'UTC'}"`,
    ],
    skip: texts.skip,
    header: html`${spriteOf(text === null ? null : html`${before}${viewed}`.html + text + after.html)}${before}${layout === undefined ? '' : viewed}`,
    mainAttributes: html`${viewer ? html` class="${layout ?? 'main'}"` : ''} tabindex="-1"`,
    main: html`${layout === undefined ? viewed : ''}${main}${layout === undefined ? zone : ''}`,
    end: html`${after}<p id="live" role="status" aria-live="polite"></p>${viewer ? keysDialog(viewer) : ''}`,
  });
}

const viewedNote = ({ username }: NonNullable<Viewer['viewed']>): Html =>
  note('', html`<p>${texts.viewing(username)} <a href="/console/accounts">${texts.back}</a></p>`, 'user');

const whoOf = ({ isOperator, viewed }: Viewer): 'operator' | 'customer' =>
  isOperator && !viewed ? 'operator' : 'customer';
const baseOf = ({ viewed }: Viewer): string => viewed?.base ?? '/console';
const addressOf = (base: string, key: string): string => `${base}/${key === 'overview' ? '' : key}`;

/** What stands before and after the main part. */
function shell(viewer: Viewer, current: string): [Html, Html] {
  const who = whoOf(viewer);
  const base = baseOf(viewer);
  const { bar, main } = texts.shell[who];
  const first = html`<a class="btn${who === 'customer' ? ' primary' : ''}" href="${base}/${main.href}"${main.href === current ? html` aria-current="page"` : ''}>${icon(main.icon)}${main.name}</a>`;
  const before = html`<div class="app">
<nav class="side" id="nav" aria-label="${texts.screens}"><a class="brand" href="/console/">${dove()}${texts.product}</a>
<a class="btn s close" href="#main">${texts.close}</a>
${first}${menus[who].map((group) => menuGroup(viewer, group, current))}</nav>
<div class="sheet">${header(viewer)}`;
  const places = bar.map(([key, name, shape]) =>
    barLink(
      `${base}/${key === 'overview' ? '' : key}`,
      html`${icon(shape)}${name}${key === 'conversations' ? badge(viewer) : ''}`,
      key === current,
    ),
  );
  const after = html`</div>
<nav class="bar" aria-label="${texts.mainScreens}">${places}${barLink('#nav', html`${icon('more')}${texts.more}`, false)}</nav></div>`;
  return [before, after];
}

const barLink = (href: string, content: Html, isCurrent: boolean): Html =>
  html`<a href="${href}"${isCurrent ? html` aria-current="page"` : ''}>${content}</a>`;

/** The unread messages, which the script keeps up to date here and in the title. */
const badge = ({ unread }: Viewer): Html =>
  unread === null ? html`` : html`<span data-unread>${unreadBadge(unread)}</span>`;

const menuGroup = (viewer: Viewer, { name, items }: MenuGroup, current: string): Html =>
  html`${name === '' ? '' : html`<h2>${name}</h2>`}<ul>${items.map((item) => menuItem(viewer, item, current))}</ul>`;

const menuItem = (viewer: Viewer, { key, name, icon: shape }: MenuItem, current: string): Html =>
  html`<li><a href="${addressOf(baseOf(viewer), key)}"${key === current ? html` aria-current="page"` : ''}>${icon(shape)}${name}${key === 'conversations' ? html` ${badge(viewer)}` : ''}</a></li>`;

function header(viewer: Viewer): Html {
  const { name, signedInAs, unread, zone, now } = viewer;
  const base = baseOf(viewer);
  const { search: words } = texts.shell[whoOf(viewer)];
  const live =
    unread === null ? '' : html` data-counts="${base}/?part=unread" data-events="${base}/events.stream?part=events"`;
  return html`<header class="top"${live}><a class="brand" href="/console/" aria-label="${texts.firstPage}">${dove()}</a>
<form class="search" role="search" action="${base}/search">${icon('search')}<input type="search" name="q" aria-label="${words}" aria-keyshortcuts="/" placeholder="${words}" maxlength="200"><kbd aria-hidden="true">/</kbd></form>
<p class="zone">${texts.zone(zoneName(zone, now))}</p>
<details class="menu"><summary class="btn s">${face(name)}<span class="name">${name}</span>${icon('down')}<span class="unseen">${texts.menu}</span></summary><div>
<p class="small quiet">${texts.signedInAs} <strong>${signedInAs}</strong></p><hr>
<a href="#keys">${icon('info')}${texts.help}</a><a href="/console/access">${icon('key')}${texts.access}</a>
<form method="post" action="/console/sign-out"><button>${icon('out')}${texts.signOut}</button></form></div></details></header>
`;
}

/** Lists the keyboard shortcuts of the viewer's screens, which the script follows. */
function keysDialog(viewer: Viewer): Html {
  const who = whoOf(viewer);
  const names = navigation[who];
  const line = (key: string, meaning: string, more: Html | string = '') =>
    html`<div${more}><dt><kbd>${key}</kbd></dt><dd>${meaning}</dd></div>`;
  const places = texts.places[who].map(([key, screen]) => {
    const place = addressOf(baseOf(viewer), screen);
    return line(
      `g ${key}`,
      names.get(screen) ?? texts.shell[who].main.name,
      html` data-go="${key}" data-place="${place}"`,
    );
  });
  const others = [texts.keys.help, ...texts.keys.both, ...texts.keys[who]].map(([key, meaning]) => line(key, meaning));
  return html`<dialog id="keys" aria-labelledby="keys-title"><div class="stack"><h2 id="keys-title">${texts.help}</h2>
<dl class="facts">${places}${others}</dl>
<p><a class="btn" href="#main">${texts.close}</a></p></div></dialog>`;
}
