import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPendingCounts } from '../../src/migration/proxy/pending-counts.ts';
import { type Counted, EXAMPLES_MAX, type Example } from '../../src/migration/stages/counts.ts';

const KEY = { operation: 'inbox.Unread', protocol: 'get' };

test('a million different answers keep one number and three examples', async () => {
  const written: { counts: readonly Counted[]; examples: readonly Example[] }[] = [];
  const pendingCounts = createPendingCounts(
    async (counts, examples) => void written.push({ counts, examples }),
    () => 1,
  );
  for (let calls = 0; calls < 1_000_000; calls++) pendingCounts.add(KEY, 'different', `example ${calls}`);
  await pendingCounts.flush();
  const [{ counts, examples }] = written as [(typeof written)[number]];
  assert.deepEqual(counts, [{ ...KEY, name: 'different', total: 1_000_000 }]);
  assert.equal(examples.length, EXAMPLES_MAX);
});

test('values that a caller invents cannot make the counters grow without limit', async () => {
  let size = 0;
  const pendingCounts = createPendingCounts(
    async ({ length }) => {
      size = length;
    },
    () => 1,
  );
  for (let calls = 0; calls < 30_000; calls++)
    pendingCounts.add({ operation: `made up ${calls}`, protocol: 'get' }, 'equal');
  await pendingCounts.flush();
  assert.equal(size, 20_000);
});

test('counts that could not be written are written the next time', async () => {
  let isDown = true;
  const written: Counted[] = [];
  const pendingCounts = createPendingCounts(
    async (counts) => {
      if (isDown) throw new Error('down');
      written.push(...counts);
    },
    () => 1,
  );
  pendingCounts.add(KEY, 'equal');
  await assert.rejects(pendingCounts.flush(), /down/);
  pendingCounts.add(KEY, 'equal');
  isDown = false;
  await pendingCounts.flush();
  assert.deepEqual(written, [{ ...KEY, name: 'equal', total: 2 }]);
});
