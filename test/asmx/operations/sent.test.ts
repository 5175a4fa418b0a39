import assert from 'node:assert/strict';
import { DELIVERY_STATUSES } from '../../../src/domain/messages/statuses.ts';
import { type Client, inEveryProtocol } from '../../support/contract-client.ts';
import { onEveryEngine } from '../../support/engines.ts';

const unmarked = async (client: Client) =>
  (await client.ask('sent', 'FetchUnmarkedDeliveryStatus', { max: 100 })).map(({ user_message_id }) => user_message_id);

onEveryEngine('sent and scheduled messages', (engine) => {
  inEveryProtocol(
    engine,
    'sent.MarkMessageAsRead removes a message from FetchUnmarkedDeliveryStatus and from the count',
    async (client) => {
      assert.deepEqual(await unmarked(client), ['order-2', 'order-3', '2004']);
      assert.equal(await client.ask('sent', 'CountUnMarkedDeliveryStatus'), 3n);
      assert.equal(await client.ask('sent', 'MarkMessageAsRead', { id: 2003 }), true);
      assert.deepEqual(await unmarked(client), ['order-2', '2004']);
      assert.equal(await client.ask('sent', 'CountUnMarkedDeliveryStatus'), 2n);
      const { rows } = await client.ask('sent', 'FetchSentDS', { max: 100 });
      assert.deepEqual(
        rows.map(({ id, marked }) => [id, marked]),
        [
          ['2004', 'false'],
          ['2003', 'true'],
          ['2002', 'false'],
          ['2001', 'true'],
        ],
      );
    },
  );

  inEveryProtocol(
    engine,
    "user_message_id is the sender's own reference, or the decimal id if none was given",
    async (client) => {
      const owner = await client.newcomer({
        sent: [message('9007199254740993'), message('-7'), { ...message('5'), user_message_id: 'mine' }],
        scheduled: [{ id: '8', timestamp_scheduled: TIME, timestamp_created: TIME }],
      });
      assert.deepEqual(await unmarked(owner), ['-7', 'mine', '9007199254740993']);
      const { rows } = await owner.ask('compose', 'FetchScheduledDS', { max: 10 });
      assert.equal(rows[0]?.user_message_id, '8');
      const [status] = await owner.ask('sent', 'FetchUnmarkedDeliveryStatus', { max: 1 });
      assert.equal(await owner.ask('sent', 'MarkMessageAsRead', { id: status?.user_message_id as string }), true);
      assert.deepEqual(await unmarked(owner), ['mine', '9007199254740993']);
    },
  );

  inEveryProtocol(engine, 'delivery_status is QUEUED, SUBMITTED or a name of SMPP, as it is stored', async (client) => {
    const names = [
      'QUEUED',
      'SUBMITTED',
      'ENROUTE',
      'DELIVERED',
      'EXPIRED',
      'DELETED',
      'UNDELIVERABLE',
      'ACCEPTED',
      'UNKNOWN',
      'REJECTED',
    ];
    assert.deepEqual([...DELIVERY_STATUSES].sort(), [...names].sort());
    const owner = await client.newcomer({
      sent: names.map((delivery_status, index) => ({ ...message(String(index)), delivery_status })),
    });
    const statuses = await owner.ask('sent', 'FetchUnmarkedDeliveryStatus', { max: 100 });
    assert.deepEqual(
      statuses.map(({ delivery_status }) => delivery_status),
      names,
    );
    const { rows } = await owner.ask('sent', 'FetchSentDS', { max: 100 });
    assert.deepEqual(rows.map(({ delivery_status }) => delivery_status).reverse(), names);
  });

  inEveryProtocol(
    engine,
    'DeleteSentMessage takes effect at once, also for the delivery status, and returns false the second time',
    async (client) => {
      assert.equal(await client.ask('sent', 'DeleteSentMessage', { message_id: '2002' }), true);
      assert.deepEqual(await unmarked(client), ['order-3', '2004']);
      assert.equal(await client.ask('sent', 'CountUnMarkedDeliveryStatus'), 2n);
      const { rows } = await client.ask('sent', 'FetchSentDS', { max: 100 });
      assert.deepEqual(
        rows.map(({ id }) => id),
        ['2004', '2003', '2001'],
      );
      assert.equal(await client.ask('sent', 'DeleteSentMessage', { message_id: '2002' }), false);
      assert.equal(await client.ask('sent', 'MarkMessageAsRead', { id: 2002 }), false);
    },
  );

  inEveryProtocol(
    engine,
    'DeleteScheduledMessage takes effect at once and frees the held credits once, and returns false the second time',
    async (client) => {
      const owner = await client.newcomer({
        credits: 10,
        scheduled: [scheduled('1', 'x'.repeat(161)), scheduled('2', 'one part'), scheduled('3', null)],
      });
      const left = async () => (await owner.ask('compose', 'FetchScheduledDS', { max: 10 })).rows.map(({ id }) => id);
      assert.equal(await owner.ask('compose', 'DeleteScheduledMessage', { message_id: '1' }), true);
      assert.deepEqual(await left(), ['2', '3']);
      assert.equal((await owner.ask('account', 'Profile'))?.credits, '12');
      assert.equal(await owner.ask('compose', 'DeleteScheduledMessage', { message_id: '1' }), false);
      assert.equal((await owner.ask('account', 'Profile'))?.credits, '12');
    },
  );

  inEveryProtocol(
    engine,
    'DeleteAllScheduled returns true, also when there was nothing, and frees all held credits',
    async (client) => {
      const owner = await client.newcomer({
        credits: 10,
        scheduled: [scheduled('1', 'x'.repeat(161)), scheduled('2', 'x')],
      });
      for (let round = 0; round < 2; round++) {
        assert.equal(await owner.ask('compose', 'DeleteAllScheduled'), true);
        assert.deepEqual((await owner.ask('compose', 'FetchScheduledDS', { max: 10 })).rows, []);
        assert.equal((await owner.ask('account', 'Profile'))?.credits, '13');
      }
    },
  );

  inEveryProtocol(engine, 'credits that are returned never exceed the largest long', async (client) => {
    const owner = await client.newcomer({
      credits: '9223372036854775806',
      scheduled: [scheduled('1', 'x'.repeat(161))],
    });
    assert.equal(await owner.ask('compose', 'DeleteAllScheduled'), true);
    assert.equal((await owner.ask('account', 'Profile'))?.credits, '9223372036854775807');
  });
});

const TIME = '2026-05-01T00:00:00Z';
const message = (id: string) => ({
  id,
  delivery_status: 'DELIVERED',
  timestamp_sent: TIME,
  timestamp_updated: TIME,
  marked: false,
});
const scheduled = (id: string, text: string | null) => ({
  id,
  message: text,
  recipient: '+27825550201',
  timestamp_scheduled: TIME,
  timestamp_created: TIME,
});
