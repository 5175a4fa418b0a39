import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { onEveryEngine } from '../../test/support/engines.ts';
import {
  createCaller,
  type HttpAnswer,
  type Program,
  startProgram,
  until,
  WITH_OPERATOR,
  within,
} from '../../test/support/program.ts';
import { PROTOCOLS } from '../../test/support/protocols.ts';
import { ACME } from '../../test/support/service.ts';
import { statusOf } from '../../test/support/socket.ts';
import { halfCall } from './connections.ts';

/** SIGHUP: new workers for old ones, and no client notices. */
const WORKERS = 2;
const CLIENTS = 8;
// For what the primary process tells the others after they have written their lines.
const SIGNAL_MS = 200;

interface Load {
  /** Ends it; how many calls there were. All of them have succeeded. */
  stop(): Promise<{ calls: number; connections: number }>;
}

/** Clients that call without a pause, each on a connection that it keeps until it is told to close it. */
function callWithoutPause(program: Program): Load {
  let going = true;
  let calls = 0;
  let connections = CLIENTS;
  const client = async (name: number) => {
    const caller = createCaller(program.address, ACME);
    const text = `by client ${name}`;
    for (let turn = 0; going; turn++) {
      const protocol = PROTOCOLS[(turn + name) % PROTOCOLS.length] ?? 'get';
      const calling: [string, string, Record<string, string>][] = [
        ['inbox', 'CountUnread', {}],
        ['account', 'SaveMessageTemplate', { message: text }],
        ['account', 'FetchContacts', {}],
        ['account', 'DeleteMessageTemplate', { message: text }],
      ];
      const [group, operation, args] = calling[turn % calling.length] as (typeof calling)[number];
      const answer: HttpAnswer = await caller.send(group, operation, args, protocol);
      assert.equal(answer.status, 200, `call ${calls}, ${operation}: ${answer.text}`);
      if (/Template/.test(operation)) assert.match(answer.text, />true</);
      if (answer.headers.connection === 'close') connections += 1;
      calls += 1;
    }
    caller.close();
  };
  const clients = Promise.all(Array.from({ length: CLIENTS }, (_, name) => client(name)));
  clients.catch(() => {}); // stop() tells
  return {
    async stop() {
      going = false;
      await clients;
      return { calls, connections };
    },
  };
}

// Each worker drains for 5 s and starts anew, one after the other: on a busy machine that takes minutes.
const RESTART_MS = 240_000;
const restarted = (program: Program, times: number) =>
  until(
    `restart ${times}`,
    () => {
      assert.deepEqual(program.logged('the workers could not be restarted'), []);
      return program.logged('the workers are restarted').length === times;
    },
    RESTART_MS,
  );

async function endsWell(program: Program): Promise<void> {
  program.kill('SIGTERM');
  const { code, stderr } = await within('the end of the program', program.ended);
  assert.equal(code, 0, stderr);
  assert.doesNotMatch(stderr, /"level":[456]0/);
}

/** Exactly so many, and it stays so. */
async function hasWorkers(program: Program, count: number): Promise<void> {
  await until(`${count} workers`, () => program.workers().length === count, 10_000);
  await sleep(300);
  assert.equal(program.workers().length, count);
}

onEveryEngine('a rolling restart', (engine) => {
  test('no call fails during two restarts under load, after which all workers are new', async (t) => {
    const program = await startProgram(await engine.fresh('sample'), WORKERS, ['--drain-timeout-ms', '5000']);
    const load = callWithoutPause(program);
    for (const times of [1, 2]) {
      const before = new Set(program.workers().map(({ pid }) => pid));
      program.kill('SIGHUP');
      await restarted(program, times);
      assert.deepEqual(
        program.workers().filter(({ pid }) => before.has(pid)),
        [],
      );
      assert.equal(program.workers().length, WORKERS);
    }
    const { calls, connections } = await load.stop();
    t.diagnostic(`${calls} calls over ${connections} connections`);
    assert.ok(connections >= 3 * CLIENTS, 'every client has been told to close its connection by each restart');
    await endsWell(program);
  });

  test('after a second SIGHUP during a restart no call fails, and there are as many workers as before', async () => {
    const args = ['--drain-timeout-ms', '5000', ...WITH_OPERATOR];
    const program = await startProgram(await engine.fresh('sample'), WORKERS, args);
    const load = callWithoutPause(program);
    program.kill('SIGHUP');
    await until('the first SIGHUP is known', () => program.logged('restarting the workers').length === 1);
    program.kill('SIGHUP');
    await until('the second SIGHUP is known', () => program.logged('restarting the workers').length === 2);
    await restarted(program, 2);
    await load.stop();
    await hasWorkers(program, WORKERS);
    await endsWell(program);
  });

  /** A restart that waits for the first worker, because on each worker a call has half arrived. */
  async function restartUnderWay() {
    const program = await startProgram(await engine.fresh('sample'), WORKERS);
    const old = program.workers().map(({ pid }) => pid);
    const calls = await Promise.all(old.map(() => halfCall(program)));
    program.kill('SIGHUP');
    await until('the first worker is stopping', () => program.logged('stopping').length === 1);
    const answers = () =>
      Promise.allSettled(
        calls.map(async (call) => {
          await call.finish();
          return statusOf(await call.receive());
        }),
      );
    return { program, old, answers };
  }
  const succeeded = (outcomes: PromiseSettledResult<number>[]) =>
    outcomes.filter((outcome) => outcome.status === 'fulfilled' && outcome.value === 200).length;

  test('SIGTERM during a restart finishes all calls and ends all workers, old and new', async () => {
    const { program, old, answers } = await restartUnderWay();
    program.kill('SIGTERM');
    await until('all old workers are stopping', () => {
      const told = program.logged('stopping').map(({ pid }) => pid);
      return old.every((pid) => told.includes(pid));
    });
    await sleep(SIGNAL_MS);
    assert.equal(succeeded(await answers()), WORKERS);
    const { code, stderr } = await within('the end of the program', program.ended);
    assert.equal(code, 0, stderr);
  });

  test('after SIGTERM right behind SIGHUP no web process outlives the program', async () => {
    const program = await startProgram(await engine.fresh('sample'), WORKERS, WITH_OPERATOR);
    program.kill('SIGHUP');
    await until('the SIGHUP is known', () => program.logged('restarting the workers').length === 1);
    program.kill('SIGTERM');
    // Its standard error is closed only when no process is left that has it.
    const { code, stderr } = await within('the end of all processes', program.ended);
    assert.equal(code, 0, stderr);
  });

  test('a worker that is killed during a restart does not stop it, and the number of workers is kept', async () => {
    const { program, old, answers } = await restartUnderWay();
    const waiting = program.logged('stopping')[0]?.pid;
    process.kill(old.findLast((pid) => pid !== waiting) as number, 'SIGKILL');
    await until('it is replaced', () => program.logged('serving').length === WORKERS + 2);
    assert.equal(succeeded(await answers()), WORKERS - 1);
    await restarted(program, 1);
    await hasWorkers(program, WORKERS);
    assert.deepEqual(
      program.workers().filter(({ pid }) => old.includes(pid)),
      [],
    );
    program.kill('SIGTERM');
    assert.equal((await within('the end of the program', program.ended)).code, 0);
  });
});
