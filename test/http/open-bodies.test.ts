import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { describe, test } from 'node:test';
import { nextTurn } from '../../src/base/event-loop.ts';
import { get, start } from '../support/byte-pieces.ts';
import { until } from '../support/program.ts';

describe('a stop while a streamed body reads its source', () => {
  for (const fields of [[], ['Accept-Encoding: gzip']]) {
    test(`a stop waits until a streamed body has finished its current read, even if the client is gone (${fields[0] ?? 'not compressed'})`, async (t) => {
      const page = Promise.withResolvers<void>();
      let isReading = false;
      let isEnded = false;
      async function* pieces() {
        try {
          yield 'x'.repeat(2_000);
          isReading = true;
          await page.promise;
          yield 'y';
        } finally {
          isEnded = true;
        }
      }
      const server = await start(t, { '/long': { status: 200, headers: {}, body: pieces() } });
      const client = connect(Number(new URL(server.address).port), '127.0.0.1');
      client.write(get('/long', ...fields));
      await until('it reads', () => isReading);
      client.resetAndDestroy();
      await until('the client is gone', () => server.traffic.connectionsOpen === 0);
      let isClosed = false;
      const closed = server.close().then(() => {
        isClosed = true;
      });
      for (let turn = 0; turn < 100; turn++) await nextTurn();
      assert.equal(isClosed, false, 'closed, although a read is under way');
      page.resolve();
      await closed;
      assert.equal(isEnded, true);
    });
  }
});
