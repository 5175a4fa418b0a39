import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '../../src/base/clock.ts';
import type { Submission, SubmitResult } from '../../src/carriers/connector.ts';
import { createDispatcher, type DispatcherParts } from '../../src/carriers/dispatcher.ts';
import { createSettler } from '../../src/carriers/settler.ts';
import { NO_THROTTLE, type Throttle } from '../../src/carriers/throttle.ts';
import { createConnectors, type NewConnector } from '../../src/domain/sending/connectors.ts';
import { type Engine, onEveryEngine } from '../support/engines.ts';
import { LOOPBACK, SETTINGS, scripted, until } from '../support/gateway.ts';
import { sql } from '../support/opened-database.ts';
import { message, openSending } from '../support/sending.ts';

type Answer = (part: Submission) => SubmitResult | Promise<SubmitResult>;
const TAKEN: SubmitResult = { kind: 'accepted', gatewayId: null };
const DOWN: SubmitResult = { kind: 'temporary', reason: 'no connection', connectorDown: true };

/** Answered at the end of the test. */
const hanging: (() => void)[] = [];
const hang = (result: SubmitResult) => new Promise<SubmitResult>((resolve) => hanging.push(() => resolve(result)));

/** A dispatcher with a clock that the test sets. */
async function opened(
  engine: Engine,
  t: TestContext,
  answer: Answer,
  record: Partial<NewConnector> = {},
  faults: Partial<DispatcherParts['connectors']> = {},
  throttle: Throttle = NO_THROTTLE,
  connectorChanged: DispatcherParts['connectorChanged'] = () => {},
  claimingFaults: Partial<DispatcherParts['claiming']> = {},
) {
  let stop = async () => {};
  t.after(() => stop()); // before the database is closed
  const sending = await openSending(engine, t);
  const connectors = createConnectors(sending.database, sending.now);
  await connectors.prepare([{ ...LOOPBACK, ...record }], LOOPBACK);
  const { submitted, create } = scripted(answer);
  let timeouts = 0;
  const timeout = (ms: number) => {
    timeouts += 1;
    return systemClock.timeout(ms);
  };
  const clock = { ...systemClock, now: sending.now, random: () => 0, timeout };
  const dispatcher = createDispatcher({
    connector: create?.('loopback', 'loopback', {}, { clock }) as never,
    record: await connectors.show('loopback'),
    claiming: { ...sending.claiming, ...claimingFaults },
    settler: createSettler(
      sending.settling,
      async () => {},
      () => {},
    ),
    connectors: { ...connectors, ...faults },
    clock,
    throttle,
    settings: SETTINGS,
    failed: () => {},
    connectorChanged,
  });
  stop = async () => {
    for (const end of hanging.splice(0)) end();
    await dispatcher.stop();
  };
  const account = await sending.addAccount();
  let count = 0;
  const send = async (total: number, text = 'hello') => {
    const to = Array.from({ length: total }, () => `+2782555${String(++count).padStart(4, '0')}`);
    await sending.accept(account, message({ to, text }));
    dispatcher.wake();
  };
  return { clock: sending.clock, database: sending.database, submitted, dispatcher, send, timeouts: () => timeouts };
}

const reasons = sql<object, { state: string; reason: string | null }>('select state, reason from dispatch');

