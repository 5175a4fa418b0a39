import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../../src/base/clock.ts';
import type { ReceivedReceipt, Submission } from '../../src/carriers/connector.ts';
import { createLoopback } from '../../src/carriers/loopback.ts';

const part = (text: string): Submission => ({
  attemptId: 'a'.repeat(32),
  sender: null,
  recipient: '+27825550201',
  body: Buffer.from(text),
  text,
  encoding: 'gsm7',
  udh: null,
  priority: 0,
  validUntil: null,
});

/** A loopback whose timers the test lets fire, and whose events are refused so many times. */
async function opened(refusals: number) {
  const timers: (() => void)[] = [];
  const taken: string[] = [];
  let refused = 0;
  const take = async (what: string) => {
    if (refused++ < refusals) throw new Error('not stored');
    taken.push(what);
  };
  const after: Clock['after'] = (_, work) => {
    timers.push(work);
    return () => {};
  };
  const loopback = createLoopback('loopback', { receiptAfterMs: 1_000 }, { now: () => 0, after });
  await loopback.start({
    receipt: ({ status }: ReceivedReceipt) => take(status),
    incoming: ({ text }) => take(text),
    late: ({ attemptId }) => take(attemptId),
  });
  const fire = async () => {
    for (const work of timers.splice(0)) work();
    await sleep(0);
  };
  const submit = (text: string) => loopback.submit([part(text)], new AbortController().signal);
  return { loopback, submit, fire, taken };
}

describe('loopback', () => {
  test('receipts that are on their way while the connector is changed are not lost', async () => {
    const { loopback, submit, fire, taken } = await opened(0);
    await submit('hello');
    await loopback.stop();
    await fire();
    assert.deepEqual(taken, ['DELIVERED']);
  });

  test('a receipt or an answer that could not be stored is brought again', async () => {
    const { submit, fire, taken } = await opened(3);
    await submit('reply yes');
    for (let round = 0; round < 4; round++) await fire();
    assert.deepEqual(taken.sort(), ['DELIVERED', 'yes']);
  });
});
