import assert from 'node:assert/strict';
import { createCarrierEvents } from '../../../src/carriers/carrier-events.ts';
import type { ReceivedReceipt } from '../../../src/carriers/connector.ts';
import { createAccepting } from '../../../src/domain/sending/accept.ts';
import { newAttemptId } from '../../../src/domain/sending/attempts.ts';
import { createClaiming } from '../../../src/domain/sending/claim.ts';
import { heldReceipts } from '../../../src/domain/sending/receipts.ts';
import { createSettling } from '../../../src/domain/sending/settle.ts';
import { type Client, inEveryProtocol } from '../../support/contract-client.ts';
import { onEveryEngine } from '../../support/engines.ts';
import { sql } from '../../support/opened-database.ts';

const MINUTE = 60_000;
const idOf = sql<{ username: string }, { account_id: bigint }>(
  'select account_id from account where username = :username',
);
const account = { region: 'ZA', timeZone: null, quietHours: null };

/** What happens to the messages of acme between the calls of a client. */
async function carrierOf({ service: { app, clock } }: Client) {
  const { database } = app;
  const now = () => clock.now;
  const id = (await database.first(idOf, { username: 'acme' }))?.account_id as bigint;
  const accepting = createAccepting(database, now);
  const leases = { leaseMs: MINUTE, unknownOutcomeMs: MINUTE };
  const claiming = createClaiming(database, { now, owner: 'test', newAttemptId, ...leases });
  const settling = createSettling(database, now, heldReceipts);
  const events = createCarrierEvents(database, now, 'ZA');
  return {
    events,
    accept: (number: string, text = 'hello', sendAt: number | null = null) =>
      accepting.accept(id, account, {
        recipients: [{ number, text }],
        sender: null,
        reference: `to ${number}`,
        sendAt,
        notAfter: null,
      }),
    /** Submits what is due; a function that brings a receipt of a part. */
    async submit() {
      const claimed = await claiming.claim({ connector: 'loopback', isDefault: true }, 10);
      await settling.settle(
        claimed.map((message) => ({
          message,
          parts: message.parts.map(({ number }) => ({ part: number, state: 'accepted' as const, gatewayId: null })),
          outcome: { kind: 'submitted' as const },
        })),
      );
      const ids = claimed.flatMap(({ parts }) => parts.map(({ attemptId }) => attemptId));
      return (status: ReceivedReceipt['status'], part = 1) =>
        events.receipt({
          connector: 'loopback',
          attemptId: ids[part - 1] as string,
          gatewayId: null,
          status,
          at: clock.now,
          detail: null,
        });
    },
  };
}

const unmarked = async (client: Client) =>
  (await client.ask('sent', 'FetchUnmarkedDeliveryStatus', { max: 100 }))
    .filter(({ user_message_id }) => user_message_id?.startsWith('to '))
    .map(({ delivery_status }) => delivery_status);
const counted = (client: Client) => client.ask('sent', 'CountUnMarkedDeliveryStatus');
const newest = async (client: Client) => (await client.ask('sent', 'FetchSentDS', { max: 1 })).rows[0];

