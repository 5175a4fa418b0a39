import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { debianPostgres, testWith } from '../../test/support/peers.ts';
import { createRandom } from '../../test/support/random.ts';
import { BUCKET, startS3Store } from '../../test/support/s3-store.ts';
import { type Campaign, runDisasters } from './disasters.ts';
import { postgresDisk, sqliteDisk } from './disks.ts';

const SEED = Number(process.env.SEED ?? 7);
const ROUNDS = 3;

async function survive(rounds: number, of: (folder: string) => Promise<Pick<Campaign, 'disk' | 'env'>>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'columba-disasters-'));
  try {
    const machine = join(folder, 'machine');
    mkdirSync(machine);
    const random = createRandom('disasters', SEED);
    const result = await runDisasters({ folder: machine, ...(await of(folder)), rounds, random });
    assert.deepEqual([result.faults, result.rounds], [[], rounds]);
    assert.ok(result.acknowledged > 0 && result.submitted > 0, JSON.stringify(result));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
const onSqlite = (folder: string, env: Readonly<Record<string, string>>) => ({
  disk: sqliteDisk(join(folder, 'machine')),
  env,
});

describe('a service that is killed and loses its disk while it sends', () => {
  test('a service continues from a folder: nothing is submitted twice, no id is given twice, and no older write is missing than a newer one', () =>
    survive(ROUNDS, async (folder) => onSqlite(folder, { COLUMBA_BACKUP: `file:${join(folder, 'target')}` })));

  test('a service continues from a bucket in the same way', async (t) => {
    const store = await startS3Store();
    t.after(() => store.close());
    await survive(ROUNDS, async (folder) =>
      onSqlite(folder, { ...store.env, COLUMBA_BACKUP: `s3://${BUCKET}/columba` }),
    );
  });

  for (const by of ['basebackup', 'dump'] as const) {
    testWith(debianPostgres(), `a service continues from PostgreSQL's own pg_${by} in the same way`, () =>
      survive(1, async (folder) => ({ disk: await postgresDisk(folder, by) })),
    );
  }
});
