import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { createOutboundRoutes, type NewOutboundRoute } from '../../../src/domain/outbound/routes.ts';
import { createAccepting } from '../../../src/domain/sending/accept.ts';
import { newAttemptId } from '../../../src/domain/sending/attempts.ts';
import { createClaiming } from '../../../src/domain/sending/claim.ts';
import { createConnectors } from '../../../src/domain/sending/connectors.ts';
import { createSettling, type Outcome } from '../../../src/domain/sending/settle.ts';
import { type Failover, leaveConnector, wayStates } from '../../../src/domain/sending/ways.ts';
import type { Database } from '../../../src/store/database.ts';
import { type Engine, onEveryEngine } from '../../support/engines.ts';
import { sql } from '../../support/opened-database.ts';
import { way as plainWay, ROUTE } from '../../support/outbound-route.ts';
import { MINUTE, message, openSending, START } from '../../support/sending.ts';

const CONNECTORS = ['loopback', 'a', 'b', 'c'];
const KNOWN = CONNECTORS.map((name) => ({ name, urls: [] }));
const waits = sql<
  Record<string, never>,
  { way: string; ways_passed: string | null; held: bigint; price: bigint | null }
>('select way, ways_passed, held, price from dispatch order by message_id');
const senders = sql<Record<string, never>, { recipient: string; sender: string | null }>(
  'select recipient, sender from dispatch order by message_id',
);
const movements = sql<Record<string, never>, { kind: string; amount: bigint }>(
  "select kind, amount from movement where kind <> 'grant' order by account_id, movement_id",
);

const way = (connector: string, more: object = {}) => ({ ...plainWay(connector), ...more });
const route = (ways: ReturnType<typeof way>[], more: Partial<NewOutboundRoute> = {}): NewOutboundRoute => ({
  ...ROUTE,
  ways,
  ...more,
});

const LATER: Outcome = { kind: 'waiting', dueAt: START + MINUTE, reason: 'no route' };
const TEXT_OF_2 = 'x'.repeat(200);

async function open(engine: Engine, t: TestContext) {
  const sending = await openSending(engine, t);
  const { database, now } = sending;
  const connectors = createConnectors(database, now);
  for (const name of CONNECTORS) {
    const given = { name, kind: 'loopback', config: {}, submissionsMax: 10, ratePerSecond: null };
    await connectors.put({ ...given, isDefault: name === 'loopback' });
  }
  const routes = createOutboundRoutes(database, now);
  const moved: Failover[] = [];
  let view = { routes: await routes.list(), states: await wayStates(database) };
  const look = async () => {
    view = { routes: await routes.list(), states: await wayStates(database) };
    return view;
  };
  const settling = createSettling(database, now, undefined, undefined, {
    view: () => view,
    onFailover: (failovers) => moved.push(...failovers),
  });
  return {
    ...sending,
    connectors,
    routes,
    moved,
    look,
    put: (given: NewOutboundRoute) => routes.put(given, KNOWN, 'https://sms.example'),
    claimBy: (connector: string) => sending.claim(100, connector),
    waiting: async () => (await database.all(waits, {})).map(({ way: own, ways_passed }) => [own, ways_passed]),
    async answer(
      claimed: Awaited<ReturnType<typeof sending.claim>>,
      outcome: Outcome,
      states: readonly ('accepted' | 'refused' | 'unknown-outcome')[],
      refusal?: 'temporary' | 'throttled' | 'permanent',
    ) {
      await look();
      await settling.settle(
        claimed.map((each) => ({
          message: each,
          parts: each.parts.map(({ number }, index) => ({
            part: number,
            state: states[index] ?? 'refused',
            gatewayId: null,
          })),
          outcome,
          ...(refusal && { refusal }),
        })),
      );
    },
  };
}

