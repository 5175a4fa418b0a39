import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { columba, freshPath } from '../../test/support/command.ts';
import { onEveryEngine } from '../../test/support/engines.ts';
import { createCaller, startProgram, within } from '../../test/support/program.ts';
import { ACME } from '../../test/support/service.ts';

/** Work that takes its time, and the limits that are there for calls. */
const COLUMBA = fileURLToPath(new URL('../../columba', import.meta.url));
const TIME = '2026-10-01T08:00:00Z';
const LIMIT_MS = 500;
const limited = { COLUMBA_DATABASE_TIMEOUT_MS: String(LIMIT_MS) };

async function importAccount(database: string, fields: object, env = {}) {
  const account = { username: 'one', userID: 'one', credits: 0, usedCredits: 0, datetimeCreated: TIME, ...fields };
  const file = freshPath('json');
  writeFileSync(file, JSON.stringify({ accounts: [account] }));
  return columba(['import', file, '--database', database], { env });
}

/** Another program in a transaction, which is at writing to the account. */
async function holdAccount(database: string): Promise<{ release(): Promise<void> }> {
  if (database.startsWith('sqlite:')) {
    const other = new DatabaseSync(database.slice('sqlite:'.length), { timeout: 5_000 });
    other.exec('begin immediate');
    return { release: async () => other.close() };
  }
  const other = new pg.Client({ connectionString: database });
  await other.connect();
  await other.query('begin');
  await other.query("select from account where username = 'acme' for update");
  return { release: () => other.end() };
}

onEveryEngine('waiting', (engine) => {
  test('a call that waits for the transaction of another program delays no other call, and succeeds in the end', async () => {
    const program = await startProgram(await engine.fresh('sample'), 1);
    const [writer, reader] = [createCaller(program.address, ACME), createCaller(program.address, ACME)];
    const other = await holdAccount(program.database);
    const writing = writer.send('account', 'SaveMessageTemplate', { message: 'late' });
    await sleep(100); // so that it waits before the others come
    assert.equal(await reader.ask('inbox', 'CountUnread'), 4n);
    assert.equal((await fetch(`${program.address}/health/ready`)).status, 200);
    await other.release();
    assert.equal((await writing).status, 200);
    writer.close();
    reader.close();
    program.kill('SIGTERM');
    assert.equal((await within('the end', program.ended)).code, 0);
  });

  test('an export is complete, however long its reader pauses', async () => {
    const database = await engine.fresh('empty');
    const message = 'x'.repeat(500);
    const inbox = Array.from({ length: 3_000 }, (_, id) => ({ id: String(id), message, timestamp: TIME, read: false }));
    assert.equal((await importAccount(database, { inbox })).code, 0);
    const { PATH = '' } = process.env;
    const child = spawn(COLUMBA, ['export', '--database', database], { env: { PATH, ...limited } });
    let errors = '';
    child.stderr.setEncoding('utf8').on('data', (text) => {
      errors += text;
    });
    const closed = once(child, 'close');
    await once(child.stdout, 'readable');
    await sleep(2 * LIMIT_MS);
    const chunks: Buffer[] = [];
    for await (const chunk of child.stdout) chunks.push(chunk);
    const [code] = await within('the end', closed);
    assert.deepEqual([code, errors], [0, '']);
    const { accounts } = JSON.parse(Buffer.concat(chunks).toString('utf8'));
    assert.deepEqual(accounts[0].inbox, inbox);
  });

  test('an account is imported however much there is to compute', async () => {
    const database = await engine.fresh('empty');
    const scheduled = Array.from({ length: 900 }, (_, id) => ({
      id: String(id),
      recipient: '+27825550201',
      message: 'x'.repeat(306),
      timestamp_scheduled: TIME,
      timestamp_created: TIME,
    }));
    const { code, stderr, stdout } = await importAccount(database, { scheduled }, limited);
    assert.deepEqual([code, stderr, stdout], [0, '', 'Imported 1 account with 900 messages.\n']);
  });
});
