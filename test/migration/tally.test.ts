import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLanes } from '../../src/migration/proxy/lanes.ts';
import { createTally } from '../../src/migration/proxy/tally.ts';
import { type Counted, EXAMPLES_MAX, type Example } from '../../src/migration/stages/figures.ts';

const KEY = { operation: 'inbox.Unread', protocol: 'get' };

test('a million different answers keep one number and three examples', async () => {
  const written: { counts: readonly Counted[]; examples: readonly Example[] }[] = [];
  const tally = createTally(
    async (counts, examples) => void written.push({ counts, examples }),
    () => 1,
  );
  for (let calls = 0; calls < 1_000_000; calls++) tally.add(KEY, 'different', `example ${calls}`);
  await tally.flush();
  const [{ counts, examples }] = written as [(typeof written)[number]];
  assert.deepEqual(counts, [{ ...KEY, name: 'different', total: 1_000_000 }]);
  assert.equal(examples.length, EXAMPLES_MAX);
});

test('what a caller makes up cannot grow the counters without end', async () => {
  let size = 0;
  const tally = createTally(
    async ({ length }) => {
      size = length;
    },
    () => 1,
  );
  for (let calls = 0; calls < 30_000; calls++) tally.add({ operation: `made up ${calls}`, protocol: 'get' }, 'equal');
  await tally.flush();
  assert.equal(size, 20_000);
});

test('counts that could not be written are written the next time', async () => {
  let isDown = true;
  const written: Counted[] = [];
  const tally = createTally(
    async (counts) => {
      if (isDown) throw new Error('down');
      written.push(...counts);
    },
    () => 1,
  );
  tally.add(KEY, 'equal');
  await assert.rejects(tally.flush(), /down/);
  tally.add(KEY, 'equal');
  isDown = false;
  await tally.flush();
  assert.deepEqual(written, [{ ...KEY, name: 'equal', total: 2 }]);
});

test('work of one lane keeps its order, lanes work at once, and a failure stops nothing', async () => {
  const done: string[] = [];
  const failures: unknown[] = [];
  const lanes = createLanes({ itemsMax: 100, bytesMax: 100, concurrency: 2 }, (thrown) => void failures.push(thrown));
  for (let index = 0; index < 6; index++) {
    lanes.offer(index % 2 === 0 ? 'even' : 'odd', 1, async () => {
      await new Promise((resolve) => setImmediate(resolve));
      if (index === 2) throw new Error('broken');
      done.push(String(index));
    });
  }
  const own = lanes.run('odd', async () => 'after all odd ones');
  assert.equal(await own, 'after all odd ones');
  await lanes.idle();
  assert.deepEqual(
    done.filter((each) => Number(each) % 2 === 1),
    ['1', '3', '5'],
  );
  assert.deepEqual(
    done.filter((each) => Number(each) % 2 === 0),
    ['0', '4'],
  );
  assert.equal(failures.length, 1);
});

test('lanes refuse work beyond their items and bytes', async () => {
  const lanes = createLanes({ itemsMax: 3, bytesMax: 100, concurrency: 1 }, () => {});
  const work = async () => {};
  assert.deepEqual(
    [lanes.offer('a', 60, work), lanes.offer('a', 60, work), lanes.offer('a', 40, work)],
    [true, false, true],
  );
  assert.deepEqual([lanes.offer('b', 0, work), lanes.offer('b', 0, work)], [true, false]);
  await lanes.idle();
  assert.equal(lanes.offer('a', 100, work), true);
  await lanes.idle();
});
