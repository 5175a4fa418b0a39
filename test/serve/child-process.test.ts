import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { describe, test } from 'node:test';
import { type Child, createSupervisor, type Supervisor } from '../../src/serve/child-process.ts';
import { createVirtualClock, settled } from '../support/virtual-clock.ts';

/** Processes in the hands of the test. What happens to them is written down in `events`. */
function supervised({ count = 1, overlaps = false, servesAtOnce = true } = {}) {
  const clock = createVirtualClock();
  const events: string[] = [];
  const logged: string[] = [];
  const children: Fake[] = [];

  class Fake extends EventEmitter {
    readonly pid: number | undefined;
    readonly number = children.length + 1;
    /** Whether SIGTERM ends it. */
    obeys = true;
    serves = () => {};

    constructor(pid: number | undefined = children.length + 1) {
      super();
      this.pid = pid;
    }

    kill(): boolean {
      events.push(`${this.number} is asked to end`);
      if (this.obeys) this.end(0, null);
      return true;
    }

    end(code: number | null, signal: string | null): void {
      events.push(`${this.number} ends`);
      this.emit('exit', code, signal);
    }
  }

  const begin = (): Child => {
    const fake = new Fake();
    children.push(fake);
    events.push(`${fake.number} starts`);
    const serves = new Promise<void>((resolve) => {
      fake.serves = resolve;
    });
    if (servesAtOnce) fake.serves();
    return { process: fake as unknown as Child['process'], serves };
  };
  const error = (_: unknown, text: string) => void logged.push(text);
  const supervisor: Supervisor = createSupervisor({
    name: 'a process',
    count,
    overlaps,
    begin,
    log: { error } as never,
    clock,
  });
  const child = (number: number): Fake => children[number - 1] as Fake;
  return { supervisor, clock, events, logged, children, child };
}

describe('the supervisor of processes', () => {
  test('a process that served and died is replaced after a pause that doubles with every death', async () => {
    const { supervisor, clock, children, child, logged } = supervised();
    await supervisor.start();
    const pauses: number[] = [];
    for (let death = 1; death <= 10; death++) {
      child(death).end(null, 'SIGKILL');
      pauses.push((clock.waiting()[0] ?? Number.NaN) - clock.now());
      await clock.advance(pauses.at(-1) as number);
      assert.equal(children.length, death + 1);
    }
    assert.deepEqual(pauses, [200, 400, 800, 1_600, 3_200, 6_400, 12_800, 25_600, 30_000, 30_000]);
    assert.deepEqual([...new Set(logged)], ['a process died and is replaced']);
  });

  test('the pause is short again after a process that served for more than ten seconds', async () => {
    const { supervisor, clock, child } = supervised();
    await supervisor.start();
    child(1).end(1, null);
    await clock.advance(200);
    child(2).end(1, null);
    await clock.advance(400);
    await clock.advance(10_001);
    child(3).end(1, null);
    assert.equal((clock.waiting()[0] ?? 0) - clock.now(), 200);
  });

  test('a process that ends by itself before it serves fails the start, and no other is started', async () => {
    const { supervisor, child, children } = supervised({ count: 3, servesAtOnce: false });
    const starting = supervisor.start();
    child(1).end(3, null);
    await assert.rejects(starting, { kind: 'unavailable', message: 'A process ended with code 3 before it served.' });
    assert.equal(children.length, 1);
  });

  test('a process that is killed before it serves is started again, five times in all', async () => {
    const { supervisor, clock, child, children } = supervised({ servesAtOnce: false });
    const starting = supervisor.start();
    const failed = assert.rejects(starting, { message: 'A process ended with SIGKILL before it served.' });
    for (let start = 1; start <= 5; start++) {
      child(start).end(null, 'SIGKILL');
      await clock.advance(200);
    }
    await failed;
    assert.equal(children.length, 5);
  });

  test('if two processes may serve at a time, a restart starts each process before it ends the former one', async () => {
    const { supervisor, events } = supervised({ count: 2, overlaps: true });
    await supervisor.start();
    events.length = 0;
    await supervisor.restart();
    const replaced = (one: number, by: number) => [`${by} starts`, `${one} is asked to end`, `${one} ends`];
    assert.deepEqual(events, [...replaced(1, 3), ...replaced(2, 4)]);
  });

  test('if only one process may serve at a time, a restart ends it before it starts the next one', async () => {
    const { supervisor, events } = supervised();
    await supervisor.start();
    events.length = 0;
    await supervisor.restart();
    assert.deepEqual(events, ['1 is asked to end', '1 ends', '2 starts']);
  });

  test('a second restart waits for the first, and replaces the process that it has started', async () => {
    const { supervisor, child, children } = supervised();
    await supervisor.start();
    child(1).obeys = false;
    const both = [supervisor.restart(), supervisor.restart()];
    await settled();
    assert.equal(children.length, 1);
    child(1).end(0, null);
    await Promise.all(both);
    assert.equal(children.length, 3);
  });

  test('a restart whose process does not serve fails, and the process is started again later', async () => {
    const { supervisor, clock, child, children } = supervised({ servesAtOnce: false });
    const starting = supervisor.start();
    child(1).serves();
    await starting;
    const failed = assert.rejects(supervisor.restart(), /before it served/);
    await settled();
    child(2).end(1, null);
    await failed;
    await clock.advance(200);
    assert.equal(children.length, 3);
  });

  test('a stop waits for every process, ends a restart in progress, and cancels replacements', async () => {
    const { supervisor, clock, child, children } = supervised({ count: 3, overlaps: true });
    await supervisor.start();
    child(3).end(null, 'SIGKILL');
    child(1).obeys = false;
    const restarting = supervisor.restart();
    await settled();
    const stopping = supervisor.stop();
    await settled();
    const atStop = children.length;
    child(1).end(0, null);
    await Promise.all([stopping, restarting]);
    await supervisor.start();
    await clock.advance(60_000);
    assert.equal(children.length, atStop);
    assert.deepEqual(clock.waiting(), []);
  });

  test('a process that the system could not start is not waited for at the stop', async () => {
    const { supervisor, child } = supervised({ servesAtOnce: false });
    const starting = supervisor.start();
    Object.assign(child(1), { pid: undefined }).emit('error', new Error('EAGAIN'));
    void starting.catch(() => {});
    await supervisor.stop();
  });
});
