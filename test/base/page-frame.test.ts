import assert from 'node:assert/strict';
import { test } from 'node:test';
import { page as contractPage } from '../../src/asmx/pages/page.ts';
import { html } from '../../src/base/html.ts';
import { pageFrame, protectionOf, trailHeader } from '../../src/base/page-frame.ts';
import { framed } from '../../src/console/frame.ts';
import { page as webPage } from '../../src/web/page.ts';

const main = html`<h1>Title</h1>`;
const ofFaces = (): [string, string][] => [
  ['contract', contractPage({ title: 'A & B', trail: [['A']], main }).body as string],
  ['web listener', webPage({ title: 'A & B', trail: [['A']], main })],
  ['console', framed({ title: 'A & B', main, viewer: null, current: 'overview' })],
];

test('all pages have one frame: language, title, a link to the content, and one main part', () => {
  for (const [face, text] of ofFaces()) {
    assert.match(text, /^<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n/, face);
    assert.match(text, /<title>A &#38; B/, face);
    assert.match(text, /<a class="skip" href="#main">/, face);
    assert.equal(text.match(/<main id="main"/g)?.length, 1, face);
    assert.match(text, /<\/body>\n<\/html>\n$/, face);
  }
});

test('the values of a page are escaped, and it has only the meta elements that were asked for', () => {
  const given = { title: '<x>', head: html``, header: trailHeader([['<a>', '/b?c&d'], ['e']]), main, end: html`` };
  const plain = pageFrame(given).html;
  assert.match(plain, /<title>&#60;x&#62;<\/title>/);
  assert.match(plain, /<li><a href="\/b\?c&#38;d">&#60;a&#62;<\/a><\/li><li aria-current="page">e<\/li>/);
  assert.doesNotMatch(plain, /name="referrer"/);
  assert.match(
    pageFrame({ ...given, referrer: 'no-referrer' }).html,
    /\n<meta name="referrer" content="no-referrer">\n/,
  );
});

test('a content security policy allows only what is named, and never a frame', () => {
  const fields = protectionOf(["style-src 'self'"], 'same-origin');
  assert.equal(
    fields['Content-Security-Policy'],
    "default-src 'none'; style-src 'self'; base-uri 'none'; frame-ancestors 'none'",
  );
  assert.equal(fields['Referrer-Policy'], 'same-origin');
  assert.equal(fields['X-Frame-Options'], 'DENY');
});
