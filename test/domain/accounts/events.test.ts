import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { EVENT_TYPES } from '../../../src/domain/accounts/events.ts';
import { createIncoming, storeFor } from '../../../src/domain/receiving/incoming.ts';
import { createConnectors } from '../../../src/domain/sending/connectors.ts';
import { createReceipts } from '../../../src/domain/sending/receipts.ts';
import { addWebhook, type Webhook } from '../../../src/domain/webhooks/webhooks.ts';
import { type Engine, onEveryEngine } from '../../support/engines.ts';
import { sql } from '../../support/opened-database.ts';
import { LEASE, message, openSending, UNKNOWN_OUTCOME } from '../../support/sending.ts';

interface EventRow {
  type: string;
  data: string;
  account_id: bigint | null;
}
const written = sql<Record<string, never>, EventRow>(
  'select type, data, account_id from webhook_delivery order by at, type, data',
);
const writtenFor = sql<{ id: bigint }, { type: string }>('select type from webhook_delivery where webhook_id = :id');
const ANY_CONNECTOR = { kind: 'loopback', config: {}, isDefault: true, submissionsMax: 10, ratePerSecond: 0 };

async function opened(engine: Engine, t: TestContext) {
  const sending = await openSending(engine, t);
  const { database, clock } = sending;
  const account = await sending.addAccount();
  const url = 'https://receiver.example/';
  await addWebhook(database, { account: null, url, events: EVENT_TYPES, full: false }, clock.now);
  return {
    ...sending,
    account,
    /** Type and data of all events so far. */
    events: async () => {
      const rows = await database.all(written, {});
      return rows.map(({ type, data }) => [type, JSON.parse(data)] as const);
    },
  };
}

