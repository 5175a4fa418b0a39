import { type Html, html } from './html.ts';
import { icon } from './page-assets.ts';

/**
 * The document around every page of the contract, the console and the API, and the header fields
 * that protect it.
 */
export interface PageFrame {
  readonly title: Html | string;
  /** Style and script. */
  readonly head: Html;
  readonly header: Html;
  readonly main: Html;
  /** Below the main part. */
  readonly end: Html;
  /** For a meta element, in case a proxy drops header fields. */
  readonly referrer?: 'no-referrer';
  readonly bodyAttributes?: readonly Html[];
  readonly mainAttributes?: Html;
  readonly skip?: string;
}

export const pageFrame = (page: PageFrame): Html => html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
${page.referrer ? html`<meta name="referrer" content="${page.referrer}">\n` : ''}<title>${page.title}</title>
<link rel="icon" href="${icon}">
${page.head}
</head>
<body${page.bodyAttributes ?? ''}>
<a class="skip" href="#main">${page.skip ?? 'To the content'}</a>
${page.header}
<main id="main"${page.mainAttributes ?? ''}>
${page.main}
</main>
${page.end}
</body>
</html>
`;

/** Names with relative URLs; the page itself is last, without one. */
export type Trail = readonly (readonly [string, string?])[];

/** Breadcrumbs. */
export const trailHeader = (trail: Trail): Html =>
  html`<header><nav aria-label="Where you are"><ol>${trail.map(([name, address]) =>
    address === undefined
      ? html`<li aria-current="page">${name}</li>`
      : html`<li><a href="${address}">${name}</a></li>`,
  )}</ol></nav></header>`;

/** Forbids content of other origins and framing. `sources` allow the page's own content. */
export const protectionOf = (
  sources: readonly string[],
  referrer: 'no-referrer' | 'same-origin',
  more: Readonly<Record<string, string>> = {},
): Readonly<Record<string, string>> => ({
  'Content-Security-Policy': ["default-src 'none'", ...sources, "base-uri 'none'", "frame-ancestors 'none'"].join('; '),
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  ...more,
  'Referrer-Policy': referrer,
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY', // for browsers that do not know frame-ancestors
});

/** For pages with a script of their own. */
export const NO_DEVICES = {
  'Permissions-Policy': 'camera=(), display-capture=(), geolocation=(), microphone=(), midi=(), payment=(), usb=()',
};
