import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { readText } from '../../../src/carriers/kannel/incoming.ts';
import { accountId } from '../../../src/domain/accounts/accounts.ts';
import {
  type ArrivedMessage,
  createIncoming,
  normalisedSender,
  PARTS_WAIT_MS,
} from '../../../src/domain/receiving/incoming.ts';
import { ROUTES_MAX } from '../../../src/domain/receiving/routes.ts';
import { createUnrouted } from '../../../src/domain/receiving/unrouted.ts';
import type { Database, TransactionQueries } from '../../../src/store/database.ts';
import { type ActionBench, openActions } from '../../support/actions.ts';
import { onEveryEngine } from '../../support/engines.ts';
import { sql } from '../../support/opened-database.ts';

const fillRoutes = sql<{ count: number }>(
  `insert into route (name, destination, destination_end, keyword, priority, account_id, updated_at)
   select 'filling-' || n, cast(n as text), cast(n as text), '', 0, (select max(account_id) from route), 0
   from (with recursive numbers(n) as (select 1 union all select n + 1 from numbers where n < :count)
     select n from numbers) as made`,
  { affects: 'none' },
);

const incomingOf = ({ database, services }: ActionBench) => createIncoming(database, services.now, 'ZA');

const arrived = (given: Partial<ArrivedMessage> = {}): ArrivedMessage => ({
  connector: 'kannel',
  gatewayId: null,
  sender: '0825550201',
  destination: '31234',
  text: 'hello',
  receivedAt: Date.UTC(2026, 10, 15, 11),
  part: null,
  ...given,
});

interface Listed {
  readonly id: string;
  readonly text: string;
  readonly sender: string;
}
const inboxOf = async ({ of }: ActionBench, username: string): Promise<Listed[]> =>
  (await of(username, 'inbox list')).items;
const textsOf = async (bench: ActionBench, username = 'acme') =>
  (await inboxOf(bench, username)).map(({ text }) => text).sort();
const unroutedTexts = async ({ run }: ActionBench): Promise<string[]> =>
  (await run('unrouted list')).items.map(({ text }: Listed) => text);

async function opened(engine: Parameters<typeof openActions>[0], t: Parameters<typeof openActions>[1]) {
  const bench = await openActions(engine, t);
  await bench.account('acme', { region: 'ZA' });
  await bench.account('globex', { region: 'ZA' });
  const route = (name: string, body: object) => bench.run('route put', { params: { name }, body });
  return { bench, route, incoming: incomingOf(bench) };
}

