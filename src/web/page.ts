import { type Html, html } from '../base/html.ts';
import { documentStyle, policyHash, styleOf } from '../base/page-assets.ts';
import { pageFrame, protectionOf, type Trail, trailHeader } from '../base/page-frame.ts';

const style = styleOf(documentStyle);

/**
 * A page of the web listener, with its own style, without a script, and without content of other
 * origins.
 */

export const protection = protectionOf(
  [`style-src ${policyHash(style)}`, 'img-src data:', "form-action 'none'"],
  'no-referrer',
);

export interface Page {
  readonly title: string;
  readonly trail: Trail;
  readonly main: Html;
}

export const page = ({ title, trail, main }: Page): string =>
  pageFrame({
    title,
    head: html`<style>${{ html: style }}</style>`,
    header: trailHeader(trail),
    main,
    end: html`<footer>Columba</footer>`,
  }).html;

export const firstPage = (): string =>
  page({
    title: 'Columba',
    trail: [['Columba']],
    main: html`<h1>Columba</h1>
<p class="lead">This is the operator’s side of the service.</p>
<dl class="list">
<div><dt><a href="/console/">Console</a></dt><dd>For customers and for operators.</dd></div>
<div><dt><a href="/operator/">Reference</a></dt><dd>The JSON API and its commands.</dd></div>
<div><dt><a href="/health/ready">Health</a></dt><dd>Whether the service can serve.</dd></div>
</dl>`,
  });
