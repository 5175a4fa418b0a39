import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { columba, freshPath } from '../../test/support/command.ts';
import { engines, onEveryEngine } from '../../test/support/engines.ts';
import { createCaller, isAlive, type Program, startProgram, until, within } from '../../test/support/program.ts';
import { ACME } from '../../test/support/service.ts';
import { openConnection, requestBytes, statusOf, textOf } from '../../test/support/socket.ts';
import { COUNT, halfCall, keptConnection } from './connections.ts';

/** Several processes behind one port: what they serve, and how they come and go. */
const WORKERS = 2;
const LONG_MS = '30000';
// For what the primary process tells the others after it has written its line.
const SIGNAL_MS = 200;

const READY = requestBytes('GET /health/ready HTTP/1.1', ['Host: sms.example']);

const served = (program: Program) => program.logged('serving').length;

/** Every process knows of it. */
const stopping = (program: Program) =>
  until('all processes are stopping', () => {
    const told = new Set(program.logged('stopping').map(({ pid }) => pid));
    return [program.pid, ...program.workers().map(({ pid }) => pid)].every((pid) => told.has(pid));
  });

async function endsWell(program: Program): Promise<void> {
  const { code, stdout, stderr } = await within('the end of the program', program.ended);
  assert.deepEqual([code, stdout], [0, ''], stderr);
  assert.deepEqual(
    stderr.split('\n').filter((line) => line !== '' && JSON.parse(line).level > 30),
    [],
  );
}

/** More than the buffers between two sockets take. */
const LARGE_BYTES = 24 * 1024 * 1024;

async function importLarge(database: string): Promise<void> {
  const message = 'x'.repeat(LARGE_BYTES / 48);
  const messages = Array.from({ length: 48 }, (_, id) => ({
    id,
    message,
    timestamp: '2026-10-01T08:00:00Z',
    read: false,
  }));
  const account = {
    username: 'large',
    userID: 'large',
    credits: 0,
    usedCredits: 0,
    datetimeCreated: '2026-10-01T08:00:00Z',
  };
  const file = freshPath('json');
  writeFileSync(file, JSON.stringify({ accounts: [{ ...account, inbox: messages }] }));
  assert.equal((await columba(['import', file, '--database', database])).code, 0);
}

async function refuses(program: Program): Promise<void> {
  const failed = await openConnection(program.address)
    .then((connection) => connection.receive())
    .catch((thrown) => thrown);
  assert.ok(failed instanceof Error, 'a connection was taken after the end');
}