onEveryEngine('events of messages and connectors', (engine) => {
  test('a message that is submitted and delivered has an event for each status', async (t) => {
    const { accept, claim, settle, account, database, now, clock, events } = await opened(engine, t);
    await accept(account, message({ to: ['+27825550201', '+27825550202'] }));
    const claimed = await claim();
    const ids = claimed.map(({ id }) => String(id)).sort();
    await settle(claimed, { kind: 'submitted' });
    const submitted = ids.map((messageId) => ['message.status', { messageId, status: 'SUBMITTED' }]);
    assert.deepEqual(await events(), submitted);
    clock.now += 1;
    const receipts = createReceipts(database, now);
    const attemptId = claimed[0]?.parts[0]?.attemptId ?? null;
    const receipt = { connector: 'loopback', attemptId, gatewayId: null, at: clock.now, detail: null };
    await receipts.receive({ ...receipt, status: 'DELIVERED' });
    await receipts.receive({ ...receipt, status: 'DELIVERED' });
    const delivered = ['message.status', { messageId: String(claimed[0]?.id), status: 'DELIVERED' }];
    assert.deepEqual(await events(), [...submitted, delivered]);
  });

  test('a message with an unknown outcome has the event message.needs_decision', async (t) => {
    const { accept, claim, account, clock, events } = await opened(engine, t);
    await accept(account);
    const [lost] = await claim();
    clock.now += LEASE + 1;
    await claim();
    assert.deepEqual(await events(), []);
    clock.now += UNKNOWN_OUTCOME + 1;
    await claim();
    const data = { messageId: String(lost?.id), status: 'UNKNOWN' };
    assert.deepEqual(await events(), [
      ['message.needs_decision', data],
      ['message.status', data],
    ]);
  });

  test('a webhook that names message.undecided gets the event under that name, and one that names both gets it once', async (t) => {
    const { accept, claim, account, clock, database } = await opened(engine, t);
    const url = 'https://receiver.example/';
    const add = async (...events: readonly Webhook['events'][number][]) =>
      (await addWebhook(database, { account: null, url, events, full: false }, clock.now)).webhook;
    const former = await add('message.undecided');
    const both = await add('message.undecided', 'message.needs_decision');
    assert.deepEqual([former.events, both.events], [['message.undecided'], ['message.needs_decision']]);
    await accept(account);
    await claim();
    clock.now += LEASE + 1;
    await claim();
    clock.now += UNKNOWN_OUTCOME + 1;
    await claim();
    const typesOf = async (id: bigint) => (await database.all(writtenFor, { id })).map(({ type }) => type);
    assert.deepEqual(await typesOf(former.id), ['message.undecided']);
    assert.deepEqual(await typesOf(both.id), ['message.needs_decision']);
  });

  test('a message of a carrier has the event message.received, and none where its transaction fails', async (t) => {
    const { account, database, now, clock, events } = await opened(engine, t);
    const arrived = {
      connector: 'loopback',
      sender: '+27825550201',
      destination: '31000',
      text: 'hello',
      receivedAt: clock.now,
    };
    const storing = { database, now, defaultRegion: 'ZA' };
    const failing = database.transaction(account, async (queries) => {
      await storeFor(storing, queries, account, arrived, null);
      throw new Error('as it is meant');
    });
    await assert.rejects(failing, /as it is meant/);
    assert.deepEqual(await events(), []);
    const id = await database.transaction(account, (queries) => storeFor(storing, queries, account, arrived, null));
    assert.deepEqual(await events(), [['message.received', { messageId: String(id) }]]);
    await createIncoming(database, now, 'ZA').receive({ ...arrived, gatewayId: '1', part: null });
    assert.equal((await events()).length, 1, 'nobody gets what has no route');
  });

  test('credits.low comes when the free credits fall below the limit, and again only after they were above it', async (t) => {
    const { accept, account, change, clock, events, ledger } = await opened(engine, t);
    await change(account, { lowCredits: 998n });
    const low = (free: number) => ['credits.low', { free: String(free), threshold: '998' }];
    const debit = async () => {
      clock.now += 1;
      await accept(account);
    };
    await debit();
    await debit();
    assert.deepEqual(await events(), [], '998 are not below 998');
    await debit();
    assert.deepEqual(await events(), [low(997)]);
    await debit();
    await debit();
    assert.deepEqual(await events(), [low(997)], 'they were low already');
    clock.now += 1;
    await ledger.adjust(account, { amount: 10n, reason: 'bought', reference: null });
    await ledger.adjust(account, { amount: -10n, reason: 'taken back', reference: null });
    assert.deepEqual(await events(), [low(997), low(995)]);
  });

  test('a connector that goes down and up has one event each, however many processes notice it', async (t) => {
    const { database, now, events, clock } = await opened(engine, t);
    const [one, other] = [createConnectors(database, now), createConnectors(database, now)];
    await one.prepare([], { name: 'main', ...ANY_CONNECTOR });
    await one.setUp('main');
    assert.deepEqual(await events(), [], 'it was up');
    await one.setDown('main', 'no connection');
    await other.setDown('main', 'still no connection');
    const down = ['connector.down', { connector: 'main', reason: 'no connection' }];
    assert.deepEqual(await events(), [down]);
    clock.now += 1;
    await Promise.all([one.setUp('main'), other.setUp('main')]);
    assert.deepEqual(await events(), [down, ['connector.up', { connector: 'main', reason: null }]]);
  });

  test('a webhook of another account, and one that wants other events, get nothing', async (t) => {
    const sending = await openSending(engine, t);
    const { database, clock, accept, claim, settle } = sending;
    const [account, other] = [await sending.addAccount(), await sending.addAccount()];
    const url = 'https://receiver.example/';
    const add = (given: { account: bigint | null; events: readonly (typeof EVENT_TYPES)[number][] }) =>
      addWebhook(database, { url, full: false, ...given }, clock.now);
    await add({ account: other, events: EVENT_TYPES });
    await add({ account: null, events: ['message.received'] });
    await accept(account);
    await settle(await claim(), { kind: 'submitted' });
    assert.deepEqual(await database.all(written, {}), []);
  });
});
