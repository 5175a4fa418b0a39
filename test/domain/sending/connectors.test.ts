import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readSendingCounts, sendingFaults } from '../../../src/domain/queue/counts.ts';
import { countUnrouted } from '../../../src/domain/receiving/unrouted.ts';
import { createConnectors } from '../../../src/domain/sending/connectors.ts';
import { onEveryEngine } from '../../support/engines.ts';
import { LOOPBACK } from '../../support/gateway.ts';
import { sql } from '../../support/opened-database.ts';
import { message, openSending } from '../../support/sending.ts';

const removeAll = sql('delete from carrier_connector');

onEveryEngine('connectors', (engine) => {
  test('the rate of a connector holds for all processes together', async (t) => {
    const { database, now, clock } = await openSending(engine, t);
    const [one, other] = [createConnectors(database, now), createConnectors(database, now)];
    await one.put(LOOPBACK);
    assert.equal(await one.takePermits('loopback', 20, 10), 2, 'a tenth of a second at once');
    assert.equal(await other.takePermits('loopback', 20, 10), 0);
    clock.now += 99;
    assert.equal(await other.takePermits('loopback', 20, 10), 0);
    clock.now += 1;
    assert.equal(await other.takePermits('loopback', 20, 10), 2);
    await other.correctPermits('loopback', 20, -2);
    assert.equal(await one.takePermits('loopback', 1, 10), 1, 'permits that were not used are free again');
    assert.equal(await one.takePermits('loopback', 1, 10), 0);
    clock.now -= 3_600_000;
    assert.equal(await one.takePermits('loopback', 1, 10), 1, 'a clock that was put back does not stop it');
  });

  test('processes that start at once do not make each other restart the built-in connector', async (t) => {
    const { database, now } = await openSending(engine, t);
    const connectors = createConnectors(database, now);
    const revisions: string[] = [];
    for (let process = 0; process < 2; process++) {
      await database.run(removeAll, {}); // as the process saw the table when it looked
      await connectors.prepare([], LOOPBACK);
      revisions.push((await connectors.show('loopback')).revision);
    }
    assert.equal(revisions[0], revisions[1]);
  });

  test('a put without isDefault leaves a default connector the default', async (t) => {
    const { database, now } = await openSending(engine, t);
    const connectors = createConnectors(database, now);
    await connectors.put(LOOPBACK);
    const { isDefault: _, ...unsaid } = LOOPBACK;
    assert.equal((await connectors.put({ ...unsaid, submissionsMax: 7 })).isDefault, true);
    assert.equal((await connectors.put({ ...unsaid, name: 'second' })).isDefault, false);
    assert.equal((await connectors.put({ ...unsaid, name: 'second', isDefault: true })).isDefault, true);
    assert.equal((await connectors.show('loopback')).isDefault, false);
  });

  test('the default connector cannot be removed', async (t) => {
    const { database, now } = await openSending(engine, t);
    const connectors = createConnectors(database, now);
    await connectors.put(LOOPBACK);
    const refusal = { kind: 'conflict', message: /Make another one the default first\.$/ };
    await assert.rejects(connectors.remove('loopback'), refusal);
    await assert.rejects(connectors.put({ ...LOOPBACK, isDefault: false }), refusal);
    await connectors.put({ ...LOOPBACK, name: 'second' });
    await connectors.remove('loopback');
    assert.deepEqual(
      (await connectors.list()).map(({ name }) => name),
      ['second'],
    );
  });

  test('messages that wait for a connector that does not exist are reported as a fault', async (t) => {
    const sending = await openSending(engine, t);
    const { database, now } = sending;
    const faults = async () => sendingFaults(await readSendingCounts(database, now, countUnrouted));
    const lost = await sending.addAccount({ connector: 'gone' });
    await sending.accept(lost, message({ to: ['+27825550201', '+27825550202'] }));
    await sending.accept(await sending.addAccount());
    const missing = '2 messages wait for the connector gone, which does not exist. Put it, or change its accounts.';
    assert.deepEqual(await faults(), [missing], 'a service that starts makes a loopback, which is the default');
    await createConnectors(database, now).put({ ...LOOPBACK, name: 'other', isDefault: false });
    const noDefault = '1 message waits, and no connector is the default. Make one the default.';
    assert.deepEqual((await faults()).sort(), [noDefault, missing]);
    await createConnectors(database, now).put({ ...LOOPBACK, name: 'gone' });
    assert.deepEqual(await faults(), []);
  });

  test('a connector that outbound routes pass over says so until they try it again', async (t) => {
    const { database, clock, now } = await openSending(engine, t);
    const connectors = createConnectors(database, now);
    await connectors.put({ ...LOOPBACK, name: 'carrier' });
    const until = now() + 60_000;
    await connectors.avoid('carrier', until, 'it refused 41 of the last 50 messages');
    const faults = async () => sendingFaults(await readSendingCounts(database, now, countUnrouted));
    const time = new Date(until).toISOString().slice(11, 19);
    assert.deepEqual(await faults(), [
      `Outbound routes pass over the connector carrier until ${time} UTC: it refused 41 of the last 50 messages.`,
    ]);
    clock.now = until;
    assert.deepEqual(await faults(), []);
    const { avoidedUntil, avoidedReason } = await connectors.show('carrier');
    assert.deepEqual([avoidedUntil, avoidedReason], [null, null]);
  });

  test('the faults speak of a single message in the singular', async (t) => {
    const { database, now } = await openSending(engine, t);
    const totals = {
      ...(await readSendingCounts(database, now, countUnrouted)),
      unknownOutcome: 1,
      waiting: 1,
      oldestDueMs: 600_000,
    };
    assert.deepEqual(sendingFaults(totals), [
      '1 message is due, the oldest for 10 minutes.',
      '1 message has an unknown outcome: an operator decides about each.',
    ]);
  });
});