onEveryEngine('faults of a dispatcher', (engine) => {
  test('a message waits, with the reason, while the database cannot tell whether its recipient has opted out', async (t) => {
    const place = Promise.withResolvers<void>();
    const afterPlace: Answer = async (part) => {
      await place.promise;
      return (await part.withheld?.()) ?? TAKEN;
    };
    const optedOutAmong = () => Promise.reject(new Error('no answer'));
    const bench = await opened(engine, t, afterPlace, {}, {}, NO_THROTTLE, () => {}, { optedOutAmong });
    await bench.send(1);
    await until('it is claimed', () => bench.submitted.length === 1);
    bench.clock.now += 1_000; // longer than the look of the claim counts
    place.resolve();
    await until('it waits', async () => (await bench.database.first(reasons, {}))?.state === 'waiting');
    const reason = 'withheld: the database did not tell whether the recipient has opted out';
    assert.deepEqual(await bench.database.all(reasons, {}), [{ state: 'waiting', reason }]);
  });

  test('claimed messages are submitted although the database fails after the claim', async (t) => {
    const correctPermits = () => Promise.reject(new Error('no answer'));
    const rate = { ratePerSecond: 1_000 };
    const { clock, submitted, send } = await opened(engine, t, () => TAKEN, rate, { correctPermits });
    await send(1);
    await until('it is submitted', () => {
      clock.now += 100; // its share of the rate comes with time
      return submitted.length === 1;
    });
  });

  test('a message that comes alone does not wait for a pause, because a claim that finds nothing begins none', async (t) => {
    const throttle = () => hang(TAKEN).then(() => {});
    const { submitted, send } = await opened(engine, t, () => TAKEN, {}, {}, throttle);
    await sleep(3 * SETTINGS.pollMs);
    await send(1);
    await until('it is submitted', () => submitted.length === 1);
  });

  test('a claim that finds nothing starts no time-out, and one that finds messages starts one for all of them', async (t) => {
    let looks = 0;
    const nextDueAt = async () => {
      looks += 1;
      return null;
    };
    const bench = await opened(
      engine,
      t,
      () => TAKEN,
      {},
      {},
      NO_THROTTLE,
      () => {},
      { nextDueAt },
    );
    await until('it has looked', () => looks >= 3);
    assert.equal(bench.timeouts(), 0);
    await bench.send(3);
    await until('they are submitted', () => bench.submitted.length === 3);
    assert.equal(bench.timeouts(), 1);
  });

  test('a connector with a rate writes nothing while no message is due', async (t) => {
    let takes = 0;
    let looks = 0;
    const rate = { ratePerSecond: 1_000 };
    const faults = {
      takePermits: async () => {
        takes += 1;
        return 10;
      },
    };
    const nextDueAt = async () => {
      looks += 1;
      return null;
    };
    const bench = await opened(
      engine,
      t,
      () => TAKEN,
      rate,
      faults,
      NO_THROTTLE,
      () => {},
      { nextDueAt },
    );
    await until('it has looked', () => looks >= 3);
    assert.equal(takes, 0);
    await bench.send(1);
    await until('it takes its share when one is due', () => bench.submitted.length === 1);
    assert.equal(takes, 1);
  });

  test('messages without an answer do not keep others from being submitted', async (t) => {
    let isHanging = true;
    const { submitted, send } = await opened(engine, t, () => (isHanging ? hang(TAKEN) : TAKEN), {
      submissionsMax: 10,
    });
    await send(6);
    await until('six hang', () => submitted.length === 6);
    isHanging = false;
    await send(20);
    await until('the others go', () => submitted.length === 26);
  });

  test('a connector that is down gets a single message after each pause', async (t) => {
    let tries = 0;
    const { clock, submitted, send } = await opened(engine, t, () => (tries++ === 0 ? DOWN : hang(DOWN)));
    await send(1);
    await until('it is down', () => submitted.length === 1);
    await send(10);
    clock.now += 1_000;
    await until('one tries it', () => submitted.length === 2);
    await sleep(10 * SETTINGS.pollMs);
    assert.equal(submitted.length, 2);
  });

  test('a carrier that answers nothing gets only a small part of the backlog', async (t) => {
    let isHanging = true;
    const changes: (string | null)[] = [];
    const told = (_: string, reason: string | null) => changes.push(reason);
    const unknown: SubmitResult = { kind: 'unknown-outcome', reason: 'no answer' };
    const answer = () => (isHanging ? unknown : TAKEN);
    const { clock, submitted, send } = await opened(engine, t, answer, { submissionsMax: 30 }, {}, NO_THROTTLE, told);
    await send(300);
    await until('it is down', () => changes.length === 1);
    await sleep(5 * SETTINGS.pollMs);
    assert.ok(submitted.length <= 60, `${submitted.length} were submitted`);
    for (let tries = 1; tries <= 3; tries++) {
      const before = submitted.length;
      clock.now += 30_000;
      await until('one more tries it', () => submitted.length > before);
      await sleep(5 * SETTINGS.pollMs);
      assert.equal(submitted.length, before + 1);
    }
    isHanging = false;
    await until('the others go when it answers', () => {
      clock.now += 1_000;
      return submitted.length === 300;
    });
    assert.deepEqual(changes, ['no answer', null]);
  });

  test('one long message without an answer does not take the connector down', async (t) => {
    const changes: (string | null)[] = [];
    const told = (_: string, reason: string | null) => changes.push(reason);
    const answer = (): SubmitResult => ({ kind: 'unknown-outcome', reason: 'no answer' });
    const { submitted, send } = await opened(engine, t, answer, {}, {}, NO_THROTTLE, told);
    await send(1, 'x'.repeat(25 * 153));
    await until('all parts are submitted', () => submitted.length === 25);
    await sleep(3 * SETTINGS.pollMs);
    assert.deepEqual(changes, []);
  });

  test('a connector sends again after an outage during which the clock was put back', async (t) => {
    let isDown = true;
    const { clock, submitted, send } = await opened(engine, t, () => (isDown ? DOWN : TAKEN));
    await send(1);
    await until('it is down', () => submitted.length === 1);
    await sleep(2 * SETTINGS.pollMs);
    isDown = false;
    clock.now -= 3_600_000;
    await send(3);
    await until('they go', () => submitted.length === 4);
  });
});
