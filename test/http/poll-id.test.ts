import assert from 'node:assert/strict';
import { StatementSync } from 'node:sqlite';
import { describe, type TestContext, test } from 'node:test';
import { pino } from 'pino';
import { systemClock } from '../../src/base/clock.ts';
import { readConfig } from '../../src/config/settings.ts';
import { createApp } from '../../src/serve/compose/contract.ts';
import type { Database } from '../../src/store/database.ts';
import { engines } from '../support/engines.ts';
import { ACME } from '../support/service.ts';
import { openConnection } from '../support/socket.ts';

/** The whole way of Request.pollId: from the connections of clients to the looks of SQLite at other processes. */

const CONNECTIONS = 8;
const ROUNDS = 10;

/** Counts what `work` asks of SQLite by `pragma data_version`. */
function countLooks(t: TestContext): () => number {
  let looks = 0;
  const get = StatementSync.prototype.get;
  t.mock.method(StatementSync.prototype, 'get', function (this: StatementSync, ...values: Parameters<typeof get>) {
    if (this.sourceSQL === 'pragma data_version') looks += 1;
    return get.apply(this, values);
  });
  return () => looks;
}

/** A service on SQLite that notes the pollId of each call that reaches the store. */
async function startNoting(t: TestContext) {
  const setting = (await engines.find(({ name }) => name === 'sqlite')?.fresh('sample')) as string;
  const noted: (number | undefined)[] = [];
  const database = (opened: Database): Database => ({
    ...opened,
    identify(hash, admits, pollId) {
      noted.push(pollId);
      return opened.identify(hash, admits, pollId);
    },
    version(account, poll, pollId) {
      if (poll) noted.push(pollId);
      return opened.version(account, poll, pollId);
    },
  });
  const environment = { COLUMBA_DATABASE: setting, COLUMBA_PORT: '0', COLUMBA_DRAIN_TIMEOUT_MS: '0' };
  const deps = { clock: { ...systemClock, sleep: async () => {} }, log: pino({ level: 'silent' }), database };
  const app = await createApp(readConfig(environment), deps);
  const address = await app.start();
  const connections = await Promise.all(Array.from({ length: CONNECTIONS }, () => openConnection(address)));
  t.after(async () => {
    for (const connection of connections) connection.close();
    await app.stop();
  });
  return { noted, connections };
}

const callOf = (operation: string) =>
  `GET /api/inbox.asmx/${operation}?user_id=${ACME} HTTP/1.1\r\nHost: sms.example\r\n\r\n`;

describe('pollId from the connection to the store', () => {
  test('calls that one poll of the event loop delivered share one check for changes by other processes', async (t) => {
    const looks = countLooks(t);
    const { noted, connections } = await startNoting(t);
    const shared: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const call = callOf(round % 2 === 0 ? 'CountUnread' : 'CountRead'); // cached ones, and the first two that are not
      noted.length = 0;
      const before = looks();
      for (const connection of connections) void connection.send(call); // all in one turn, so mostly in one poll
      const statuses = await Promise.all(connections.map(async (each) => (await each.receive()).start));
      assert.deepEqual(new Set(statuses), new Set(['HTTP/1.1 200 OK']));
      assert.ok(noted.length >= CONNECTIONS, 'every call reaches the store');
      // Calls of one batch follow one another, so a look serves a run of calls with the same pollId.
      const runs = noted.filter((pollId, index) => pollId === undefined || pollId !== noted[index - 1]).length;
      assert.equal(looks() - before, runs, `pollIds ${noted}`);
      shared.push(noted.length - runs);
    }
    assert.ok(Math.max(...shared) > 0, 'no two calls came in one poll');
  });

  test('a call that a client sends after a response makes its own check', async (t) => {
    const looks = countLooks(t);
    const { noted, connections } = await startNoting(t);
    const [connection] = connections;
    await connection?.send(callOf('CountUnread'));
    await connection?.receive();
    for (let count = 0; count < 5; count++) {
      noted.length = 0;
      const before = looks();
      await connection?.send(callOf('CountUnread'));
      await connection?.receive();
      assert.equal(noted.length, 1);
      assert.equal(looks() - before, 1);
    }
  });
});
