import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Clock, systemClock, within } from '../../src/base/clock.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

/** Both clocks, so that what a test proves with the virtual one holds with the machine's. */
const clocks: [string, Clock, (ms: number) => Promise<unknown>][] = [];
const virtual = createVirtualClock(1_000);
clocks.push(['the clock of the machine', systemClock, async () => {}]);
clocks.push(['a virtual clock', virtual, (ms) => virtual.advance(ms)]);

for (const [name, clock, pass] of clocks) {
  describe(name, () => {
    test('a sleep ends when its time has passed', async () => {
      const before = clock.monotonic();
      const slept = clock.sleep(5);
      await pass(5);
      await slept;
      assert.ok(clock.monotonic() - before >= 4);
    });

    test('a sleep ends as soon as its signal aborts, and does not reject', async () => {
      const stop = new AbortController();
      const slept = clock.sleep(3_600_000, stop.signal);
      stop.abort();
      await slept;
      await clock.sleep(3_600_000, stop.signal);
    });

    test('work that was cancelled is not run, and cancelling twice does no harm', async () => {
      const ran: string[] = [];
      const cancel = clock.after(1, () => ran.push('cancelled'));
      cancel();
      cancel();
      const slept = clock.sleep(10);
      clock.after(2, () => ran.push('run'), { background: true });
      await pass(10);
      await slept;
      assert.deepEqual(ran, ['run']);
    });

    test('the signal of a time-out aborts with a TimeoutError', async () => {
      const signal = clock.timeout(1);
      assert.equal(signal.aborted, false);
      const slept = clock.sleep(20);
      await pass(20);
      await slept;
      assert.equal(signal.reason.name, 'TimeoutError');
    });

    test('work within its time gives its result, late work gives the fallback, and failed work its error', async () => {
      assert.equal(await within(clock, 1_000, Promise.resolve('done'), 'late'), 'done');
      await assert.rejects(within(clock, 1_000, Promise.reject(new Error('broken')), 'late'), /broken/);
      const late = within(clock, 1, new Promise(() => {}), 'late');
      const slept = clock.sleep(10); // keeps the process alive
      await pass(10);
      assert.equal(await late, 'late');
      await slept;
    });
  });
}

test('a virtual clock has no timer left when all work was cancelled, aborted or done', async () => {
  const clock = createVirtualClock();
  await within(clock, 1_000, Promise.resolve(), undefined);
  const stop = new AbortController();
  const slept = clock.sleep(1_000, stop.signal);
  stop.abort();
  await slept;
  assert.deepEqual(clock.waiting(), []);
});
