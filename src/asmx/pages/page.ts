import type { Reply } from '../../base/exchange.ts';
import { type Html, html } from '../../base/html.ts';
import { documentStyle, policyHash, styleOf } from '../../base/page-assets.ts';
import { NO_DEVICES, pageFrame, protectionOf, type Trail, trailHeader } from '../../base/page-frame.ts';
import { programText } from '../../base/program-files.ts';

const asset = (name: string) => programText(`asmx/pages/assets/${name}`).trim();
const style = styleOf(documentStyle, asset('page.css'));
const script = asset('page.js');

/** Allows the page's own style and script, and requests to this server. Nothing else. */
const PROTECTION = protectionOf(
  [
    `style-src ${policyHash(style)}`,
    `script-src ${policyHash(script)}`,
    "connect-src 'self'",
    'img-src data:',
    "form-action 'self'",
  ],
  'no-referrer', // the URL of a GET contains the user_id
  NO_DEVICES,
);

export interface Page {
  readonly title: string;
  readonly trail: Trail;
  readonly main: Html;
}

export const page = ({ title, trail, main }: Page): Reply => ({
  status: 200,
  headers: {
    'Content-Type': 'text/html; charset=utf-8',
    'Cache-Control': 'private, max-age=0',
    ...PROTECTION,
  },
  body: pageFrame({
    title,
    referrer: 'no-referrer',
    head: html`<style>${{ html: style }}</style>`,
    header: trailHeader(trail),
    main,
    end: html`<footer>Columba</footer>\n<script>${{ html: script }}</script>`,
  }).html,
});
