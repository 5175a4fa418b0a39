import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createCarrierEvents } from '../../src/carriers/carrier-events.ts';
import { accountId } from '../../src/domain/accounts/accounts.ts';
import { createConnectors } from '../../src/domain/sending/connectors.ts';
import { HELD } from '../../src/domain/sending/hold.ts';
import { act, type ConsoleClient, signedIn } from '../support/console-client.ts';
import { onOneEngine } from '../support/engines.ts';
import { sql } from '../support/opened-database.ts';
import { type OperatorApi, startOperatorApi } from '../support/operator-api.ts';

const HOUR_MS = 3_600_000;

/** What operators see of carriers in the console, and what they change there. */
onOneEngine("the operator's carriers", (engine) => {
  const params = { username: 'acme' };

  async function opened(t: {
    after(work: () => Promise<void>): void;
  }): Promise<{ api: OperatorApi; client: ConsoleClient }> {
    const api = await startOperatorApi(engine);
    t.after(() => api.stop());
    await act(api, 'connector put', { params: { name: 'way' }, body: { kind: 'loopback', isDefault: true } });
    return { api, client: await signedIn(api, { operator: 'ann' }) };
  }
  const send = (api: OperatorApi, recipients: readonly string[], more = {}) =>
    act<{ accepted: { id: string }[] }>(api, 'message send', { params, body: { recipients, text: 'Hi', ...more } });
  const listed = async (api: OperatorApi) =>
    (await act<{ items: { waiting: number; oldestDueAt: string | null }[] }>(api, 'connector list', {})).items[0];

  test('waiting counts messages that are to be tried again, and the oldest counts from its first due time', async (t) => {
    const { api } = await opened(t);
    const firstDue = api.clock.now;
    await send(api, ['+27825550201', '+27825550202']);
    await send(api, ['+27825550203'], { sendAt: new Date(firstDue + 10 * HOUR_MS).toISOString() });
    const retry = sql<{ dueAt: number }>('update dispatch set attempts = 3, due_at = :dueAt where is_scheduled = 0');
    await api.services.database.run(retry, { dueAt: firstDue + 3 * HOUR_MS });
    api.clock.now += HOUR_MS;
    assert.deepEqual(await listed(api).then((way) => [way?.waiting, way?.oldestDueAt]), [
      2,
      new Date(firstDue).toISOString(),
    ]);
    const { sending } = await act<{ sending: { waiting: number; oldestDueSeconds: number } }>(api, 'status', {});
    assert.deepEqual([sending.waiting, sending.oldestDueSeconds], [2, 3_600]);
    const { text } = await (await signedIn(api, { operator: 'bob' })).get('/console/');
    assert.match(text, /data-key="waiting">.*?<span class="value">2</s);
    assert.match(text, /The oldest was due 60 min ago\./);
  });

  test('a scheduled message that was moved is first due at its new time', async (t) => {
    const { api } = await opened(t);
    const at = api.clock.now;
    const sendAt = new Date(at + HOUR_MS).toISOString();
    const { accepted } = await send(api, ['+27825550203'], { sendAt });
    const body = { ids: accepted.map(({ id }) => id), sendAt: new Date(at + 5 * HOUR_MS).toISOString() };
    await act(api, 'message reschedule', { params, body });
    await api.services.database.run(sql('update dispatch set attempts = 1'), {});
    api.clock.now = at + 5 * HOUR_MS;
    assert.equal((await listed(api))?.oldestDueAt, body.sendAt);
  });

  test('permanent refusals are a need that names how many of the last ones were refused, and why', async (t) => {
    const { api, client } = await opened(t);
    const connectors = createConnectors(api.services.database, () => api.clock.now);
    assert.match((await client.get('/console/')).text, /Nothing needs your attention now/);
    const last = { lastAcceptedAt: api.clock.now, lastError: 'no sender', lastErrorAt: api.clock.now };
    await connectors.addCounts('way', { accepted: 6, temporary: 0, permanent: 14, unknownOutcome: 0 }, last);
    const { text } = await client.get('/console/');
    assert.match(text, /way refuses messages for good\./);
    assert.match(text, /refused 14 of the last 20: no sender/);
    const { sending } = await act<{ sending: { faults: string[] } }>(api, 'status', {});
    assert.match(sending.faults.join(), /way has refused 14 of the last 20 parts for good/);
    api.clock.now += 3 * HOUR_MS;
    const later = await signedIn(api, { operator: 'bob' });
    assert.match((await later.get('/console/')).text, /Nothing needs your attention now/);
  });

  test('a connector that outbound routes pass over says why, until they try it again', async (t) => {
    const { api, client } = await opened(t);
    const connectors = createConnectors(api.services.database, () => api.clock.now);
    await connectors.avoid('way', api.clock.now + 60_000, 'it refused 41 of the last 50 messages');
    const pages = ['/console/', '/console/connectors', '/console/connectors/way'];
    const said = async () => Promise.all(pages.map(async (page) => (await client.get(page)).text));
    for (const text of await said()) assert.match(text, /it refused 41 of the last 50 messages/);
    api.clock.now += 60_000;
    for (const text of await said()) assert.doesNotMatch(text, /it refused 41/);
  });

  test('accepted, delivered and failed messages are counted by the hour, and the charts have a table of them', async (t) => {
    const { api, client } = await opened(t);
    const { database, now } = api.services;
    const { accepted } = await send(api, ['+27825550201', '+27825550202', '+27825550203']);
    const account = await accountId(database, 'acme');
    const add = sql<{ account: bigint; id: bigint; attemptId: string; at: number }>(
      `insert into attempt (account_id, message_id, attempt, part, attempt_id, connector, gateway_id, state, submitted_at)
       values (:account, :id, 1, 1, :attemptId, 'way', :attemptId, 'accepted', :at)`,
    );
    const events = createCarrierEvents(database, now, 'ZA');
    const statuses = ['DELIVERED', 'DELIVERED', 'UNDELIVERABLE'] as const;
    for (const [index, { id }] of accepted.entries()) {
      const attemptId = `${index}`.repeat(32);
      await database.run(add, { account, id: BigInt(id), attemptId, at: now() });
      const receipt = { connector: 'way', attemptId, gatewayId: null, at: now(), detail: null };
      await events.receipt({ ...receipt, status: statuses[index] ?? 'DELIVERED' });
      await events.receipt({ ...receipt, status: statuses[index] ?? 'DELIVERED' }); // a carrier repeats it
    }
    const at = new Date(Math.floor(now() / HOUR_MS) * HOUR_MS).toISOString();
    const ofAccount = await act<{ items: unknown[] }>(api, 'account counts', { params });
    assert.deepEqual(ofAccount.items, [{ at, accepted: 3, delivered: 2, failed: 1 }]);
    const counted = async () =>
      (await act<{ items: { delivered: number; failed: number }[] }>(api, 'connector counts', {})).items;
    for (
      let waits = 0;
      (await counted()).reduce((sum, { delivered }) => sum + delivered, 0) < 2 && waits < 200;
      waits++
    )
      await new Promise((resolve) => setTimeout(resolve, 10)); // written after the receipts are acknowledged
    assert.deepEqual(
      (await counted()).map(({ delivered, failed }) => [delivered, failed]),
      [[2, 1]],
    );
    const page = (await client.get('/console/accounts/acme')).text;
    assert.match(page, /<svg viewBox="0 0 100 168"[^>]*role="img"/);
    assert.match(page, /<td class="num">3<\/td><td class="num">2<\/td><td class="num">1<\/td>/);
    assert.match(
      (await client.get('/console/')).text,
      /<td class="num">0<\/td><td class="num">2<\/td><td class="num">1<\/td>/,
    );
  });

  test('the counts of an hour are replaced after 31 days, so the table does not grow', async (t) => {
    const { api } = await opened(t);
    await send(api, ['+27825550201']);
    api.clock.now += 744 * HOUR_MS;
    await send(api, ['+27825550202', '+27825550203']);
    const { items } = await act<{ items: { accepted: number }[] }>(api, 'account counts', {
      params,
      query: { hours: '744' },
    });
    assert.deepEqual(
      items.map(({ accepted }) => accepted),
      [2],
    );
  });

  test('a connector is added, changed with its secret kept, tested and removed', async (t) => {
    const { api, client } = await opened(t);
    const fields = {
      kind: 'smpp',
      name: 'carrier-a',
      'config.host': '127.0.0.1',
      'config.port': '1',
      'config.systemId': 'us',
      'config.password': 'hush-1',
      ratePerSecond: '20',
    };
    const wrong = await client.post('/console/connectors/new', { ...fields, 'config.window': 'many' });
    assert.equal(wrong.status, 400);
    assert.match(wrong.text, /value="carrier-a"/);
    assert.doesNotMatch(wrong.text, /hush-1/);
    const here = '/console/connectors/carrier-a';
    assert.equal((await client.post('/console/connectors/new', fields)).location, `${here}?notice=added`);
    assert.equal((await client.post('/console/connectors/new', fields)).status, 400);
    const stored = async () => {
      const all = await createConnectors(api.services.database, api.services.now).list();
      return all.find(({ name }) => name === 'carrier-a');
    };
    const page = (await client.get(here)).text;
    assert.match(page, /value="127\.0\.0\.1"/);
    assert.doesNotMatch(page, /hush-1/);
    const saved = await client.post(here, { ...fields, 'config.password': '', ratePerSecond: '30' });
    assert.equal(saved.location, `${here}?notice=saved`);
    assert.deepEqual([(await stored())?.ratePerSecond, (await stored())?.config.password], [30, 'hush-1']);
    const elsewhere = await client.post(here, { ...fields, 'config.password': '', 'config.host': '127.0.0.2' });
    assert.equal(elsewhere.status, 400);
    assert.match(elsewhere.text, /the address has changed, so give this secret again/);
    assert.equal((await stored())?.config.host, '127.0.0.1');
    assert.match((await client.post(`${here}/test`)).text, /cannot be used as it is/);
    assert.match((await client.post(`${here}/remove`)).text, /Remove the connector carrier-a\?/);
    const gone = await client.post(`${here}/remove`, { confirmed: 'yes' });
    assert.equal(gone.location, '/console/connectors?notice=removed');
  });

  test('an outbound route is added, its ways are ordered, and the dry run says where a message would go and why', async (t) => {
    const { api, client } = await opened(t);
    await act(api, 'connector put', { params: { name: 'spare' }, body: { kind: 'loopback' } });
    const fields = {
      name: 'south',
      prefixes: '+27',
      way0: 'way',
      price0: '1',
      way1: 'spare',
      price1: '3',
      mode: 'order',
    };
    const none = await client.post('/console/outbound-routes/new', { name: 'south', prefixes: '+27' });
    assert.equal(none.status, 400);
    assert.match(none.text, /choose at least one connector/);
    assert.equal(
      (await client.post('/console/outbound-routes/new', fields)).location,
      '/console/outbound-routes?notice=saved',
    );
    const tryIt = async () => {
      const asked = { username: 'acme', recipient: '+27825550201' };
      return (await client.post('/console/outbound-routes/try', asked)).text;
    };
    assert.match(await tryIt(), /It would go to way\..*By the route south\./s);
    const here = '/console/outbound-routes/south';
    assert.match((await client.post(here, { ...fields, act: 'up1' })).location ?? '', /notice=moved/);
    assert.match(await tryIt(), /It would go to spare\./);
    await act(api, 'connector pause', { params: { name: 'spare' } });
    assert.match(await tryIt(), /It would go to way\..*spare is passed over: paused/s);
    assert.match((await client.post(`${here}/remove`)).text, /Remove the route south\?/);
    await client.post(`${here}/remove`, { confirmed: 'yes' });
    assert.match(await tryIt(), /No route fits/);
  });

  test('a route with more ways than a new form shows keeps all of them when it is saved', async (t) => {
    const { api, client } = await opened(t);
    const names = ['one', 'two', 'three', 'four', 'five', 'six'];
    for (const name of names) await act(api, 'connector put', { params: { name }, body: { kind: 'loopback' } });
    const ways = names.map((connector) => ({ connector }));
    await act(api, 'outbound-route put', { params: { name: 'long' }, body: { ways } });
    const here = '/console/outbound-routes/long';
    const page = (await client.get(here)).text;
    assert.match(page, /name="way6"/, 'one more can be added');
    const fields = Object.fromEntries(names.map((connector, index) => [`way${index}`, connector]));
    await client.post(here, { ...fields, mode: 'order' });
    const { items } = (await act(api, 'outbound-route list', {})) as {
      items: { ways: { connector: string }[] }[];
    };
    assert.deepEqual(
      items[0]?.ways.map(({ connector }) => connector),
      names,
    );
  });

  test('the spend guard of an account is set in the console, and what it holds is released or refused there', async (t) => {
    const { api, client } = await opened(t);
    const here = '/console/accounts/acme/guard';
    assert.equal((await client.post(here, { recipientDay: 'many' })).status, 400);
    const saved = await client.post(here, { countries: 'za', recipientDay: '1', blockHour: '', creditsHour: '100' });
    assert.equal(saved.location, `${here}?notice=saved`);
    assert.match((await client.get(here)).text, /name="countries"[^>]* value="ZA"/);
    await send(api, ['+27825550201']);
    for (const _ of [1, 2]) await send(api, ['+27825550201']);
    assert.match((await client.get('/console/')).text, /2 messages are held by the spend guard/);
    const queue = (await client.get('/console/queue?show=held')).text;
    const ids = [...queue.matchAll(/<tr data-key="(acme\/\d+)"/g)].map((match) => match[1] as string);
    assert.equal(ids.length, 2);
    assert.match((await client.get(here)).text, /Decide about them/);
    const asked = await client.post('/console/queue', { show: 'held', act: 'release', id: ids[0] as string });
    assert.match(asked.text, /Decide about 1 message: Release/);
    for (const [decision, id] of [
      ['release', ids[0] as string],
      ['refuse', ids[1] as string],
    ] as const) {
      const done = await client.post('/console/queue', { show: 'held', act: decision, id, confirmed: 'yes' });
      assert.equal(done.location, '/console/queue?show=held&notice=decided&count=1');
    }
    assert.doesNotMatch((await client.get('/console/')).text, /held by the spend guard/);
    assert.match((await client.post(`${here}/remove`)).location ?? '', /notice=removed/);
  });

  test('messages that a restore holds are listed and decided without the others', async (t) => {
    const { api, client } = await opened(t);
    await send(api, ['+27825550201', '+27825550202']);
    await api.services.database.run(sql("update dispatch set state = 'needs-decision', reason = 'no answer'"), {});
    await api.services.database.run(
      sql(`update dispatch set reason = '${HELD}' where message_id = (select max(message_id) from dispatch)`),
      {},
    );
    const shown = (await client.get('/console/queue?show=restored')).text;
    assert.match(shown, /all 1 that match|may have been sent after the backup/);
    assert.doesNotMatch(shown, /no answer/);
    const question = await client.post('/console/queue', { act: 'not-submitted', scope: 'all', show: 'restored' });
    assert.match(question.text, /Decide about 1 message: The carrier does not have it\?/);
    const id = [...question.text.matchAll(/name="id" value="([^"]+)"/g)].map((match) => match[1] as string);
    const done = await client.post('/console/queue', { act: 'not-submitted', show: 'restored', id, confirmed: 'yes' });
    assert.equal(done.location, '/console/queue?show=restored&notice=decided&count=1');
    assert.match((await client.get('/console/queue?show=open')).text, /no answer/);
  });
});
