import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { systemClock } from '../../../src/base/clock.ts';
import { createCarrierCallbacks } from '../../../src/carriers/callback-router.ts';
import { createCarrierEvents } from '../../../src/carriers/carrier-events.ts';
import { fileOf } from '../../../src/carriers/http/config.ts';
import { createIncoming } from '../../../src/domain/receiving/incoming.ts';
import { attemptsOf } from '../../../src/domain/sending/attempts.ts';
import { createMaintenance } from '../../../src/domain/sending/maintenance.ts';
import { type Engine, onOneEngine } from '../../support/engines.ts';
import { LOOPBACK, openGateway, until } from '../../support/gateway.ts';
import { sql } from '../../support/opened-database.ts';
import { callbackRequest, configAt, type Posted, type Reply, startProvider } from '../../support/provider.ts';

const NUMBER = '+27825550201';
const received = sql<object, { text: string; sender: string }>(
  'select text, sender from unrouted order by unrouted_id',
);

/** The gateway with a scripted provider, whose callbacks reach it as they reach the web listener. */
async function opened(
  engine: Engine,
  t: TestContext,
  name: string,
  answer: (posted: Posted, count: number) => Reply | undefined,
) {
  const { posted, url } = await startProvider(t, answer);
  const config = configAt(name, url);
  const ofFile = [{ ...LOOPBACK, name: 'carrier', kind: 'http', config }];
  const gateway = await openGateway(engine, t, { ofFile });
  const account = await gateway.addAccount();
  const events = createCarrierEvents(gateway.database, Date.now, 'ZA');
  const callbacks = createCarrierCallbacks({
    database: gateway.database,
    clock: systemClock,
    events,
    ofFile,
    runningOf: gateway.gateway.runningOf,
  });
  t.after(() => callbacks.stop());
  const call = (
    example: Omit<Parameters<typeof callbackRequest>[2], 'expect'>,
    change = (request: Request) => request,
  ) =>
    callbacks.handle(
      'carrier',
      change(callbackRequest('carrier', fileOf(config), { ...example, expect: [] }, Date.now())),
    );
  const is = (id: bigint, status: string) =>
    until(`the message is ${status}`, async () => (await gateway.statusOf(account, id)) === status);
  return { ...gateway, posted, account, call, is, config };
}

onOneEngine('a message through an HTTP provider', (engine) => {
  test('a long text is one request and one attempt, costs as many credits as it has parts, and is DELIVERED by its receipt', async (t) => {
    const { posted, account, send, call, is, ledger, database } = await opened(engine, t, 'twilio', () => ({
      status: 201,
      body: { sid: 'SM1' },
    }));
    const [id] = (await send(account, [NUMBER], 'x'.repeat(400), '+27825550100')) as [bigint];
    await is(id, 'SUBMITTED');
    assert.equal(posted.length, 1);
    const form = new URLSearchParams(posted[0]?.body);
    assert.equal(form.get('Body'), 'x'.repeat(400));
    assert.equal((await attemptsOf(database, account, id)).length, 1);
    const query = new URL(form.get('StatusCallback') ?? '').search.slice(1);
    const receipt = { path: 'receipt', query, form: 'MessageSid=SM1&MessageStatus=delivered' };
    assert.equal((await call(receipt)).status, 200);
    assert.equal(await (await call(receipt)).text(), '<Response/>', 'a repeated callback is acknowledged again');
    await is(id, 'DELIVERED');
    assert.deepEqual(await ledger.balances(account), { free: 997n, held: 0n, used: 3n });
  });

  test('a receipt that comes before the answer is held, and delivers the message when its id is known', async (t) => {
    const taken = { status: 201, body: { id: 'b-7' } };
    const { account, send, call, is, posted } = await opened(engine, t, 'sinch', () => taken);
    const json = { type: 'recipient_delivery_report_sms', batch_id: 'b-7', status: 'Delivered' };
    assert.equal((await call({ path: 'receipt', json })).status, 200);
    const [id] = (await send(account, [NUMBER], 'Hi', 'Acme')) as [bigint];
    await is(id, 'DELIVERED');
    assert.equal(posted.length, 1);
  });

  test('an answer that no rule reads has an unknown outcome, is kept for the operator and is never sent again', async (t) => {
    const { account, send, connectors, is, posted } = await opened(engine, t, 'twilio', () => ({
      status: 200,
      body: { surprise: true, To: NUMBER },
    }));
    const [id] = (await send(account, [NUMBER], 'Hi')) as [bigint];
    await is(id, 'UNKNOWN');
    assert.equal(posted.length, 1);
    const { unreadAnswer, unreadAnswerAt, counts } = await connectors.show('carrier');
    assert.equal(unreadAnswer, 'HTTP 200\n\n{"surprise":true,"To":"…"}');
    assert.ok(Math.abs((unreadAnswerAt ?? 0) - Date.now()) < 60_000);
    assert.equal(counts.unknownOutcome, 1);
  });

  test('an incoming message is on disk before it is acknowledged, is stored once however often it comes, and is refused without its signature', async (t) => {
    const { call, database, connectors } = await opened(engine, t, 'twilio', () => ({ status: 500 }));
    const form = 'MessageSid=SM9&From=%2B27825550201&To=31234&Body=Hello+%E2%82%AC';
    for (let count = 0; count < 2; count++) {
      assert.equal((await call({ path: 'incoming', form })).status, 200);
      assert.deepEqual(await database.all(received, {}), [{ text: 'Hello €', sender: NUMBER }]);
    }
    const changed = (request: Request) => new Request(request, { body: `${form}&x=1` });
    assert.equal((await call({ path: 'incoming', form }, changed)).status, 401);
    const unsigned = ({ url }: Request) => new Request(url, { method: 'POST', body: form });
    assert.equal((await call({ path: 'incoming', form }, unsigned)).status, 401);
    const large = ({ url, headers }: Request) =>
      new Request(url, { method: 'POST', headers, body: 'x'.repeat(262_145) });
    assert.equal((await call({ path: 'incoming', form }, large)).status, 401);
    assert.equal(
      (await call({ path: 'incoming', form }, ({ url }) => new Request(url.replace(/\w+$/, 'nowhere')))).status,
      401,
    );
    assert.equal((await database.all(received, {})).length, 1);
    assert.equal((await call({ path: 'receipt', form: 'MessageSid=SM1&MessageStatus=brand-new' })).status, 200);
    await until('it is kept', async () =>
      /has no entry for the status brand-new/.test((await connectors.show('carrier')).unreadAnswer ?? ''),
    );
  });

  test('SUBMITTED is the last status of a provider without receipts, and becomes UNKNOWN when the wait for a receipt is over', async (t) => {
    for (const [name, answer, status] of [
      ['gammu-rest', { status: 200 }, 'SUBMITTED'],
      ['twilio', { sid: 'SM1' }, 'UNKNOWN'],
    ] as const) {
      const { account, send, is, database, statusOf } = await opened(engine, t, name, () => ({
        status: 200,
        body: answer,
      }));
      const [id] = (await send(account, [NUMBER], 'Hi')) as [bigint];
      await is(id, 'SUBMITTED');
      const incoming = createIncoming(database, Date.now, 'ZA');
      const counts = await createMaintenance(database, incoming, { now: Date.now, receiptWaitMs: -1_000 }).run();
      assert.equal(counts?.silent, status === 'UNKNOWN' ? 1 : 0);
      assert.equal(await statusOf(account, id), status, name);
    }
  });
});
