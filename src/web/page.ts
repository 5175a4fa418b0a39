import { type Html, html } from '../base/html.ts';
import { documentStyle, icon, policyHash, styleOf } from '../base/page-assets.ts';

const style = styleOf(documentStyle);

/** A page of the web listener: no script, its own style, and nothing from elsewhere. */

export const protection = {
  'Content-Security-Policy': [
    "default-src 'none'",
    `style-src ${policyHash(style)}`,
    'img-src data:',
    "form-action 'none'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY', // frame-ancestors, for browsers that do not know it
};

export interface Page {
  readonly title: string;
  /** Names with their addresses; the page itself last and without one. */
  readonly trail: readonly (readonly [string, string?])[];
  readonly main: Html;
}

export function page({ title, trail, main }: Page): string {
  const steps = trail.map(([name, address]) =>
    address === undefined
      ? html`<li aria-current="page">${name}</li>`
      : html`<li><a href="${address}">${name}</a></li>`,
  );
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<link rel="icon" href="${icon}">
<style>${{ html: style }}</style>
</head>
<body>
<a class="skip" href="#main">To the content</a>
<header><nav aria-label="Where you are"><ol>${steps}</ol></nav></header>
<main id="main">
${main}
</main>
<footer>Columba</footer>
</body>
</html>
`.html;
}

export const firstPage = (): string =>
  page({
    title: 'Columba',
    trail: [['Columba']],
    main: html`<h1>Columba</h1>
<p class="lead">This is the operator’s side of the service.</p>
<dl class="list">
<div><dt><a href="/console/">Console</a></dt><dd>For holders of accounts and for operators.</dd></div>
<div><dt><a href="/operator/">Reference</a></dt><dd>The JSON API and its commands.</dd></div>
<div><dt><a href="/health/ready">Health</a></dt><dd>Whether the service can serve.</dd></div>
</dl>`,
  });
