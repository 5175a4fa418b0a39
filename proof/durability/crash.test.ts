import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { columba, freshDatabase, freshPath } from '../../test/support/command.ts';
import { onEveryEngine } from '../../test/support/engines.ts';
import { createPostgresServer, type PostgresServer } from '../../test/support/postgres-server.ts';
import {
  crash,
  createCaller,
  type HttpAnswer,
  isAlive,
  type Program,
  startProgram,
  until,
} from '../../test/support/program.ts';
import { createRandom, SEED } from '../../test/support/random.ts';
import { judge, parseExport, readStoredData } from './stored-data.ts';
import { accountFor, Writer } from './writers.ts';

/** Kills in the middle of writing, again and again: nothing that was acknowledged is lost, and nothing is half there. */
const WRITERS = 6;
const SERVER_KILLS = 8;
const DATABASE_KILLS = 4;
const USER_ID = 'user_id of the writers';

const newWriters = () => Array.from({ length: WRITERS }, (_, name) => new Writer(name));
const acknowledged = (writers: readonly Writer[]) => writers.reduce((sum, writer) => sum + writer.acknowledged, 0);

async function importInto(database: string, text: string): Promise<void> {
  const file = freshPath('json');
  writeFileSync(file, text);
  const { code, stderr } = await columba(['import', file, '--database', database]);
  assert.equal(code, 0, `import: ${stderr}`);
}
async function exportOf(database: string): Promise<string> {
  const { code, stdout, stderr } = await columba(['export', '--database', database]);
  assert.equal(code, 0, `export: ${stderr}`);
  return stdout;
}

/** Writers at work, a kill after some more of their writes, and how each of them noticed. */
async function killUnderLoad(program: Program, writers: Writer[], name: string, kill: () => Promise<void>) {
  const random = createRandom(name);
  const callers = writers.map(() => createCaller(program.address, USER_ID));
  let going = true;
  const runs = writers.map((writer, index) => writer.run(callers[index] as (typeof callers)[number], () => going));
  const enough = acknowledged(writers) + 5 + random.below(80);
  const ended = Promise.all(runs);
  const early = ended.then((outcomes) => assert.fail(`${name}: nobody writes any more: ${statuses(outcomes)}`));
  early.catch(() => {}); // after the kill they may
  await Promise.race([until('some writes', () => acknowledged(writers) >= enough), early]);
  await sleep(random.below(20));
  await kill();
  // After a kill of the program a writer may have got its last answer and only then been asked whether to go on.
  if (!isAlive(program.pid)) going = false;
  const outcomes = await ended;
  for (const caller of callers) caller.close();
  return outcomes;
}

async function observe(program: Program, writers: Writer[], when: string): Promise<void> {
  const caller = createCaller(program.address, USER_ID);
  judge(writers, await readStoredData(caller), `${when}, SEED=${SEED}`);
  caller.close();
}

const statuses = (outcomes: (HttpAnswer | Error | undefined)[]) =>
  outcomes.map((outcome) => (outcome instanceof Error ? outcome.message : outcome?.status));

/** What it wrote of its own mistakes, or of its end. */
const bugsOf = ({ output }: Program) =>
  output.stderr
    .split('\n')
    .filter((line) => !line.startsWith('{') || line.includes('"kind":"internal"'))
    .join('\n');

onEveryEngine('a crash', (engine) => {
  let postgres: PostgresServer | undefined;
  let count = 0;
  const freshOne = async () => {
    if (!postgres) return freshDatabase();
    const name = `crash_${++count}`;
    await postgres.query(`create database ${name}`);
    return postgres.url(name);
  };
  /** What the processes that are gone have asked the database to do, it may still be doing. */
  const isQuiet = async () =>
    !postgres || (await postgres.query(`select pid from pg_stat_activity where datname like 'crash%'`)).length === 0;

  if (engine.name === 'postgres') {
    before(async () => {
      postgres = await createPostgresServer([]); // one that waits for its disk
      await postgres.start();
    });
    after(() => postgres?.remove());
  }

  /** The account after everything, without the program: what an export says, here and after a move. */
  async function exportIsWhole(database: string, writers: Writer[]): Promise<void> {
    const text = await exportOf(database);
    judge(writers, parseExport(text), `export, SEED=${SEED}`);
    const elsewhere = await freshOne();
    await importInto(elsewhere, text);
    assert.equal(await exportOf(elsewhere), text);
  }

  const told = (t: TestContext, kills: number, writers: Writer[]) =>
    t.diagnostic(`SEED=${SEED}: ${kills} kills, ${acknowledged(writers)} acknowledged writes`);

  test('a crash of the program loses no write that was acknowledged, and leaves none half done', async (t) => {
    const database = await freshOne();
    const writers = newWriters();
    await importInto(database, JSON.stringify({ accounts: [accountFor(WRITERS, 'writers', USER_ID)] }));
    for (let number = 1; number <= SERVER_KILLS; number++) {
      const name = `kill ${number} of the program`;
      const program = await startProgram(database, number % 5 === 0 ? 2 : 1);
      await observe(program, writers, `before ${name}`);
      const outcomes = await killUnderLoad(program, writers, name, () => crash(program));
      const answered = outcomes.filter((outcome) => outcome && !(outcome instanceof Error));
      assert.deepEqual(answered, [], 'a kill is no answer');
      await until('the database has noticed', isQuiet);
    }
    told(t, SERVER_KILLS, writers);
    await exportIsWhole(database, writers);
  });

  if (engine.name === 'postgres') {
    test('a crash of the database loses no write that was acknowledged either, and the program goes on when it is back', async (t) => {
      const server = postgres as PostgresServer;
      const database = await freshOne();
      const writers = newWriters();
      await importInto(database, JSON.stringify({ accounts: [accountFor(WRITERS, 'writers', USER_ID)] }));
      const program = await startProgram(database, 1);
      const health = async (path: string) => (await fetch(`${program.address}/health/${path}`)).status;

      for (let number = 1; number <= DATABASE_KILLS; number++) {
        const name = `kill ${number} of the database`;
        const kill = number % 2 === 0 ? () => server.stop('immediate') : () => killServer(server);
        const outcomes = await killUnderLoad(program, writers, name, kill);
        assert.deepEqual(statuses(outcomes), Array(WRITERS).fill(503), `${name}: ${bugsOf(program)}`);
        assert.deepEqual([await health('live'), await health('ready')], [200, 503]);
        await startAgain(server);
        await until('the program is ready', async () => (await health('ready')) === 200);
        await observe(program, writers, `after ${name}`);
      }
      told(t, DATABASE_KILLS, writers);
      await crash(program);
      await exportIsWhole(database, writers);
    });
  }
});

async function killServer({ folder, query }: PostgresServer): Promise<void> {
  const [pid] = readFileSync(join(folder, 'data', 'postmaster.pid'), 'utf8').split('\n');
  process.kill(Number(pid), 'SIGKILL');
  await until('it is gone', () =>
    query('select 1').then(
      () => false,
      () => true,
    ),
  );
}

/** As long as processes of the killed one are there, the next one refuses to start. */
async function startAgain(server: PostgresServer): Promise<void> {
  await until('the database starts', () =>
    server.start().then(
      () => true,
      () => false,
    ),
  );
}
