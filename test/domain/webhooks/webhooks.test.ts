import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { systemClock } from '../../../src/base/clock.ts';
import { emitEvent } from '../../../src/domain/accounts/events.ts';
import { createEventDeliverer, RETRY_AFTER_MS } from '../../../src/domain/webhooks/deliverer.ts';
import { createEventSender } from '../../../src/domain/webhooks/sender.ts';
import { refusalOfSignature } from '../../../src/domain/webhooks/standard-webhooks.ts';
import { ROTATION_MS } from '../../../src/domain/webhooks/webhooks.ts';
import { type Received, startReceiver } from '../../carriers/webhook-receiver.ts';
import { openActions } from '../../support/actions.ts';
import { type Engine, onEveryEngine } from '../../support/engines.ts';
import { sql } from '../../support/opened-database.ts';

const deliveries = sql<Record<string, never>, { total: bigint }>('select count(*) as total from webhook_delivery');

async function open(engine: Engine, t: TestContext) {
  const bench = await openActions(engine, t);
  const receiver = await startReceiver(t);
  const failures: unknown[] = [];
  const deliverer = () =>
    createEventDeliverer({
      database: bench.database,
      clock: { ...systemClock, now: () => bench.clock.now, random: () => 0.5 },
      send: createEventSender({ allowedNetworks: ['127.0.0.0/8'], timeoutMs: 15_000, clock: systemClock }),
      failed: (thrown) => failures.push(thrown),
    });
  const add = (body: object = {}) =>
    bench.run('webhook add', { body: { url: receiver.url, events: ['message.received', 'message.status'], ...body } });
  const receive = (username = 'acme', text = 'hello') =>
    bench.of(username, 'inbox receive', { body: { sender: '+27825550201', text } });
  const attempts = async (id: string) => (await bench.run('webhook attempts', { params: { id } })).items;
  t.after(() => assert.deepEqual(failures, []));
  return { ...bench, receiver, deliverer: deliverer(), another: deliverer, add, receive, attempts };
}

const isSigned = ({ headers, body }: Received, secret: string, now: number): boolean =>
  refusalOfSignature([secret], new Headers(headers as Record<string, string>), body, now) === null;

