import assert from 'node:assert/strict';
import { chmodSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { migrationKey } from '../../src/migration/compare/account-names.ts';
import { columba, freshDatabase, freshPath, launch } from '../support/command.ts';
import { onOneEngine } from '../support/engines.ts';
import { ODD_DIALECT } from '../support/odd-dialect.ts';
import { sampleData, USER_IDS } from '../support/old-server/sample.ts';
import { type OldServerProcess, startOldServer } from '../support/old-server/server.ts';
import { ODD_WAYS } from '../support/old-server/ways.ts';
import { openOutside } from '../support/other-process.ts';

const [ALPHA] = USER_IDS;

/** The old server and the files of one test. */
function startSite(fresh: () => Promise<string>) {
  let old: OldServerProcess;
  let env: Record<string, string>;
  let users: string;
  beforeEach(async () => {
    old = await startOldServer(sampleData(Date.now(), { messages: 30 }), ODD_WAYS);
    const dialect = freshPath('json');
    writeFileSync(dialect, JSON.stringify(ODD_DIALECT));
    env = { COLUMBA_DATABASE: await fresh(), COLUMBA_DIALECT: dialect };
    users = freshPath('txt');
    writeFileSync(users, `# two\n${USER_IDS.slice(0, 2).join('\n')}\n`, { mode: 0o600 });
  });
  afterEach(() => old.close());
  const both = () => ['--old', old.url, '--users', users, '--rate', '1000'];
  return {
    old: () => old,
    env: () => env,
    users: () => users,
    both,
    migrate: (...args: string[]) => columba(['migrate', ...args], { env }),
  };
}

onOneEngine('columba migrate, as people run it', (engine) => {
  const site = startSite(() => engine.fresh('empty'));
  const { migrate, both } = site;

  test('import, check and take-over end with their documented exit codes', async () => {
    const links = freshPath('txt');
    site.old().ways = { ...ODD_WAYS, showsPassword: false };
    const imported = await migrate('import', ...both(), '--links', links);
    assert.equal(imported.code, 0, imported.stderr);
    assert.match(imported.stdout, /alpha: copied\. 20 read, 10 unread, 30 sent, 4 scheduled \(held\)/);
    assert.match(readFileSync(links, 'utf8'), /^alpha\thttp.*\/console\/sign-in\/[\w-]{43}$/m);
    if (process.platform !== 'win32') assert.equal(statSync(links).mode & 0o777, 0o600);
    const equal = await migrate('check', ...both(), '--json');
    assert.equal(equal.code, 0, equal.stdout);
    const [first] = site.old().data.accounts;
    assert(first);
    first.inbox.pop();
    const different = await migrate('check', ...both());
    assert.equal(different.code, 1);
    assert.match(different.stdout, /received: 30 in Columba, 29 at the old server; only in Columba: 5029/);
    const foreseen = await migrate('schedule', 'take-over', ...both(), '--dry-run');
    assert.match(foreseen.stdout, /alpha: 4 would-activate/);
    assert.equal(first.scheduled.length, 4);
    const taken = await migrate('schedule', 'take-over', ...both());
    assert.equal(taken.code, 0, taken.stderr);
    assert.match(taken.stdout, /alpha: 4 activated/);
    for (const { stdout, stderr } of [imported, different, taken]) assert.doesNotMatch(stdout + stderr, /old-user-id/);
  });

  test('an import says why it wrote no file of links', async () => {
    site.old().ways = { ...ODD_WAYS, showsPassword: true };
    const dry = await migrate('import', ...both(), '--links', 'links.txt', '--dry-run');
    assert.match(dry.stdout, /^links\.txt was not written: a dry run makes no links\.$/m);
    const imported = await migrate('import', ...both(), '--links', 'links.txt');
    assert.match(imported.stdout, /^links\.txt was not written: every account that was copied has a password\./m);
  });

  test('an import that leaves out an account whose writes wait for the old server ends with 1', async () => {
    assert.equal((await migrate('import', ...both())).code, 0);
    assert.equal((await migrate('stage', 'alpha', 'lead')).code, 0);
    const outside = await openOutside(site.env().COLUMBA_DATABASE as string);
    await outside.query(`insert into migration_write (account_id, write_id, operation, state, key_name, sealed, created_at, due_at, attempts)
      select account_id, 1, 'account.SaveMessageTemplate', 'due', 'key', '', 0, 0, 0 from account where username = 'alpha'`);
    await outside.close();
    const { code, stdout } = await migrate('import', ...both());
    assert.equal(code, 1);
    assert.match(stdout, /^alpha: left\. 1 writes wait for the old server\./m);
  });

  test('the key of recordings is removed on request when none is left, and never while a write waits that it encrypts', async () => {
    assert.equal((await migrate('import', ...both())).code, 0);
    const folder = freshPath('recordings');
    migrationKey('', folder);
    writeFileSync(join(folder, 'one.ndjson'), '');
    const prune = (...more: string[]) => migrate('recordings', '--folder', folder, '--prune', '--days', '0', ...more);
    assert.match((await prune()).stdout, /^removed\tone\.ndjson\nrecordings\.key stays: .*--with-key\.$/m);
    const outside = await openOutside(site.env().COLUMBA_DATABASE as string);
    await outside.query(`insert into migration_write (account_id, write_id, operation, state, key_name, sealed, created_at, due_at, attempts)
      select account_id, 1, 'account.SaveMessageTemplate', 'due', 'key', '', 0, 0, 0 from account where username = 'alpha'`);
    const refused = await prune('--with-key');
    assert.deepEqual([refused.code, /A write waits for one of the servers/.test(refused.stderr)], [1, true]);
    await outside.query('delete from migration_write');
    await outside.close();
    assert.match((await prune('--with-key')).stdout, /^removed\trecordings\.key$/m);
    assert.deepEqual(readdirSync(folder), []);
  });

  test('a take-over leaves an account in the stage compare with a line that says so, and ends with 1', async () => {
    assert.equal((await migrate('import', ...both())).code, 0);
    assert.equal((await migrate('default-stage', 'compare')).code, 0);
    assert.equal((await migrate('stage', 'alpha', 'lead')).code, 0);
    for (const more of [['--dry-run'], []]) {
      const { code, stdout, stderr } = await migrate('schedule', 'take-over', ...both(), ...more);
      assert.equal(code, 1);
      assert.match(stdout, /^alpha: 4 (activated|would-activate)$/m);
      assert.match(stderr, /beta is in the stage compare: take-over is for lead and alone\./);
    }
  });

  test('an import that is killed continues where it was, and copies nothing twice', async () => {
    let calls = 0;
    const { child, ended } = launch(['migrate', 'import', ...both()], { env: site.env() });
    site.old().onCall = () => {
      calls += 1;
      if (calls === 40) child.kill('SIGKILL');
    };
    await ended;
    site.old().onCall = () => {};
    const { code, stdout, stderr } = await migrate('import', ...both());
    assert.equal(code, 0, stdout + stderr);
    assert.equal((await migrate('check', ...both())).code, 0);
    assert.deepEqual(site.old().data.writes, []);
  });
});

describe('columba migrate, where something is wrong', () => {
  const site = startSite(async () => freshDatabase());
  const { migrate, both } = site;

  test('if the old server is down, the exit code is 4 and a sentence says so', async () => {
    await site.old().close();
    const { code, stderr } = await migrate('import', ...both());
    assert.equal(code, 4);
    assert.match(stderr, /does not answer \(ECONNREFUSED\).*Run the same command again later/);
  });

  test('probe reads the user_id from standard input and writes a dialect that serve accepts', async () => {
    const out = freshPath('json');
    const args = ['migrate', 'probe', site.old().url, '--rate', '1000', '--out', out];
    const { code, stdout, stderr } = await columba(args, { env: { COLUMBA_TIME_ZONE: '+02:00' }, input: `${ALPHA}\n` });
    assert.equal(code, 0, stderr);
    assert.match(stdout, /Namespace: http:\/\/old\.example\/webservices\//);
    assert.match(stdout, /inbox\.Unread: leaves messages as they are/);
    assert.doesNotMatch(stdout + stderr, /old-user-id|\+2783/);
    assert.equal(JSON.parse(readFileSync(out, 'utf8')).namespace, ODD_WAYS.namespace);
    assert.match(stdout, /statusWords/);
  });

  test('probe says that standard input had no user_id', async () => {
    const { code, stderr } = await columba(['migrate', 'probe', site.old().url]);
    assert.deepEqual([code, stderr], [1, 'columba: user_id: there was nothing on standard input\n']);
  });

  test('har says in its own words that a file does not exist', async () => {
    const { code, stderr } = await migrate('har', 'nofile.har');
    assert.deepEqual([code, stderr], [1, 'columba: nofile.har: there is no such file\n']);
  });

  test('a file of user_ids that others may read is reported, and so is one without user_ids', async () => {
    if (process.platform !== 'win32') {
      chmodSync(site.users(), 0o644);
      assert.match((await migrate('import', ...both(), '--dry-run')).stderr, /chmod 600/);
    }
    writeFileSync(site.users(), '# nothing\n');
    const { code, stderr } = await migrate('import', ...both());
    assert.equal(code, 1);
    assert.match(stderr, /there is no user_id in it/);
  });
});
