import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createConsole } from '../../src/console/app.ts';
import {
  act,
  type ConsoleClient,
  type ConsolePage,
  consoleRequest,
  type Fields,
  linkFor,
  signedIn,
} from '../support/console-client.ts';
import { onOneEngine } from '../support/engines.ts';
import { type OperatorApi, startOperatorApi } from '../support/operator-api.ts';

/** Writing, checking and sending, as a browser without script does it. */

const decoded = (text: string): string => text.replace(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code)));

/** The fields of the form that sends, as the page of the check has them. */
function fieldsOf({ text }: ConsolePage, action: string): Record<string, string[]> {
  const [, form = ''] = text.split(`action="${action}">`);
  const fields: Record<string, string[]> = {};
  const whole = form.slice(0, form.indexOf('</form>'));
  for (const [, name, value] of whole.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)">/g)) {
    fields[name as string] = [...(fields[name as string] ?? []), decoded(value as string)];
  }
  for (const [, name, value] of whole.matchAll(/<textarea hidden name="(\w+)">([^<]*)<\/textarea>/g)) {
    // A parser of HTML drops the first line end of a text area.
    fields[name as string] = [decoded(value as string).replace(/^\n/, '')];
  }
  return fields;
}

onOneEngine('compose, check and send', (engine) => {
  async function opened(t: {
    after(work: () => Promise<void>): void;
  }): Promise<{ api: OperatorApi; client: ConsoleClient }> {
    const api = await startOperatorApi(engine, 'empty');
    t.after(() => api.stop());
    await act(api, 'account add', { body: { username: 'acme', region: 'ZA', credits: '30000' } });
    return { api, client: await signedIn(api, { username: 'acme' }) };
  }
  const sent = async (api: OperatorApi) =>
    (
      await act<{ items: { recipient: string }[] }>(api, 'message list', {
        params: { username: 'acme' },
        query: { limit: '500' },
      })
    ).items;
  const KEY = 'a'.repeat(32);
  const ROWS = engine.name === 'sqlite' ? 10_000 : 2_000;
  const SHOWN = ROWS.toLocaleString('en');
  /** The page that a form leads to: a redirect, or the form again. */
  const landed = async (client: ConsoleClient, answer: ConsolePage) =>
    answer.location === null ? answer : client.get(answer.location);
  const check = async (client: ConsoleClient, fields: Fields) =>
    landed(client, await client.post('/console/compose/check', { key: KEY, ...fields }));
  const upload = async (client: ConsoleClient, data: FormData) =>
    landed(client, await client.upload('/console/compose/check', data));

  test('the check names every refused number with its line, and nothing is sent yet', async (t) => {
    const { api, client } = await opened(t);
    await act(api, 'blacklist add', { params: { username: 'acme' }, body: { number: '+27825550203' } });
    const to = '0825550201\n12\n+27825550203, 082 555 0202\n+27825550201';
    const page = await check(client, { to, text: 'Hello’' });
    assert.equal(page.status, 200);
    assert.match(page.text, /2 messages will go/);
    assert.match(page.text, /1 number more than once/);
    assert.match(page.text, /line 2<\/th><td data-l="Number"><bdi>12<\/bdi>.*not a possible phone number/s);
    assert.match(page.text, /line 3<\/th><td data-l="Number"><bdi>\+27825550203<\/bdi>.*blacklist/s);
    assert.deepEqual(await sent(api), []);
  });

  test('a double click, a reload and a second tab send one batch', async (t) => {
    const { api, client } = await opened(t);
    const fields = fieldsOf(await check(client, { to: '0825550201', text: 'Once' }), '/console/compose/send');
    const [one, other] = await Promise.all([
      client.post('/console/compose/send', fields),
      client.post('/console/compose/send', fields),
    ]);
    const again = await client.post('/console/compose/send', fields);
    assert.deepEqual(
      [one.location, other.location, again.location],
      Array(3).fill('/console/sent?notice=accepted&count=1'),
    );
    assert.equal((await sent(api)).length, 1);
    // Back to the form and through the check again: the same key, the same content.
    const back = await check(client, { to: '0825550201', text: 'Once' });
    assert.match(back.text, /These messages were accepted.*<a href="\/console\/sent\?notice=accepted&#38;count=1"/s);
    assert.doesNotMatch(back.text, /compose\/send/);
    assert.equal((await sent(api)).length, 1);
  });

  test('a message without a time is shown as sent at once, although time passes while it is accepted', async (t) => {
    const { api } = await opened(t);
    const ticking = () => {
      api.clock.now += 1;
      return api.clock.now;
    };
    const console = createConsole({
      services: { ...api.services, now: ticking },
      admitClient: () => {},
      report: () => {},
    });
    const link = await linkFor(api, { username: 'acme' });
    const post = (path: string, cookie: string, fields: Record<string, string> = {}) => {
      const headers = { 'Sec-Fetch-Site': 'same-origin', cookie };
      const request = new Request(`http://localhost${path}`, {
        method: 'POST',
        body: new URLSearchParams(fields),
        headers,
      });
      return console(consoleRequest(request));
    };
    const cookie = (await post(link, '')).headers.getSetCookie()[0]?.split(';')[0] ?? '';
    const toCheck = await post('/console/compose/check', cookie, { key: KEY, text: 'Now', to: '0825550201' });
    const address = `http://localhost${toCheck.headers.get('location')}`;
    const text = await (await console(consoleRequest(new Request(address, { headers: { cookie } })))).text();
    assert.match(text, /To be sent at once</);
    const content = /name="content" value="(\w+)"/.exec(text)?.[1] ?? assert.fail('no content');
    const sentAtOnce = await post('/console/compose/send', cookie, { key: KEY, content });
    assert.equal(sentAtOnce.headers.get('location'), '/console/sent?notice=accepted&count=1');
  });

  test('a text with fields is shown as each person will read it, and whoever lacks a value is named', async (t) => {
    const { api, client } = await opened(t);
    const params = { username: 'acme' };
    await act(api, 'contact add', { params, body: { mobile: '+27825550203', name: 'Cara' } });
    const form = new FormData();
    const file = 'Mobile,First name,Time\n0825550201,Anna,9:00\n0825550202,,9:30\n0825550203,,10:00\n';
    form.set('file', new File([file], 'people.csv', { type: 'text/csv' }));
    form.set('text', 'Hello ((first name)), at ((time))');
    form.set('to', '0825550209');
    form.set('key', KEY);
    const page = await upload(client, form);
    assert.match(page.text, /2 messages will go/);
    assert.match(page.text, /Hello Anna, at 9:00/);
    assert.match(page.text, /<strong><bdi>Cara<\/bdi>.*Hello Cara, at 10:00/s);
    assert.match(page.text, /2 people have no value for a field of the text/);
    assert.match(page.text, /There is no value for \(\(first name\)\)\. 0825550202 \(row 3 of the file\)/);
    assert.match(page.text, /There is no value for \(\(first name\)\), \(\(time\)\)\. 0825550209 \(line 1\)/);
    const fields = fieldsOf(page, '/console/compose/send');
    const [one, other] = [
      await client.post('/console/compose/send', fields),
      await client.post('/console/compose/send', fields),
    ];
    assert.match(one.location ?? '', /^\/console\/batches\/\d+\?notice=sent&count=2$/);
    assert.equal(other.location, one.location);
    const { items } = await act<{ items: { text: string }[] }>(api, 'message list', { params });
    assert.deepEqual(items.map(({ text }) => text).sort(), ['Hello Anna, at 9:00', 'Hello Cara, at 10:00']);
    // Going back keeps the columns of the file, and a template keeps its fields.
    form.set('key', 'b'.repeat(32));
    await upload(client, form);
    const back = await client.get(`/console/compose?draft=${'b'.repeat(32)}`);
    assert.match(back.text, /<code data-copy>\(\(time\)\)<\/code>/);
    const template = await act<{ id: string }>(api, 'template add', { params, body: { text: 'Dear ((full name))' } });
    assert.match((await client.get(`/console/compose?template=${template.id}`)).text, /Dear \(\(full name\)\)/);
  });

  test('what another window has changed since the check is not sent, and is shown', async (t) => {
    const { api, client } = await opened(t);
    const first = fieldsOf(await check(client, { to: '0825550201', text: 'One' }), '/console/compose/send');
    await check(client, { to: '0825550201', text: 'Two' });
    const { location } = await client.post('/console/compose/send', first);
    assert.match((await client.get(location ?? '')).text, /changed in another window.*Two/s);
    assert.deepEqual(await sent(api), []);
  });

  test('a check is gone after a day, and is nobody else’s', async (t) => {
    const { api, client } = await opened(t);
    const page = await check(client, { to: '0825550201', text: 'Mine' });
    const operator = await signedIn(api, { operator: 'ann' });
    const other = await operator.get(`/console/accounts/acme/compose/check/${KEY}`);
    assert.equal(other.status, 404);
    assert.doesNotMatch(other.text, /Mine/);
    api.clock.now += 24 * 3_600_000 + 1;
    const later = await signedIn(api, { username: 'acme' });
    const late = await later.post('/console/compose/send', fieldsOf(page, '/console/compose/send'));
    assert.equal(late.status, 404);
    assert.match(late.text, /kept for a day.*Nothing was sent/s);
    assert.deepEqual(await sent(api), []);
  });

  test('another text with the same key is another message', async (t) => {
    const { api, client } = await opened(t);
    for (const text of ['One', 'Two']) {
      await client.post(
        '/console/compose/send',
        fieldsOf(await check(client, { to: '0825550201', text }), '/console/compose/send'),
      );
    }
    assert.equal((await sent(api)).length, 2);
  });

  test('the check warns about the same text to the same numbers with a new key', async (t) => {
    const { client } = await opened(t);
    const fields = { to: '0825550201', text: 'Again' };
    const first = await check(client, fields);
    assert.doesNotMatch(first.text, /to exactly these numbers/);
    await client.post('/console/compose/send', fieldsOf(first, '/console/compose/send'));
    assert.match((await check(client, { ...fields, key: 'b'.repeat(32) })).text, /to exactly these numbers/);
  });

  test('going back keeps everything that was typed', async (t) => {
    const { api, client } = await opened(t);
    const group = await act<{ id: string }>(api, 'group add', {
      params: { username: 'acme' },
      body: { name: 'Customers' },
    });
    const typed = {
      to: '0825550201\n0825550202',
      text: '\nfirst line empty, "quotes" & <tags>',
      when: '2026-11-16T10:00',
      reference: 'r-1',
      group: group.id,
    };
    const [, back = ''] = /href="([^"]*compose\?draft=[^"]*)"/.exec((await check(client, typed)).text) ?? [];
    const text = decoded((await client.get(back)).text);
    assert.ok(text.includes('>\n\nfirst line empty, "quotes" & <tags></textarea>'));
    assert.ok(text.includes('>0825550201\n0825550202</textarea>'));
    for (const kept of ['value="2026-11-16T10:00"', 'value="r-1"', `value="${KEY}"`, `value="${group.id}" checked`])
      assert.ok(text.includes(kept), kept);
  });

  test('a template is put into the text, and nothing that was typed is lost', async (t) => {
    const { api, client } = await opened(t);
    await act(api, 'template add', { params: { username: 'acme' }, body: { text: 'Your order is ready.' } });
    const [, template = ''] =
      /<option value="(\d+)">Your order/.exec((await client.get('/console/compose')).text) ?? [];
    const typed = { to: '0825550201', text: 'Hello!', reference: 'r-1' };
    const { text } = await check(client, { ...typed, template, act: 'template' });
    for (const kept of ['>0825550201</textarea>', '>Hello!\nYour order is ready.</textarea>', 'value="r-1"', KEY])
      assert.ok(text.includes(kept), kept);
    assert.match((await check(client, { ...typed, template: '', act: 'template' })).text, /1 message will go/);
  });

  test('mistakes are shown on the form, with everything that was typed', async (t) => {
    const { client } = await opened(t);
    for (const [fields, expected] of [
      [{ to: '', text: 'Hi' }, /Choose the recipients/],
      [{ to: '0825550201', text: '  ' }, /Write a text/],
      [{ to: '0825550201', text: 'Hi', when: '2020-01-01T10:00' }, /more than 24 hours in the past/],
      [{ to: '0825550201', text: 'Hi', when: 'soon' }, /expected a day and a time/],
      [{ to: '0825550201', text: 'x'.repeat(10_001) }, /<p>Text: expected at most 10000 characters/],
      [{ to: '0825550201', text: 'Hi', notAfter: '2020-01-01T10:00' }, /<p>Do not send after: the messages are due/],
    ] as [Fields, RegExp][]) {
      const page = await check(client, fields);
      assert.equal(page.status, 400);
      assert.match(page.text, expected);
      assert.ok(page.text.includes(String(fields.to)));
    }
  });

  test('a time a little in the past means now, and the check says so', async (t) => {
    const { api, client } = await opened(t);
    const page = await check(client, { to: '0825550201', text: 'Hi', when: '2026-11-15T11:00' });
    assert.equal(page.status, 200);
    assert.match(page.text, /The time has passed already, so the messages are sent now/);
    await client.post('/console/compose/send', fieldsOf(page, '/console/compose/send'));
    assert.equal((await sent(api)).length, 1);
  });

  test('missing credits are named, and there is no button to send', async (t) => {
    const { api, client } = await opened(t);
    await act(api, 'credits add', { params: { username: 'acme' }, body: { amount: '-29999', reason: 'test' } });
    const page = await check(client, { to: '0825550201\n0825550202\n0825550203', text: 'Hi' });
    assert.match(page.text, /2 credits are missing/);
    assert.doesNotMatch(page.text, /compose\/send/);
    const one = await check(client, { to: '0825550201\n0825550202', text: 'Hi' });
    assert.match(one.text, /1 credit is missing/);
  });

  test('where credits are missing, the check says that no message will be sent, and shows no credits below zero', async (t) => {
    const { api, client } = await opened(t);
    await act(api, 'credits add', { params: { username: 'acme' }, body: { amount: '-29999', reason: 'test' } });
    const { text } = await check(client, { to: '0825550201\n0825550202', text: 'Hi' });
    assert.match(text, /No message will be sent, because credits are missing\./);
    assert.match(text, /Credits that you have: 1</);
    assert.doesNotMatch(text, /will go\.|-1<|Credits left afterwards/);
    const enough = await check(client, { to: '0825550201', text: 'Hi' });
    assert.match(enough.text, /1 credit \(1 part\)\. Credits left afterwards: 0</);
  });

  test('everything that was typed is kept where a message is refused after the check', async (t) => {
    const { api, client } = await opened(t);
    const page = await check(client, { to: '0825550201', text: 'Kept text' });
    await act(api, 'credits add', { params: { username: 'acme' }, body: { amount: '-30000', reason: 'test' } });
    const refused = await client.post('/console/compose/send', fieldsOf(page, '/console/compose/send'));
    assert.equal(refused.status, 400);
    assert.match(refused.text, /role="alert".*1 credit\..*>0825550201<\/textarea>.*>Kept text<\/textarea>/s);
    assert.deepEqual(await sent(api), []);
  });

  test('the check shows times with their zone, and the time after which nothing is sent', async (t) => {
    const { api, client } = await opened(t);
    await act(api, 'account change', { params: { username: 'acme' }, body: { timeZone: 'Africa/Johannesburg' } });
    const fields = { to: '0825550201', text: 'Later', when: '2026-11-16T10:00', notAfter: '2026-11-16T12:30' };
    const page = await check(client, fields);
    assert.match(
      page.text,
      /To be sent <time[^>]*>16 Nov 2026, 10:00:00<.*Do not send after <time[^>]*>16 Nov 2026, 12:30:00</s,
    );
    assert.match(page.text, /<p class="zone">All times Johannesburg \(UTC\+2\)</);
    await client.post('/console/compose/send', fieldsOf(page, '/console/compose/send'));
    const again = await check(client, { ...fields, key: 'b'.repeat(32) });
    assert.match(again.text, /sent or scheduled exactly this text to exactly these numbers/);
    assert.doesNotMatch(again.text, /It was sent at/);
  });

  test('a file of numbers needs no header', async (t) => {
    const { client } = await opened(t);
    const checked = (content: string) => {
      const data = new FormData();
      data.set('file', new File([content], 'numbers.txt'));
      data.set('text', 'Hi');
      data.set('key', KEY);
      return upload(client, data);
    };
    const page = await checked('0825550201\r\n+27 82 555 0202\r\n\r\n12\r\n');
    assert.match(page.text, /2 messages will go/);
    assert.match(page.text, /row 4 of the file<\/th><td data-l="Number"><bdi>12</);
    const form = (await client.get(`/console/compose?draft=${KEY}`)).text;
    const again = await check(client, {
      ...fieldsOf({ ...page, text: form.replace(' enctype="multipart/form-data"', '') }, '/console/compose/check'),
      text: 'Hi',
    });
    assert.match(again.text, /row 4 of the file<\/th><td data-l="Number"><bdi>12</);
    assert.match((await checked('Mobile\n12\n0825550201')).text, /row 2 of the file.*1 message will go/s);
    assert.match((await checked('who\n0825550201')).text, /<p>File with numbers: no column is called mobile/);
    assert.match((await checked('')).text, /<p>File with numbers: it is empty/);
  });

  test('a message for later is scheduled in the zone of the account', async (t) => {
    const { api, client } = await opened(t);
    await act(api, 'account change', { params: { username: 'acme' }, body: { timeZone: 'Africa/Johannesburg' } });
    const fields = fieldsOf(
      await check(client, { to: '0825550201', text: 'Later', when: '2026-11-16T10:00' }),
      '/console/compose/send',
    );
    assert.equal(
      (await client.post('/console/compose/send', fields)).location,
      '/console/scheduled?notice=accepted&count=1',
    );
    const { items } = await act<{ items: { scheduledAt: string }[] }>(api, 'message list', {
      params: { username: 'acme' },
      query: { state: 'scheduled' },
    });
    assert.equal(items[0]?.scheduledAt, '2026-11-16T08:00:00.000Z');
    assert.match((await client.get('/console/scheduled')).text, /16 Nov 2026, 10:00:00/);
  });

  test('a file of thousands of rows is sent in batches with progress, and a reload sends nothing twice', async (t) => {
    const { api, client } = await opened(t);
    const data = new FormData();
    const numbers = Array.from({ length: ROWS }, (_, index) => `+2782${String(5_000_000 + index)}`);
    data.set('file', new File([`mobile;name\n${numbers.map((number) => `'${number};x`).join('\n')}`], 'list.csv'));
    data.set('text', 'To all');
    data.set('key', KEY);
    const page = await upload(client, data);
    assert.ok(page.text.includes(`${SHOWN} messages will go`));
    const fields = fieldsOf(page, '/console/compose/send');
    const done = await client.post('/console/compose/send', fields);
    assert.ok(done.text.includes(`1,000 of ${SHOWN} numbers done`));
    assert.ok(done.text.includes(`${SHOWN} messages accepted, 0 refused`));
    // The page of the batch takes the place of the answer to the form in the history of the browser.
    const [, batch = ''] = /http-equiv="refresh" content="0;url=([^"]+)"/.exec(done.text) ?? [];
    assert.equal((await client.post('/console/compose/send', fields)).location, decoded(batch));
    const { free } = await act<{ free: string }>(api, 'credits show', { params: { username: 'acme' } });
    assert.equal(free, String(30_000 - ROWS));
  });

  test('the counter names the costly character with a cheaper one', async (t) => {
    const { client } = await opened(t);
    const { text } = await client.post('/console/compose/count', { text: `It’s ${'x'.repeat(80)}` });
    assert.equal(
      decoded(text),
      "2 parts · Unicode alphabet because of ’ (use ' to pay less) · 2 credits for each number",
    );
  });

  test('the counter proposes no change of a character that would not lower the price', async (t) => {
    const { client } = await opened(t);
    const said = async (text: string) => decoded((await client.post('/console/compose/count', { text })).text);
    assert.equal(await said('It’s'), '1 part · Unicode alphabet because of ’ · 1 credit for each number');
    // The other character keeps the text Unicode.
    assert.match(await said(`It’s 😀 ${'x'.repeat(80)}`), /^2 parts · Unicode alphabet because of ’, 😀 · /);
  });
});
