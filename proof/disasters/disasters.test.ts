import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { createRandom } from '../../test/support/random.ts';
import { BUCKET, startS3Store } from '../../test/support/s3-store.ts';
import { runDisasters } from './disasters.ts';

const SEED = Number(process.env.SEED ?? 7);
const ROUNDS = 3;

async function survive(t: TestContext, env: (folder: string) => Readonly<Record<string, string>>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'columba-disasters-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  mkdirSync(join(folder, 'machine'));
  const result = await runDisasters({
    folder: join(folder, 'machine'),
    env: env(folder),
    rounds: ROUNDS,
    random: createRandom('disasters', SEED),
  });
  assert.deepEqual([result.faults, result.rounds], [[], ROUNDS]);
  assert.ok(result.acknowledged > 0 && result.submitted > 0, JSON.stringify(result));
}

describe('a service that is killed and loses its disk while it sends', () => {
  test('a service continues from a folder: nothing is submitted twice, no id is given twice, and no older write is missing than a newer one', (t) =>
    survive(t, (folder) => ({ COLUMBA_BACKUP: `file:${join(folder, 'target')}` })));

  test('a service continues from a bucket in the same way', async (t) => {
    const store = await startS3Store();
    t.after(() => store.close());
    await survive(t, () => ({ ...store.env, COLUMBA_BACKUP: `s3://${BUCKET}/columba` }));
  });
});
