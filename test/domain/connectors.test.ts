import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createConnectors } from '../../src/domain/connectors.ts';
import { onEveryEngine } from '../support/engines.ts';
import { LOOPBACK } from '../support/gateway.ts';
import { openSending } from '../support/sending.ts';

onEveryEngine('connectors', (engine) => {
  test('the rate of a connector holds for all processes together', async (t) => {
    const { database, now, clock } = await openSending(engine, t);
    const [one, other] = [createConnectors(database, now), createConnectors(database, now)];
    await one.put(LOOPBACK);
    assert.equal(await one.takeSlots('loopback', 20, 10), 2, 'a tenth of a second at once');
    assert.equal(await other.takeSlots('loopback', 20, 10), 0);
    clock.now += 99;
    assert.equal(await other.takeSlots('loopback', 20, 10), 0);
    clock.now += 1;
    assert.equal(await other.takeSlots('loopback', 20, 10), 2);
    await other.moveSlots('loopback', 20, -2);
    assert.equal(await one.takeSlots('loopback', 1, 10), 1, 'slots that were not used are free again');
    assert.equal(await one.takeSlots('loopback', 1, 10), 0);
    clock.now -= 3_600_000;
    assert.equal(await one.takeSlots('loopback', 1, 10), 1, 'a clock that was put back does not stop it');
  });
});
