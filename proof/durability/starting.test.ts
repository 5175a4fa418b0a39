import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { describe, test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { pino } from 'pino';
import { systemClock } from '../../src/base/clock.ts';
import { readConfig } from '../../src/config/settings.ts';
import { serve } from '../../src/serve/serve.ts';
import type { Database } from '../../src/store/database.ts';
import { columba, freshDatabase, freshPath, launch } from '../../test/support/command.ts';
import { type Engine, engines, onEveryEngine } from '../../test/support/engines.ts';
import { type Peer, testWith } from '../../test/support/peers.ts';
import { isAlive, startProgram, until, within } from '../../test/support/program.ts';

/** Several processes that are still starting, or cannot start. */
const COLUMBA = fileURLToPath(new URL('../../columba', import.meta.url));
const WORKERS = 2;
const STARTING = 'a worker is starting';

/** Makes every worker hang before it serves, or those of a certain number. */
const hanging = (which = 'true') =>
  inWorkers(`if (${which}) await new Promise(() => setInterval(() => {}, 1_000_000));`);

function inWorkers(code: string): Readonly<Record<string, string>> {
  const file = freshPath('mjs');
  writeFileSync(
    file,
    `import cluster from 'node:cluster';
     import { writeSync } from 'node:fs';
     if (cluster.isWorker) {
       writeSync(2, '${STARTING} ' + process.pid + '\\n');
       ${code}
     }`,
  );
  return { NODE_OPTIONS: `--import ${pathToFileURL(file).href}` };
}

const startArgs = (database: string) => [
  ...['serve', '--port', '0', '--workers', String(WORKERS), '--database', database],
  ...['--web-port', 'off', '--dispatcher', 'off'],
];

async function startHanging(database: string) {
  const program = launch(startArgs(database), { env: hanging() });
  await until('a worker is starting', () => program.output.stderr.includes(STARTING));
  const pid = Number(new RegExp(`${STARTING} (\\d+)`).exec(program.output.stderr)?.[1]);
  return { ...program, pid };
}

// Whatever the database: it is not open yet.
describe('processes that are still starting', () => {
  const engine = engines[0] as Engine;

  test('SIGTERM to the primary process ends all processes, without waiting until they serve', async () => {
    const { child, ended, pid } = await startHanging(await engine.fresh('none'));
    child.kill('SIGTERM');
    const { code, stderr } = await within('the end of all processes', ended);
    assert.equal(code, 0, stderr);
    assert.equal(isAlive(pid), false);
  });

  test('starting workers end by themselves when the primary process is killed', async () => {
    const { child, ended } = await startHanging(await engine.fresh('none'));
    child.kill('SIGKILL');
    await within('the end of all processes', ended); // each of them holds the standard error
  });

  for (const number of [1, 2]) {
    test(`worker ${number} is replaced when it is killed, and all workers serve in the end`, async () => {
      const env = hanging(`cluster.worker.id === ${number}`);
      const { child, ended, output } = launch(startArgs(await engine.fresh('none')), { env });
      const serving = () => output.stderr.match(/"msg":"serving"/g)?.length ?? 0;
      const started = () => [...output.stderr.matchAll(new RegExp(`${STARTING} (\\d+)`, 'g'))].map(([, pid]) => pid);
      // The others serve by then, so the one that is left is the one that hangs.
      const isHanging = () =>
        number === 1 ? started().length === 1 : started().length === WORKERS && serving() === WORKERS - 1;
      await until('it hangs', isHanging);
      const served = [...output.stderr.matchAll(/"pid":(\d+),"msg":"serving"/g)].map(([, pid]) => pid);
      const [pid] = started().filter((each) => !served.includes(each));
      process.kill(Number(pid), 'SIGKILL');
      await until('all serve', () => output.stderr.includes('"msg":"serving with workers"'));
      // Each process writes its own lines, so those of a worker may come after that of the primary process.
      await until('every worker says so', () => serving() === WORKERS);
      assert.equal(output.stderr.match(/a worker was killed before it served and is replaced/g)?.length, 1);
      child.kill('SIGTERM');
      assert.equal((await within('the end of all processes', ended)).code, 0);
    });
  }

  test('if every worker is killed before it serves, the program says so and ends after 5 workers', async () => {
    const env = inWorkers("process.kill(process.pid, 'SIGKILL');");
    const { code, stderr } = await columba(startArgs(await engine.fresh('none')), { env });
    assert.equal(code, 1);
    assert.equal(stderr.match(new RegExp(STARTING, 'g'))?.length, 5);
    assert.match(stderr, /^columba: A worker ended with SIGKILL before it served\.\n$/m);
  });

  test('a port that is taken is reported once, in sentences without a stack, and all processes end', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const args = ['serve', '--port', String(port), '--workers', String(WORKERS)];
    const { code, stderr } = await columba([...args, '--database', await engine.fresh('none')]);
    assert.deepEqual(stderr.split('\n'), [
      `columba: Port ${port} is taken. Choose another port with --port or COLUMBA_PORT.`,
      'columba: A worker ended with code 1 before it served.',
      '',
    ]);
    assert.equal(code, 1);
    server.close();
  });
});

