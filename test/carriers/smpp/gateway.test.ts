import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { createIncoming } from '../../../src/domain/receiving/incoming.ts';
import { createRouting } from '../../../src/domain/receiving/routes.ts';
import { attemptsOf } from '../../../src/domain/sending/attempts.ts';
import { createMaintenance } from '../../../src/domain/sending/maintenance.ts';
import { type Engine, onOneEngine } from '../../support/engines.ts';
import { LOOPBACK, openGateway, SETTINGS, until } from '../../support/gateway.ts';
import { sql } from '../../support/opened-database.ts';
import { startSmsc } from '../../support/smsc.ts';

/** The gateway with a connector to an SMSC that speaks SMPP with another codec, npm smpp, over TCP. */
async function opened(engine: Engine, t: TestContext, more: object = {}, settings: Partial<typeof SETTINGS> = {}) {
  const smsc = await startSmsc();
  t.after(() => smsc.close());
  const config = { host: '127.0.0.1', port: smsc.port, systemId: 'esme', password: 'secret', ...more };
  const ofFile = [{ ...LOOPBACK, name: 'carrier', kind: 'smpp', config }];
  const gateway = await openGateway(engine, t, { ofFile, settings: { ...SETTINGS, ...settings } });
  const account = await gateway.addAccount();
  await until('it is bound', () => smsc.isBound());
  const incoming = createIncoming(gateway.database, Date.now, 'ZA');
  const maintenance = createMaintenance(gateway.database, incoming, { now: Date.now, receiptWaitMs: 3_600_000 });
  // As in the service: a receipt that is held at the very moment of its settlement waits for the maintenance.
  const is = (id: bigint, status: string) =>
    until(`the message is ${status}`, async () => {
      await maintenance.run();
      return (await gateway.statusOf(account, id)) === status;
    });
  return { ...gateway, smsc, account, is };
}
const NUMBER = '+27825550201';
const received = sql<{ account: bigint }, { text: string; sender: string }>(
  'select text, sender from received where account_id = :account order by message_id',
);
const state = sql<{ account: bigint }, { state: string }>('select state from dispatch where account_id = :account');
const udhOf = (reference: string, total: number, number: number) => `050003${reference}0${total}0${number}`;

