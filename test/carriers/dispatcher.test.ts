import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SCRIPTED_OUTCOMES } from '../../src/carriers/loopback.ts';
import { createConnectors } from '../../src/domain/sending/connectors.ts';
import { onOneEngine } from '../support/engines.ts';
import { LOOPBACK, openGateway, scripted, until } from '../support/gateway.ts';
import { sql } from '../support/opened-database.ts';

const states = sql<Record<string, never>, { state: string; total: bigint }>(
  'select state, count(*) as total from dispatch group by state order by state',
);

/** The last digits of a recipient, and the status that its message ends with. */
const STATUS: Readonly<Record<string, string>> = {
  '0201': 'DELIVERED',
  '9001': 'UNDELIVERABLE',
  '9002': 'EXPIRED',
  '9003': 'REJECTED',
  '9004': 'REJECTED',
  '9005': 'QUEUED',
  '9006': 'UNKNOWN',
  '9007': 'DELIVERED',
  '9008': 'DELIVERED',
  '9009': 'DELIVERED',
  '9010': 'SUBMITTED',
  '9011': 'DELIVERED',
  '9012': 'DELIVERED',
  '9013': 'DELIVERED',
};

onOneEngine('dispatcher', (engine) => {
  test('every documented number of the loopback has its scripted outcome', async (t) => {
    const { addAccount, send, statusOf, ledger } = await openGateway(engine, t);
    const account = await addAccount();
    const digits = Object.keys(STATUS);
    assert.deepEqual(
      [...digits, '9014'].filter((each) => each !== '0201').sort(),
      Object.keys(SCRIPTED_OUTCOMES).sort(),
    );
    const ids = await send(
      account,
      digits.map((each) => `+2782555${each}`),
    );
    for (const [index, id] of ids.entries()) {
      const wanted = STATUS[digits[index] as string];
      await until(`${digits[index]} is ${wanted}`, async () => (await statusOf(account, id)) === wanted);
    }
    // Held for the throttled one and the one that needs a decision; 9004 was never taken.
    assert.deepEqual(await ledger.balances(account), { free: 987n, held: 2n, used: 11n });
    assert.deepEqual((await ledger.check()).discrepancies, []);
  });

  test('a reply of the loopback is an incoming message for the sender', async (t) => {
    const { addAccount, send, incoming } = await openGateway(engine, t);
    await send(await addAccount(), ['+27825550201'], 'reply Thank you!', '31234');
    await until('the reply came', () => incoming.length === 1);
    const { sender, destination, text } = incoming[0] ?? {};
    assert.deepEqual(
      { sender, destination, text },
      { sender: '+27825550201', destination: '31234', text: 'Thank you!' },
    );
  });

  test('messages of a paused connector wait until it is resumed', async (t) => {
    const { submitted, create } = scripted(() => ({ kind: 'accepted', gatewayId: null }));
    const { addAccount, send, connectors, statusOf } = await openGateway(engine, t, { create });
    const account = await addAccount();
    await connectors.setPaused('loopback', true);
    const [id] = await send(account, ['+27825550201']);
    await new Promise((resolve) => setTimeout(resolve, 100));
    assert.deepEqual(submitted, []);
    await connectors.setPaused('loopback', false);
    await until('it is submitted', async () => (await statusOf(account, id as bigint)) === 'SUBMITTED');
  });

  test('a connector that is down is marked and its messages wait, and it is up again when a message is accepted', async (t) => {
    let isDown = true;
    const changes: (string | null)[] = [];
    const { create } = scripted(() =>
      isDown
        ? { kind: 'temporary', reason: 'no connection', connectorDown: true, retryAfterMs: 0 }
        : { kind: 'accepted', gatewayId: null },
    );
    const connectorChanged = (_name: string, reason: string | null) => void changes.push(reason);
    const { addAccount, send, connectors, statusOf } = await openGateway(engine, t, { create, connectorChanged });
    const account = await addAccount();
    const ids = await send(account, ['+27825550201', '+27825550202']);
    await until('it is marked', async () => (await connectors.show('loopback')).downReason === 'no connection');
    assert.equal(await statusOf(account, ids[0] as bigint), 'QUEUED');
    isDown = false;
    for (const id of ids) await until('it goes', async () => (await statusOf(account, id)) === 'SUBMITTED');
    await until('it is up', async () => (await connectors.show('loopback')).downSince === null);
    assert.deepEqual(changes, ['no connection', null]);
  });

  test('a message that the connector itself refuses says nothing about its carrier, which stays down', async (t) => {
    const { create } = scripted(({ sender }) =>
      sender === 'a name too long'
        ? { kind: 'permanent', reason: 'the sender is too long', isOurs: true }
        : { kind: 'temporary', reason: 'no connection', connectorDown: true, retryAfterMs: 0 },
    );
    const { addAccount, send, connectors, statusOf } = await openGateway(engine, t, { create });
    const account = await addAccount();
    await send(account, ['+27825550201']);
    await until('it is marked', async () => (await connectors.show('loopback')).downSince !== null);
    const { counts: before, downSince } = await connectors.show('loopback');
    const [id] = await send(account, ['+27825550202'], 'hello', 'a name too long');
    await until('it is refused', async () => (await statusOf(account, id as bigint)) === 'REJECTED');
    const after = await connectors.show('loopback');
    assert.deepEqual(
      [after.downSince, after.counts.permanent, after.lastError],
      [downSince, before.permanent, 'no connection'],
    );
  });

  test('a connector that throws leaves its messages with an unknown outcome', async (t) => {
    const { create } = scripted(() => {
      throw new Error('a bug');
    });
    const { addAccount, send, statusOf, failures } = await openGateway(engine, t, { create });
    const account = await addAccount();
    const [id] = await send(account, ['+27825550201']);
    await until('it needs a decision', async () => (await statusOf(account, id as bigint)) === 'UNKNOWN');
    assert.equal((failures[0] as Error).message, 'a bug');
  });

  test('a stop waits for answers and leaves no message claimed', async (t) => {
    let answer: (() => void) | undefined;
    const { submitted, create } = scripted(
      () => new Promise((resolve) => (answer = () => resolve({ kind: 'accepted', gatewayId: 'late' }))),
    );
    const { addAccount, send, stop, statusOf, database } = await openGateway(engine, t, { create });
    const account = await addAccount();
    const [id] = await send(account, ['+27825550201']);
    await until('it is submitted', () => submitted.length === 1);
    const stopped = stop();
    answer?.();
    await stopped;
    assert.equal(await statusOf(account, id as bigint), 'SUBMITTED');
    assert.deepEqual(await database.all(states, {}), []);
  });

  test('two processes share the work and submit every message once', async (t) => {
    const { submitted, create } = scripted(() => ({ kind: 'accepted', gatewayId: null }));
    const { addAccount, send, start, statusOf } = await openGateway(engine, t, { create });
    const other = start();
    await other.start();
    t.after(() => other.stop());
    const accounts = [await addAccount(), await addAccount()];
    const numbers = Array.from({ length: 200 }, (_, at) => `+2782555${1_000 + at}`);
    const sent = new Map<bigint, bigint[]>();
    for (const account of accounts) sent.set(account, await send(account, numbers));
    for (const [account, ids] of sent) {
      const last = ids.at(-1) as bigint;
      await until('the last one is submitted', async () => (await statusOf(account, last)) === 'SUBMITTED');
    }
    await until('all are submitted', () => submitted.length >= 400);
    assert.equal(submitted.length, 400);
    await other.stop();
  });

  test('a connector that is added, changed or removed is taken over while the service runs', async (t) => {
    const made: string[] = [];
    const script = scripted(() => ({ kind: 'accepted', gatewayId: null }));
    const create: typeof script.create = (name, ...others) => {
      made.push(name);
      return script.create?.(name, ...others) as never;
    };
    const { connectors, addAccount, send, statusOf } = await openGateway(engine, t, { create });
    await connectors.put({ ...LOOPBACK, name: 'second', isDefault: false });
    const account = await addAccount({ connector: 'second' });
    const [id] = await send(account, ['+27825550201']);
    await until('it goes', async () => (await statusOf(account, id as bigint)) === 'SUBMITTED');
    assert.deepEqual(made, ['loopback', 'second']);
    await assert.rejects(connectors.remove('second'), { kind: 'conflict', message: /1 account names/ });
    await assert.rejects(connectors.remove('loopback'), { kind: 'conflict', message: /file/ });
  });

  test('the second of two changes in one millisecond is taken over too', async (t) => {
    const made: unknown[] = [];
    const script = scripted(() => ({ kind: 'accepted', gatewayId: null }));
    const create: typeof script.create = (name, kind, config, deps) => {
      if (name === 'second') made.push(config);
      return script.create?.(name, kind, config, deps) as never;
    };
    const { database, gateway } = await openGateway(engine, t, { create });
    const connectors = createConnectors(database, () => 1_000_000);
    const second = { ...LOOPBACK, name: 'second', isDefault: false };
    for (const receiptAfterMs of [1, 2, 3]) {
      if (receiptAfterMs === 3) await connectors.remove('second');
      await connectors.put({ ...second, config: { receiptAfterMs } });
      await until('it is taken over', () => made.length === receiptAfterMs);
    }
    assert.deepEqual(
      made.map((config) => (config as { receiptAfterMs: number }).receiptAfterMs),
      [1, 2, 3],
    );
    assert.ok(gateway.runningOf('second'));
  });

  test('a process that starts with the same file does not make the others start their connectors again', async (t) => {
    const { connectors, start } = await openGateway(engine, t);
    const { revision } = await connectors.show('loopback');
    const other = start();
    await other.start();
    assert.equal((await connectors.show('loopback')).revision, revision);
    await other.stop();
  });

  test('a running service whose last connector is removed gets the built-in one', async (t) => {
    const { database, connectors } = await openGateway(engine, t, { ofFile: [] });
    await database.run(sql('delete from carrier_connector'), {});
    await until('the loopback is back', async () => (await connectors.list())[0]?.origin === 'builtin');
  });
});
