import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createOutboundRoutes } from '../../../src/domain/outbound/routes.ts';
import { createPersons } from '../../../src/domain/privacy/persons.ts';
import { createIncoming } from '../../../src/domain/receiving/incoming.ts';
import { createRouting } from '../../../src/domain/receiving/routes.ts';
import { createMaintenance } from '../../../src/domain/sending/maintenance.ts';
import { onEveryEngine } from '../../support/engines.ts';
import { sql } from '../../support/opened-database.ts';
import { ROUTE as EMPTY_ROUTE, way } from '../../support/outbound-route.ts';
import { MINUTE, message, openSending } from '../../support/sending.ts';

const KNOWN = [{ name: 'a', urls: [] }];
const ROUTE = { ...EMPTY_ROUTE, ways: [way('a')] };
const senders = sql<Record<string, never>, { recipient: string; sender: string | null }>(
  'select recipient, sender from dispatch order by message_id',
);
const choices = sql<Record<string, never>, { total: bigint }>('select count(*) as total from sender_choice');
const noMessages = ['dispatch', 'sent'].map((table) => sql<Record<string, never>, never>(`delete from ${table}`));

onEveryEngine('the senders of a pool', (engine) => {
  test('whoever writes to a sender of the pool is answered from it, and an account that sends nothing any more forgets that', async (t) => {
    const bench = await openSending(engine, t);
    const { database, now } = bench;
    const account = await bench.addAccount();
    const username = 'sender-1';
    const pool = ['+27825550100', '+27825550101', '31234'];
    await createOutboundRoutes(database, now).put({ ...ROUTE, senderPool: pool }, KNOWN, 'https://sms.example');
    await createRouting(database, now).put({ name: 'in', destination: null, keyword: null, priority: 0, username });
    const incoming = createIncoming(database, now, 'ZA');
    for (const [destination, sender] of [
      ['+27825550100', '+27825550100'],
      ['0825550101', '+27825550101'],
      ['31234', '31234'],
      ['+27825550199', '31234'], // no sender of the pool, so it changes nothing
    ] as const) {
      bench.clock.now += MINUTE;
      const from = { connector: 'a', gatewayId: null, sender: '+27825551999', part: null };
      await incoming.receive({ ...from, destination, text: 'Hello', receivedAt: now() });
      await bench.accept(account, message({ to: ['+27825551999'] }));
      assert.equal((await database.all(senders, {})).at(-1)?.sender, sender, destination);
    }
    const maintenance = createMaintenance(database, incoming, { now, receiptWaitMs: 72 * 60 * MINUTE });
    const known = async () => Number((await database.first(choices, {}))?.total);
    bench.clock.now += 89 * 24 * 60 * MINUTE;
    await maintenance.run();
    assert.equal(await known(), 1);
    bench.clock.now += 2 * 24 * 60 * MINUTE;
    await maintenance.run();
    assert.equal(await known(), 0);
  });

  test('a recipient keeps the sender that it knows when others join the pool, for 90 days after its last message, and a person who is erased leaves nothing', async (t) => {
    const bench = await openSending(engine, t);
    const routes = createOutboundRoutes(bench.database, bench.now);
    const account = await bench.addAccount();
    const to = Array.from({ length: 30 }, (_, index) => `+2782555${1000 + index}`);
    const pool = (...senderPool: string[]) => routes.put({ ...ROUTE, senderPool }, KNOWN, 'https://sms.example');
    const used = async () => {
      await bench.accept(account, message({ to }));
      return new Map(
        (await bench.database.all(senders, {})).slice(-to.length).map((row) => [row.recipient, row.sender]),
      );
    };
    const DAY = 24 * 60 * MINUTE;
    await pool('+27825550100', '+27825550101');
    const first = await used();
    await pool('+27825550100', '+27825550101', '+27825550102', '+27825550103');
    bench.clock.now += 60 * DAY;
    assert.deepEqual(await used(), first);
    bench.clock.now += 60 * DAY;
    assert.deepEqual(await used(), first, 'the last message was 60 days ago');
    await pool('+27825550101', '+27825550102', '+27825550103');
    const without = await used();
    for (const [number, sender] of first) {
      if (sender === '+27825550101') assert.equal(without.get(number), sender);
      else assert.notEqual(without.get(number), '+27825550100', 'it left the pool');
    }
    await pool('+27825550101', '+27825550102', '+27825550103', '+27825550104');
    bench.clock.now += 91 * DAY;
    assert.notDeepEqual(await used(), without, 'after 90 days nothing is known');
    const known = async () => Number((await bench.database.first(choices, {}))?.total);
    assert.equal(await known(), to.length);
    await createPersons(bench.database, bench.now, null).erase(to[0] as string, null);
    assert.equal(await known(), to.length - 1);
    for (const each of noMessages) await bench.database.run(each, {});
    await createPersons(bench.database, bench.now, null).erase(to[1] as string, null);
    assert.equal(await known(), to.length - 2, 'a person whose messages are gone leaves nothing either');
  });
});
