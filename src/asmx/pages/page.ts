import { readFileSync } from 'node:fs';
import type { Reply } from '../../base/exchange.ts';
import { type Html, html } from '../../base/html.ts';
import { documentStyle, icon, policyHash, styleOf } from '../../base/page-assets.ts';

const asset = (name: string) => readFileSync(new URL(`assets/${name}`, import.meta.url), 'utf8').trim();
const style = styleOf(documentStyle, asset('page.css'));
const script = asset('page.js');

/** Allows the page's own style and script, and requests to this server. Nothing else. */
const POLICY = [
  "default-src 'none'",
  `style-src ${policyHash(style)}`,
  `script-src ${policyHash(script)}`,
  "connect-src 'self'",
  'img-src data:',
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** Security headers: no foreign content, no framing, no access to devices. */
const PROTECTION = {
  'Content-Security-Policy': POLICY,
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Permissions-Policy': 'camera=(), display-capture=(), geolocation=(), microphone=(), midi=(), payment=(), usb=()',
  'Referrer-Policy': 'no-referrer', // the URL of a GET contains the user_id
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY', // for browsers without frame-ancestors
};

export interface Page {
  readonly title: string;
  /** Breadcrumbs: names with relative URLs; the page itself is last, without one. */
  readonly trail: readonly (readonly [string, string?])[];
  readonly main: Html;
}

export function page({ title, trail, main }: Page): Reply {
  const steps = trail.map(([name, address]) =>
    address === undefined
      ? html`<li aria-current="page">${name}</li>`
      : html`<li><a href="${address}">${name}</a></li>`,
  );
  const whole = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
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
<script>${{ html: script }}</script>
</body>
</html>
`;
  return {
    status: 200,
    headers: {
      'Content-Type': 'text/html; charset=utf-8',
      'Cache-Control': 'private, max-age=0',
      ...PROTECTION,
    },
    body: whole.html,
  };
}
