import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync, readFileSync, writeFileSync } from 'node:fs';
import { Socket } from 'node:net';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { systemClock } from '../../src/base/clock.ts';
import { createLogStream } from '../../src/serve/telemetry/log-stream.ts';
import { freshPath } from '../../test/support/command.ts';
import { engines, onEveryEngine } from '../../test/support/engines.ts';
import { createCaller, isAlive, until, within } from '../../test/support/program.ts';
import { ACME } from '../../test/support/service.ts';
import { type LogLine, type ObservedServer, startObserved } from '../../test/support/telemetry-output.ts';

const CALLERS = 8;

/** Calls until it fails, each with an id of its own; the ids of those that were answered. */
async function callOn(address: string, answered: Set<string>): Promise<void> {
  const caller = createCaller(address, ACME);
  try {
    for (;;) {
      const { headers } = await caller.send('inbox', 'CountUnread', {});
      answered.add(headers['x-request-id'] as string);
    }
  } catch {
    caller.close();
  }
}

/** Puts it under load, ends it in the middle of that, and holds its log against the answers. */
async function endUnderLoad(program: ObservedServer, signal: NodeJS.Signals): Promise<void> {
  const answered = new Set<string>();
  const callers = Array.from({ length: CALLERS }, () => callOn(program.address, answered));
  await until('there is some load', () => answered.size > 500);
  program.child.kill(signal);
  await Promise.all(callers);
  await within('its end', program.ended);
  const lines = new Set(program.calls().map(({ request_id }) => request_id));
  const missing = [...answered].filter((id) => !lines.has(id));
  assert.deepEqual(missing, [], `${missing.length} of ${answered.size} calls have no line`);
}

/** A file that makes a process throw when it gets a signal. */
function throwing(): string {
  const file = freshPath('mjs');
  writeFileSync(file, `process.on('SIGUSR2', () => { throw new Error('thrown on purpose'); });`);
  return `--import ${pathToFileURL(file).href}`;
}

onEveryEngine('log lines', (engine) => {
  test('no log line is lost when the service is asked to stop under load', async () => {
    const program = await startObserved(await engine.fresh('sample'));
    await endUnderLoad(program, 'SIGTERM');
    assert.equal(program.lines().filter(({ msg }) => msg === 'stopping').length, 1);
  });

  test('no log line is lost when an error ends the process, which says so itself and ends with 1', async () => {
    const program = await startObserved(await engine.fresh('sample'), { env: { NODE_OPTIONS: throwing() } });
    await endUnderLoad(program, 'SIGUSR2');
    const { level, err } = program.lines().at(-1) as LogLine & { err: { message: string } };
    assert.deepEqual([level, err.message], [60, 'thrown on purpose']);
    assert.equal((await program.ended).code, 1);
  });

  test('no log line is lost or mixed with another where several processes write, and one of them ends by an error', async () => {
    const env = { NODE_OPTIONS: throwing() };
    const program = await startObserved(await engine.fresh('sample'), { args: ['--workers', '3'], env });
    const workers = () => program.lines().filter(({ msg }) => msg === 'serving');
    await until('all workers serve', () => workers().length === 3);
    const answered = new Set<string>();
    const callers = Array.from({ length: CALLERS }, () => callOn(program.address, answered));
    await until('there is some load', () => answered.size > 500);
    process.kill(workers()[0]?.pid as number, 'SIGUSR2');
    await until('the worker is gone', () => !isAlive(workers()[0]?.pid as number));
    await program.stop();
    await Promise.all(callers);
    const lines = new Set(program.calls().map(({ request_id }) => request_id)); // each line is JSON, else this throws
    const missing = [...answered].filter((id) => !lines.has(id));
    assert.deepEqual(missing, []);
    assert.equal(program.lines().filter(({ level }) => level === 60).length, 1);
  });
});

describe('standard error', () => {
  const start = async () => startObserved((await engines[0]?.fresh('sample')) as string);

  test('a standard error that nobody reads delays neither the service nor its end', async () => {
    const program = await start();
    program.child.stderr?.removeAllListeners('data').pause();
    const caller = createCaller(program.address, ACME);
    // Far more than the buffers between two processes take.
    for (let count = 0; count < 3_000; count++) await caller.send('inbox', 'CountUnread', {});
    caller.close();
    program.child.kill('SIGTERM');
    const [code] = await within('its end', once(program.child, 'exit'));
    assert.equal(code, 0);
  });

  test('a closed standard error delays neither the service nor its end', async () => {
    const program = await start();
    program.child.stderr?.destroy();
    const caller = createCaller(program.address, ACME);
    for (let count = 0; count < 300; count++) await caller.send('inbox', 'CountUnread', {});
    caller.close();
    program.child.kill('SIGTERM');
    const [code] = await within('its end', once(program.child, 'exit'));
    assert.equal(code, 0);
  });
});

describe('the log stream', () => {
  const line = (number: number) => `${JSON.stringify({ number, text: 'x'.repeat(200) })}\n`;

  test('the log stream writes buffered lines before a line that is written at once', async () => {
    const file = freshPath('log');
    const output = createLogStream(false, systemClock, openSync(file, 'w'));
    for (let number = 0; number < 1_000; number++) output.writeLater(line(number));
    const before = readFileSync(file, 'utf8').split('\n').length - 1;
    assert.ok(before > 500 && before < 1_000, `${before} lines are out`);
    output.write(line(1_000));
    const numbers = () =>
      readFileSync(file, 'utf8')
        .trimEnd()
        .split('\n')
        .map((each) => JSON.parse(each).number);
    assert.deepEqual(
      numbers(),
      Array.from({ length: 1_001 }, (_, number) => number),
    );
    output.writeLater(line(1_001));
    await until('it is out by itself', () => numbers().length === 1_002);
    assert.equal(output.lost, 0);
  });

  test('the log stream keeps 4 MB for a slow reader, counts the lines that are lost beyond that, and continues when it is read again', async () => {
    const fifo = freshPath('fifo');
    const made = spawn('mkfifo', [fifo]);
    await once(made, 'exit');
    const reader = spawn('sh', ['-c', `exec 3<"${fifo}"; read go; cat <&3`], { stdio: ['pipe', 'pipe', 'inherit'] });
    const fd = openSync(fifo, 'w');
    // This makes it one that does not block, as Node does with standard error.
    const socket = new Socket({ fd, readable: false, writable: true });
    const output = createLogStream(true, systemClock, fd);
    for (let number = 0; number < 20_000; number++) output.writeLater(line(number));
    assert.ok(output.lost > 5_000 && output.lost < 20_000, `${output.lost} lines are lost`);
    const chunks: Buffer[] = [];
    reader.stdout.on('data', (chunk) => chunks.push(chunk));
    reader.stdin.end('go\n');
    const numbers = () =>
      Buffer.concat(chunks)
        .toString('utf8')
        .split('\n')
        .slice(0, -1)
        .map((each) => JSON.parse(each).number as number);
    await until('all that was kept has been read', async () => {
      await sleep(10);
      return numbers().length >= 20_000 - output.lost;
    });
    output.write(line(20_000));
    await until('the next one too', () => numbers().at(-1) === 20_000);
    assert.deepEqual(
      numbers(),
      numbers().toSorted((a, b) => a - b),
    );
    socket.destroy();
    reader.kill();
  });
});