onEveryEngine('processes', (engine) => {
  test('connections go to all workers, and a worker that is killed is replaced and loses only its own connections', async () => {
    const program = await startProgram(await engine.fresh('sample'), WORKERS);
    const before = program.workers();
    assert.equal(before.length, WORKERS);
    const connections = await Promise.all(before.map(() => keptConnection(program)));
    process.kill(before[1]?.pid as number, 'SIGKILL');
    await until('it is replaced', () => served(program) === WORKERS + 1);
    assert.equal(program.workers().length, WORKERS);

    const answers = await Promise.allSettled(
      connections.map(async (connection) => {
        await connection.send(COUNT);
        return statusOf(await connection.receive());
      }),
    );
    assert.deepEqual(
      answers.filter(({ status }) => status === 'fulfilled').map((answer) => 'value' in answer && answer.value),
      Array.from({ length: WORKERS - 1 }, () => 200),
    );
    for (const connection of connections) connection.close();
    for (let count = 0; count < WORKERS; count++) (await keptConnection(program)).close();
    program.kill('SIGTERM');
    assert.equal((await within('the end', program.ended)).code, 0);
  });

  test('workers that are all killed at once are replaced', async () => {
    const program = await startProgram(await engine.fresh('sample'), WORKERS);
    for (const { pid } of program.workers()) process.kill(pid, 'SIGKILL');
    await until('all are replaced', () => {
      assert.ok(
        isAlive(program.pid) && program.child.exitCode === null,
        `the primary process ended: ${program.output.stderr}`,
      );
      return served(program) === 2 * WORKERS;
    });
    // With --port 0 it is another one, since for a moment nobody held it.
    const address = program.workers().at(-1)?.address as string;
    const caller = createCaller(address, ACME);
    assert.equal(await caller.ask('inbox', 'CountUnread'), 4n);
    caller.close();
    program.kill('SIGTERM');
    assert.equal((await within('the end', program.ended)).code, 0);
  });

  // Processes end in the same way whatever database they have.
  for (const workers of engine === engines[0] ? [1, WORKERS] : []) {
    const many = workers === 1 ? 'one process' : `${workers} workers`;

    test(`SIGTERM finishes a call that has half arrived, then the program ends with 0 (${many})`, async () => {
      const program = await startProgram(await engine.fresh('sample'), workers);
      const call = await halfCall(program);
      program.kill('SIGTERM');
      await stopping(program);
      await call.finish();
      const answer = await call.receive();
      assert.deepEqual([statusOf(answer), answer.headers.connection], [200, 'close']);
      assert.match(textOf(answer), />true<\/boolean>$/);
      assert.equal((await call.ended()).length, 0);
      await endsWell(program);
      await refuses(program);

      const again = await startProgram(program.database, 1);
      const caller = createCaller(again.address, ACME);
      assert.ok(((await caller.ask('account', 'FetchSavedMessages')) as string[]).includes('slow'));
      caller.close();
      again.kill('SIGTERM');
      await endsWell(again);
    });

    test(`after SIGTERM an open connection gets one more answer, which closes it, and the service is not ready (${many})`, async () => {
      const program = await startProgram(await engine.fresh('sample'), workers, ['--drain-timeout-ms', LONG_MS]);
      const [calling, probing] = [await keptConnection(program), await keptConnection(program)];
      program.kill('SIGTERM');
      await stopping(program);
      await calling.send(COUNT);
      const answer = await calling.receive();
      assert.deepEqual([statusOf(answer), answer.headers.connection], [200, 'close']);
      assert.match(textOf(answer), />4<\/long>$/);
      await calling.ended();
      await probing.send(READY);
      const probed = await probing.receive();
      assert.deepEqual([statusOf(probed), probed.headers.connection, textOf(probed)], [503, 'close', 'stopping\n']);
      await probing.ended();
      await endsWell(program);
    });

    test(`connections that stay idle or never send anything do not delay the end of the program (${many})`, async () => {
      const program = await startProgram(await engine.fresh('sample'), workers, ['--request-timeout-ms', '600000']);
      const silent = await openConnection(program.address);
      const idle = await keptConnection(program); // and so the other one, which came first, has been taken too
      program.kill('SIGTERM');
      // It is the server that closes them.
      await idle.ended();
      await silent.ended();
      await endsWell(program);
    });

    test(`a second SIGTERM ends the program without waiting for clients (${many})`, async () => {
      const program = await startProgram(await engine.fresh('sample'), workers, ['--drain-timeout-ms', LONG_MS]);
      const call = await halfCall(program);
      program.kill('SIGTERM');
      await stopping(program);
      program.kill('SIGTERM');
      // Its standard error is closed only when no process is left that has it.
      assert.equal((await within('the end of all processes', program.ended)).code, 1);
      call.close();
    });
  }

  test('after SIGTERM an answer in progress is still sent completely', async () => {
    const database = await engine.fresh('empty');
    await importLarge(database);
    const program = await startProgram(database, 1);
    const { hostname, port } = new URL(program.address);
    const socket = connect(Number(port), hostname);
    socket.write('GET /api/inbox.asmx/InboxDS?user_id=large&max_count=100 HTTP/1.1\r\nHost: sms.example\r\n\r\n');
    const [first] = (await once(socket, 'data')) as [Buffer];
    socket.pause();
    program.kill('SIGTERM');
    await stopping(program);
    await sleep(SIGNAL_MS);
    const chunks = [first];
    for await (const chunk of socket) chunks.push(chunk);
    const answer = Buffer.concat(chunks);
    assert.match(answer.subarray(0, 1_000).toString('latin1'), /\r\ntransfer-encoding: chunked\r\n/i);
    assert.ok(answer.length > LARGE_BYTES);
    assert.ok(answer.subarray(-100).toString('latin1').endsWith('</DataSet>\r\n0\r\n\r\n'));
    await endsWell(program);
  });

  test('SIGTERM to every process, as systemd sends it, interrupts no call', async () => {
    const program = await startProgram(await engine.fresh('sample'), WORKERS);
    const workers = program.workers().map(({ pid }) => pid);
    const calls = await Promise.all(workers.map(() => halfCall(program)));
    for (const pid of workers) process.kill(pid, 'SIGTERM');
    await until('all workers are stopping', () => program.logged('stopping').length === WORKERS);
    program.kill('SIGTERM');
    await stopping(program);
    await sleep(SIGNAL_MS);
    for (const call of calls) {
      await call.finish();
      const answer = await call.receive();
      assert.deepEqual([statusOf(answer), answer.headers.connection], [200, 'close']);
    }
    await endsWell(program);
  });

  test('the workers end when the primary process is killed, whatever they are doing', async () => {
    const program = await startProgram(await engine.fresh('sample'), WORKERS);
    const [kept, call] = [await keptConnection(program), await halfCall(program)];
    program.kill('SIGKILL');
    await within('the end of all processes', program.ended);
    await refuses(program);
    kept.close();
    call.close();
  });
});