onEveryEngine('incoming messages', (engine) => {
  test('the route of a message is chosen by priority, then by its destination, its keyword and its name', async (t) => {
    const { bench, route, incoming } = await opened(engine, t);
    await route('any', { username: 'globex' });
    await route('b', { username: 'acme', destination: '31234' });
    await route('a', { username: 'acme', destination: '082 555 0100' });
    await route('win', { username: 'globex', destination: '31234', keyword: 'Win' });
    await route('vip', { username: 'acme', keyword: 'vip', priority: 5 });
    for (const [destination, text] of [
      ['31234', 'to b'],
      ['31234', 'WIN! a prize'],
      ['+27825550100', 'to a'],
      ['99999', 'to any'],
      ['31234', 'vip please'],
      ['31234', 'winner'],
    ] as const) {
      await incoming.receive(arrived({ destination, text }));
    }
    assert.deepEqual(await textsOf(bench, 'acme'), ['to a', 'to b', 'vip please', 'winner']);
    assert.deepEqual(await textsOf(bench, 'globex'), ['WIN! a prize', 'to any']);
    await route('b', { username: 'globex', destination: '31234' });
    await route('b2', { username: 'acme', destination: '31234' });
    await incoming.receive(arrived({ text: 'the first by name' }));
    assert.ok((await textsOf(bench, 'globex')).includes('the first by name'));
  });

  test('a message is stored once by connector and gateway id, also where its route changes', async (t) => {
    const { bench, route, incoming } = await opened(engine, t);
    await route('code', { username: 'acme', destination: '31234' });
    const message = arrived({ gatewayId: 'g-1' });
    await Promise.all(Array.from({ length: 10 }, () => incoming.receive(message)));
    await route('code', { username: 'globex', destination: '31234' });
    await incoming.receive(message);
    await incoming.receive(arrived({ gatewayId: 'g-1', connector: 'other', text: 'of another connector' }));
    assert.deepEqual(await textsOf(bench, 'acme'), ['hello']);
    assert.deepEqual(await textsOf(bench, 'globex'), ['of another connector']);
  });

  test('without a gateway id the same text of the same sender is stored once within 10 seconds', async (t) => {
    const { bench, route, incoming } = await opened(engine, t);
    await route('code', { username: 'acme', destination: '31234' });
    const { receivedAt } = arrived();
    for (const after of [0, 0, 10_000, 10_001, 5_000])
      await incoming.receive(arrived({ receivedAt: receivedAt + after }));
    await incoming.receive(arrived({ text: 'other' }));
    await incoming.receive(arrived({ sender: '0825550202' }));
    assert.deepEqual(await textsOf(bench), ['hello', 'hello', 'hello', 'other']);
  });

  test('a message without a route is kept, and is assigned, replayed or removed', async (t) => {
    const { bench, route, incoming } = await opened(engine, t);
    const { run, of } = bench;
    for (const text of ['one', 'two', 'three']) await incoming.receive(arrived({ text, gatewayId: text }));
    assert.deepEqual((await unroutedTexts(bench)).sort(), ['one', 'three', 'two']);
    const { items } = await run('unrouted list');
    const idOf = (text: string) => items.find((each: Listed) => each.text === text).id;
    assert.equal((await run('unrouted show', { params: { id: idOf('one') } })).destination, '31234');
    const { id } = await run('unrouted assign', { params: { id: idOf('one') }, body: { username: 'globex' } });
    assert.equal((await of('globex', 'inbox show', { params: { id } })).text, 'one');
    assert.equal((await bench.refusal('unrouted show', { params: { id: idOf('one') } })).kind, 'not-found');
    assert.deepEqual(await run('unrouted replay', { body: {} }), { routed: 0, left: 2 });
    await run('unrouted remove', { params: { id: idOf('two') } });
    await route('code', { username: 'acme', destination: '31234' });
    assert.deepEqual(await run('unrouted replay', { body: {} }), { routed: 1, left: 0 });
    assert.deepEqual(await textsOf(bench), ['three']);
    await incoming.receive(arrived({ text: 'three', gatewayId: 'three' }));
    assert.deepEqual(await textsOf(bench), ['three'], 'repeated after its replay');
  });

  test('a replay locks all accounts before it takes a message, in the order of their ids', async (t) => {
    const { bench, route, incoming } = await opened(engine, t);
    for (const text of ['b one', 'a two', 'b three']) await incoming.receive(arrived({ text, gatewayId: text }));
    await route('a', { username: 'acme', destination: '31234', keyword: 'a' });
    await route('b', { username: 'globex', destination: '31234', keyword: 'b' });
    const steps: string[] = [];
    const note = (name: string | undefined, account?: bigint): void => {
      if (name === 'accounts.lock') steps.push(String(account));
      if (name === 'incoming.takeUnrouted') steps.push('take');
    };
    const noting = (queries: TransactionQueries): TransactionQueries =>
      new Proxy(queries, {
        get(target, name) {
          const method = Reflect.get(target, name);
          if (typeof method !== 'function') return method;
          return (...given: [{ name?: string }?, { account?: bigint }?]) => {
            note(given[0]?.name, given[1]?.account);
            return method.apply(target, given);
          };
        },
      });
    const noted: Database = {
      ...bench.database,
      transaction: (account, work) => bench.database.transaction(account, (queries) => work(noting(queries))),
    };
    const { replayAll } = createUnrouted(noted, bench.services.now, 'ZA');
    assert.deepEqual(await replayAll(), { routed: 3, left: 0 });
    const ids = await Promise.all(['acme', 'globex'].map((name) => accountId(bench.database, name)));
    const inOrder = ids.sort((one, other) => (one < other ? -1 : 1)).map(String);
    assert.deepEqual(steps, [...inOrder, 'take', 'take', 'take']);
    assert.deepEqual([await textsOf(bench), await textsOf(bench, 'globex')], [['a two'], ['b one', 'b three']]);
  });

  test('one unrouted message assigned twice at once is in one inbox', async (t) => {
    const { bench, incoming } = await opened(engine, t);
    await incoming.receive(arrived());
    const [{ id }] = (await bench.run('unrouted list')).items;
    const assigning = ['acme', 'globex'].map((username) =>
      bench.run('unrouted assign', { params: { id }, body: { username } }),
    );
    const done = (await Promise.allSettled(assigning)).map(({ status }) => status).sort();
    assert.deepEqual(done, ['fulfilled', 'rejected']);
    assert.equal((await textsOf(bench, 'acme')).length + (await textsOf(bench, 'globex')).length, 1);
  });

  test('parts are joined in any order and with any repetition', async (t) => {
    const { bench, route, incoming } = await opened(engine, t);
    await route('code', { username: 'acme', destination: '31234', keyword: 'first' });
    let reference = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 2, max: 5 }).chain((total) =>
          fc.record({
            total: fc.constant(total),
            order: fc.shuffledSubarray(
              Array.from({ length: total }, (_, index) => index + 1),
              { minLength: total },
            ),
            early: fc.array(fc.integer({ min: 1, max: total }), { maxLength: 2 }),
            repeated: fc.array(fc.integer({ min: 1, max: total }), { maxLength: 4 }),
            withIds: fc.boolean(),
          }),
        ),
        async ({ total, order, early, repeated, withIds }) => {
          reference = (reference + 1) % 65_536;
          const part = (number: number) =>
            incoming.receive(
              arrived({
                text: number === 1 ? `First ${reference}` : `-${number}`,
                gatewayId: withIds ? `${reference}/${number}` : null,
                part: { reference, total, number },
              }),
            );
          for (const number of early) await part(number);
          for (const number of [...order, ...repeated]) await part(number);
          const whole = `First ${reference}${order.map((_, index) => (index === 0 ? '' : `-${index + 1}`)).join('')}`;
          const all = await textsOf(bench);
          assert.equal(all.filter((text) => text === whole).length, 1);
          assert.equal(all.length, reference);
        },
      ),
      { numRuns: 15 },
    );
    assert.deepEqual(await unroutedTexts(bench), []);
  });

  test('an emoji that a phone cut between two UCS-2 parts is whole in the joined message', async (t) => {
    const { bench, route, incoming } = await opened(engine, t);
    await route('code', { username: 'acme', destination: '31234' });
    const part = (reference: number, number: number, octets: string) => {
      const text = readText({ coding: 2, charset: 'UTF-16BE', body: Buffer.from(octets, 'hex') });
      return incoming.receive(arrived({ text, part: { reference, total: 2, number } }));
    };
    await part(1, 2, 'DE000021');
    await part(1, 1, '0048D83D');
    await part(2, 2, 'DE01');
    await part(2, 2, 'DE02'); // another message with this reference: UTF-8 has the same octets for both halves
    bench.clock.now += PARTS_WAIT_MS + 1;
    await incoming.storeIncomplete(10);
    await incoming.receive(arrived({ text: 'alone \ud83d' }));
    assert.deepEqual(await textsOf(bench), [
      'H😀!',
      '[part 1 of 2 is missing]\ufffd',
      '[part 1 of 2 is missing]\ufffd',
      'alone \ufffd',
    ]);
  });

  test('a part that comes again with another id makes no second message', async (t) => {
    const { bench, route, incoming } = await opened(engine, t);
    await route('code', { username: 'acme', destination: '31234' });
    const part = (gatewayId: string, number: number, text: string) =>
      incoming.receive(arrived({ gatewayId, text, part: { reference: 7, total: 2, number } }));
    await part('a', 1, 'one ');
    await part('b', 1, 'one ');
    await part('c', 2, 'two');
    assert.deepEqual(await textsOf(bench), ['one two']);
  });

  test('a message without a sender is in the inbox of its route, or among the unrouted ones', async (t) => {
    const { bench, route, incoming } = await opened(engine, t);
    await route('code', { username: 'acme', destination: '31234' });
    await incoming.receive(arrived({ sender: '', text: 'routed' }));
    await incoming.receive(arrived({ sender: '', destination: '', text: 'unrouted' }));
    assert.deepEqual([await textsOf(bench), await unroutedTexts(bench)], [['routed'], ['unrouted']]);
  });

  test('parts that arrive at once from several connections are joined', async (t) => {
    const { bench, route, incoming } = await opened(engine, t);
    await route('code', { username: 'acme', destination: '31234' });
    const numbers = [3, 1, 4, 2];
    await Promise.all(
      numbers.map((number) =>
        incoming.receive(arrived({ text: `${number}`, part: { reference: 7, total: 4, number } })),
      ),
    );
    assert.deepEqual(await textsOf(bench), ['1234']);
  });

  test('after 72 hours the parts that came are stored, with a sentence in place of each missing part', async (t) => {
    const { bench, route, incoming } = await opened(engine, t);
    await route('code', { username: 'acme', destination: '31234' });
    const part = (number: number, text: string) => arrived({ text, part: { reference: 1, total: 3, number } });
    await incoming.receive(part(3, 'end'));
    bench.clock.now += 1_000;
    await incoming.receive(part(1, 'begin '));
    bench.clock.now += PARTS_WAIT_MS - 1_000;
    assert.equal(await incoming.storeIncomplete(100), 0);
    bench.clock.now += 1;
    assert.equal(await incoming.storeIncomplete(100), 1);
    assert.equal(await incoming.storeIncomplete(100), 0);
    assert.deepEqual(await textsOf(bench), ['begin [part 2 of 3 is missing]end']);
  });

  test('if more incomplete messages wait than may, the oldest are stored as they are', async (t) => {
    const { bench, route, incoming } = await opened(engine, t);
    await route('code', { username: 'acme', destination: '31234' });
    for (let reference = 1; reference <= 4; reference++) {
      bench.clock.now += 1;
      await incoming.receive(arrived({ text: `text ${reference}`, part: { reference, total: 2, number: 1 } }));
    }
    assert.equal(await incoming.storeIncomplete(100, 4), 0);
    assert.equal(await incoming.storeIncomplete(100, 3), 1);
    assert.deepEqual(await textsOf(bench), ['text 1[part 2 of 2 is missing]']);
  });

  test('a route beyond the limit is refused, and an existing one can still be replaced', async (t) => {
    const { bench, route } = await opened(engine, t);
    await route('first', { username: 'acme', destination: '31234' });
    await bench.database.run(fillRoutes, { count: ROUTES_MAX - 1 });
    await assert.rejects(route('one-more', { username: 'acme', destination: '31235' }), {
      kind: 'conflict',
      message: /There are already 10000 routes/,
    });
    await route('first', { username: 'globex', destination: '31234' });
  });

  test('a reference that is used again begins another message, and loses no part', async (t) => {
    const { bench, route, incoming } = await opened(engine, t);
    await route('code', { username: 'acme', destination: '31234' });
    const part = (number: number, text: string) => arrived({ text, part: { reference: 1, total: 2, number } });
    await incoming.receive(part(1, 'old '));
    await incoming.receive(part(1, 'new '));
    await incoming.receive(part(2, 'end'));
    assert.deepEqual(await textsOf(bench), ['new end', 'old [part 2 of 2 is missing]']);
    await incoming.receive(arrived({ text: 'no part', part: { reference: 1, total: 2, number: 3 } }));
    assert.ok((await textsOf(bench)).includes('no part'), 'a number beyond the total');
  });

  test('a STOP word puts the sender on the blacklist and cancels what is scheduled', async (t) => {
    const { bench, route, incoming } = await opened(engine, t);
    const { of } = bench;
    await route('code', { username: 'acme', destination: '31234', keyword: 'acme' });
    await route('rest', { username: 'acme' });
    await incoming.receive(arrived({ text: 'STOP' }));
    assert.deepEqual((await of('acme', 'blacklist list')).items, [], 'it is off by default');
    await of('acme', 'account change', { body: { stopWords: ['stop', 'Ende'] } });
    await incoming.receive(arrived({ text: 'please do not stop', sender: '0825550202' }));
    await incoming.receive(arrived({ text: 'Stop', sender: 'BANK24' }));
    assert.deepEqual((await of('acme', 'blacklist list')).items, []);
    await incoming.receive(arrived({ text: ' ende. ', sender: '082 555 0203' }));
    await incoming.receive(arrived({ text: 'Acme stop', sender: '27825550204' }));
    const entries = (await of('acme', 'blacklist list')).items;
    assert.deepEqual(
      entries.map(({ number, origin, evidence }: Record<string, string>) => [number, origin, evidence]),
      [
        ['+27825550203', 'STOP', ' ende. '],
        ['+27825550204', 'STOP', 'Acme stop'],
      ],
    );
    assert.equal((await inboxOf(bench, 'acme')).length, 5, 'each is in the inbox too');
  });

  test('the sender is E.164 where it is a number, and stays as it is where it is a name', async (t) => {
    const { bench, route, incoming } = await opened(engine, t);
    await route('rest', { username: 'acme' });
    for (const sender of ['0825550201', '27825550202', '+44 7700 900123', 'BANK24', '31234']) {
      await incoming.receive(arrived({ sender, text: sender }));
    }
    const senders = (await inboxOf(bench, 'acme')).map(({ sender }) => sender).sort();
    assert.deepEqual(senders, ['+27825550201', '+27825550202', '+447700900123', '31234', 'BANK24']);
  });

  test('an erased person leaves nothing in unrouted messages and in parts that wait', async (t) => {
    const { bench, incoming } = await opened(engine, t);
    await incoming.receive(arrived({ text: 'mine' }));
    await incoming.receive(arrived({ text: 'half', part: { reference: 1, total: 2, number: 1 } }));
    await incoming.receive(arrived({ text: 'of another', sender: '0825550209' }));
    const params = { number: '+27825550201' };
    const { unrouted } = await bench.run('person show', { params });
    assert.deepEqual(
      unrouted.map(({ text }: Listed) => text),
      ['mine', 'half[part 2 of 2 is missing]'],
    );
    assert.deepEqual((await bench.run('person show', { params, query: { account: 'acme' } })).unrouted, []);
    assert.equal((await bench.run('person erase', { params })).unrouted, 2);
    assert.deepEqual((await bench.run('person show', { params })).unrouted, []);
    assert.deepEqual(await unroutedTexts(bench), ['of another']);
  });

  test('retention removes unrouted messages that are older, and only where it is set', async (t) => {
    const { bench, incoming } = await opened(engine, t);
    await incoming.receive(arrived({ text: 'old', receivedAt: bench.clock.now - 40 * 86_400_000 }));
    await incoming.receive(arrived({ text: 'new' }));
    assert.equal((await bench.run('retention show')).older.unrouted, 0);
    const set = await bench.run('retention set', { body: { unrouted: 30 } });
    assert.deepEqual([set.days.unrouted, set.older.unrouted], [30, 1]);
    const { createRetention } = await import('../../../src/domain/privacy/retention.ts');
    await createRetention(bench.database, bench.services.now).applyDue(
      async () => {},
      () => false,
    );
    assert.deepEqual(await unroutedTexts(bench), ['new']);
  });
});

test('a sender that only looks like a number keeps its text', () => {
  assert.equal(normalisedSender('  31234 ', 'ZA'), '31234');
  assert.equal(normalisedSender('1-800-FLOWERS', 'US'), '1-800-FLOWERS');
  assert.equal(normalisedSender('', 'ZA'), '');
});
