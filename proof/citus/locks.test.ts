import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { systemClock } from '../../src/base/clock.ts';
import { setAccountEnabled } from '../../src/domain/access/sessions.ts';
import { accountId, changeAccount, createAccount } from '../../src/domain/accounts/accounts.ts';
import { addUserId } from '../../src/domain/accounts/user-ids.ts';
import type { Database } from '../../src/store/database.ts';
import { distributePostgres, openPostgres } from '../../src/store/postgres/database.ts';
import { type CitusCluster, createCluster, onCitus } from './cluster.ts';

const NAME = 'locks';
const ROUNDS = 100;
const AT = Date.UTC(2026, 6);

onCitus('changes of one account by two machines', () => {
  let cluster: CitusCluster;
  let url: string;
  before(async () => {
    cluster = await createCluster();
    url = await cluster.database(NAME);
    const settings = { url, connectionsMax: 1, timeoutMs: 60_000 };
    await (await openPostgres(settings, systemClock)).close();
    await distributePostgres(settings, systemClock);
  });
  after(() => cluster?.remove());

  test('an account that is disabled while its networks and user_ids are changed never runs into a deadlock', async (t) => {
    /** Before each attempt after a deadlock. */
    const pauses: number[] = [];
    const sleep = async (ms: number) => void pauses.push(ms);
    const open = () => openPostgres({ url, connectionsMax: 2, timeoutMs: 60_000 }, { ...systemClock, sleep });
    const stores = [await open(), await open()] as [Database, Database];
    t.after(() => Promise.all(stores.map((each) => each.close())));
    const [one, other] = stores;
    await createAccount(one, { username: 'acme', passwordHash: null, credits: 0n }, AT);
    const account = await accountId(one, 'acme');
    const repeat = async (change: (round: number) => Promise<unknown>) => {
      for (let round = 0; round < ROUNDS && pauses.length === 0; round++) await change(round);
    };
    await Promise.all([
      repeat((round) => setAccountEnabled(one, account, 'acme', round % 2 ? null : AT)),
      repeat((round) =>
        changeAccount(other, account, 'acme', { allowedNetworks: round % 2 ? null : `10.0.0.${round}/32` }),
      ),
      repeat(() => addUserId(other, account, { userId: undefined, revokeOthers: true }, AT)),
    ]);
    assert.deepEqual(pauses, []);
  });
});
