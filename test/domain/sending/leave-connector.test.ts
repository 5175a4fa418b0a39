import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createOutboundRoutes } from '../../../src/domain/outbound/routes.ts';
import { createConnectors } from '../../../src/domain/sending/connectors.ts';
import { leaveConnector, wayStates } from '../../../src/domain/sending/ways.ts';
import { onOneEngine } from '../../support/engines.ts';
import { sql } from '../../support/opened-database.ts';
import { ROUTE, way } from '../../support/outbound-route.ts';
import { MINUTE, openSending } from '../../support/sending.ts';

const NAMES = ['loopback', 'a', 'b'];
const ways = sql<Record<string, never>, { state: string; way: string }>('select state, way from dispatch');

onOneEngine('a connector that takes nothing', (engine) => {
  for (const [name, first, last] of [
    ['keeps a message that an earlier submission may have given to it', 'unknown-outcome', 'a'],
    ['loses a message of which it certainly has nothing to the next one', 'waiting', 'b'],
  ] as const) {
    test(name, async (t) => {
      const bench = await openSending(engine, t);
      const { database, now, clock } = bench;
      const connectors = createConnectors(database, now);
      for (const each of NAMES) {
        const given = { name: each, kind: 'loopback', config: {}, submissionsMax: 10, ratePerSecond: null };
        await connectors.put({ ...given, isDefault: each === 'loopback' });
      }
      const routes = createOutboundRoutes(database, now);
      const known = NAMES.map((each) => ({ name: each, urls: [] }));
      await routes.put({ ...ROUTE, ways: [way('a'), way('b')] }, known, 'https://sms.example');
      await bench.accept(await bench.addAccount({ unknownOutcomePolicy: 'submit-again' }));
      for (const kind of [first, 'waiting'] as const) {
        const outcome = { kind, dueAt: clock.now + MINUTE, reason: 'no answer' };
        await bench.settle(await bench.claim(1, 'a'), outcome, kind === 'waiting' ? 'refused' : kind);
        clock.now += MINUTE;
      }
      assert.deepEqual(await database.all(ways, {}), [{ state: 'waiting', way: 'a' }]);
      await connectors.setPaused('a', true);
      await leaveConnector(
        database,
        { routes: await routes.list(), states: await wayStates(database) },
        'a',
        clock.now,
      );
      assert.deepEqual(await database.all(ways, {}), [{ state: 'waiting', way: last }]);
    });
  }
});