onEveryEngine('a primary process that cannot serve metrics', (engine) => {
  test('a primary process that cannot serve metrics says so after it has closed its database, whose connections would keep it alive', async (t) => {
    const before = process.listeners('uncaughtException');
    t.after(() => {
      process.removeAllListeners('uncaughtException');
      for (const listener of before) process.on('uncaughtException', listener);
    });
    const server = createServer().listen(0, '127.0.0.1');
    t.after(() => server.close());
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const environment = { COLUMBA_DATABASE: await engine.fresh('none'), COLUMBA_WORKERS: '2' };
    const config = readConfig({ ...environment, COLUMBA_METRICS_PORT: String(port) });
    let closed = 0;
    const database = (opened: Database): Database => ({
      ...opened,
      close: () => opened.close().then(() => void closed++),
    });
    const deps = {
      clock: { ...systemClock, now: () => 0, sleep: async () => {} },
      log: pino({ level: 'silent' }),
      database,
    };
    await assert.rejects(serve(config, deps, { demo: false, trace: undefined }), /^Problem: Port \d+ is taken/);
    assert.equal(closed, 1);
  });
});

describe('SIGHUP', () => {
  test('a single process says after SIGHUP that it has no workers to restart and continues, from its first log line on', async () => {
    const program = await startProgram(freshDatabase(), 1);
    for (let times = 1; times <= 2; times++) {
      program.kill('SIGHUP');
      const warned = () => program.logged('SIGHUP restarts workers, but this service has none').length === times;
      await until('it is logged', warned);
      assert.equal((await fetch(`${program.address}/health/ready`)).status, 200);
    }
    program.kill('SIGTERM');
    assert.equal((await within('the end', program.ended)).code, 0);
  });
});

const script: Peer = {
  name: 'script of util-linux',
  command: spawnSync('script', ['-qec', 'true', '/dev/null'], { stdio: 'ignore' }).status === 0 ? 'script' : null,
};

describe('a service that was started in a terminal', () => {
  for (const workers of [1, WORKERS]) {
    testWith(
      script,
      `a service ends when its terminal is closed, and SIGHUP alone does not end it (workers: ${workers})`,
      async () => {
        const command = freshPath('sh');
        writeFileSync(command, `#!/bin/sh\nexec script -qfec '${COLUMBA} serve '"$*" /dev/null\n`);
        chmodSync(command, 0o755);
        const args = ['--port', '0', '--drain-timeout-ms', '0', '--workers', String(workers)];
        const terminal = launch([...args, '--database', freshDatabase()], { command });
        const lines = () => (terminal.output.stdout.match(/^\{.*\}/gm) ?? []).map((line) => JSON.parse(line));
        const logged = (message: RegExp) => lines().filter(({ msg }) => message.test(msg));
        const serves = workers === 1 ? /^serving$/ : /^serving with workers$/;
        await until('it serves', () => logged(serves).length === 1);
        const [{ pid }] = logged(serves);
        process.kill(pid, 'SIGHUP');
        await until('SIGHUP is heard', () => logged(/this service has none$|^the workers are restarted$/).length === 1);
        const { address } = logged(/^serving$/).at(-1);
        terminal.child.kill('SIGKILL'); // and with it the terminal is gone
        await until('nobody has the port', () =>
          fetch(`${address}/health/live`).then(
            () => false,
            () => true,
          ),
        );
      },
    );
  }
});
