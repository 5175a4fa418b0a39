import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Exchange } from '../../src/asmx/endpoint.ts';
import { adopt } from '../../test/support/contract-client.ts';
import { createStandby, onPostgres, removeServer, signal, until } from '../../test/support/postgres-engines.ts';
import { createPostgresServer, type PostgresServer } from '../../test/support/postgres-server.ts';
import { type Serving, serve } from '../../test/support/serving.ts';

const DATABASE = 'columba';
const USER = 'user_id of one';

onPostgres('cached answers and a standby that lacks the last writes', () => {
  let primary: PostgresServer;
  let standby: PostgresServer;
  before(async () => {
    primary = await createPostgresServer();
    await primary.start();
    await primary.query(`create database ${DATABASE}`);
    const { app } = await serve(primary.url(DATABASE));
    await adopt(app, { userID: USER, username: 'one' });
    await app.stop();
    await primary.stop();
    standby = await createStandby(primary);
    await primary.start();
    await standby.start();
  });
  after(async () => {
    await removeServer(standby);
    await removeServer(primary);
  });

  test('a cached answer with a lost write is not served again after the failover, not even after as many new writes', async (t) => {
    const hosts = [primary, standby].map(({ port }) => `127.0.0.1:${port}`).join();
    const url = `postgres://columba@${hosts}/${DATABASE}?target_session_attrs=read-write`;
    let kept = 0;
    const observe = ({ kind, call }: Exchange) => {
      if (kind === 'ok' && call === undefined) kept += 1;
    };
    const { app, call, ask }: Serving = await serve(
      url,
      { observe },
      { responseCacheBytesMax: 2 ** 20, databaseTimeoutMs: 2_000 },
    );
    t.after(() => app.stop());
    const templates = async () => {
      const text = await ask('account', 'FetchSavedMessages', { user_id: USER });
      return [...text.matchAll(/<string>([^<]*)<\/string>/g)].map(([, each]) => each);
    };
    const save = (message: string) => ask('account', 'SaveMessageTemplate', { user_id: USER, message });
    /** Twice at least, until the second comes from the cache. */
    const cached = async () => {
      const before = kept;
      let seen: unknown;
      await until(async () => {
        seen = await templates();
        return kept > before;
      });
      return seen;
    };

    await save('first');
    assert.deepEqual(await cached(), ['first']);
    const onStandby = async () => (await standby.query('select text from template', DATABASE)).length;
    await until(async () => (await onStandby()) === 1);
    await standby.query("alter system set primary_conninfo = ''");
    await standby.query('select pg_reload_conf()');
    await until(async () => (await standby.query('select from pg_stat_wal_receiver')).length === 0);
    await save('lost');
    assert.deepEqual(await cached(), ['first', 'lost']);

    signal(primary, 'SIGKILL');
    assert.deepEqual(await standby.query('select pg_promote() as done'), [{ done: true }]);
    await until(async () => (await call('account', 'FetchSavedMessages', { user_id: USER })).status === 200);
    assert.deepEqual(await templates(), ['first']);
    await save('other');
    assert.deepEqual(await templates(), ['first', 'other']);
    assert.deepEqual(await cached(), ['first', 'other']);
  });
});
