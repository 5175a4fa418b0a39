import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { dayChart } from '../../src/console/charts.ts';
import { assets, framed } from '../../src/console/frame.ts';
import { breakable, zoneName } from '../../src/console/words.ts';
import { act, signedIn } from '../support/console-client.ts';
import { onOneEngine } from '../support/engines.ts';
import { startOperatorApi } from '../support/operator-api.ts';
import { CUSTOMER_SCREENS, OPERATOR_SCREENS } from '../support/screens.ts';

/** The look of the console: its style, its shell, and the parts that all screens share. */

const count = (text: string, pattern: RegExp): number => [...text.matchAll(pattern)].length;

describe('style of the console', () => {
  const style = [...assets.values()].find(({ type }) => type.startsWith('text/css'))?.text ?? '';

  test('the style has less than 25 KB, asks no other server, and knows light and dark', () => {
    assert.ok(Buffer.byteLength(style) < 25_600, String(Buffer.byteLength(style)));
    assert.doesNotMatch(style, /url\(|@import|@font-face/);
    assert.match(style, /--ink:light-dark\(/);
    assert.equal(count(style, /\{/g), count(style, /\}/g));
  });

  test('the style has every class that a page without a session uses', () => {
    const page = framed({ title: 'x', main: { html: '' }, viewer: null, current: '' });
    for (const [, name] of page.matchAll(/class="(\w+)"/g)) assert.ok(style.includes(`.${name}`), name);
  });

  test('a chart of days in which nothing happened is a sentence, and no axes', () => {
    assert.equal(dayChart('Messages', [], 0, 'UTC').html, '<p class="quiet">Nothing in the last 14 days.</p>');
    const hour = { at: 0, accepted: 1, delivered: 0, failed: 0 };
    assert.match(dayChart('Messages', [hour], 0, 'UTC').html, /class="chart"/);
  });

  test('a name of a program breaks behind its punctuation', () => {
    assert.equal(breakable('globex/a.b').html, '<bdi>globex/<wbr>a.<wbr>b</bdi>');
    assert.equal(breakable('plain').html, '<bdi>plain</bdi>');
  });

  test('a time zone is named by its city and its offset', () => {
    const winter = Date.UTC(2026, 0, 1);
    assert.equal(zoneName('UTC', winter), 'UTC');
    assert.equal(zoneName('Africa/Johannesburg', winter), 'Johannesburg (UTC+2)');
    assert.equal(zoneName('Asia/Kolkata', winter), 'Kolkata (UTC+5:30)');
    assert.equal(zoneName('America/New_York', winter), 'New York (UTC−5)');
    assert.equal(zoneName('America/New_York', Date.UTC(2026, 6, 1)), 'New York (UTC−4)');
  });
});

onOneEngine('shell of the console', (engine) => {
  test('every screen has the navigation, one search field, one heading, the zone, and each icon it uses', async (t) => {
    const api = await startOperatorApi(engine);
    t.after(() => api.stop());
    for (const [client, paths] of [
      [await signedIn(api, { username: 'acme' }), CUSTOMER_SCREENS],
      [await signedIn(api, { operator: 'ann' }), OPERATOR_SCREENS],
    ] as const) {
      for (const path of paths) {
        const { text } = await client.get(path);
        assert.equal(count(text, /<h1>/g), 1, path);
        assert.equal(count(text, /<form class="search" /g), 1, path);
        assert.equal(count(text, /<p class="zone">/g), 1, path);
        assert.equal(count(text, /<nav class="bar"/g), 1, path);
        assert.doesNotMatch(text, /\[object|undefined|NaN/, path); // no value that is not text
        assert.doesNotMatch(text, / style=| on[a-z]+="|<script>|<style/, path);
        const used = new Set([...text.matchAll(/href="#(i-[a-z]+)"/g)].map((match) => match[1]));
        for (const name of used)
          assert.equal(count(text, new RegExp(`<symbol id="${name}"`, 'g')), 1, `${path} ${name}`);
        assert.doesNotMatch(text, /<button(?![^>]*class=)(?![^>]*>(?:<svg[^>]*>.*?<\/svg>)?(?:Sign out|Undo))/, path);
      }
    }
  });

  test('the screen that is shown is marked in the navigation, and its messages are counted there', async (t) => {
    const api = await startOperatorApi(engine);
    t.after(() => api.stop());
    const client = await signedIn(api, { username: 'acme' });
    const before = await client.get('/console/conversations');
    const [, unread = ''] = /<title>\((\d+)\) Conversations – Columba<\/title>/.exec(before.text) ?? [];
    assert.match(
      before.text,
      new RegExp(`aria-current="page">.{0,80}Conversations .{0,30}<span class="badge">${unread}<`),
    );
    await act(api, 'inbox receive', { params: { username: 'acme' }, body: { text: 'new', sender: '+27825550201' } });
    assert.match((await client.get('/console/sent')).text, new RegExp(`<title>\\(${Number(unread) + 1}\\) Sent`));
    const part = await client.get('/console/?part=unread');
    assert.match(part.text, new RegExp(`^<span class="badge">${Number(unread) + 1}<`));
  });

  test('marking a few messages can be undone from the page that says so', async (t) => {
    const api = await startOperatorApi(engine);
    t.after(() => api.stop());
    const client = await signedIn(api, { username: 'acme' });
    const unread = async () => /<title>\((\d+)\)/.exec((await client.get('/console/inbox')).text)?.[1];
    const before = await unread();
    const [, id = ''] = /<tr data-key="(\d+)" class="fresh"/.exec((await client.get('/console/inbox')).text) ?? [];
    const marked = await client.post('/console/inbox', { act: 'read', id, snapshot: '9999999' });
    const page = await client.get(marked.location ?? '');
    assert.match(page.text, /<div class="toast" role="status"><span>Marked 1 message as read\.<\/span><form/);
    const [, again = ''] = /name="id" value="(\d+)"><button>Undo/.exec(page.text) ?? [];
    assert.equal(again, id);
    await client.post('/console/inbox', { act: 'unread', id: again });
    assert.equal(await unread(), before);
  });

  test('an act on nothing says so in the page, and the text stays there', async (t) => {
    const api = await startOperatorApi(engine);
    t.after(() => api.stop());
    const client = await signedIn(api, { username: 'acme' });
    const { text } = await client.get('/console/inbox?notice=nothing');
    assert.match(text, /<div class="note wait">.*Nothing was selected/);
    assert.doesNotMatch(text, /class="toast"/);
  });

  test('a reference stands below its text, and the number to which a message was sent has its groups', async (t) => {
    const api = await startOperatorApi(engine);
    t.after(() => api.stop());
    const client = await signedIn(api, { username: 'acme' });
    const params = { username: 'acme' };
    const received = { sender: '+27825550201', text: 'hi', shortCode: '+27215550100' };
    await act(api, 'inbox receive', { params, body: received });
    assert.match((await client.get('/console/inbox')).text, /data-l="To"><bdi class="tel">\+27<span>21<\/span>/);
    const sent = { recipient: '+27825550201', text: 'hi', reference: 'order 7', status: 'DELIVERED' };
    await act(api, 'message record', { params, body: sent });
    assert.match(
      (await client.get('/console/sent')).text,
      /<\/span><small [^>]*>Reference <bdi>order 7<\/bdi><\/small><\/td>/,
    );
  });

  test('an operator who looks at an account has its navigation, and a note about it on every page', async (t) => {
    const api = await startOperatorApi(engine);
    t.after(() => api.stop());
    const client = await signedIn(api, { operator: 'ann' });
    const { text } = await client.get('/console/accounts/acme/inbox');
    assert.match(text, /You see the account acme as the customer does/);
    assert.match(text, /<nav class="side".*href="\/console\/accounts\/acme\/compose".*<\/nav>/s);
    assert.match(text, /<form class="search" role="search" action="\/console\/accounts\/acme\/search">/);
  });
});