onEveryEngine('the contract while a carrier works', (engine) => {
  inEveryProtocol(
    engine,
    'a message is QUEUED, SUBMITTED and DELIVERED, and each new status is unmarked again',
    async (client) => {
      const { clock } = client.service;
      const carrier = await carrierOf(client);
      const before = await counted(client);
      await carrier.accept('0825550777');
      assert.deepEqual(await unmarked(client), ['QUEUED']);
      const first = await newest(client);
      assert.deepEqual([first?.delivery_status, first?.recipient], ['QUEUED', '+27825550777']);
      const receipt = await carrier.submit();
      assert.deepEqual(await unmarked(client), ['SUBMITTED']);
      assert.equal(await counted(client), before + 1n);
      const marking = { id: first?.id as string };
      assert.equal(await client.ask('sent', 'MarkMessageAsRead', marking), true);
      assert.deepEqual(await unmarked(client), []);
      assert.equal(await counted(client), before);
      clock.now += MINUTE;
      await receipt('DELIVERED');
      assert.deepEqual(await unmarked(client), ['DELIVERED']);
      assert.equal(await counted(client), before + 1n);
      const last = await newest(client);
      assert.equal(last?.delivery_status, 'DELIVERED');
      assert.equal(Date.parse(last?.timestamp_updated as string), clock.now);
      assert.equal(await client.ask('sent', 'MarkMessageAsRead', marking), true);
      await receipt('DELIVERED');
      await receipt('UNDELIVERABLE');
      assert.deepEqual(await unmarked(client), [], 'a final status never changes');
    },
  );

  inEveryProtocol(engine, 'a message in parts reports its worst part when all parts are final', async (client) => {
    const carrier = await carrierOf(client);
    await carrier.accept('0825550777', 'x'.repeat(200));
    const receipt = await carrier.submit();
    await receipt('UNDELIVERABLE', 2);
    assert.deepEqual(await unmarked(client), ['SUBMITTED']);
    await receipt('DELIVERED', 1);
    assert.deepEqual(await unmarked(client), ['UNDELIVERABLE']);
  });

  inEveryProtocol(
    engine,
    'a receipt that comes after DeleteSentMessage changes nothing and is no error',
    async (client) => {
      const carrier = await carrierOf(client);
      await carrier.accept('0825550777');
      const receipt = await carrier.submit();
      const id = (await newest(client))?.id as string;
      assert.equal(await client.ask('sent', 'DeleteSentMessage', { message_id: id }), true);
      const before = await client.exported();
      await receipt('DELIVERED');
      assert.equal(await client.exported(), before);
      assert.equal(await client.ask('sent', 'DeleteSentMessage', { message_id: id }), false);
    },
  );

  inEveryProtocol(
    engine,
    'a scheduled message is in FetchScheduledDS until it is submitted, and BlackListNumber cancels it',
    async (client) => {
      const { clock } = client.service;
      const carrier = await carrierOf(client);
      const scheduled = async () =>
        (await client.ask('compose', 'FetchScheduledDS', { max: 100 })).rows.filter(({ recipient }) =>
          recipient?.startsWith('+2782555077'),
        ).length;
      await carrier.accept('0825550777', 'hello', clock.now + MINUTE);
      await carrier.accept('0825550778', 'hello', clock.now + MINUTE);
      assert.equal(await scheduled(), 2);
      const blocking = { mobile: '082 555 0778', sample_message: 'stop' };
      assert.equal(await client.ask('account', 'BlackListNumber', blocking), true);
      assert.equal(await scheduled(), 1);
      clock.now += MINUTE;
      await carrier.submit();
      assert.equal(await scheduled(), 0);
      assert.deepEqual(await unmarked(client), ['SUBMITTED']);
      const { refused } = await carrier.accept('0825550778');
      assert.deepEqual(
        refused.map(({ reason }) => reason),
        ['blacklisted'],
      );
    },
  );

  inEveryProtocol(
    engine,
    'BlackListNumber ends a QUEUED message, which becomes DELETED, returns its credits and reaches no carrier',
    async (client) => {
      const carrier = await carrierOf(client);
      const credits = async () => BigInt((await client.ask('account', 'Profile'))?.credits ?? 0n);
      const before = await credits();
      await carrier.accept('0825550777', 'x'.repeat(200));
      await carrier.accept('0825550778');
      assert.equal(await credits(), before - 3n);
      const blocking = { mobile: '082 555 0777', sample_message: 'stop' };
      assert.equal(await client.ask('account', 'BlackListNumber', blocking), true);
      assert.equal(await credits(), before - 1n);
      assert.deepEqual((await unmarked(client)).sort(), ['DELETED', 'QUEUED']);
      await carrier.submit();
      assert.deepEqual((await unmarked(client)).sort(), ['DELETED', 'SUBMITTED']);
      assert.equal(await client.ask('account', 'BlackListNumber', blocking), true);
      assert.equal(await credits(), before - 1n);
    },
  );

  inEveryProtocol(
    engine,
    'a message from a carrier is in Unread and CountUnread until it is marked',
    async (client) => {
      const { clock, app } = client.service;
      const { events } = await carrierOf(client);
      const { createRouting } = await import('../../../src/domain/receiving/routes.ts');
      const routing = createRouting(app.database, () => clock.now);
      await routing.put({ name: 'code', destination: '31999', keyword: null, priority: 0, username: 'acme' });
      const before = await client.ask('inbox', 'CountUnread');
      const message = {
        connector: 'loopback',
        gatewayId: 'g-1',
        sender: '0825550777',
        destination: '31999',
        text: 'from a carrier',
        receivedAt: clock.now,
        part: null,
      };
      await events.incoming(message);
      await events.incoming(message);
      assert.equal(await client.ask('inbox', 'CountUnread'), before + 1n);
      const found = (await client.ask('inbox', 'Unread', { max_count: 100 })).filter(
        (each) => each.message === 'from a carrier',
      );
      assert.deepEqual(
        found.map(({ sender, short_code }) => [sender, short_code]),
        [['+27825550777', '31999']],
      );
      assert.equal(await client.ask('inbox', 'MarkMessageAsRead', { message_id: found[0]?.id as string }), true);
      assert.equal(await client.ask('inbox', 'CountUnread'), before);
    },
  );
});
