import assert from 'node:assert/strict';
import { test } from 'node:test';
import { act, type ConsoleClient, signedIn } from '../support/console-client.ts';
import { onOneEngine } from '../support/engines.ts';
import { type OperatorApi, startOperatorApi } from '../support/operator-api.ts';

/** What was sent together, as its customer sees it: one row, and a page with all of its messages. */

const params = { username: 'acme' };
const NUMBERS = ['0825550201', '0825550202', '0825550203'];

onOneEngine('batches in the console', (engine) => {
  async function opened(t: {
    after(work: () => Promise<void>): void;
  }): Promise<{ api: OperatorApi; client: ConsoleClient }> {
    const api = await startOperatorApi(engine, 'empty');
    t.after(() => api.stop());
    await act(api, 'account add', { body: { username: 'acme', region: 'ZA', credits: '100' } });
    return { api, client: await signedIn(api, params) };
  }
  const send = (api: OperatorApi, body: object) =>
    act<{ batch: string; accepted: { id: string }[] }>(api, 'message send', {
      params,
      body: { recipients: NUMBERS, text: 'Hello', ...body },
    });
  const status = (api: OperatorApi, id: string, to: string) =>
    act(api, 'message status', { params: { ...params, id }, body: { status: to } });
  const hiddenOf = (text: string, name: string): string =>
    new RegExp(`name="${name}" value="([^"]*)"`).exec(text)?.[1] ?? assert.fail(`no field ${name}`);

  test('messages that were sent together are one row of Sent, which opens all of them', async (t) => {
    const { api, client } = await opened(t);
    const { batch, accepted } = await send(api, { reference: 'Recall' });
    await send(api, { recipients: ['0825550209'] });
    await status(api, accepted[0]?.id ?? '', 'DELIVERED');
    await status(api, accepted[1]?.id ?? '', 'UNDELIVERABLE');
    const list = await client.get('/console/sent');
    assert.equal(list.text.match(/<tr data-key/g)?.length, 2);
    assert.match(list.text, new RegExp(`href="/console/batches/${batch}">.*<bdi>Recall</bdi></a><small>3 people`));
    assert.match(list.text, /1 delivered, 1 not delivered, 1 waiting/);
    assert.match((await client.get('/console/')).text, /<strong>1 of 3 messages was not delivered\.<\/strong>/);
    // A filter looks at each message.
    assert.equal((await client.get('/console/sent?state=failed')).text.match(/<tr data-key/g)?.length, 1);
    const page = await client.get(`/console/batches/${batch}`);
    assert.equal(page.text.match(/<tr data-key/g)?.length, 3);
    assert.match(page.text, /2 of 3 messages have ended/);
    const failed = await client.get(`/console/batches/${batch}?state=failed`);
    assert.equal(failed.text.match(/<tr data-key/g)?.length, 1);
    const file = await client.get(`/console/batches/${batch}/messages.csv?state=failed`);
    assert.equal(file.text.trim().split('\r\n').length, 2);
    assert.equal((await client.get('/console/batches/77')).status, 404);
    assert.equal((await client.get('/console/batches/x')).status, 404);
  });

  test('failed messages are sent again once, after a question, however often its button is pressed', async (t) => {
    const { api, client } = await opened(t);
    const { batch, accepted } = await send(api, {});
    for (const { id } of accepted.slice(0, 2)) await status(api, id, 'UNDELIVERABLE');
    const path = `/console/batches/${batch}`;
    const question = await client.get(path);
    assert.match(question.text, /Send 2 messages again that were not delivered\?/);
    const fields = { key: hiddenOf(question.text, 'key') };
    const [one, other] = await Promise.all([
      client.post(`${path}/resend`, fields),
      client.post(`${path}/resend`, fields),
    ]);
    assert.equal(one.location, other.location);
    assert.match(one.location ?? '', /^\/console\/batches\/\d+\?notice=resent&count=2$/);
    assert.match((await client.get(one.location ?? '')).text, /2 messages accepted again, as this new send\./);
    assert.match((await client.get(path)).text, /2 sent again/);
    // The page of before offers it once more, and a new key finds nothing left.
    for (const fields of [{ key: 'other' }, {}])
      assert.equal((await client.post(`${path}/resend`, fields)).location, `${path}?notice=notResent`);
    const { items } = await act<{ items: unknown[] }>(api, 'message list', { params });
    assert.equal(items.length, 5);
  });

  test('what waits of a batch is cancelled after a question with the exact number', async (t) => {
    const { api, client } = await opened(t);
    const { batch, accepted } = await send(api, {});
    await status(api, accepted[0]?.id ?? '', 'DELIVERED');
    const path = `/console/batches/${batch}`;
    assert.match((await client.get(path)).text, /Cancel 2 messages of this send that wait\?/);
    const done = await client.post(`${path}/cancel`);
    assert.equal(done.location, `${path}?notice=cancelled&count=2`);
    assert.match((await client.get(path)).text, /1 delivered, 2 cancelled or deleted/);
    assert.equal((await client.post(`${path}/cancel`)).location, `${path}?notice=notCancelled`);
  });

  test('Scheduled shows a batch as one row, and has the search and the days of Sent', async (t) => {
    const { api, client } = await opened(t);
    const sendAt = new Date(api.clock.now + 3_600_000).toISOString();
    const later = new Date(api.clock.now + 5 * 86_400_000).toISOString();
    const { batch } = await send(api, { sendAt, reference: 'Reminder' });
    await send(api, { recipients: ['0825550209'], text: 'Alone', sendAt: later });
    const list = await client.get('/console/scheduled');
    assert.equal(list.text.match(/<tr data-key/g)?.length, 2);
    assert.match(list.text, new RegExp(`href="/console/batches/${batch}">.*<bdi>Reminder</bdi></a><small>3 people`));
    assert.match(list.text, /all 4 that match/);
    const found = await client.get('/console/scheduled?q=0203');
    assert.equal(found.text.match(/<tr data-key/g)?.length, 1);
    const days = await client.get(`/console/scheduled?from=${later.slice(0, 10)}`);
    assert.equal(days.text.match(/<tr data-key/g)?.length, 1);
    assert.match(days.text, />Alone</);
    assert.match((await client.get('/console/scheduled?q=nothing')).text, /No scheduled message matches/);
    // An act on all that match leaves the others alone.
    const fields = { act: 'delete', scope: 'all', q: 'Alone', snapshot: hiddenOf(list.text, 'snapshot') };
    assert.match((await client.post('/console/scheduled', fields)).text, /Cancel 1 scheduled message\?/);
    await client.post('/console/scheduled', { ...fields, confirmed: 'yes', total: '1' });
    assert.equal((await client.get('/console/scheduled')).text.match(/<tr data-key/g)?.length, 1);
  });

  test('a list of batches and single messages goes on where its page ended, with nothing twice', async (t) => {
    const { api, client } = await opened(t);
    for (let index = 0; index < 40; index += 1) {
      api.clock.now += 1_000;
      await send(api, { recipients: NUMBERS.slice(0, 1 + (index % 2)), text: `Text ${index}` });
    }
    const seen: string[] = [];
    for (let path = '/console/sent'; path !== ''; ) {
      const { text } = await client.get(path);
      seen.push(...[...text.matchAll(/<tr data-key="(b?\d+)"/g)].map(([, key]) => key ?? ''));
      path = (/rel="next" href="([^"]+)"/.exec(text)?.[1] ?? '').replaceAll('&#38;', '&');
    }
    assert.equal(seen.length, 40);
    assert.equal(new Set(seen).size, 40);
  });
});
