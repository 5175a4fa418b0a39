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
import { message, openSending, START } from '../support/sending.ts';
import { createVirtualClock, settled } from '../support/virtual-clock.ts';

const SECOND = 1_000;
const HOUR = 3_600_000;
const told = (status: 'DELIVERED' | 'UNDELIVERABLE', detail = 'query_sm'): CarrierAnswer => ({
  kind: 'told',
  status,
  at: START,
  detail,
});
const later: CarrierAnswer = { kind: 'later', reason: 'the message is ENROUTE' };

/** Messages that a carrier had before the restore: their ids there are g-1, g-2, … */
async function restored(engine: Engine, t: TestContext, count: number) {
  const sending = await openSending(engine, t);
  const { database, now } = sending;
  const connectors = createConnectors(database, now);
  const carrier = {
    name: 'carrier',
    kind: 'smpp',
    config: {},
    isDefault: true,
    submissionsMax: 10,
    ratePerSecond: null,
  };
  await connectors.prepare([carrier], carrier);
  const account = await sending.addAccount();
  const to = Array.from({ length: count }, (_, index) => `+278255502${String(index).padStart(2, '0')}`);
  const ids = (await sending.accept(account, message({ to, sender: 'Acme' }))).accepted.map(({ id }) => id as bigint);
  const claimed = await sending.claiming.claim({ connector: 'carrier', isDefault: true }, count);
  await sending.settling.settle(
    claimed.map((each) => ({
      message: each,
      parts: [{ part: 1, state: 'accepted', gatewayId: `g-${ids.indexOf(each.id) + 1}` }],
      outcome: { kind: 'submitted' },
    })),
  );
  sending.clock.now += SECOND;
  const adoption = { clock: { now }, actorName: 'root', nothingLost: false, dryRun: false, restored: [] };
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
    const connector = {
      name: 'carrier',
      kind: 'smpp',
      query: async (question: CarrierQuestion, signal: AbortSignal) => {
        assert.equal(question.sender, 'Acme');
        asked.push(question.gatewayId);
        return answer(question, signal);
      },
    } as unknown as Connector;
    const querying = createQuerying({
      connector,
      record: record as NonNullable<typeof record>,
      connectors,
      events,
      clock,
      queries: createCarrierQueries(database, 'carrier', clock.now),
      restoredAt: restoredAtOf(database),
      log: { info: () => {}, warn: (fields, words) => warnings.push(`${Object.values(fields).join(' ')} ${words}`) },
      failed: (thrown) => failures.push(thrown),
    });
    t.after(() => querying.stop());
    querying.start();
    return { asked, querying };
  }
  const statuses = () => Promise.all(ids.map(async (id) => (await sending.sent.show(account, id)).status));
  async function pass(ms: number, everyMs = SECOND): Promise<void> {
    for (let passed = 0; passed < ms; passed += everyMs) {
      await clock.advance(everyMs);
      await settled(30);
    }
  }
  /** Lets time pass until it is so. The database needs time of its own. */
  async function reach(isSo: () => boolean | Promise<boolean>, everyMs = SECOND): Promise<void> {
    for (let tries = 0; !(await isSo()); tries++) {
      assert.ok(tries < 5_000, String(isSo));
      await clock.advance(everyMs);
      await systemClock.sleep(1);
    }
  }
  return { ...sending, account, ids, record, process, pass, reach, statuses, warnings, failures, virtual: clock };
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
