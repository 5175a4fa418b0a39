import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countSaid } from '../../src/console/messages/message-filter.ts';
import { accountId } from '../../src/domain/accounts/accounts.ts';
import { createIndexer } from '../../src/domain/search/indexer.ts';
import { domainOf } from '../../src/operator/domain.ts';
import { act, type ConsoleClient, type Fields, signedIn } from '../support/console-client.ts';
import { onOneEngine } from '../support/engines.ts';
import { sql } from '../support/opened-database.ts';
import { type OperatorApi, startOperatorApi } from '../support/operator-api.ts';

/** What a filter leaves is what an act and a file are about. */

const decoded = (text: string): string => text.replace(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code)));
const params = { username: 'acme' };

onOneEngine('filters of the console', (engine) => {
  async function opened(t: {
    after(work: () => Promise<void>): void;
  }): Promise<{ api: OperatorApi; client: ConsoleClient }> {
    const api = await startOperatorApi(engine);
    t.after(() => api.stop());
    return { api, client: await signedIn(api, params) };
  }
  /** Presses a button for all that match, with the fields that the page of the list has. */
  const actOnAll = async (client: ConsoleClient, path: string, fields: Fields) => {
    const { text } = await client.get(path);
    const [, form = ''] = text.slice(text.indexOf('<main')).split('<form class="panel" method="post" action="');
    const action = form.slice(0, form.indexOf('"'));
    const kept = [...form.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)">/g)].map(
      ([, name = '', value = '']) => [name, decoded(value)] as const,
    );
    return client.post(action, { ...Object.fromEntries(kept), scope: 'all', ...fields });
  };
  const unmarked = async (api: OperatorApi) =>
    (await act<{ items: { text: string; marked: boolean }[] }>(api, 'message list', { params })).items
      .filter(({ marked }) => !marked)
      .map(({ text }) => text)
      .sort();
  const record = (api: OperatorApi, text: string) =>
    act(api, 'message record', { params, body: { recipient: '+27825550299', text, status: 'DELIVERED' } });
  const fileOf = async (client: ConsoleClient, path: string): Promise<string[]> => {
    const { text } = await client.get(path);
    const [, link = ''] = /href="([^"]+\.csv[^"]*)"/.exec(text) ?? [];
    const file = await client.get(decoded(link));
    assert.match(file.headers.get('content-type') ?? '', /^text\/csv/);
    return file.text.trim().split('\r\n').slice(1);
  };

  test('marking all sent messages that match a search leaves the others unmarked', async (t) => {
    const { api, client } = await opened(t);
    for (const text of ['Hello one', 'Hello two', 'Other']) await record(api, text);
    const path = '/console/sent?q=Hello';
    assert.match((await client.get(path)).text, /all 2 that match and have a new state/);
    const before = await unmarked(api);
    const done = await actOnAll(client, path, { act: 'mark' });
    assert.equal(done.location, '/console/sent?q=Hello&notice=mark&count=2');
    assert.deepEqual(
      await unmarked(api),
      before.filter((text) => !text.startsWith('Hello')),
    );
  });

  test('marking all sent messages in a state or a range of days leaves the others unmarked', async (t) => {
    const { api, client } = await opened(t);
    const all = await unmarked(api);
    const failed = await actOnAll(client, '/console/sent?state=failed', { act: 'mark' });
    assert.equal(failed.location, '/console/sent?state=failed&notice=mark&count=1');
    assert.equal((await unmarked(api)).length, all.length - 1);
    const days = await actOnAll(client, '/console/sent?from=2026-10-05&to=2026-10-05', { act: 'mark' });
    assert.match(days.location ?? '', /from=2026-10-05&to=2026-10-05&notice=mark&count=1$/);
    assert.deepEqual(await unmarked(api), ['Your order 2 is ready.']);
    const unseen = await actOnAll(client, '/console/sent?state=unseen', { act: 'mark' });
    assert.equal(unseen.location, '/console/sent?state=unseen&notice=mark&count=1');
    assert.deepEqual(await unmarked(api), []);
  });

  test('all received messages that match are those of the state, the days and the search together', async (t) => {
    const { api, client } = await opened(t);
    const texts = async () =>
      (await act<{ items: { id: string; read: boolean }[] }>(api, 'inbox list', { params })).items
        .filter(({ read }) => !read)
        .map(({ id }) => id)
        .sort();
    assert.deepEqual(await texts(), ['1003', '1004', '1005', '9007199254740993']);
    const path = '/console/inbox?q=no+sender&state=unread&from=2026-10-02&to=2026-10-03';
    assert.match((await client.get(path)).text, /all 1 that match/);
    const done = await actOnAll(client, path, { act: 'read' });
    assert.match(done.location ?? '', /^\/console\/inbox\?q=no\+sender&state=unread&from=.*&notice=read&count=1$/);
    assert.deepEqual(await texts(), ['1003', '1005', '9007199254740993']);
    const days = '/console/inbox?from=2026-10-01&to=2026-10-01';
    const asked = await actOnAll(client, days, { act: 'delete' });
    assert.match(asked.text, /Delete 2 received messages\?/);
    assert.ok(decoded(asked.text).includes(`href="${days}"`), 'the way back has lost the filter');
    const removed = await actOnAll(client, days, { act: 'delete', confirmed: 'yes', total: '2' });
    assert.match(removed.location ?? '', /notice=delete&count=2$/);
    const { items } = await act<{ items: unknown[] }>(api, 'inbox list', { params });
    assert.equal(items.length, 4);
  });

  test('lists without a filter or without a choice of all act only on the rows that they offer', async (t) => {
    const { api, client } = await opened(t);
    const scheduled = await client.get('/console/scheduled');
    assert.doesNotMatch(scheduled.text, /class="tabs"/);
    assert.match(scheduled.text, /all 2 that match/);
    assert.match(
      (await actOnAll(client, '/console/scheduled', { act: 'delete' })).text,
      /Cancel 2 scheduled messages\?/,
    );
    const contacts = await client.get('/console/contacts?q=Anna');
    assert.doesNotMatch(contacts.text, /name="scope"/);
    const nothing = await actOnAll(client, '/console/contacts?q=Anna', { act: 'delete', confirmed: 'yes' });
    assert.equal(nothing.location, '/console/contacts?q=Anna&notice=nothing');
    const { items } = await act<{ items: unknown[] }>(api, 'contact list', { params });
    assert.equal(items.length, 6);
  });

  test('the filter stays after an act on selected rows', async (t) => {
    const { client } = await opened(t);
    const sent = await client.post('/console/sent', { act: 'mark', scope: 'selected', id: '2002', q: 'order' });
    assert.equal(sent.location, '/console/sent?q=order&notice=mark&count=1');
    const list = await client.get(sent.location as string);
    assert.match(list.text, /name="q" type="search" value="order"/);
    const moved = await client.post('/console/contacts/selected', {
      act: 'move',
      moveTo: '2',
      id: '101',
      q: 'a',
      group: '1',
    });
    assert.equal(moved.location, '/console/contacts?q=a&group=1&notice=moved&count=1');
  });

  test('the file of a filtered list has only the rows that match', async (t) => {
    const { api, client } = await opened(t);
    await act(api, 'credits add', { params, body: { amount: '7', reason: 'invoice' } });
    for (const [path, whole, part, row] of [
      ['sent', 4, 'q=order&state=failed', /UNDELIVERABLE/],
      ['sent', 4, 'state=unseen&q=order+2', /order-2/],
      ['inbox', 6, 'q=market', /Is the market open today/],
      ['inbox', 6, 'state=unread&from=2026-10-02&to=2026-10-02', /31000,no/],
      ['contacts', 6, 'q=pat&group=2', /^Dev,Patel/],
    ] as const) {
      assert.equal((await fileOf(client, `/console/${path}`)).length, whole, path);
      const rows = await fileOf(client, `/console/${path}?${part}`);
      assert.equal(rows.length, 1, `${path}?${part}: ${rows}`);
      assert.match(rows[0] ?? '', row);
      assert.match((await client.get(`/console/${path}?${part}`)).text, /Download all that match as CSV/);
    }
    const movements = await fileOf(client, '/console/credits?kind=grant');
    assert.ok(movements.length > 0 && movements.every((line) => line.includes(',grant,')), movements.join('\n'));
  });

  test('the file of a page that is not the first one begins with the first row', async (t) => {
    const { api, client } = await opened(t);
    for (let number = 0; number < 60; number += 1) await record(api, `Hello ${number}`);
    const [, next = ''] = /rel="next" href="([^"]+)"/.exec((await client.get('/console/sent?q=hello')).text) ?? [];
    assert.match((await client.get(decoded(next))).text, /all 60 that match and have a new state/);
    assert.equal((await fileOf(client, decoded(next))).length, 60);
  });

  test('an old message is found by its words, all that match are acted on, and a list is not said to be empty before its end', async (t) => {
    const { api, client } = await opened(t);
    const receive = (text: string, sender = '+27825550277') =>
      act(api, 'inbox receive', { params, body: { text, sender } });
    await receive('the only zebra of the market');
    for (let number = 0; number < 300; number += 1) await receive(`reminder ${number} of the zebra`);
    const index = () => createIndexer(api.services.database, domainOf(api.services).region).run(async () => {});
    await index();
    const found = await client.get('/console/inbox?q=only+zebra');
    assert.match(found.text, /the only zebra of the market/);
    assert.match((await client.get('/console/inbox?q=082+555+0277')).text, /all 100\+ that match/);
    const far = await client.get('/console/inbox?q=zebra+market');
    assert.match(far.text, /the only zebra of the market/, 'the rarest word leads to it');
    const none = await client.get('/console/inbox?q=reminder+zebra+nothing');
    assert.match(none.text, /No message matches/);
    assert.equal(countSaid({ rows: [], next: { at: 1, id: 1n } }).html, 'all', 'and not all 0+');
    // Both words are in hundreds of messages, and never in one.
    for (let number = 0; number < 300; number += 1) await receive(`giraffe ${number}`);
    await index();
    const cut = await client.get('/console/inbox?q=zebra+giraffe');
    assert.doesNotMatch(cut.text, /No message matches/);
    assert.match(cut.text, /Nothing was found so far.*The search stopped before the end\..*Search further/s);
    assert.doesNotMatch(cut.text, /newest \d+ entries/);
    const [, next = ''] = /rel="next" href="([^"]+)"/.exec(cut.text) ?? [];
    assert.match((await client.get(decoded(next))).text, /No message matches/);
    const asked = await actOnAll(client, '/console/inbox?q=zebra', { act: 'delete' });
    assert.match(asked.text, /Delete 301 received messages\?/);
    const removed = await actOnAll(client, '/console/inbox?q=zebra', { act: 'delete', confirmed: 'yes', total: '301' });
    await index();
    assert.match(removed.location ?? '', /notice=delete&count=301$/);
    assert.match((await client.get('/console/inbox?q=zebra')).text, /No message matches/);
  });

  test('if more messages match than the question named, it is asked again, and none is deleted', async (t) => {
    const { api, client } = await opened(t);
    for (const text of ['zebra one', 'zebra two', 'zebra three'])
      await act(api, 'inbox receive', { params, body: { text, sender: '+27825550277' } });
    const deleting = (fields: Fields) => actOnAll(client, '/console/inbox?q=zebra', { act: 'delete', ...fields });
    for (const given of [{}, { total: '2' }, { total: 'x' }]) {
      const asked = await deleting({ confirmed: 'yes', ...given });
      assert.match(asked.text, /Delete 3 received messages\?/);
      assert.deepEqual(asked.text.match(/name="total" value="\d+"/g), ['name="total" value="3"']);
    }
    assert.match((await deleting({ confirmed: 'yes', total: '3' })).location ?? '', /notice=delete&count=3$/);
  });

  test('while the index is being filled, lists that search say so and never that nothing matches', async (t) => {
    const { api, client } = await opened(t);
    const database = api.services.database;
    const account = await accountId(database, 'acme');
    await database.run(
      sql<{ account: bigint }>(
        `insert into search_backfill (account_id, kind, to_id) values (:account, 1, 9223372036854775807)
         on conflict (account_id) do nothing`,
      ),
      { account },
    );
    for (const list of ['inbox', 'sent', 'scheduled', 'contacts']) {
      const { text } = await client.get(`/console/${list}?q=nobody+has+this`);
      const kind = list === 'contacts' ? 'contacts' : 'messages';
      assert.ok(text.includes(`Some ${kind} are not in the index yet`), list);
      assert.match(text, /Nothing was found so far/, list);
      assert.doesNotMatch(text, /No (scheduled )?(message|contact) matches/, list);
    }
    for (const list of ['inbox', 'sent', 'contacts']) {
      const file = await client.get(`/console/${list}.csv?q=a`);
      assert.deepEqual([file.status, file.headers.get('retry-after')], [503, '60'], list);
      assert.match(file.text, /No file was made.*not in the index yet/s);
    }
    // What is shown is not all, so nobody can act on all.
    for (const [list, word] of [
      ['inbox', 'market'],
      ['sent', 'order'],
      ['scheduled', 'reminder'],
    ] as const) {
      const fields = { act: 'delete', scope: 'all', q: word, snapshot: '99999', confirmed: 'yes', total: '999' };
      const refused = await client.post(`/console/${list}`, fields);
      assert.equal(refused.location, `/console/${list}?q=${word}&notice=notWhole`);
      const { text } = await client.get(refused.location ?? '');
      assert.match(text, /the search does not see every message/);
      assert.doesNotMatch(text, /name="scope"/, list);
    }
    assert.equal((await act<{ items: unknown[] }>(api, 'inbox list', { params })).items.length, 6);
  });

  test('a search for the beginning of too many words says so, and offers nothing for all that match', async (t) => {
    const { api, client } = await opened(t);
    const words = Array.from({ length: 25 }, (_, index) => `zebra${String(index).padStart(2, '0')}`);
    for (const text of [words.join(' '), 'zebra99'])
      await act(api, 'inbox receive', { params, body: { text, sender: '+27825550277' } });
    const list = await client.get('/console/inbox?q=zebra');
    assert.match(list.text, /More words begin like this/);
    assert.doesNotMatch(list.text, /name="scope"/);
    assert.match((await client.get('/console/search?q=zebra')).text, /More words begin like this/);
    const file = await client.get('/console/inbox.csv?q=zebra');
    assert.equal(file.status, 400);
    assert.match(file.text, /More words begin like this/);
    const fields = { act: 'delete', scope: 'all', q: 'zebra', snapshot: '99999', confirmed: 'yes', total: '1' };
    const refused = await client.post('/console/inbox', fields);
    assert.equal(refused.location, '/console/inbox?q=zebra&notice=notWhole');
    assert.match((await client.get('/console/inbox?q=zebra9')).text, /all 1 that match/);
  });

  test('an address with an impossible id is not found, and the page shows no regular expression', async (t) => {
    const { client } = await opened(t);
    for (const path of [
      'contacts/abc',
      'contacts?group=abc',
      'contacts?group=99999999999999999999',
      'contacts.csv?group=abc',
      'groups/abc',
      'messages/abc',
    ]) {
      const { status, text } = await client.get(`/console/${path}`);
      assert.equal(status, 404, path);
      assert.doesNotMatch(text, /\^\(|expected|Invalid/, path);
    }
    assert.equal((await client.post('/console/contacts/abc', { mobile: '+27825550201' })).status, 404);
  });
});
