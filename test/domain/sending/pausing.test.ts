import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { newAttemptId } from '../../../src/domain/sending/attempts.ts';
import { createClaiming } from '../../../src/domain/sending/claim.ts';
import { createConnectors } from '../../../src/domain/sending/connectors.ts';
import type { Database } from '../../../src/store/database.ts';
import { onEveryEngine } from '../../support/engines.ts';
import { LOOPBACK } from '../../support/gateway.ts';
import { openStore } from '../../support/opened-database.ts';
import { LEASE, message, openSending, UNKNOWN_OUTCOME } from '../../support/sending.ts';

onEveryEngine('a pause of a connector', (engine) => {
  test('after a pause is acknowledged no process claims messages of the connector, until it is resumed', async (t) => {
    const sending = await openSending(engine, t);
    const other = await openStore(sending.setting);
    t.after(() => other.close());
    const connectors = createConnectors(other, sending.now);
    await connectors.prepare([LOOPBACK], LOOPBACK);
    const account = await sending.addAccount();
    await connectors.setPaused('loopback', true);
    const { accepted } = await sending.accept(account);
    assert.deepEqual(await sending.claim(), []);
    await connectors.setPaused('loopback', false);
    assert.deepEqual(
      (await sending.claim()).map(({ id }) => id),
      accepted.map(({ id }) => id),
    );
  });

  test('a pause is acknowledged after the claims in progress of all processes, and the remaining messages wait', async (t) => {
    const sending = await openSending(engine, t);
    const other = await openStore(sending.setting);
    t.after(() => other.close());
    const connectors = createConnectors(other, sending.now);
    await connectors.prepare([LOOPBACK], LOOPBACK);
    const account = await sending.addAccount();
    await sending.accept(account, message({ to: ['+27825550201', '+27825550202'] }));
    const claimed = Promise.withResolvers<void>();
    const written = Promise.withResolvers<void>();
    const slow: Database = {
      ...sending.database,
      transaction: (key, work, lockWaitMs) =>
        sending.database.transaction(
          key,
          async (queries) => {
            const result = await work(queries);
            claimed.resolve();
            await written.promise;
            return result;
          },
          lockWaitMs,
        ),
    };
    const settings = {
      now: sending.now,
      owner: 'slow',
      newAttemptId,
      leaseMs: LEASE,
      unknownOutcomeMs: UNKNOWN_OUTCOME,
    };
    const claiming = createClaiming(slow, settings).claim({ connector: 'loopback', isDefault: true }, 1);
    await claimed.promise;
    let isAnswered = false;
    const pausing = connectors.setPaused('loopback', true).then(() => {
      isAnswered = true;
    });
    await sleep(200); // it would have been answered by now
    const wasAnswered = isAnswered;
    written.resolve();
    assert.equal((await claiming).length, 1);
    await pausing;
    assert.equal(wasAnswered, false);
    assert.deepEqual(await sending.claim(), []);
  });
});

onEveryEngine('another default connector', (engine) => {
  test('a dispatcher that has not noticed another default connector claims only what names its own', async (t) => {
    const sending = await openSending(engine, t);
    const connectors = createConnectors(sending.database, sending.now);
    await connectors.prepare([], LOOPBACK);
    const [account, named] = [await sending.addAccount(), await sending.addAccount({ connector: 'loopback' })];
    await connectors.put({ ...LOOPBACK, name: 'carrier', isDefault: true });
    const { accepted } = await sending.accept(account);
    const own = await sending.accept(named);
    const idsOf = (messages: readonly { id: bigint | null }[]) => messages.map(({ id }) => id);
    const stale = await sending.claiming.claim({ connector: 'loopback', isDefault: true }, 10);
    assert.deepEqual(idsOf(stale), idsOf(own.accepted));
    const claimed = await sending.claiming.claim({ connector: 'carrier', isDefault: true }, 10);
    assert.deepEqual(idsOf(claimed), idsOf(accepted));
  });
});