onEveryEngine('outbound routes', (engine) => {
  test('without a route, each message goes to the connector of its account, for one credit per part', async (t) => {
    const bench = await open(engine, t);
    const [own, other] = [await bench.addAccount({ connector: 'b' }), await bench.addAccount()];
    await bench.accept(own);
    await bench.accept(other);
    assert.deepEqual(await bench.waiting(), [
      ['', null],
      ['', null],
    ]);
    assert.deepEqual(
      (await bench.claimBy('b')).map(({ account }) => account),
      [own],
    );
    assert.deepEqual(
      (await bench.claimBy('loopback')).map(({ account }) => account),
      [other],
    );
  });

  test('messages of one account go to several connectors, and each connector claims its own', async (t) => {
    const bench = await open(engine, t);
    const account = await bench.addAccount();
    await bench.put(route([way('a')], { name: 'za', prefixes: ['27'] }));
    await bench.put(route([way('b')], { name: 'de', prefixes: ['49'] }));
    const to = ['+27825550201', '+4915112345678', '+447400123456'];
    const { accepted } = await bench.accept(account, message({ to }));
    assert.deepEqual(
      accepted.map(({ routed }) => routed?.connector),
      ['a', 'b', undefined],
    );
    for (const [connector, number] of [
      ['a', to[0]],
      ['b', to[1]],
      ['loopback', to[2]],
    ] as const) {
      assert.deepEqual(
        (await bench.claimBy(connector)).map(({ recipient }) => recipient),
        [number],
        connector,
      );
      assert.deepEqual(await bench.claimBy(connector), []);
    }
  });

  test('a backlog for one connector does not delay what the account sends by another', async (t) => {
    const bench = await open(engine, t);
    const account = await bench.addAccount();
    await bench.put(route([way('a')], { prefixes: ['27'] }));
    await bench.accept(account, message({ to: Array.from({ length: 50 }, (_, index) => `+2782555${1000 + index}`) }));
    await bench.accept(account, message({ to: ['+4915112345678'] }));
    assert.equal((await bench.claimBy('loopback')).length, 1);
    assert.equal((await bench.claimBy('a')).length, 50);
  });

  test('after a temporary refusal of every part the next way gets the message at once, and after the last way the message waits as usual', async (t) => {
    const bench = await open(engine, t);
    const account = await bench.addAccount();
    await bench.put(route([way('a'), way('b')]));
    await bench.accept(account, message({ text: TEXT_OF_2 }));
    await bench.answer(await bench.claimBy('a'), LATER, ['refused', 'refused'], 'temporary');
    assert.deepEqual(await bench.waiting(), [['b', 'a']]);
    assert.deepEqual(
      bench.moved.map(({ from, route: name }) => [from, name]),
      [['a', 'r']],
    );
    assert.deepEqual(await bench.claimBy('a'), []);
    await bench.answer(await bench.claimBy('b'), LATER, ['refused', 'refused'], 'temporary');
    assert.deepEqual(await bench.waiting(), [['a', null]]);
    assert.deepEqual([await bench.claimBy('a'), await bench.claimBy('b')], [[], []]);
    bench.clock.now += MINUTE;
    assert.equal((await bench.claimBy('a')).length, 1);
    await bench.checkLedger();
  });

  test('a message whose outcome is unknown, or of which a carrier has a part, never goes another way', async (t) => {
    const bench = await open(engine, t);
    await bench.put(route([way('a'), way('b')]));
    const account = await bench.addAccount({ unknownOutcomePolicy: 'submit-again' });
    await bench.accept(account, message({ text: TEXT_OF_2 }));
    await bench.answer(await bench.claimBy('a'), LATER, ['accepted', 'refused']);
    assert.deepEqual(await bench.waiting(), [['a', null]]);
    bench.clock.now += MINUTE;
    const rest = await bench.claimBy('a');
    assert.deepEqual(
      rest.map(({ parts }) => parts.map(({ number }) => number)),
      [[2]],
    );
    const later: Outcome = { ...LATER, dueAt: bench.clock.now + MINUTE };
    await bench.answer(rest, later, ['refused'], 'temporary');
    assert.deepEqual(await bench.waiting(), [['a', null]], 'the other part is with a');
    bench.clock.now += MINUTE;
    const lost: Outcome = { kind: 'unknown-outcome', dueAt: bench.clock.now + MINUTE, reason: 'no answer' };
    await bench.answer(await bench.claimBy('a'), lost, ['unknown-outcome']);
    bench.clock.now += MINUTE;
    await bench.answer(await bench.claimBy('a'), { ...later, dueAt: bench.clock.now }, ['refused'], 'temporary');
    assert.deepEqual(await bench.waiting(), [['a', null]], 'an earlier submission was not answered');
    assert.deepEqual(await bench.claimBy('b'), []);
    assert.deepEqual(bench.moved, []);
  });

  test('a throttled message waits for its way unless the route says otherwise, and a permanent refusal ends it unless the route names the reason', async (t) => {
    const bench = await open(engine, t);
    const account = await bench.addAccount();
    await bench.put(route([way('a', { ifRefused: ['0x45'] }), way('b')]));
    await bench.accept(account);
    await bench.answer(await bench.claimBy('a'), LATER, ['refused'], 'throttled');
    assert.deepEqual(await bench.waiting(), [['a', null]]);
    await bench.put(route([way('a', { ifRefused: ['0x45'] }), way('b')], { onThrottle: 'next' }));
    bench.clock.now += MINUTE;
    await bench.answer(await bench.claimBy('a'), LATER, ['refused'], 'throttled');
    assert.deepEqual(await bench.waiting(), [['b', 'a']]);
    await bench.answer(await bench.claimBy('b'), { kind: 'submitted' }, ['accepted']);
    await bench.accept(account, message({ to: ['+27825550202', '+27825550203'] }));
    const [named, other] = await bench.claimBy('a');
    await bench.answer([named as never], { kind: 'rejected', reason: 'SMPP 0x45' }, ['refused'], 'permanent');
    await bench.answer([other as never], { kind: 'rejected', reason: 'SMPP 0x0b' }, ['refused'], 'permanent');
    assert.deepEqual(await bench.waiting(), [['b', 'a']]);
    await bench.checkLedger();
  });

  test('messages move from a connector that is down or paused to the next way, but for one that tests it', async (t) => {
    const bench = await open(engine, t);
    const account = await bench.addAccount();
    await bench.put(route([way('a'), way('b')]));
    await bench.accept(account, message({ to: ['+27825550201', '+27825550202', '+27825550203'] }));
    await bench.connectors.setDown('a', 'connection refused');
    const left = await leaveConnector(bench.database, await bench.look(), 'a', bench.clock.now);
    assert.deepEqual([...left], [['r', 2]]);
    assert.deepEqual(await bench.waiting(), [
      ['a', null],
      ['b', 'a'],
      ['b', 'a'],
    ]);
    assert.deepEqual([...(await leaveConnector(bench.database, await bench.look(), 'a', bench.clock.now))], []);
    await bench.connectors.setPaused('a', true);
    await leaveConnector(bench.database, await bench.look(), 'a', bench.clock.now);
    assert.deepEqual((await bench.waiting())[0], ['b', 'a']);
    assert.equal((await bench.claimBy('b')).length, 3);
  });

  test('new messages pass over a connector that is down, paused or avoided, and one in 30 seconds tries one that is down', async (t) => {
    const bench = await open(engine, t);
    const account = await bench.addAccount();
    await bench.put(route([way('a'), way('b')]));
    const goes = async () => (await bench.accept(account)).accepted[0]?.routed?.connector;
    assert.equal(await goes(), 'a');
    await bench.connectors.setDown('a', 'connection refused');
    assert.deepEqual([await goes(), await goes(), await goes()], ['a', 'b', 'b']);
    bench.clock.now += 30_000;
    assert.deepEqual([await goes(), await goes()], ['a', 'b']);
    await bench.connectors.setUp('a');
    assert.equal(await goes(), 'a');
    await bench.connectors.avoid('a', bench.clock.now + MINUTE, 'it refused 45 of the last 50 messages');
    assert.equal(await goes(), 'b');
    bench.clock.now += MINUTE;
    assert.equal(await goes(), 'a');
    await bench.connectors.setPaused('a', true);
    bench.clock.now += MINUTE;
    assert.equal(await goes(), 'b');
  });

  test('the price of the dearest way is held, the price of the way that accepted the message is used, and the rest is free again', async (t) => {
    const bench = await open(engine, t);
    const account = await bench.addAccount();
    await bench.put(route([way('a', { price: 2 }), way('b', { price: 5 })]));
    const { credits } = await bench.accept(account, message({ text: TEXT_OF_2 }));
    assert.equal(credits, 10n);
    assert.deepEqual(await bench.ledger.balances(account), { free: 990n, held: 10n, used: 0n });
    await bench.checkLedger('held');
    await bench.answer(await bench.claimBy('a'), { kind: 'submitted' }, ['accepted', 'accepted']);
    assert.deepEqual(await bench.ledger.balances(account), { free: 996n, held: 0n, used: 4n });
    assert.deepEqual(
      (await bench.database.all(movements, {})).map(({ kind, amount }) => [kind, amount]),
      [
        ['hold', 10n],
        ['capture', 4n],
        ['release', 6n],
      ],
    );
    await bench.accept(account, message({ text: TEXT_OF_2, sendAt: START + MINUTE }));
    await bench.checkLedger('scheduled');
    bench.clock.now += MINUTE;
    await bench.answer(await bench.claimBy('a'), LATER, ['refused', 'refused'], 'temporary');
    await bench.answer(await bench.claimBy('b'), { kind: 'submitted' }, ['accepted', 'accepted']);
    assert.deepEqual(await bench.ledger.balances(account), { free: 986n, held: 0n, used: 14n });
    await bench.checkLedger();
  });

  test('a way that has become dearer than the held credits is not used', async (t) => {
    const bench = await open(engine, t);
    const account = await bench.addAccount();
    await bench.put(route([way('a'), way('b')]));
    await bench.accept(account);
    await bench.put(route([way('a'), way('b', { price: 2 }), way('c')]));
    await bench.answer(await bench.claimBy('a'), LATER, ['refused'], 'temporary');
    assert.deepEqual(await bench.waiting(), [['c', 'a']]);
  });

  test('a recipient gets the same sender of the pool each time, and a message that names one keeps it', async (t) => {
    const bench = await open(engine, t);
    const account = await bench.addAccount();
    const to = Array.from({ length: 20 }, (_, index) => `+2782555${1000 + index}`);
    await bench.put(route([way('a')], { senderPool: ['+27825550100', '+27825550101'] }));
    for (let round = 0; round < 3; round++) await bench.accept(account, message({ to }));
    const chosen = Map.groupBy(await bench.database.all(senders, {}), ({ recipient }) => recipient);
    assert.equal(chosen.size, 20);
    for (const own of chosen.values()) assert.equal(new Set(own.map(({ sender }) => sender)).size, 1);
    assert.equal(new Set([...chosen.values()].map(([first]) => first?.sender)).size, 2);
    await bench.accept(account, message({ sender: 'ACME' }));
    assert.equal((await bench.database.all(senders, {})).at(-1)?.sender, 'ACME');
  });

  test('a route to an unknown connector, in a loop, or equal to another one is refused with the reason', async (t) => {
    const bench = await open(engine, t);
    const refused = (given: NewOutboundRoute, known = KNOWN) =>
      bench.routes.put(given, known, 'https://sms.example').then(
        () => '',
        (thrown) => String(thrown.errors?.[0]?.detail ?? thrown.message),
      );
    assert.match(await refused(route([])), /leads nowhere/);
    assert.match(await refused(route([way('x')])), /there is no connector x/);
    assert.match(await refused(route([way('a'), way('a')])), /named twice.*loop/);
    const looping = [{ name: 'a', urls: ['https://sms.example/carriers/a'] }] as never;
    assert.match(await refused(route([way('a')]), looping), /leads back to this service/);
    assert.match(await refused(route([way('a')], { from: 5, until: 5 })), /not after/);
    assert.match(await refused(route([way('a')], { hours: '08:00-08:00' })), /never be used/);
    await bench.put(route([way('a')], { prefixes: ['27', '44'] }));
    assert.match(await refused(route([way('b')], { name: 's', prefixes: ['44', '27'] })), /the same messages/);
    assert.equal(await refused(route([way('b')], { name: 's', prefixes: ['44', '27'], priority: 1 })), '');
  });

  test('a connector that a route names, or for which messages of a route wait, is not removed', async (t) => {
    const bench = await open(engine, t);
    const account = await bench.addAccount();
    await bench.put(route([way('a')]));
    await bench.accept(account);
    await assert.rejects(bench.connectors.remove('a'), /a way of the outbound routes r/);
    await bench.routes.remove('r');
    await assert.rejects(bench.connectors.remove('a'), /wait for this connector/);
    await bench.answer(await bench.claimBy('a'), { kind: 'submitted' }, ['accepted']);
    await bench.claimBy('a');
    await bench.connectors.remove('a');
  });
});

