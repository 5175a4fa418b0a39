import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import type { Dialect } from '../../src/asmx/dialect/dialect.ts';
import { estimateOf } from '../../src/migration/commands/import.ts';
import { checkAccounts } from '../../src/migration/copy/check.ts';
import {
  CALLS_OF_AN_ACCOUNT,
  type ImportOptions,
  type ImportProgress,
  importAccounts,
} from '../../src/migration/copy/import.ts';
import { createOldServer } from '../../src/migration/old-server/old-server.ts';
import { TESTED } from '../../src/migration/old-server/read-effects.ts';
import { onOneEngine } from '../support/engines.ts';
import { ODD_DIALECT } from '../support/odd-dialect.ts';
import { newAccount, type OldAccount } from '../support/old-server/accounts.ts';
import { type OldServerProcess, startOldServer } from '../support/old-server/server.ts';
import { ODD_WAYS } from '../support/old-server/ways.ts';
import { type Service, startService } from '../support/service.ts';

/** How many calls an import takes of the old server. */

const NOW = Date.UTC(2026, 10, 15, 12);
const EFFECTS = Object.fromEntries(TESTED.map((name) => [name, 'leaves' as const]));
const { caps: _, ...NO_CAPS } = ODD_DIALECT;

onOneEngine('calls of an import', (engine) => {
  let service: Service;
  let old: OldServerProcess;
  let account: OldAccount;
  beforeEach(async () => {
    service = await startService(engine, 'empty');
    service.clock.now = NOW;
    account = newAccount('the user id', 'small');
    old = await startOldServer({ accounts: [account], writes: [], deliveries: [] }, { ...ODD_WAYS, caps: {} });
  });
  afterEach(async () => {
    await service.stop();
    await old.close();
  });
  const receive = (id: number, at = NOW - 86_400_000) =>
    account.inbox.push({ id, sender: '+27831', message: `Text ${id}`, shortCode: '31222', at, read: true });
  /** `more`: so many read messages the server counts and does not show. */
  const run = (more: number, options: ImportOptions = {}, dialect: Dialect = NO_CAPS) => {
    const client = createOldServer({ url: old.url, dialect });
    const call: typeof client.call = async (group, operation, args, given) => {
      const answer = await client.call(group, operation, args, given);
      if (operation !== 'CountRead' || answer.result.kind !== 'value') return answer;
      return { ...answer, result: { ...answer.result, value: Number(answer.result.value) + more } };
    };
    const { database } = service.app;
    const counting = {
      ...client,
      call,
      get requests() {
        return client.requests;
      },
    };
    return importAccounts(
      { database, old: counting, dialect, effects: EFFECTS, now: () => service.clock.now },
      [{ line: 1, userId: account.userId }],
      options,
    );
  };
  const reads = () => old.calls.get('inbox.Read') ?? 0;

  for (const dryRun of [false, true]) {
    test(`an account with one message whose counts do not fit takes at most 5 calls of Read (${dryRun ? 'dry run' : 'import'})`, async () => {
      receive(1);
      const { accounts } = await run(1, { dryRun });
      assert.equal(accounts[0]?.outcome, 'failed');
      assert.match(accounts[0]?.problem ?? '', /counts/);
      assert(reads() <= 5, `${reads()} calls`);
    });
  }

  test('an account with ten messages of one second whose counts do not fit takes at most 150 calls of Read', async () => {
    for (let id = 1; id <= 10; id++) receive(id);
    const { accounts } = await run(1);
    assert.equal(accounts[0]?.outcome, 'failed');
    assert(reads() <= 150, `${reads()} calls`);
  });

  test('an import that would call Read for ever stops and says which cap to name', async () => {
    for (let id = 1; id <= 300; id++) receive(id);
    old.ways = { ...ODD_WAYS, caps: { 'inbox.Read': 1 } };
    const dialect = { ...NO_CAPS, caps: { 'inbox.Read': 1 } };
    const { accounts } = await run(0, {}, dialect);
    assert.equal(accounts[0]?.outcome, 'failed');
    assert(reads() <= 1_000, `${reads()} calls`);
  });

  test('a small account takes as many calls as the estimate says', async () => {
    receive(1);
    account.inbox.push({ ...(account.inbox[0] as (typeof account.inbox)[0]), id: 2, read: false });
    account.groups.push({ id: 11, name: 'Friends' }, { id: 12, name: 'Empty' });
    account.contacts.push({ id: 101, name: 'Name', surname: 'Surname', mobile: '+27820001010', groups: [11] });
    const { accounts, calls } = await run(0);
    assert.equal(accounts[0]?.problem, null);
    assert.equal(calls, CALLS_OF_AN_ACCOUNT);
    assert.equal(old.calls.get('account.FetchContactsByGroupId'), undefined);
    assert.equal(
      estimateOf(2_000, 11, 5),
      '2,000 accounts: at least 22,000 calls to the old server, 74 min at --rate 5. Large inboxes take more.',
    );
  });

  test('import and check say that the old server refuses a user_id', async () => {
    const client = createOldServer({ url: old.url, dialect: NO_CAPS });
    const { database, archive } = service.app;
    const dependencies = { database, archive, old: client, dialect: NO_CAPS, effects: EFFECTS, now: () => NOW };
    const users = [{ line: 1, userId: 'another id' }];
    const { accounts } = await importAccounts(dependencies, users);
    assert.match(accounts[0]?.problem ?? '', /^The old server refused the user_id/);
    const [checked] = await checkAccounts(dependencies, users);
    assert.match(checked?.problem ?? '', /^The old server refused the user_id/);
    client.close();
  });

  test('the progress is shown at every call of Read', async () => {
    for (let id = 1; id <= 20; id++) receive(id, NOW - id * 60_000);
    old.ways = { ...ODD_WAYS, caps: { 'inbox.Read': 7 } };
    const told: ImportProgress[] = [];
    const progress = (each: ImportProgress) => void told.push(each);
    await run(0, { progress }, { ...NO_CAPS, caps: { 'inbox.Read': 7 } });
    assert(told.length >= reads(), `${told.length} lines for ${reads()} calls`);
  });
});
