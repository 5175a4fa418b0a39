import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { systemClock } from '../../src/base/clock.ts';
import { createCarrierEvents } from '../../src/carriers/carrier-events.ts';
import type { CarrierAnswer, CarrierQuestion, Connector } from '../../src/carriers/connector.ts';
import { createQuerying } from '../../src/carriers/queries.ts';
import { createCarrierQueries } from '../../src/domain/sending/carrier-queries.ts';
import { createConnectors } from '../../src/domain/sending/connectors.ts';
import { restoredAtOf } from '../../src/domain/sending/hold.ts';
import { adopt } from '../../src/serve/adopt.ts';
import { type Engine, onEveryEngine } from '../support/engines.ts';
import { message, openSending, SMPP_CARRIER, START } from '../support/sending.ts';
import { createVirtualClock, settled } from '../support/virtual-clock.ts';

const SECOND = 1_000;
const HOUR = 3_600_000;
const told = (status: 'DELIVERED' | 'UNDELIVERABLE', detail = 'query_sm'): CarrierAnswer => ({
  kind: 'told',
  status,
  at: START,
  detail,
});
const forgotten: CarrierAnswer = { kind: 'unknown', reason: 'the message id is not valid' };
const later: CarrierAnswer = { kind: 'later', reason: 'the message is ENROUTE' };

interface Before {
  readonly sender?: string | null;
  /** How long after the first parts the last `late` ones were submitted. */
  readonly late?: number;
  readonly laterMs?: number;
  readonly gatewayId?: (number: number) => string;
}

/** Messages that a carrier had before the restore: their ids there are g-1, g-2, … */
async function restored(engine: Engine, t: TestContext, count: number, before: Before = {}) {
  const { sender = 'Acme', late = 0, laterMs = 0, gatewayId = (number) => `g-${number}` } = before;
  const sending = await openSending(engine, t);
  const { database, now } = sending;
  const connectors = createConnectors(database, now);
  await connectors.prepare([SMPP_CARRIER], SMPP_CARRIER);
  const account = await sending.addAccount();
  const to = Array.from({ length: count }, (_, index) => `+278255502${String(index).padStart(2, '0')}`);
  const ids = (await sending.accept(account, message({ to, sender }))).accepted.map(({ id }) => id as bigint);
  for (const [most, afterMs] of [
    [count - late, laterMs],
    [late, SECOND],
  ] as const) {
    const claimed = await sending.claiming.claim({ connector: 'carrier', isDefault: true }, most);
    await sending.settling.settle(
      claimed.map((each) => ({
        message: each,
        parts: [{ part: 1, state: 'accepted', gatewayId: gatewayId(ids.indexOf(each.id) + 1) }],
        outcome: { kind: 'submitted' },
      })),
    );
    sending.clock.now += afterMs;
  }
  const adoption = {
    clock: { now },
    actorName: 'root',
    nothingLost: false,
    holdScheduled: false,
    dryRun: false,
    restored: [],
  };
  assert.equal((await adopt(database, { path: undefined, ...adoption })).asked, count);
  const clock = createVirtualClock(sending.clock.now);
  const warnings: string[] = [];
  const failures: unknown[] = [];
  const record = (await connectors.list())[0];
  assert.ok(record);
  const events = createCarrierEvents(database, clock.now, 'ZA');

  /** One process, whose carrier answers as the test says. */
  function process(answer: (asked: CarrierQuestion, signal: AbortSignal) => CarrierAnswer | Promise<CarrierAnswer>) {
    const asked: string[] = [];
    const askedAt: number[] = [];
    const connector = {
      name: 'carrier',
      kind: 'smpp',
      query: async (question: CarrierQuestion, signal: AbortSignal) => {
        assert.equal(question.sender, sender);
        asked.push(question.gatewayId);
        askedAt.push(clock.now());
        return answer(question, signal);
      },
    } as unknown as Connector;
    const querying = createQuerying({
      connector,
      record: record as NonNullable<typeof record>,
      connectors: createConnectors(database, clock.now),
      events,
      clock,
      queries: createCarrierQueries(database, 'carrier', clock.now),
      restoredAt: restoredAtOf(database),
      log: { info: () => {}, warn: (fields, words) => warnings.push(`${Object.values(fields).join(' ')} ${words}`) },
      failed: (thrown) => failures.push(thrown),
    });
    t.after(() => querying.stop());
    querying.start();
    return { asked, askedAt, querying };
  }
  const statuses = (of = ids) => Promise.all(of.map(async (id) => (await sending.sent.show(account, id)).status));
  /** In leaps: what is repeated each second would make 170,000 turns in two days. */
  async function pass(ms: number, everyMs = SECOND): Promise<void> {
    for (let passed = 0; passed < ms; passed += everyMs) {
      await clock.leap(everyMs);
      await settled(30);
    }
  }
  /** Lets time pass until it is so. The database needs time of its own. */
  async function reach(isSo: () => boolean | Promise<boolean>, everyMs = SECOND): Promise<void> {
    for (let tries = 0; !(await isSo()); tries++) {
      assert.ok(tries < 5_000, String(isSo));
      await clock.leap(everyMs);
      await systemClock.sleep(1);
    }
  }
  const { nextAt } = createCarrierQueries(database, 'carrier', clock.now);
  const seen = { statuses, nextAt, warnings, failures };
  return { ...sending, ...seen, account, ids, record, process, pass, reach, virtual: clock };
}

