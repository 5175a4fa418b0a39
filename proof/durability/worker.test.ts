import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { columba, freshPath } from '../../test/support/command.ts';
import { onEveryEngine } from '../../test/support/engines.ts';
import { createCaller, startProgram, until, within } from '../../test/support/program.ts';
import { createRandom, SEED } from '../../test/support/random.ts';
import { judge, readStoredData } from './stored-data.ts';
import { accountFor, Writer } from './writers.ts';

/** One worker of several is killed while all of them write; proof/durability/crash.test.ts kills the whole program. */
const WORKERS = 2;
const WRITERS = 6;
const KILLS = 2;
const USER_ID = 'user_id of the writers';

onEveryEngine('a worker that is killed under load', (engine) => {
  test('a worker that is killed under load loses only its own calls: the other calls succeed, and no acknowledged write is lost', async (t) => {
    t.diagnostic(`SEED=${SEED}`);
    const random = createRandom('workers');
    const database = await engine.fresh('empty');
    const file = freshPath('json');
    writeFileSync(file, JSON.stringify({ accounts: [accountFor(WRITERS, 'writers', USER_ID)] }));
    assert.equal((await columba(['import', file, '--database', database])).code, 0);
    const program = await startProgram(database, WORKERS);
    const writers = Array.from({ length: WRITERS }, (_, name) => new Writer(name));
    const acknowledged = () => writers.reduce((sum, { acknowledged: count }) => sum + count, 0);

    for (let kill = 1; kill <= KILLS; kill++) {
      let going = true;
      const callers = writers.map(() => createCaller(program.address, USER_ID));
      const runs = writers.map((writer, index) => writer.run(callers[index] as (typeof callers)[number], () => going));
      const some = acknowledged() + 20 + random.below(40);
      await until('some writes', () => acknowledged() >= some);
      process.kill(random.pick(program.workers()).pid, 'SIGKILL');
      await until('it is replaced', () => program.logged('serving').length === WORKERS + kill);
      const more = acknowledged() + 20;
      await until('the others write on', () => acknowledged() >= more);
      going = false;
      const outcomes = await Promise.all(runs);
      for (const caller of callers) caller.close();
      const answered = outcomes.filter((outcome) => outcome && !(outcome instanceof Error));
      assert.deepEqual(answered, [], 'a kill is no answer, and nobody else was refused');
      assert.ok(
        outcomes.some((outcome) => outcome === undefined),
        'nobody wrote on',
      );

      const observer = createCaller(program.address, USER_ID);
      judge(writers, await readStoredData(observer), `kill ${kill}, SEED=${SEED}`);
      observer.close();
    }
    assert.equal(program.workers().length, WORKERS);
    program.kill('SIGTERM');
    assert.equal((await within('the end', program.ended)).code, 0);
  });
});
