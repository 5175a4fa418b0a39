import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { after, before, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { systemClock } from '../../src/base/clock.ts';
import { readConfig } from '../../src/config/settings.ts';
import { type HttpServer, listen } from '../../src/http/server.ts';
import type { Database } from '../../src/store/database.ts';
import { adopt } from '../../test/support/contract-client.ts';
import { onEveryEngine } from '../../test/support/engines.ts';
import { until } from '../../test/support/program.ts';
import { openReceiver, textOf } from '../../test/support/received-bytes.ts';
import { type Serving, serve } from '../../test/support/serving.ts';

/** Clients that ask for long lists and take nothing of them. */

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

const MIB = 2 ** 20;
/** At once after garbage is collected: making one more piece of an answer leaves 0.5 MB of garbage. */
async function memoryInUse(): Promise<number> {
  for (let round = 0; round < 5; round++) {
    await wait(10);
    collectGarbage();
  }
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / MIB;
}

// Of the process; an account has 4 MiB, and room for 21 answers, or 12 that are compressed.
const UNSENT_BYTES_MAX = 16 * MIB;
const ACCOUNT_BYTES_MAX = 4 * MIB;
const READERS = 200;
// Without sockets and compiled code: about 4 MiB, as counted. Without a bound, 200 readers would hold 20 MiB and more.
const GROWTH_MAX_MIB = 16;
/** 10 MB when they are escaped; systems hold about 4 MB for a client that reads nothing. */
const TEXTS = Array.from({ length: 1_000 }, (_, index) => `${index} `.padEnd(2_000, '&'));
const AT = '2026-10-01T08:00:00Z';
const LISTS = [
  ['FetchSavedMessages', '/api/account.asmx/FetchSavedMessages?', 'Accept-Encoding: identity'],
  ['FetchSavedMessages', '/api/account.asmx/FetchSavedMessages?', 'Accept-Encoding: gzip'],
  ['FetchContacts', '/api/account.asmx/FetchContacts?', 'Accept-Encoding: identity'],
  ['InboxDS', '/api/inbox.asmx/InboxDS?max_count=10000&', 'Accept-Encoding: identity'],
] as const;

const get = (path: string, userId: string, ...fields: string[]) =>
  [`GET ${path}user_id=${userId} HTTP/1.1`, 'Host: h', ...fields, '', ''].join('\r\n');

onEveryEngine('clients that do not read their answers', (engine) => {
  let serving: Serving;
  let server: HttpServer;
  let texts = 0;
  /** Counts the texts that are read from the database: each is escaped once or not at all. */
  const counting = (opened: Database): Database => ({
    ...opened,
    async all(statement, parameters) {
      const rows = await opened.all(statement, parameters);
      texts += rows.length;
      return rows;
    },
  });
  before(async () => {
    serving = await serve(await engine.fresh('empty'), { database: counting });
    for (const userID of ['deaf', 'other']) {
      await adopt(serving.app, {
        username: userID,
        userID,
        templates: TEXTS,
        contacts: TEXTS.map((name, index) => ({ id: String(index), name, mobile: '+27825550001' })),
        inbox: TEXTS.map((message, index) => ({ id: String(index), message, timestamp: AT, read: false })),
      });
    }
    const config = readConfig({ COLUMBA_PORT: '0', COLUMBA_UNSENT_BYTES_MAX: String(UNSENT_BYTES_MAX) });
    // A busy machine sheds no load here: a shed reader is not one that was refused for its bytes.
    server = await listen({ ...config, drainTimeoutMs: 0, turnMaxMs: 60_000 }, serving.app.endpoint, systemClock);
  });
  after(async () => {
    await server.close();
    await serving.app.stop();
  });

  function openDeaf(): Socket {
    const socket = connect({ port: Number(new URL(server.address).port), host: '127.0.0.1' });
    return socket.on('error', () => {}).pause(); // before it is connected: nothing is ever read from it
  }

  async function asked(request: string) {
    const client = openReceiver(server.address);
    client.send(request);
    const [answer] = await client.answers(1);
    client.leave();
    assert.ok(answer);
    return answer;
  }

  /** Until nothing more is read for them, as far as can be seen; what holds meanwhile must hold at any time. */
  async function settled(check: () => void): Promise<void> {
    for (let [quiet, before] = [0, -1]; quiet < 20; before = texts) {
      check();
      quiet = texts === before ? quiet + 1 : 0;
      await wait(10);
    }
  }

  for (const [operation, path, field] of LISTS) {
    test(`${READERS} unread answers of ${operation} take no more memory than one account may use, and other accounts are served (${field})`, async () => {
      const isBounded = () => {
        const { unsentBytes } = server.traffic;
        assert.ok(unsentBytes <= ACCOUNT_BYTES_MAX, `${unsentBytes} bytes are held`);
      };
      const refusedBefore = server.traffic.unsentRefused;
      await asked(get(path, 'other', field)); // compiled before memory is measured
      await until('nobody is connected', () => server.traffic.connectionsOpen === 0);
      const readers = Array.from({ length: READERS }, openDeaf);
      try {
        await until('all are connected', () => server.traffic.connectionsOpen === READERS);
        const memoryBefore = await memoryInUse(); // with both ends of every connection
        for (const reader of readers) reader.write(get(path, 'deaf', field));
        await until('some of them are answered', () => server.traffic.unsentRefused > refusedBefore);
        await settled(isBounded);
        const grown = (await memoryInUse()) - memoryBefore;
        assert.ok(grown < GROWTH_MAX_MIB, `${grown.toFixed(1)} MiB more`);
        assert.ok(server.traffic.unsentRefused > refusedBefore, 'more were begun than there is room for');
        const counted = await asked(get('/api/inbox.asmx/CountUnread?', 'deaf'));
        assert.match(textOf(counted), />1000<\/long>/);
        const own = await asked(get(path, 'other', field));
        assert.equal(own.status, 200);
        assert.equal(textOf(own).match(/(?:&amp;){1900}/g)?.length, TEXTS.length);
      } finally {
        for (const reader of readers) reader.destroy();
      }
      await until('nothing is held any more', () => server.traffic.unsentBytes === 0);
      assert.equal((await asked(get(path, 'deaf', field))).status, 200);
    });
  }
});
