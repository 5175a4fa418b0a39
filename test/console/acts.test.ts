import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accountId } from '../../src/domain/accounts/accounts.ts';
import { createReceived } from '../../src/domain/messages/received.ts';
import { joined } from '../../src/store/transactions.ts';
import { act, type ConsoleClient, signedIn } from '../support/console-client.ts';
import { onOneEngine } from '../support/engines.ts';
import { sql } from '../support/opened-database.ts';
import { type OperatorApi, startOperatorApi } from '../support/operator-api.ts';

const DAY_MS = 24 * 3_600_000;

/** What people do with lists: on selected rows, and on all that match. */
onOneEngine('acts of the console', (engine) => {
  async function opened(t: {
    after(work: () => Promise<void>): void;
  }): Promise<{ api: OperatorApi; client: ConsoleClient }> {
    const api = await startOperatorApi(engine);
    t.after(() => api.stop());
    return { api, client: await signedIn(api, { username: 'acme' }) };
  }
  const params = { username: 'acme' };
  const receive = (api: OperatorApi, text: string) =>
    act<{ id: string }>(api, 'inbox receive', { params, body: { text, sender: '+27825550299' } });
  /** In one transaction. */
  const receiveMany = async ({ services: { database, now } }: OperatorApi, count: number) => {
    const account = await accountId(database, 'acme');
    await database.transaction(account, async (queries) => {
      const received = createReceived(joined(database, queries), now, { wake() {} });
      for (let number = 0; number < count; number += 1) {
        const message = { gatewayId: null, sender: '+27825550299', shortCode: null, receivedAt: now() };
        await received.receive(account, { ...message, text: `number ${number}` });
      }
    });
  };
  const inbox = async (api: OperatorApi) =>
    (await act<{ items: { id: string; read: boolean }[] }>(api, 'inbox list', { params, query: { limit: '500' } }))
      .items;
  const snapshotOf = async (client: ConsoleClient, path = '/console/inbox') =>
    /name="snapshot" value="(\d+)"/.exec((await client.get(path)).text)?.[1] ?? assert.fail('no snapshot');

  test('an act on a stale selection changes what still exists and says how many', async (t) => {
    const { api, client } = await opened(t);
    await act(api, 'inbox remove', { params: { ...params, id: '1003' } });
    const done = await client.post('/console/inbox', {
      act: 'read',
      scope: 'selected',
      id: ['1003', '1004', 'x', '-'],
    });
    assert.equal(done.location, '/console/inbox?notice=read&count=1');
    assert.match((await client.get(done.location as string)).text, /Marked 1 message as read/);
  });

  test('an act on all that match leaves messages alone that arrived after the page was shown', async (t) => {
    const { api, client } = await opened(t);
    const before = await inbox(api);
    const snapshot = await snapshotOf(client);
    const { id } = await receive(api, 'came later');
    const fields = { act: 'delete', scope: 'all', snapshot };
    const question = await client.post('/console/inbox', fields);
    assert.match(question.text, new RegExp(`Delete ${before.length} received messages\\?`));
    const done = await client.post('/console/inbox', { ...fields, confirmed: 'yes', total: String(before.length) });
    assert.equal(done.location, `/console/inbox?notice=delete&count=${before.length}`);
    assert.deepEqual(
      (await inbox(api)).map((message) => message.id),
      [id],
    );
  });

  test('all that match a search are marked, and no others', async (t) => {
    const { api, client } = await opened(t);
    for (const text of ['red one', 'blue', 'RED two']) await receive(api, text);
    const snapshot = await snapshotOf(client, '/console/inbox?q=red');
    const done = await client.post('/console/inbox', { act: 'read', scope: 'all', snapshot, q: 'red' });
    assert.equal(done.location, '/console/inbox?q=red&notice=read&count=2');
    assert.match((await client.get('/console/inbox?state=unread&q=blue')).text, />blue</);
    assert.doesNotMatch((await client.get('/console/inbox?state=unread&q=red')).text, /red one/);
  });

  test('an act on many messages runs in batches and shows its progress', async (t) => {
    const { api, client } = await opened(t);
    await receiveMany(api, 600);
    const total = (await act<{ items: unknown[] }>(api, 'inbox list', { params, query: { limit: '500' } })).items
      .length;
    assert.equal(total, 500);
    const { text } = await client.post('/console/inbox', {
      act: 'read',
      scope: 'all',
      snapshot: await snapshotOf(client),
    });
    assert.match(text, /500 of \d+ done.*Finished: \d+ entries/s);
    assert.ok((await inbox(api)).every(({ read }) => read));
  });

  test('pages follow one another by cursor, 50 rows each, without repeating a row', async (t) => {
    const { api, client } = await opened(t);
    await receiveMany(api, 60);
    const keysOf = (text: string) => [...text.matchAll(/<tr data-key="(-?\d+)"/g)].map((match) => match[1]);
    const first = await client.get('/console/inbox');
    const [, next = ''] = /rel="next" href="([^"]+)"/.exec(first.text) ?? [];
    await receive(api, 'arrives between the pages');
    const second = await client.get(next.replace(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code))));
    const keys = [...keysOf(first.text), ...keysOf(second.text)];
    assert.equal(keysOf(first.text).length, 50);
    assert.equal(new Set(keys).size, keys.length);
    assert.equal(keys.length, 66);
  });

  test('a fragment has an ETag, and is answered with 304 while nothing changes', async (t) => {
    const { api, client } = await opened(t);
    const first = await client.get('/console/inbox?part=rows');
    const etag = first.headers.get('etag') ?? assert.fail('no ETag');
    assert.doesNotMatch(first.text, /<html|<h1/);
    assert.equal((await client.get('/console/inbox?part=rows', { 'If-None-Match': etag })).status, 304);
    await receive(api, 'new');
    assert.equal((await client.get('/console/inbox?part=rows', { 'If-None-Match': etag })).status, 200);
  });

  test('scheduled messages are cancelled after a question, and their credits come back', async (t) => {
    const { client } = await opened(t);
    const fields = { act: 'delete', scope: 'all', snapshot: await snapshotOf(client, '/console/scheduled') };
    assert.match((await client.post('/console/scheduled', fields)).text, /Cancel 2 scheduled messages\?/);
    const done = await client.post('/console/scheduled', { ...fields, confirmed: 'yes', total: '2' });
    assert.equal(done.location, '/console/scheduled?notice=cancel&count=2');
    assert.match((await client.get('/console/scheduled')).text, /No message is scheduled/);
  });

  test('scheduled messages can be moved to another time in the zone of the account, and not into the past', async (t) => {
    const { api, client } = await opened(t);
    await act(api, 'account change', { params, body: { timeZone: 'Africa/Johannesburg' } });
    const body = { recipients: ['+27825550201'], text: 'later', sendAt: '2026-11-20T08:00:00Z' };
    const { accepted } = await act<{ accepted: { id: string }[] }>(api, 'message send', { params, body });
    const id = accepted[0]?.id ?? assert.fail();
    const move = (when: string) => client.post('/console/scheduled', { act: 'move', scope: 'selected', id, when });
    assert.match((await move('2026-11-01T10:00')).location ?? '', /notice=badTime/);
    assert.equal((await move('2026-11-21T10:30')).location, '/console/scheduled?notice=move&count=1');
    await api.services.database.run(sql('update dispatch set not_after = due_at + 1'), {});
    assert.match((await move('2026-11-21T10:31')).location ?? '', /notice=tooLate/, 'the reason is named');
    const shown = await act<{ scheduledAt: string }>(api, 'message show', { params: { ...params, id } });
    assert.equal(shown.scheduledAt, '2026-11-21T08:30:00.000Z');
    const { items } = await act<{ items: { id: string; dueAt: string }[] }>(api, 'queue list', {});
    assert.equal(items.find((each) => each.id === id)?.dueAt, '2026-11-21T08:30:00.000Z');
  });

  test('more than a thousand scheduled messages are cancelled: the question names the exact number', async (t) => {
    const { api, client } = await opened(t);
    await act(api, 'credits add', { params, body: { amount: '5000', reason: 'test' } });
    const numbers = Array.from({ length: 1_000 }, (_, index) => `+2782${String(5_000_000 + index)}`);
    for (const text of ['one', 'two']) {
      const recipients = text === 'one' ? numbers : numbers.slice(0, 100);
      await act(api, 'message send', { params, body: { recipients, text, sendAt: '2026-11-20T08:00:00Z' } });
    }
    const list = await client.get('/console/scheduled');
    assert.match(list.text, /all 1,000\+ that match/);
    const fields = { act: 'delete', scope: 'all', snapshot: await snapshotOf(client, '/console/scheduled') };
    const question = await client.post('/console/scheduled', fields);
    assert.match(question.text, /Cancel 1,102 scheduled messages\?/);
    assert.match(question.text, /name="total" value="1102"/);
    const done = await client.post('/console/scheduled', { ...fields, confirmed: 'yes', total: '1102' });
    assert.match(done.text, /500 of 1,102 done.*Finished: 1,102 entries/s);
    assert.match((await client.get('/console/scheduled')).text, /No message is scheduled/);
  });

  test('sent messages are sent again from the list, once, and both pages name the other message', async (t) => {
    const { api, client } = await opened(t);
    const { accepted } = await act<{ accepted: { id: string }[] }>(api, 'message send', {
      params,
      body: { recipients: ['+27825550201'], text: 'Once more' },
    });
    const id = accepted[0]?.id ?? assert.fail();
    const waiting = { act: 'resend', scope: 'selected', id: [id], key: 'b'.repeat(32), confirmed: 'yes' };
    assert.equal((await client.post('/console/sent', waiting)).location, '/console/sent?notice=resent&count=0');
    assert.doesNotMatch((await client.get(`/console/messages/${id}`)).text, /\/resend"/);
    await act(api, 'message status', { params: { ...params, id }, body: { status: 'DELIVERED' } });
    assert.match((await client.get(`/console/messages/${id}`)).text, /\/resend"/);
    const fields = { act: 'resend', scope: 'selected', id: [id, '999999'], key: 'a'.repeat(32) };
    assert.match((await client.post('/console/sent', fields)).text, /Send 2 messages again\?/);
    for (let times = 0; times < 2; times += 1) {
      const done = await client.post('/console/sent', { ...fields, confirmed: 'yes' });
      assert.equal(done.location, '/console/sent?notice=resent&count=1');
    }
    const { items } = await act<{ items: { id: string; text: string }[] }>(api, 'message list', { params });
    const both = items.filter(({ text }) => text === 'Once more').map((message) => message.id);
    assert.equal(both.length, 2);
    const other = both.find((each) => each !== id) ?? assert.fail();
    assert.ok(
      (await client.get(`/console/messages/${id}`)).text.includes(`/console/messages/${other}">sent again, as`),
    );
    assert.ok(
      (await client.get(`/console/messages/${other}`)).text.includes(`/console/messages/${id}">sent again, from`),
    );
    const all = await client.post('/console/sent', { act: 'resend', scope: 'all', snapshot: '1000000' });
    assert.equal(all.location, '/console/sent?notice=selectFirst');
  });

  test('selected contacts are written to, moved to a group, and removed after a question', async (t) => {
    const { api, client } = await opened(t);
    const list = await client.get('/console/contacts');
    assert.match(list.text, /\d+ contacts in all/);
    const { items } = await act<{ items: { id: string; mobile: string }[] }>(api, 'contact list', { params });
    const chosen = items.slice(0, 2);
    const id = [...chosen.map((contact) => contact.id), '888888'];
    const written = await client.post('/console/contacts/selected', { act: 'write', id });
    const typed = (await client.get(written.location as string)).text;
    for (const { mobile } of chosen) assert.ok(typed.includes(mobile), mobile);
    const group = await act<{ id: string }>(api, 'group add', { params, body: { name: 'Chosen' } });
    const moved = await client.post('/console/contacts/selected', { act: 'move', moveTo: group.id, id });
    assert.equal(moved.location, '/console/contacts?notice=moved&count=2');
    const inGroup = await act<{ items: unknown[] }>(api, 'contact list', { params, query: { group: group.id } });
    assert.equal(inGroup.items.length, 2);
    assert.match((await client.post('/console/contacts/selected', { act: 'delete', id })).text, /Remove 3 contacts\?/);
    const removed = await client.post('/console/contacts/selected', { act: 'delete', id, confirmed: 'yes' });
    assert.equal(removed.location, '/console/contacts?notice=removedMany&count=2');
    const nothing = await client.post('/console/contacts/selected', { act: 'write' });
    assert.equal(nothing.location, '/console/contacts?notice=nothing');
    const noRows = await client.post('/console/inbox', { act: 'delete', confirmed: 'yes' });
    assert.equal(noRows.location, '/console/inbox?notice=nothing');
  });

  test('a template is removed after a question', async (t) => {
    const { client } = await opened(t);
    const [, path = ''] = /action="([^"]+\/remove)"/.exec((await client.get('/console/templates')).text) ?? [];
    assert.match((await client.post(path, { text: 'Hi' })).text, /Remove this template\?.*Hi/s);
    assert.equal((await client.post(path, { confirmed: 'yes' })).location, '/console/templates?notice=removed');
    assert.ok(!(await client.get('/console/templates')).text.includes(`"${path}"`));
  });

  test('a filter of credits finds movements beyond the first page, with the balance after each', async (t) => {
    const { api, client } = await opened(t);
    await act(api, 'credits add', { params, body: { amount: '7', reason: 'first of all' } });
    const before = (await act<{ free: string }>(api, 'credits show', { params })).free;
    api.clock.now += 1_000;
    const recipients = Array.from({ length: 60 }, (_, index) => `+2782555${String(1_000 + index)}`);
    await act(api, 'message send', { params, body: { recipients, text: 'Hi' } });
    const { text } = await client.get('/console/credits?kind=grant');
    assert.match(text, new RegExp(`${Number(before).toLocaleString('en')}</td><td data-l="Cause">first of all`));
    assert.doesNotMatch(text, /do not add up/);
    const first = await client.get('/console/credits');
    const [, next = ''] = /rel="next" href="([^"]+)"/.exec(first.text) ?? [];
    const second = await client.get(next.replace(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code))));
    assert.match(second.text, /first of all/);
    assert.doesNotMatch(second.text, /do not add up/);
  });

  test('a number that another contact has is allowed with a note, and removing a group that is not empty asks first', async (t) => {
    const { client } = await opened(t);
    const twice = await client.post('/console/contacts', { mobile: '082 555 0201', name: 'Anna' });
    assert.match(twice.location ?? '', /notice=(twice|added)/);
    const bad = await client.post('/console/contacts', { mobile: 'no digits', name: 'Kept name' });
    assert.equal(bad.status, 400);
    assert.match(bad.text, /value="Kept name"/);
    assert.match((await client.post('/console/groups/1/remove')).text, /Its \d+ contacts stay/);
  });

  test('the question whether to cancel messages calls the way back Go back, not Cancel', async (t) => {
    const { client } = await opened(t);
    const { text } = await client.post('/console/scheduled', { act: 'delete', scope: 'selected', id: '3001' });
    assert.match(text, /Cancel 1 scheduled message\? Its credits are free again\./);
    assert.match(text, />Cancel 1 message<\/button> <a class="btn" href="\/console\/scheduled">Go back<\/a>/);
  });

  test('a user_id and a token are shown once; the last user_id warns before it is revoked', async (t) => {
    const { client } = await opened(t);
    const { text } = await client.post('/console/access/tokens', { tokenName: 'shop', scope: ['messages:send'] });
    const [token = ''] = /cola_[\w-]{43}/.exec(text) ?? [];
    assert.notEqual(token, '');
    assert.ok(!(await client.get('/console/access')).text.includes(token));
    const [hash = ''] = /[0-9a-f]{64}/.exec((await client.get('/console/access')).text) ?? [];
    assert.match((await client.get('/console/access')).text, /data-l="Last used"/);
    assert.match((await client.post('/console/access/user-ids/revoke', { hash })).text, /It is the last valid user_id/);
  });

  test('the second step is asked for at the next sign-in, and a recovery code works once', async (t) => {
    const { api, client } = await opened(t);
    await client.post('/console/access/password', { password: 'eleven purple rivers' });
    const begun = await client.post('/console/access/factor', { act: 'begin' });
    const [, secret = ''] = /name="secret" value="([A-Z2-7]+)"/.exec(begun.text) ?? [];
    assert.match(begun.text, /<svg/);
    const { codeOf, fromBase32, stepOf } = await import('../../src/domain/access/totp.ts');
    const code = codeOf(fromBase32(secret), stepOf(api.clock.now));
    const on = await client.post('/console/access/factor', { act: 'confirm', secret, code });
    const [recovery = ''] = /[a-z2-7]{4}(?:-[a-z2-7]{4}){3}/.exec(on.text) ?? assert.fail(on.text);
    const fields = { name: 'acme', password: 'eleven purple rivers' };
    for (const expected of ['/console/', null]) {
      client.cookie = '';
      assert.equal((await client.post('/console/sign-in', fields)).location, '/console/sign-in/code');
      assert.equal((await client.get('/console/inbox')).status, 303);
      assert.equal((await client.post('/console/sign-in/code', { code: recovery })).location, expected);
    }
  });

  test('the overview counts what failed since midnight, and what is due within a day', async (t) => {
    const { api, client } = await opened(t);
    const record = (recipient: string, status: string, sentAt: number) =>
      act(api, 'message record', {
        params,
        body: { recipient, text: 'x', status, sentAt: new Date(sentAt).toISOString() },
      });
    const tiles = async () => {
      const { text } = await client.get('/console/?part=counts');
      const of = (key: string) => new RegExp(`data-key="${key}">.*?class="value">([^<]*)<`, 's').exec(text)?.[1];
      return [of('failed'), of('scheduled')];
    };
    const [failed, due] = (await tiles()).map(Number);
    const midnight = Math.floor(api.clock.now / DAY_MS) * DAY_MS;
    await record('+27825550551', 'UNDELIVERABLE', midnight);
    await record('+27825550552', 'UNKNOWN', midnight - 1);
    await record('+27825550553', 'DELETED', midnight);
    const soon = (at: number) =>
      act(api, 'message send', {
        params,
        body: { recipients: ['+27825550555'], text: 'hello', sendAt: new Date(at).toISOString() },
      });
    await soon(api.clock.now + DAY_MS);
    await soon(api.clock.now + DAY_MS + 1);
    assert.deepEqual((await tiles()).map(Number), [Number(failed) + 1, Number(due) + 1]);
  });

  test('a message that is due and waits can be cancelled on its page, which then says why it ended', async (t) => {
    const { api, client } = await opened(t);
    const body = { recipients: ['+27825550555'], text: 'hello' };
    const { accepted } = await act<{ accepted: { id: string }[] }>(api, 'message send', { params, body });
    const path = `/console/messages/${accepted[0]?.id}`;
    assert.match((await client.get(path)).text, /Cancel this message/);
    assert.match((await client.post(`${path}/cancel`, {})).text, /Cancel this message\?/);
    const done = await client.post(`${path}/cancel`, { confirmed: 'yes' });
    assert.equal(done.location, `${path}?notice=cancelled`);
    const { text } = await client.get(done.location as string);
    assert.match(text, /The message is cancelled, and its credits are free again/);
    const listed = async (state: string) => {
      const list = await client.get(`/console/sent?state=${state}`);
      return list.text.includes(`data-key="${accepted[0]?.id}"`);
    };
    const lists = [await listed('failed'), await listed('moving'), await listed('DELETED')];
    assert.deepEqual(lists, [false, false, true], 'it did not fail, and it is under Cancelled');
    const counts = await act<{ items: { failed: number }[] }>(api, 'account counts', { params });
    assert.ok(
      counts.items.every(({ failed }) => failed === 0),
      'the chart has no failure',
    );
    assert.match(text, /cancelled before it was submitted/);
    assert.doesNotMatch(text, /Cancel this message/);
    const again = await client.post(`${path}/cancel`, { confirmed: 'yes' });
    assert.match(again.text, /has already ended with the status DELETED/);
  });
});