onOneEngine('a message through an SMSC', (engine) => {
  test('short and long texts in both alphabets arrive with their octets, are delivered and cost their parts', async (t) => {
    const { smsc, account, send, is, ledger, failures } = await opened(engine, t);
    const texts = ['Hi @ €', 'Привет 😀', 'x'.repeat(400), 'я'.repeat(100)];
    for (const text of texts) {
      const [id] = await send(account, [NUMBER], text, 'Acme');
      await is(id as bigint, 'DELIVERED');
    }
    // A part that has waited asks for opt-outs once more, so the next one may overtake it.
    const inOrder = smsc.submitted.toSorted((one, other) => (one.udh ?? '').localeCompare(other.udh ?? ''));
    const shown = inOrder.map(({ dataCoding, udh }) => [dataCoding, udh?.slice(-4) ?? null]);
    const wanted = [0, 8].map((coding) => [coding, null]);
    const long = [1, 2, 3].map((number) => [0, `030${number}`]);
    assert.deepEqual(shown, [...wanted, ...long, [8, '0201'], [8, '0202']]);
    for (const { from, to, registeredDelivery } of smsc.submitted) {
      assert.deepEqual([from, to, registeredDelivery], ['Acme', '27825550201', 1]);
    }
    assert.equal(smsc.submitted[0]?.body, '48692000201b65');
    assert.equal(
      Buffer.from(smsc.submitted[1]?.body ?? '', 'hex')
        .swap16()
        .toString('utf16le'),
      'Привет 😀',
    );
    assert.deepEqual(await ledger.balances(account), { free: 993n, held: 0n, used: 7n });
    assert.deepEqual(failures, []);
  });

  test('a permanent refusal makes a message REJECTED with its code and words, and frees its credits', async (t) => {
    const { smsc, account, send, is, sent, ledger } = await opened(engine, t);
    smsc.rules = [{ to: /0299$/, status: 0x0b }];
    const [id] = (await send(account, ['+27825550299'])) as [bigint];
    await is(id, 'REJECTED');
    const { history } = await sent.show(account, id);
    assert.equal(history.at(-1)?.detail, 'SMPP 0x0000000b: the recipient is not valid');
    assert.deepEqual(await ledger.balances(account), { free: 1_000n, held: 0n, used: 0n });
  });

  test('a connection that breaks before the answer leaves the outcome unknown, and no message is sent twice', async (t) => {
    const { smsc, account, send, is, database } = await opened(engine, t);
    smsc.rules = [{ answers: false }];
    const [id] = (await send(account, [NUMBER])) as [bigint];
    await until('it has left', () => smsc.submitted.length === 1);
    smsc.drop();
    smsc.rules = [];
    await is(id, 'UNKNOWN');
    await until('it is bound again', () => smsc.isBound());
    const [other] = (await send(account, ['+27825550202'])) as [bigint];
    await is(other, 'DELIVERED');
    assert.deepEqual(
      smsc.submitted.map(({ to }) => to),
      ['27825550201', '27825550202'],
    );
    assert.equal((await database.first(state, { account }))?.state, 'needs-decision');
  });

  test('a late answer settles a message whose outcome was unknown', async (t) => {
    const { smsc, account, send, is, database, ledger } = await opened(engine, t, { answerSeconds: 1 });
    smsc.rules = [{ delayMs: 3_500, times: 1 }];
    const [id] = (await send(account, [NUMBER])) as [bigint];
    await until('nobody knows', async () =>
      /unknown-outcome|needs-decision/.test((await database.first(state, { account }))?.state ?? ''),
    );
    await is(id, 'DELIVERED');
    assert.equal(smsc.submitted.length, 1);
    assert.deepEqual(await ledger.balances(account), { free: 999n, held: 0n, used: 1n });
  });

  test('a message that is refused late is submitted again, once', async (t) => {
    const { smsc, account, send, is, database } = await opened(engine, t, { answerSeconds: 1 });
    smsc.rules = [{ delayMs: 3_500, times: 1, status: 0x14 }];
    const [id] = (await send(account, [NUMBER])) as [bigint];
    await until('nobody knows', async () =>
      /unknown-outcome|needs-decision/.test((await database.first(state, { account }))?.state ?? ''),
    );
    await is(id, 'DELIVERED');
    assert.equal(smsc.submitted.length, 2);
  });

  test('a whole text is one attempt and one submission, costs all its parts, and is delivered by one receipt', async (t) => {
    const { smsc, account, send, is, ledger, database } = await opened(engine, t, { parts: 'payload' });
    const text = `${'long '.repeat(80)}€`;
    const [id] = (await send(account, [NUMBER], text)) as [bigint];
    await is(id, 'DELIVERED');
    assert.equal(smsc.submitted.length, 1);
    assert.equal(smsc.submitted[0]?.body.length, 2 * (400 + 2));
    assert.deepEqual(
      (await attemptsOf(database, account, id)).map(({ part, state: own }) => [part, own]),
      [[0, 'accepted']],
    );
    assert.deepEqual(await ledger.balances(account), { free: 997n, held: 0n, used: 3n });
    assert.deepEqual((await ledger.check()).discrepancies, []);
  });

  test('a whole text that is refused permanently frees the credits of all its parts', async (t) => {
    const { smsc, account, send, is, ledger } = await opened(engine, t, { parts: 'payload' });
    smsc.rules = [{ status: 0x0b }];
    const [id] = (await send(account, [NUMBER], 'x'.repeat(400))) as [bigint];
    await is(id, 'REJECTED');
    assert.deepEqual(await ledger.balances(account), { free: 1_000n, held: 0n, used: 0n });
  });

  test('parts of messages from phones are joined in any order, and two messages with equal texts stay two', async (t) => {
    const { smsc, account, database } = await opened(engine, t);
    await createRouting(database, Date.now).put({
      name: 'all',
      destination: '31234',
      keyword: null,
      priority: 0,
      username: 'gateway-1',
    });
    const phone = { from: '27825550101', to: '31234' };
    smsc.send({ ...phone, text: 'second', udh: udhOf('2a', 2, 2) });
    smsc.send({ ...phone, text: 'first ', udh: udhOf('2a', 2, 1) });
    smsc.send({ ...phone, text: 'yes' });
    smsc.send({ ...phone, text: 'yes' });
    smsc.send({ ...phone, text: 'Привет 😀', encoding: 'ucs2' });
    const texts = async () => (await database.all(received, { account })).map(({ text }) => text).toSorted();
    await until('all are there', async () => (await texts()).length === 4);
    assert.deepEqual(await texts(), ['first second', 'yes', 'yes', 'Привет 😀']);
    assert.equal((await database.first(received, { account }))?.sender, '+27825550101');
    await until('all are acknowledged', () => smsc.unanswered() === 0);
  });
});
