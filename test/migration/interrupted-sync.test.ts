import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { systemClock } from '../../src/base/clock.ts';
import { checkAccounts } from '../../src/migration/copy/check.ts';
import { importAccounts } from '../../src/migration/copy/import.ts';
import { syncAccount } from '../../src/migration/copy/sync.ts';
import { createOldServer } from '../../src/migration/old-server/old-server.ts';
import { TESTED } from '../../src/migration/old-server/read-effects.ts';
import { accountIdNamed } from '../../src/migration/stages/migrated-accounts.ts';
import { createMigrationStages } from '../../src/migration/stages/stages.ts';
import { createMigrationWrites } from '../../src/migration/stages/writes.ts';
import { onOneEngine } from '../support/engines.ts';
import { ODD_DIALECT } from '../support/odd-dialect.ts';
import type { OldAccount } from '../support/old-server/accounts.ts';
import { sampleData, USER_IDS } from '../support/old-server/sample.ts';
import { type OldServerProcess, startOldServer } from '../support/old-server/server.ts';
import { ODD_WAYS } from '../support/old-server/ways.ts';
import { type Service, startService } from '../support/service.ts';

/** The connection to the old server is cut between any two calls of a sync. */

const NOW = Date.UTC(2026, 10, 15, 12);
const [ALPHA] = USER_IDS;
const EFFECTS = Object.fromEntries(TESTED.map((name) => [name, 'leaves' as const]));

