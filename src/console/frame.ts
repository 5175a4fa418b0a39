import { hash } from 'node:crypto';
import { type Html, html } from '../base/html.ts';
import { styleOf } from '../base/page-assets.ts';
import { NO_DEVICES, pageFrame, protectionOf } from '../base/page-frame.ts';
import { programText } from '../base/program-files.ts';
import { navigation } from './screens.ts';
import { frameTexts as texts } from './texts.ts';

/** The frame around every screen, its assets, and the header fields that protect it. */

const asset = (name: string) => programText(`console/assets/${name}`);

interface Asset {
  readonly path: string;
  readonly type: string;
  readonly text: string;
}
function assetOf(name: string, type: string, text: string): Asset {
  const [stem, extension] = name.split('.') as [string, string];
  return { path: `/console/assets/${stem}-${hash('sha256', text).slice(0, 16)}.${extension}`, type, text };
}
const style = assetOf('console.css', 'text/css; charset=utf-8', styleOf(asset('console.css')));
const script = assetOf('console.js', 'text/javascript; charset=utf-8', asset('console.js'));
/** Assets by path. The name changes with the content, so browsers may cache them for ever. */
export const assets: ReadonlyMap<string, Asset> = new Map([style, script].map((each) => [each.path, each]));

export const protection = protectionOf(
  ["style-src 'self'", "script-src 'self'", "connect-src 'self'", 'img-src data:', "form-action 'self'"],
  'same-origin', // with no-referrer, browsers would send `Origin: null` with our own forms
  NO_DEVICES,
);

/** Who sees the page. */
export interface Viewer {
  readonly name: string;
  readonly isOperator: boolean;
  /** The account that an operator looks at. */
  readonly viewed: { readonly username: string; readonly base: string } | null;
}

export interface FramedPage {
  readonly title: string;
  readonly main: Html;
  readonly viewer: Viewer | null;
  /** The key of the screen in the navigation. */
  readonly current: string;
}

const MARK = '<!--main-->';

export const framed = (framedPage: FramedPage): string => frame(framedPage, framedPage.main).html;

/** The frame before and after the main part, for a page that is written in pieces. */
export function frameAround(framedPage: Omit<FramedPage, 'main'>): [string, string] {
  const [before, after] = frame(framedPage, { html: MARK }).html.split(MARK);
  return [before as string, after as string];
}

const frame = ({ title, viewer, current }: Omit<FramedPage, 'main'>, main: Html): Html =>
  pageFrame({
    title: `${title} – ${texts.product}`,
    head: html`<link rel="stylesheet" href="${style.path}">\n<script src="${script.path}" defer></script>`,
    bodyAttributes: Object.entries(texts.script).map(([name, text]) => html` data-${name}="${text}"`),
    skip: texts.skip,
    header: viewer ? headerOf(viewer, current) : html`<header><strong class="brand">${texts.product}</strong></header>`,
    mainAttributes: html` tabindex="-1"`,
    main,
    end: html`<p id="live" role="status" aria-live="polite"></p>
<footer>${texts.product}</footer>
${viewer ? keysDialog(viewer) : ''}`,
  });

const headerOf = ({ name, isOperator, viewed }: Viewer, current: string): Html => html`<header>
<a class="brand" href="/console/">${texts.product}</a>
<div class="who"><span>${texts.signedInAs} <strong>${name}</strong></span>
<form method="post" action="/console/sign-out"><button class="plain">${texts.signOut}</button></form></div>
${
  viewed
    ? html`<p class="note">${texts.viewing(viewed.username)} <a href="/console/accounts">${texts.back}</a></p>`
    : ''
}
</header>
${isOperator ? navigationBar('/console', navigation.operator, viewed ? 'accounts' : current) : ''}
${isOperator && !viewed ? '' : navigationBar(viewed?.base ?? '/console', navigation.customer, current)}`;

const navigationBar = (base: string, names: ReadonlyMap<string, string>, current: string): Html =>
  html`<nav aria-label="${texts.screens}${base === '/console' ? '' : ` ${base.split('/').at(-1) ?? ''}`}"><ul>${[
    ...names,
  ].map(
    ([key, name]) =>
      html`<li><a href="${base}/${key === 'overview' ? '' : key}"${
        key === current ? html` aria-current="page"` : ''
      }>${name}</a></li>`,
  )}</ul></nav>`;

/** Lists the keyboard shortcuts of the viewer's screens, which the script follows. */
function keysDialog({ isOperator, viewed }: Viewer): Html {
  const who = isOperator && !viewed ? 'operator' : 'customer';
  const base = viewed?.base ?? '/console';
  const names = navigation[who];
  const line = (key: string, meaning: string, more: Html | string = '') =>
    html`<div${more}><dt><kbd>${key}</kbd></dt><dd>${meaning}</dd></div>`;
  const places = texts.places[who].map(([key, screen]) =>
    line(`g ${key}`, names.get(screen) ?? screen, html` data-go="${key}" data-place="${base}/${screen}"`),
  );
  const others = [texts.keys.help, ...texts.keys.both, ...texts.keys[who]].map(([key, meaning]) => line(key, meaning));
  return html`<dialog id="keys" aria-labelledby="keys-title"><h2 id="keys-title">${texts.help}</h2>
<dl class="list">${places}${others}</dl>
<form method="dialog"><button>${texts.close}</button></form></dialog>`;
}
