import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { nextTurn } from '../../src/base/event-loop.ts';
import { compressed, decompressed } from '../../src/console/screens/import.ts';
import { CSV_BYTES_MAX } from '../../src/transfer/csv.ts';
import { longestTurn } from './hold.ts';
import { HOLD_MS_MAX } from './web.ts';

/** In turns of their own, so that what begins and ends the work counts too. */
const costOf = (work: () => Promise<void>): Promise<number> =>
  longestTurn(async () => {
    await nextTurn();
    await work();
    await nextTurn();
  });

test('the largest file of the import screen is packed and unpacked beside the event loop', async () => {
  const shapes = { 'random bytes': randomBytes(CSV_BYTES_MAX), zeros: Buffer.alloc(CSV_BYTES_MAX) };
  for (const [shape, bytes] of Object.entries(shapes)) {
    let text = '';
    const costs = [
      await costOf(async () => {
        text = await compressed(bytes);
      }),
      await costOf(async () => assert.equal((await decompressed(text)).length, bytes.length)),
    ];
    for (const cost of costs) assert.ok(cost < HOLD_MS_MAX * 1_000, `${shape}: ${cost} µs`);
  }
});
