import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { readAccount } from '../../src/transfer/account-json.ts';
import { onOneEngine } from '../support/engines.ts';
import { assertRefusal, type Stranger, scene, stranger } from '../support/http-client.ts';
import { until } from '../support/program.ts';
import { ACME } from '../support/service.ts';
import { statusOf } from '../support/socket.ts';

/** Clients that take their time, in sending and in reading, and what it costs the others: nothing. */

const POST =
  'POST /api/inbox.asmx/CountUnread HTTP/1.1\r\nHost: h\r\nContent-Type: application/x-www-form-urlencoded\r\n';
const TIMES = { headersTimeoutMs: 200, requestTimeoutMs: 400 };
const LATE = 'The request did not arrive in time.';

/** One byte after the other, never silent for long, until the server has enough. */
async function dribble({ socket }: Stranger, text: string): Promise<void> {
  for (let at = 0; !socket.destroyed; at += 1) {
    socket.write(text[at % text.length] as string);
    await wait(10);
  }
}

const SENDERS: Record<string, readonly [start: string, dribbled: string]> = {
  'says nothing': ['', ''],
  'stops within the first line': ['GET /api/inbox', ''],
  'stops within the fields': ['GET /api/inbox.asmx HTTP/1.1\r\nHost: h\r\nX-Slow: ', ''],
  'sends a field byte by byte': ['GET /api/inbox.asmx HTTP/1.1\r\nHost: h\r\nX-Slow: ', 'y'],
  'sends fields byte by byte': ['GET /api/inbox.asmx HTTP/1.1\r\nHost: h\r\n', 'X: y\r\n'],
  'announces a body and sends none': [`${POST}Content-Length: 500\r\n\r\n`, ''],
  'sends a body byte by byte': [`${POST}Content-Length: 500000\r\n\r\nuser_id=`, 'x'],
  'sends chunks byte by byte': [`${POST}Transfer-Encoding: chunked\r\n\r\n`, '1\r\nx\r\n'],
  'never ends a chunk extension': [`${POST}Transfer-Encoding: chunked\r\n\r\n1;`, 'x'],
  'never ends the trailers': [`${POST}Transfer-Encoding: chunked\r\n\r\n0\r\n`, 'X: y\r\n'],
};