onOneEngine('an interrupted sync', (engine) => {
  let service: Service;
  let old: OldServerProcess;
  beforeEach(async () => {
    service = await startService(engine, 'empty');
    service.clock.now = NOW;
    old = await startOldServer(sampleData(NOW, { messages: 12 }), ODD_WAYS);
    const { accounts } = await importAccounts(dependencies(), [{ line: 1, userId: ALPHA }]);
    assert.equal(accounts[0]?.problem, null);
  });
  afterEach(async () => {
    await service.stop();
    await old.close();
  });
  const alpha = (): OldAccount => old.data.accounts[0] as OldAccount;
  const dependencies = () => {
    const client = createOldServer({
      url: old.url,
      dialect: ODD_DIALECT,
      clock: { ...systemClock, sleep: async () => {} },
    });
    const { database, archive } = service.app;
    return { database, archive, old: client, dialect: ODD_DIALECT, effects: EFFECTS, now: () => service.clock.now };
  };
  const accountId = async () => (await accountIdNamed(service.app.database, 'alpha')) as bigint;
  const sync = async () =>
    syncAccount(dependencies(), { account: await accountId(), username: 'alpha', userId: ALPHA as string });
  const arrive = (id: number, read = false) => {
    service.clock.now += 1_000;
    const at = service.clock.now;
    alpha().inbox.push({ id, sender: '+27831', message: `Text ${id}`, shortCode: '31222', at, read });
  };
  const unreadHere = async (): Promise<string[]> => {
    const { text } = await service.call('soap11', 'inbox', 'Unread', { user_id: ALPHA, max_count: '1000' });
    return [...text.matchAll(/<id>(\d+)</g)].map(([, id]) => id as string).sort();
  };
  const unreadThere = () =>
    alpha()
      .inbox.filter(({ read }) => !read)
      .map(({ id }) => String(id))
      .sort();
  /** Cuts the call with this number, from 0 on. */
  const cutAt = (number: number) => {
    let calls = 0;
    old.onCall = () => {
      if (calls++ === number) old.cutsFor = 1;
    };
  };
  const uncut = () => {
    old.onCall = () => {};
    old.cutsFor = 0;
  };

  test('a new message is unread after the next sync, whichever call was interrupted', async () => {
    let cuts = 0;
    for (let number = 0; ; number++) {
      arrive(20_000 + number);
      arrive(30_000 + number, true);
      cutAt(number);
      const isCut = await sync().then(
        () => false,
        () => true,
      );
      const early = (await unreadHere()).filter((id) => !unreadThere().includes(id));
      assert.deepEqual(early, [], 'a message that is read there was unread here for a while');
      uncut();
      await sync();
      assert.deepEqual(await unreadHere(), unreadThere(), `after a cut of call ${number}`);
      if (!isCut) break;
      cuts += 1;
    }
    assert(cuts >= 6, `only ${cuts} calls were cut`);
    assert.deepEqual((await checkAccounts(dependencies(), [{ line: 1, userId: ALPHA as string }]))[0]?.differences, []);
  });

  test('a new message stays unread if it arrives between any two calls of a sync', async () => {
    for (let number = 0; number < 10; number++) {
      let calls = 0;
      old.onCall = () => {
        if (calls++ === number) arrive(40_000 + number);
      };
      await sync();
      uncut();
      await sync();
      assert.deepEqual(await unreadHere(), unreadThere(), `arrived before call ${number}`);
    }
  });

  test('a new message stays unread if the list of unread messages is too long to contain it', async () => {
    // Columba leads, and the list of the old server ends at 50.
    await createMigrationStages(service.app.database, () => service.clock.now).set('alpha', 'lead', true);
    while (unreadThere().length < 50) arrive(80_000 + alpha().inbox.length);
    old.onCall = (operation) => {
      if (operation === 'inbox.CountRead') for (let more = 0; more < 2; more++) arrive(90_000 + alpha().inbox.length);
    };
    await sync().catch(() => {});
    uncut();
    alpha().inbox.splice(0, 12);
    await sync();
    const [here, there] = [await unreadHere(), unreadThere()];
    assert.deepEqual(here, there);
  });

  test('a new message that two windows of a sync contain is written once', async () => {
    for (let id = 0; id < 45; id++) arrive(100_000 + id); // Read gives 20 at once
    await sync();
    assert.deepEqual(await unreadHere(), unreadThere());
  });

  test('a message that two imports copy at the same time stays unread', async () => {
    old.onCall = (operation) => {
      if (operation !== 'sent.FetchSentDS' && operation !== 'inbox.CountRead') return;
      old.onCall = () => {};
      arrive(50_000);
    };
    // The second copy has the arrival, while the first one has asked for the unread ones before it.
    const slow = dependencies();
    const call = slow.old.call.bind(slow.old);
    let isDone = false;
    const paused: typeof slow.old.call = async (group, operation, args, options) => {
      const answer = await call(group, operation, args, options);
      if (operation === 'Unread' && !isDone) {
        isDone = true;
        arrive(50_001);
        await sync();
      }
      return answer;
    };
    const first = { ...slow, old: { ...slow.old, call: paused } };
    await syncAccount(first, { account: await accountId(), username: 'alpha', userId: ALPHA as string });
    assert(isDone);
    assert.deepEqual(await unreadHere(), unreadThere());
  });

  test('while the old server answers, an import makes a message unread again that no client has marked in Columba', async () => {
    await createMigrationStages(service.app.database, () => service.clock.now).set('alpha', 'compare', true);
    arrive(60_000);
    await sync();
    // As an earlier version left it.
    await service.call('soap11', 'inbox', 'MarkMessageAsRead', { user_id: ALPHA, message_id: '60000' });
    const { accounts } = await importAccounts(dependencies(), [{ line: 1, userId: ALPHA }]);
    assert.equal(accounts[0]?.outcome, 'copied');
    assert.deepEqual(await unreadHere(), unreadThere());
  });

  test('a message that a client marked in Columba stays read while the write waits, and while it is delivered', async () => {
    const writes = createMigrationWrites(service.app.database, () => service.clock.now, 'key');
    arrive(61_000);
    await sync();
    const write = await writes.begin(await accountId(), 'inbox.MarkMessageAsRead', '');
    await service.call('soap11', 'inbox', 'MarkMessageAsRead', { user_id: ALPHA, message_id: '61000' });
    await sync();
    assert(!(await unreadHere()).includes('61000'), 'its write waits');
    await writes.remove(await accountId(), write);
    // It is marked while the old server is asked, which answers with what was before.
    arrive(62_000);
    await sync();
    const slow = dependencies();
    const call = slow.old.call.bind(slow.old);
    const marking: typeof slow.old.call = async (group, operation, args, options) => {
      const answer = await call(group, operation, args, options);
      if (operation === 'Unread') {
        await writes.begin(await accountId(), 'inbox.MarkMessageAsRead', '');
        await service.call('soap11', 'inbox', 'MarkMessageAsRead', { user_id: ALPHA, message_id: '62000' });
      }
      return answer;
    };
    const target = { account: await accountId(), username: 'alpha', userId: ALPHA as string };
    await syncAccount({ ...slow, old: { ...slow.old, call: marking } }, target);
    assert(!(await unreadHere()).includes('62000'), 'it was marked meanwhile');
  });

  test('a late message of an account in the stage alone is unread, if it arrives between two calls', async () => {
    await createMigrationStages(service.app.database, () => service.clock.now).set('alpha', 'alone', true);
    service.clock.now += 60_000;
    old.onCall = (operation) => {
      if (operation !== 'inbox.Read') return;
      old.onCall = () => {};
      arrive(70_000);
    };
    await importAccounts(dependencies(), [{ line: 1, userId: ALPHA }]);
    await importAccounts(dependencies(), [{ line: 1, userId: ALPHA }]);
    assert((await unreadHere()).includes('70000'));
  });
});