onEveryEngine('carriers after a restore', (engine) => {
  test('each part is asked about once, by one of two processes, and settled as by a receipt', async (t) => {
    const { process, pass, reach, statuses, failures, sent, account, ids, checkLedger } = await restored(engine, t, 4);
    const answers: Record<string, CarrierAnswer> = {
      'g-1': told('DELIVERED'),
      'g-2': told('UNDELIVERABLE', 'query_sm, error 7'),
      'g-3': { kind: 'unknown', reason: 'the message id is not valid' },
      'g-4': told('DELIVERED'),
    };
    const answer = ({ gatewayId }: CarrierQuestion) => answers[gatewayId] as CarrierAnswer;
    const both = [process(answer), process(answer)];
    const wanted = ['DELIVERED', 'UNDELIVERABLE', 'SUBMITTED', 'DELIVERED'];
    await reach(async () => isDeepStrictEqual(await statuses(), wanted));
    await reach(() => both.flatMap(({ asked }) => asked).length === 4);
    assert.deepEqual(both.flatMap(({ asked }) => asked).sort(), ['g-1', 'g-2', 'g-3', 'g-4']);
    assert.equal((await sent.show(account, ids[1] as bigint)).history.at(-1)?.detail, 'query_sm, error 7');
    await pass(48 * HOUR, HOUR);
    assert.equal(both.flatMap(({ asked }) => asked).length, 4);
    await checkLedger();
    assert.deepEqual(failures, []);
  });

  test('a carrier that still tries to deliver is asked again, five times at most', async (t) => {
    const { process, pass, reach, statuses } = await restored(engine, t, 2);
    const answers = { 'g-1': [later, later, told('DELIVERED')], 'g-2': [] as CarrierAnswer[] };
    const { asked } = process(({ gatewayId }) => answers[gatewayId as 'g-1'].shift() ?? later);
    const count = (id: string) => asked.filter((each) => each === id).length;
    await reach(() => asked.length === 2);
    await pass(5 * 60 * SECOND, 10 * SECOND);
    assert.deepEqual(asked.toSorted(), ['g-1', 'g-2'], 'not at once');
    await reach(() => count('g-2') === 5, HOUR / 30);
    await pass(72 * HOUR, HOUR);
    assert.deepEqual([count('g-1'), count('g-2')], [3, 5]);
    assert.deepEqual(await statuses(), ['DELIVERED', 'SUBMITTED']);
  });

  test('the newest are asked about first, and a carrier that has forgotten the old ones is asked about all', async (t) => {
    const { process, reach, ids, statuses, warnings } = await restored(engine, t, 24, { late: 2, laterMs: 30 * HOUR });
    const isLate = (id: string) => ['g-23', 'g-24'].includes(id);
    const { asked } = process(({ gatewayId }) => {
      if (!isLate(gatewayId)) return forgotten;
      return asked.length <= 2 ? later : told('DELIVERED');
    });
    await reach(() => asked.length === 24);
    assert.deepEqual(asked.slice(0, 2).sort(), ['g-23', 'g-24']);
    const areTold = async () => (await statuses(ids.slice(-2))).every((status) => status === 'DELIVERED');
    await reach(areTold, 10 * SECOND);
    assert.deepEqual(warnings, []);
  });

  test('a carrier that knows none of the newest parts is asked no more, unless it compares a sender that is not known', async (t) => {
    for (const [sender, count] of [
      ['Acme', 20],
      [null, 22],
    ] as const) {
      const { process, reach, nextAt, warnings } = await restored(engine, t, 22, { sender });
      const { asked } = process(() => forgotten);
      await reach(async () => (await nextAt()) === null);
      await reach(() => warnings.length === (count === 20 ? 1 : 0));
      assert.equal(asked.length, count);
    }
  });

  test('a carrier that is asked too fast is left alone for a minute, and a part is none the less asked about', async (t) => {
    const { process, reach, statuses, warnings } = await restored(engine, t, 2);
    const busy: CarrierAnswer = { kind: 'unsent', reason: 'too fast', retryAfterMs: 60 * SECOND };
    const { asked, askedAt } = process(() => (asked.length <= 12 ? busy : told('DELIVERED')));
    await reach(async () => (await statuses()).every((status) => status === 'DELIVERED'));
    const apart = askedAt.slice(1, 12).map((at, index) => at - (askedAt[index] ?? 0));
    assert.ok(Math.min(...apart) >= 60 * SECOND, `${apart}`);
    assert.deepEqual(warnings, []);
  });

  test('a carrier that told before is not given up where it falls silent', async (t) => {
    const { process, reach, statuses, warnings } = await restored(engine, t, 6);
    const faults = ['silent', 'not-offered', 'silent', 'silent', 'silent'] as const;
    const { asked } = process(() => {
      const kind = faults[asked.length - 2];
      return kind === undefined ? told('DELIVERED') : { kind, reason: 'the connection ended' };
    });
    await reach(async () => (await statuses()).every((status) => status === 'DELIVERED'), HOUR / 60);
    assert.deepEqual(warnings, []);
  });

  test('questions keep their distance, and a tenth of the rate', async (t) => {
    for (const [ratePerSecond, apartMs] of [
      [null, 200],
      [2, 5 * SECOND],
    ] as const) {
      const { process, reach, record } = await restored(engine, t, 3);
      const { askedAt, querying } = process(() => told('DELIVERED'));
      querying.configure({ ...(record as NonNullable<typeof record>), ratePerSecond });
      await reach(() => askedAt.length === 3, 100);
      const apart = askedAt.slice(1).map((at, index) => at - (askedAt[index] ?? 0));
      assert.ok(Math.min(...apart) >= apartMs, `${apart}`);
    }
  });

  test('an id that the carrier used again is asked about for its newest part, and nothing after a week', async (t) => {
    const ofTwo = { late: 1, laterMs: HOUR, gatewayId: () => 'g-1' };
    const { process, reach, nextAt, statuses } = await restored(engine, t, 2, ofTwo);
    const { asked } = process(() => told('DELIVERED'));
    await reach(async () => (await nextAt()) === null);
    assert.deepEqual([asked, await statuses()], [['g-1'], ['SUBMITTED', 'DELIVERED']]);

    const old = await restored(engine, t, 1);
    await old.virtual.advance(8 * 24 * HOUR);
    const next = old.process(() => told('DELIVERED'));
    await old.reach(async () => (await old.nextAt()) === null);
    assert.deepEqual(next.asked, []);
  });

  test('a carrier that does not offer queries, or answers none of three, is asked no more, and the log says so', async (t) => {
    for (const [answer, count] of [
      [{ kind: 'not-offered', reason: 'query_sm is not known there' }, 1],
      [{ kind: 'silent', reason: 'no answer in 60 seconds' }, 3],
    ] as const) {
      const { process, pass, reach, warnings, database } = await restored(engine, t, 5);
      const { asked } = process(() => answer);
      await reach(() => warnings.length > 0);
      await pass(2 * HOUR, HOUR / 30);
      assert.equal(asked.length, count);
      assert.deepEqual(warnings.length, 1);
      assert.match(warnings[0] ?? '', new RegExp(`^carrier ${answer.reason} .* 5 parts of them wait for receipts`));
      assert.equal(await createCarrierQueries(database, 'carrier', Date.now).nextAt(), null);
    }
  });

  test('a paused connector asks nothing, and one that is not bound asks later', async (t) => {
    const { process, pass, reach, record, statuses } = await restored(engine, t, 1);
    let isBound = false;
    const { asked, querying } = process(() => (isBound ? told('DELIVERED') : { kind: 'unsent', reason: 'not bound' }));
    querying.configure({ ...(record as NonNullable<typeof record>), pausedAt: START });
    await pass(HOUR, HOUR / 30);
    assert.deepEqual(asked, []);
    querying.configure(record as NonNullable<typeof record>);
    await reach(() => asked.length > 10); // what does not leave is not counted
    isBound = true;
    await reach(async () => (await statuses())[0] === 'DELIVERED');
  });

  test('a service that stops in the middle of a question leaves it to the next one', async (t) => {
    const { process, pass, reach, statuses } = await restored(engine, t, 1);
    const { asked, querying } = process(
      (_, signal) =>
        new Promise((resolve) => {
          signal.addEventListener('abort', () => resolve({ kind: 'silent', reason: 'aborted' }));
        }),
    );
    await reach(() => asked.length === 1);
    await querying.stop();
    const next = process(() => told('DELIVERED'));
    await pass(60 * SECOND);
    assert.deepEqual(next.asked, [], 'another process may still have it');
    await reach(async () => (await statuses())[0] === 'DELIVERED');
    assert.deepEqual(next.asked, ['g-1']);
  });

  test('a part whose receipt has come meanwhile is not asked about', async (t) => {
    const { process, reach, statuses, database, now } = await restored(engine, t, 2);
    const receipt = {
      connector: 'carrier',
      attemptId: null,
      gatewayId: 'g-1',
      status: 'DELIVERED',
      detail: null,
    } as const;
    await createCarrierEvents(database, now, 'ZA').receipt({ ...receipt, at: START });
    const { asked } = process(() => told('UNDELIVERABLE'));
    await reach(async () => (await statuses())[1] === 'UNDELIVERABLE');
    assert.deepEqual([asked, await statuses()], [['g-2'], ['DELIVERED', 'UNDELIVERABLE']]);
  });
});