onEveryEngine('webhooks', (engine) => {
  test('webhook add takes message.undecided, and its events are delivered under that name', async (t) => {
    const { receiver, deliverer, add, account, database, clock } = await open(engine, t);
    const id = await account('acme');
    assert.deepEqual((await add({ events: ['message.undecided'] })).events, ['message.undecided']);
    const lost = {
      type: 'message.needs_decision',
      account: id,
      at: clock.now,
      messageId: 7n,
      status: 'UNKNOWN',
    } as const;
    await emitEvent(database, lost);
    assert.equal(await deliverer.deliverDue(), 1);
    assert.equal(JSON.parse(receiver.received[0]?.body ?? '').type, 'message.undecided');
  });

  test('an event is delivered once, signed, with ids only', async (t) => {
    const { receiver, deliverer, add, receive, account, clock, attempts, of } = await open(engine, t);
    await account('acme');
    const { id, secret } = await add();
    const { id: messageId } = await receive();
    assert.equal(await deliverer.deliverDue(), 1);
    assert.equal(await deliverer.deliverDue(), 0);
    const [first] = receiver.received as [Received];
    assert.ok(isSigned(first, secret, clock.now));
    assert.deepEqual(JSON.parse(first.body), {
      type: 'message.received',
      timestamp: new Date(clock.now).toISOString(),
      data: { account: 'acme', messageId },
    });
    clock.now += 1;
    const { id: sent } = await of('acme', 'message record', { body: { recipient: '+27825550201', text: 'out' } });
    await of('acme', 'message status', { params: { id: sent }, body: { status: 'DELIVERED' } });
    await deliverer.deliverDue();
    const data = { account: 'acme', messageId: sent, status: 'DELIVERED' };
    assert.deepEqual(JSON.parse(receiver.received[1]?.body ?? '').data, data);
    assert.notEqual(receiver.received[1]?.headers['webhook-id'], first.headers['webhook-id']);
    const [latest] = await attempts(id);
    assert.deepEqual([latest.type, latest.number, latest.status, latest.nextAt], ['message.status', 1, 204, null]);
  });

  test('a receiver that missed events reads them in the list, in pages, from a time on and for its webhook alone', async (t) => {
    const { add, receive, account, clock, run, deliverer } = await open(engine, t);
    await account('acme');
    const [one, other] = [await add(), await add({ events: ['message.received'] })];
    const start = clock.now;
    const messages: string[] = [];
    for (let number = 0; number < 5; number += 1) {
      messages.push((await receive()).id);
      clock.now += 1_000;
    }
    const list = async (query: Readonly<Record<string, string>>) => await run('event list', { query });
    const messageOf = ({ data }: { data: { messageId: string } }) => data.messageId;
    const first = await list({ webhook: one.id, limit: '3' });
    const rest = await list({ webhook: one.id, limit: '3', after: first.next });
    assert.deepEqual([...first.items, ...rest.items].map(messageOf), messages);
    assert.deepEqual([rest.next, first.items[0].username, first.items[0].attempts], [null, 'acme', 0]);
    const since = new Date(start + 3_000).toISOString();
    assert.deepEqual((await list({ webhook: other.id, since })).items.map(messageOf), messages.slice(3));
    const all = (await list({})).items;
    assert.equal(all.length, 10);
    assert.equal(
      new Set(all.map(({ id, webhookId }: { id: string; webhookId: string }) => `${id} ${webhookId}`)).size,
      10,
    );
    await deliverer.deliverDue();
    const [delivered] = (await list({ webhook: one.id })).items;
    assert.deepEqual([delivered.attempts, delivered.nextAt], [1, null]);
    await assert.rejects(list({ webhook: '1' }), { kind: 'not-found' });
  });

  test('a webhook with full gets numbers and texts, and only the ids of a deleted message', async (t) => {
    const { receiver, deliverer, add, receive, account, of } = await open(engine, t);
    await account('acme');
    await add({ full: true });
    await receive('acme', 'first');
    const { id } = await receive('acme', 'second');
    await of('acme', 'inbox remove', { params: { id } });
    await deliverer.deliverDue();
    const bodies = receiver.received.map(({ body }) => JSON.parse(body).data);
    const whole = bodies.find(({ messageId }) => messageId !== id);
    assert.deepEqual([whole.sender, whole.text, whole.shortCode], ['+27825550201', 'first', null]);
    assert.deepEqual(
      bodies.find(({ messageId }) => messageId === id),
      { account: 'acme', messageId: id },
    );
  });

  test('no event is written if no webhook wants it: another type, another account, disabled, or none', async (t) => {
    const { database, add, receive, account, run } = await open(engine, t);
    await account('acme');
    await account('globex');
    const total = async () => (await database.first(deliveries, {}))?.total;
    await receive();
    await add({ events: ['credits.low'] });
    await add({ username: 'globex' });
    await receive();
    assert.equal(await total(), 0n);
    await receive('globex');
    assert.equal(await total(), 1n);
    const { items } = await run('webhook list');
    for (const { id } of items) await run('webhook remove', { params: { id } });
    assert.equal(await total(), 0n, 'its events went with it');
  });

  test('a change that is rolled back leaves no event', async (t) => {
    const { database, add, account, clock } = await open(engine, t);
    const id = await account('acme');
    await add();
    const undone = database.transaction(id, async (queries) => {
      await emitEvent(queries, { type: 'message.received', account: id, at: clock.now, messageId: 1n });
      throw new Error('undone');
    });
    await assert.rejects(undone, /undone/);
    assert.equal((await database.first(deliveries, {}))?.total, 0n);
  });

  test('a refused event is sent again by the schedule, ten times in all, with the same id', async (t) => {
    const { receiver, deliverer, add, receive, account, clock, attempts } = await open(engine, t);
    await account('acme');
    const { id, secret } = await add();
    receiver.answer = { status: 503 };
    await receive();
    await deliverer.deliverDue();
    for (const [index, pause] of RETRY_AFTER_MS.entries()) {
      clock.now += pause;
      assert.equal(await deliverer.deliverDue(), 0, `the jitter of attempt ${index + 2} is not over`);
      clock.now += pause * 0.1;
      assert.equal(await deliverer.deliverDue(), 1);
    }
    clock.now += 48 * 3_600_000;
    assert.equal(await deliverer.deliverDue(), 0, 'the tenth was the last');
    assert.equal(receiver.received.length, 10);
    assert.equal(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size, 1);
    assert.equal(new Set(receiver.received.map(({ headers }) => headers['webhook-timestamp'])).size, 10);
    const last = receiver.received.at(-1) as Received;
    assert.ok(isSigned(last, secret, Number(last.headers['webhook-timestamp']) * 1_000));
    const listed = await attempts(id);
    assert.deepEqual(
      listed.map(({ number }: { number: number }) => number),
      [10, 9, 8, 7, 6, 5, 4, 3, 2, 1],
    );
    assert.ok(listed.every(({ nextAt }: { nextAt: string | null }) => nextAt === null));
  });

  test('Retry-After is honoured if it is longer than the pause of the schedule', async (t) => {
    const { receiver, deliverer, add, receive, account, clock, attempts } = await open(engine, t);
    await account('acme');
    const { id } = await add();
    receiver.answer = { status: 429, headers: { 'Retry-After': '600' } };
    await receive();
    await deliverer.deliverDue();
    const [first] = await attempts(id);
    assert.equal(first.nextAt, new Date(clock.now + 600_000).toISOString());
    clock.now += 599_000;
    assert.equal(await deliverer.deliverDue(), 0);
    receiver.answer = { status: 200 };
    clock.now += 1_000;
    assert.equal(await deliverer.deliverDue(), 1);
  });

  test('the answer 410 switches a webhook off, and it can be switched on again', async (t) => {
    const { receiver, deliverer, add, receive, account, run } = await open(engine, t);
    await account('acme');
    const { id } = await add();
    receiver.answer = { status: 410 };
    await receive();
    await deliverer.deliverDue();
    await receive();
    assert.equal(await deliverer.deliverDue(), 0);
    const [off] = (await run('webhook list')).items;
    assert.deepEqual([off.state, off.disabledReason], ['disabled', 'the receiver answered 410 Gone']);
    receiver.answer = { status: 200 };
    await run('webhook enable', { params: { id } });
    await receive();
    assert.equal(await deliverer.deliverDue(), 1);
  });

  test('an event is delivered once more on request', async (t) => {
    const { receiver, deliverer, add, receive, account, run, attempts, refusal } = await open(engine, t);
    await account('acme');
    const { id } = await add();
    await receive();
    await deliverer.deliverDue();
    const [{ eventId }] = await attempts(id);
    await run('webhook resend', { params: { id }, body: { eventId } });
    assert.equal(await deliverer.deliverDue(), 1);
    assert.equal(receiver.received[0]?.headers['webhook-id'], receiver.received[1]?.headers['webhook-id']);
    assert.deepEqual(
      (await attempts(id)).map(({ number }: { number: number }) => number),
      [2, 1],
    );
    assert.equal((await refusal('webhook resend', { params: { id }, body: { eventId: '1' } })).kind, 'not-found');
    assert.equal((await refusal('webhook attempts', { params: { id: '1' } })).kind, 'not-found');
  });

  test('while a secret is rotated both secrets sign, and after 24 hours only the new one', async (t) => {
    const { receiver, deliverer, add, receive, account, clock, run } = await open(engine, t);
    await account('acme');
    const { id, secret: old } = await add();
    const { secret } = await run('webhook rotate', { params: { id } });
    const signedBy = async () => {
      await receive();
      await deliverer.deliverDue();
      const last = receiver.received.at(-1) as Received;
      return [isSigned(last, old, clock.now), isSigned(last, secret, clock.now)];
    };
    assert.deepEqual(await signedBy(), [true, true]);
    clock.now += ROTATION_MS;
    assert.deepEqual(await signedBy(), [false, true]);
  });

  test('several processes deliver each event once, and take over the events of a dead process after its lease', async (t) => {
    const { receiver, deliverer, another, add, receive, account, database, clock } = await open(engine, t);
    await account('acme');
    await add();
    for (let count = 0; count < 12; count++) await receive();
    const other = another();
    let left = 12;
    while (left > 0) {
      const counts = await Promise.all([deliverer.deliverDue(), other.deliverDue()]);
      left -= counts[0] + counts[1];
    }
    assert.equal(left, 0);
    assert.equal(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size, 12);
    assert.equal(receiver.received.length, 12);
    await receive();
    const take = sql<{ until: number }>('update webhook_delivery set lease_until = :until where due_at is not null');
    await database.run(take, { until: clock.now + 60_000 }); // as a process that died has left it
    assert.equal(await deliverer.deliverDue(), 0);
    clock.now += 60_000;
    assert.equal(await deliverer.deliverDue(), 1);
  });

  test('a webhook that does not answer does not keep others waiting', async (t) => {
    const { receiver, deliverer, add, receive, account } = await open(engine, t);
    await account('acme');
    await add({ url: 'http://127.0.0.1:1/' });
    await add();
    for (let count = 0; count < 6; count++) await receive();
    await deliverer.deliverDue();
    assert.equal(receiver.received.length, 4, 'four of each at a time');
  });

  test('credits.low is sent once when the free credits fall below the limit of the account', async (t) => {
    const { receiver, deliverer, add, account, of } = await open(engine, t);
    await account('acme', { credits: '100', lowCredits: '50' });
    await add({ events: ['credits.low'] });
    const move = (amount: string) => of('acme', 'credits add', { body: { amount, reason: 'test' } });
    for (const amount of ['-50', '-1', '-1', '10', '-20']) await move(amount);
    await deliverer.deliverDue();
    const told = receiver.received.map(({ body }) => JSON.parse(body).data);
    assert.deepEqual(
      told.sort((a, b) => b.free - a.free),
      [
        { account: 'acme', free: '49', threshold: '50' },
        { account: 'acme', free: '38', threshold: '50' },
      ],
    );
  });

  test('an event about a connector belongs to no account', async (t) => {
    const { receiver, deliverer, add, database, clock } = await open(engine, t);
    await add({ events: ['connector.down'] });
    await emitEvent(database, { type: 'connector.down', at: clock.now, connector: 'main', reason: 'refused' });
    await emitEvent(database, { type: 'connector.up', at: clock.now, connector: 'main', reason: null });
    await deliverer.deliverDue();
    assert.deepEqual(
      receiver.received.map(({ body }) => JSON.parse(body).data),
      [{ connector: 'main', reason: 'refused' }],
    );
  });

  test('events are deleted after 30 days, and lists and the audit show no secrets and addresses of webhooks', async (t) => {
    const { deliverer, add, receive, account, clock, database, run, refusal } = await open(engine, t);
    await account('acme');
    const { secret } = await add({ url: 'https://shop.example/events?key=s3cret' });
    await receive();
    clock.now += 31 * 24 * 3_600_000;
    await deliverer.deliverDue();
    assert.equal((await database.first(deliveries, {}))?.total, 0n);
    const told = JSON.stringify([await run('webhook list'), await run('audit list')]);
    assert.ok(!told.includes(secret.slice(6)));
    assert.ok(!JSON.stringify(await run('audit list')).includes('s3cret'));
    for (const url of ['ftp://x/', 'https://user:pw@shop.example/', 'shop', 'https://shop.example/#x']) {
      const { details, message } = await refusal('webhook add', { body: { url, events: ['credits.low'] } });
      assert.equal(details.errors?.[0]?.pointer, '#/url');
      assert.ok(!message.includes('pw'));
    }
  });
});
