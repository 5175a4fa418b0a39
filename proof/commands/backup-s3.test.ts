import assert from 'node:assert/strict';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { columba, freshPath, serving } from '../../test/support/command.ts';
import { BUCKET, refuse, SECRET_KEY, startS3Store } from '../../test/support/s3-store.ts';

/** A machine whose backup goes to a bucket. */
async function scene(t: TestContext) {
  const store = await startS3Store();
  t.after(() => store.close());
  const folder = freshPath('machine');
  mkdirSync(folder);
  const on = ['--database', `sqlite:${join(folder, 'columba.db')}`];
  const options = { env: { ...store.env, COLUMBA_BACKUP: `s3://${BUCKET}/columba` } };
  const run = (args: readonly string[], more: readonly string[] = on) => columba([...args, ...more], options);
  const serve = () => serving([...on, '--backup-lag-ms', '100', '--web-port', 'off'], options);
  return { store, folder, run, serve };
}
type Scene = Awaited<ReturnType<typeof scene>>;

async function covered({ run }: Scene, accounts: number): Promise<void> {
  for (let tries = 0; tries < 100; tries++) {
    if ((await run(['backup', 'verify'])).stdout.includes(`Accounts: ${accounts}.`)) return;
    await new Promise((resolve) => setTimeout(resolve, 400));
  }
  throw new Error('the backup never had the account');
}

describe('a continuous backup in a bucket', () => {
  test('list, verify, now, follow and restore work with it, and no output has the secret key', async (t) => {
    const machine = await scene(t);
    const { store, folder, run, serve } = machine;
    const { child, ended } = await serve();
    await run(['account', 'add', 'acme']);
    await covered(machine, 1);
    assert.match((await run(['backup', 'now'])).stdout, /^Wrote a snapshot to the bucket backups \(columba\/\) at 127/);
    assert.match((await run(['backup', 'list'])).stdout, /^20\S+ to 20\S+ {2}\d+ segments {2}generation \d+$/m);
    const standby = join(freshPath('standby'));
    mkdirSync(standby);
    const there = ['--database', `sqlite:${join(standby, 'columba.db')}`];
    assert.match((await run(['follow', '--once'], there)).stdout, /^Follows the bucket backups/);
    child.kill('SIGKILL');
    const { stdout, stderr } = await ended;
    rmSync(folder, { recursive: true });
    mkdirSync(folder);
    for (const where of [undefined, there]) {
      const restored = await run(['restore'], where);
      assert.equal(restored.code, 0, restored.stderr);
      assert.match((await run(['account', 'list'], where)).stdout, /acme/);
    }
    assert.ok(!(stdout + stderr).includes(SECRET_KEY));
    const wrong = { env: { ...store.env, COLUMBA_BACKUP_S3_SECRET_KEY: 'a-wrong-one' } };
    const refused = await columba(['backup', 'list', '--from', `s3://${BUCKET}/columba`], wrong);
    assert.deepEqual([refused.code, refused.stderr.includes('a-wrong-one')], [1, false]);
    assert.match(refused.stderr, /COLUMBA_BACKUP_S3_SECRET_KEY is probably wrong/);
    const checked = await run(['check']);
    assert.ok(!(checked.stdout + checked.stderr).includes(SECRET_KEY));
    const keyless = await columba(['backup', 'list', '--from', `s3://${BUCKET}`]);
    assert.match(keyless.stderr, /set COLUMBA_BACKUP_S3_ACCESS_KEY and COLUMBA_BACKUP_S3_SECRET_KEY/);
  });

  test('a service starts and serves while the store refuses, says why once, and the backup follows when it is back', async (t) => {
    const machine = await scene(t);
    const { store, run, serve } = machine;
    store.fault = (_, response) => {
      refuse(response, 404, 'NoSuchBucket');
      return true;
    };
    const { child, ended, output, address } = await serve();
    await run(['account', 'add', 'acme']);
    assert.equal((await fetch(`${address}/`)).status, 200);
    for (let tries = 0; tries < 100 && !output.stderr.includes('the backup does not work'); tries++) {
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    assert.match(output.stderr, /there is no bucket backups\. Create it/);
    store.fault = null;
    await covered(machine, 1);
    child.kill('SIGTERM');
    const { code, stderr } = await ended;
    assert.equal(code, 0);
    assert.equal(stderr.split('the backup does not work').length, 2);
  });
});
