import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { columba, freshDatabase, freshPath, type Server, serving } from '../../test/support/command.ts';
import { type Engine, engines } from '../../test/support/engines.ts';
import { account, lines } from '../../test/support/import-files.ts';
import { onPostgres } from '../../test/support/postgres-engines.ts';

const GROUPS = [{ id: 1 }, { id: 2 }];
const CONTACTS = Array.from({ length: 60 }, (_, index) => ({ id: index + 1, groupid: 1 }));
const USER = encodeURIComponent('user_id of busy');

const call = async (server: Server, operation: string, query: string): Promise<boolean> => {
  const reply = await fetch(`${server.address}/api/account.asmx/${operation}?user_id=${USER}&${query}`);
  return reply.status === 200 && (await reply.text()).includes('>true<');
};

/** Saves templates, and moves all contacts from group to group, until it is told to end. */
function writing(server: Server) {
  const acknowledged: string[] = [];
  let going = true;
  const save = async (client: number) => {
    for (let number = 0; going; number++) {
      const text = `client ${client} number ${number}`;
      assert.ok(await call(server, 'SaveMessageTemplate', `message=${encodeURIComponent(text)}`));
      acknowledged.push(text);
      await sleep(100); // an account takes 1,000 templates
    }
  };
  const ids = CONTACTS.map(({ id }) => `contact_id=${id}`).join('&');
  const move = async () => {
    for (let turn = 0; going; turn++) {
      assert.ok(await call(server, 'MoveContactToNewGroup', `${ids}&group_id=${1 + (turn % 2)}`));
    }
  };
  const work = Promise.all([save(1), save(2), move(), move()]);
  work.catch(() => {}); // is told at the end
  return {
    acknowledged,
    async end(): Promise<void> {
      going = false;
      await work;
    },
  };
}

/** Accounts that make the copy take a while. */
const FILLING = Array.from({ length: 20 }, (_, number) =>
  account(`filling-${number}`, {
    inbox: Array.from({ length: 1_000 }, (_, id) => ({
      id,
      message: 'm'.repeat(500),
      timestamp: '2026-05-01T00:00:00Z',
      read: false,
    })),
  }),
);

async function imported(database: string): Promise<void> {
  const path = freshPath('ndjson');
  writeFileSync(path, lines(account('busy', { groups: GROUPS, contacts: CONTACTS }), ...FILLING));
  const { code, stderr } = await columba(['import', path, '--database', database]);
  assert.equal(code, 0, stderr);
}

interface Exported {
  readonly username: string;
  readonly templates: string[];
  readonly contacts: { groupid: string }[];
  readonly inbox: unknown[];
}

describe('a backup of the embedded database', () => {
  test('a backup of a database in use is complete, of one moment, and can be served after columba restore --adopt', {
    timeout: 300_000,
  }, async (t) => {
    const database = freshDatabase();
    await imported(database);
    const server = await serving(['--database', database]);
    t.after(() => server.child.kill('SIGKILL'));
    const load = writing(server);
    for (let round = 0; round < 3; round++) {
      const before = [...load.acknowledged];
      const copy = freshPath('db');
      const outcome = await columba(['backup', copy, '--database', database]);
      assert.deepEqual(outcome, { code: 0, stdout: `Wrote ${copy}.\n`, stderr: '' });
      assert.ok(load.acknowledged.length > before.length, 'nothing was written meanwhile');

      const opened = new DatabaseSync(copy, { readOnly: true });
      assert.deepEqual({ ...opened.prepare('pragma integrity_check').get() }, { integrity_check: 'ok' });
      assert.deepEqual(opened.prepare('pragma foreign_key_check').all(), []);
      opened.close();

      const { code, stdout, stderr } = await columba(['export', '--ndjson', '--database', `sqlite:${copy}`]);
      assert.equal(code, 0, stderr);
      const accounts = stdout
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as Exported);
      assert.equal(accounts.length, 1 + FILLING.length);
      const [busy, ...filling] = accounts as [Exported, ...Exported[]];
      assert.ok(filling.every(({ inbox }) => inbox.length === 1_000));
      assert.equal(new Set(busy.contacts.map(({ groupid }) => groupid)).size, 1, 'half of a move is in the copy');
      const kept = new Set(busy.templates);
      assert.deepEqual(
        before.filter((text) => !kept.has(text)),
        [],
        'acknowledged before the backup began',
      );
      const asked = new Set(load.acknowledged);
      assert.ok([...kept].filter((text) => !asked.has(text)).length <= 2, 'only what was on its way');

      const adopted = await columba(['restore', '--adopt', '--database', `sqlite:${copy}`]);
      assert.equal(adopted.code, 0, adopted.stderr);
      const restored = await serving(['--database', `sqlite:${copy}`]);
      const answer = await fetch(`${restored.address}/api/account.asmx/FetchSavedMessages?user_id=${USER}`);
      assert.equal((await answer.text()).match(/<string>/g)?.length ?? 0, kept.size);
      restored.child.kill('SIGTERM');
      assert.equal((await restored.ended).code, 0);
    }
    await load.end();
    server.child.kill('SIGTERM');
    assert.equal((await server.ended).code, 0);
  });

  test('columba backup does not overwrite an existing file', async () => {
    const database = freshDatabase();
    await columba(['account', 'add', 'a', '--database', database]);
    const path = freshPath('db');
    writeFileSync(path, 'precious');
    const { code, stdout, stderr } = await columba(['backup', path, '--database', database]);
    assert.deepEqual(
      [code, stdout, stderr],
      [1, '', `columba: ${path}: the file exists already. Replace it with --force.\n`],
    );
    assert.equal(readFileSync(path, 'utf8'), 'precious');
  });

  test('columba backup says in one sentence that the copy cannot be written', async () => {
    const path = freshPath('folder/that/is/not/there.db');
    const database = freshDatabase();
    await columba(['account', 'add', 'a', '--database', database]);
    const { code, stdout, stderr } = await columba(['backup', path, '--database', database]);
    assert.deepEqual([code, stdout], [1, '']);
    assert.equal(stderr, `columba: ${path}: its folder does not exist. Make it first.\n`);
    assert.ok(!existsSync(path));
  });
});

onPostgres('a backup of PostgreSQL', () => {
  test('columba backup of PostgreSQL names the tools of PostgreSQL', async () => {
    const postgres = engines.find(({ name }) => name === 'postgres') as Engine;
    const path = freshPath('db');
    const { code, stdout, stderr } = await columba(['backup', path, '--database', await postgres.fresh('none')]);
    assert.deepEqual([code, stdout], [1, '']);
    assert.equal(stderr, 'columba: Back up a PostgreSQL database with its own tools: pg_dump or pg_basebackup.\n');
    assert.ok(!existsSync(path));
  });
});