/** Counts the statements of a database and of its transactions. */
function counting(database: Database): { database: Database; taken: () => number } {
  let count = 0;
  const counted = <T extends object>(queries: T): T =>
    new Proxy(queries, {
      get(target, name) {
        const own = Reflect.get(target, name);
        if (typeof own !== 'function') return own;
        return (...given: unknown[]) => {
          if (['all', 'first', 'run', 'runAll'].includes(String(name))) count += 1;
          const work = (each: unknown) =>
            typeof each === 'function'
              ? (inner: object) => (each as (queries: object) => unknown)(counted(inner))
              : each;
          return own.apply(target, given.map(work));
        };
      },
    });
  const taken = () => {
    const sum = count;
    count = 0;
    return sum;
  };
  return { database: counted(database), taken };
}

onEveryEngine('the cost of sending without routes', (engine) => {
  test('250 messages of an account take 14 statements to accept, 14 to claim and 11 to settle', async (t) => {
    const sending = await openSending(engine, t);
    const { database, taken } = counting(sending.database);
    const { now } = sending;
    const account = await sending.addAccount();
    const to = Array.from({ length: 250 }, (_, index) => `+2782555${1000 + index}`);
    const settings = { region: 'ZA', timeZone: null, quietHours: null };
    await createAccepting(database, now).accept(account, settings, message({ to }));
    assert.equal(taken(), 14);
    const times = { leaseMs: MINUTE, unknownOutcomeMs: MINUTE };
    const claiming = createClaiming(database, { now, owner: 'one', newAttemptId, ...times });
    const claimed = await claiming.claim({ connector: 'loopback', isDefault: true }, 250);
    assert.deepEqual([claimed.length, taken()], [250, 14]);
    const parts = [{ part: 1, state: 'accepted', gatewayId: null }] as const;
    const outcome = { kind: 'submitted' } as const;
    await createSettling(database, now).settle(claimed.map((each) => ({ message: each, parts, outcome })));
    assert.equal(taken(), 11);
  });
});