onOneEngine('slow clients', (engine) => {
  for (const [name, [start, dribbled]] of Object.entries(SENDERS)) {
    test(`a slow client that ${name} gets 408 and is closed; others are served meanwhile`, () =>
      scene(engine, TIMES, async ({ address, neighbour }) => {
        const slow = stranger(address, start);
        await neighbour.call();
        if (dribbled !== '') await dribble(slow, dribbled);
        const answers = await slow.told;
        assert.equal(answers.length, 1);
        assertRefusal(answers[0], 408, LATE);
        assert.equal(answers[0]?.headers.connection, 'close');
      }));
  }

  test('a connection that is idle after an answer is closed silently at its time-out, and no sooner', () =>
    scene(engine, { ...TIMES, idleTimeoutMs: 1_500 }, async ({ address, neighbour }) => {
      const whole = `GET /api/inbox.asmx/CountUnread?user_id=${ACME} HTTP/1.1\r\nHost: h\r\n\r\n`;
      const client = stranger(address, whole);
      await wait(1_000); // longer than a head may take, shorter than it is kept
      client.socket.write(whole);
      while (!client.socket.destroyed) {
        await neighbour.call(); // whose connection is used, and so is kept
        await wait(100);
      }
      const answers = await client.told;
      assert.deepEqual(answers.map(statusOf), [200, 200]);
      assert.equal(answers[0]?.headers['keep-alive'], 'timeout=2');
    }));

  test('line ends alone neither keep an idle connection open nor begin a request, and the connection is closed silently', () =>
    scene(engine, { ...TIMES, idleTimeoutMs: 1_500 }, async ({ address, neighbour }) => {
      const whole = `GET /api/inbox.asmx/CountUnread?user_id=${ACME} HTTP/1.1\r\nHost: h\r\n\r\n`;
      const client = stranger(address, whole);
      const pieces = ['\r\n', '\r', '\n\r\n'];
      let sent = 0;
      await until('it is closed', async () => {
        await neighbour.call(); // whose connection is used, and so is kept
        client.socket.write(pieces[sent++ % pieces.length] as string);
        return client.socket.destroyed;
      });
      assert.deepEqual((await client.told).map(statusOf), [200]);
    }));

  test('a connection that sends only line ends gets 408 and is closed', () =>
    scene(engine, TIMES, async ({ address }) => {
      const client = stranger(address, '\r\n');
      await until('it is closed', () => {
        client.socket.write('\r\n');
        return client.socket.destroyed;
      });
      assertRefusal((await client.told)[0], 408, LATE);
    }));

  test('a client that never sent anything is closed after the header time-out, however long idle connections are kept', () =>
    scene(engine, { ...TIMES, idleTimeoutMs: 3_600_000 }, async ({ address }) => {
      const answers = await stranger(address, '').told;
      assertRefusal(answers[0], 408, LATE);
    }));

  test('a whole request before a slow one is answered', () =>
    scene(engine, TIMES, async ({ address }) => {
      const whole = `GET /api/inbox.asmx/CountUnread?user_id=${ACME} HTTP/1.1\r\nHost: h\r\n\r\n`;
      const answers = await stranger(address, `${whole}GET /`).told;
      assert.deepEqual(answers.map(statusOf), [200, 408]);
    }));

  test('very many clients with slow bodies do not block others', () =>
    scene(engine, { ...TIMES, waitingMax: 5 }, async ({ address, neighbour }) => {
      const slow = Array.from({ length: 100 }, () => stranger(address, `${POST}Content-Length: 9\r\n\r\nuser`));
      for (let turn = 0; turn < 20; turn += 1) await neighbour.call();
      for (const { told } of slow) assertRefusal((await told)[0], 408, LATE);
    }));

  test('a connection that sends an endless body gets 413 and is closed', () =>
    scene(engine, { bodyBytesMax: 5_000 }, async ({ address, neighbour }) => {
      const endless = stranger(address, `${POST}Transfer-Encoding: chunked\r\n\r\n`);
      const chunk = `1000\r\n${'x'.repeat(4_096)}\r\n`;
      while (!endless.socket.destroyed) {
        endless.socket.write(chunk);
        await wait(5);
      }
      assertRefusal((await endless.told)[0], 413, 'A request body has at most 5000 bytes.');
      await neighbour.call();
    }));

  /** Asks for so much, again and again, that no buffers between us hold it, and takes nothing of it. */
  async function takesNothing(address: string, target: string): Promise<void> {
    const silent = stranger(address);
    silent.socket.pause();
    const request = `GET ${target} HTTP/1.1\r\nHost: h\r\n\r\n`;
    silent.socket.write(request.repeat(600));
    await closedByServer(silent.socket);
  }
  /** Who does not read learns of the end by writing. */
  async function closedByServer(socket: Socket): Promise<void> {
    while (!socket.destroyed) {
      socket.write('\r\n');
      await wait(20);
    }
  }

  test('a connection that does not read its responses is closed after the send time-out', () =>
    scene(engine, { sendTimeoutMs: 200 }, async ({ address, neighbour }) => {
      const closed = takesNothing(address, '/api/account.asmx?WSDL');
      await neighbour.call();
      await closed;
    }));

  test('a client that does not read a long list, sent piece by piece, is closed in the end', () =>
    scene(engine, { sendTimeoutMs: 200 }, async ({ service, address, neighbour }) => {
      const contacts = Array.from({ length: 1_500 }, (_, id) => ({ id: id + 1, name: 'x'.repeat(100) }));
      const account = { username: 'many', userID: 'many', credits: 0, usedCredits: 0, datetimeCreated: '2026-01-01' };
      await service.app.archive.load(await readAccount({ ...account, contacts }, 0));
      const closed = takesNothing(address, '/api/account.asmx/FetchContacts?user_id=many');
      await neighbour.call();
      await closed;
    }));
});
