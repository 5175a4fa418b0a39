import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { systemClock } from '../../src/base/clock.ts';
import { importAccounts } from '../../src/migration/copy/import.ts';
import { createOldServer } from '../../src/migration/old-server/old-server.ts';
import { TESTED } from '../../src/migration/old-server/read-effects.ts';
import { createMigrationProxy } from '../../src/migration/proxy/migration-proxy.ts';
import { createMigrationStages, STAGES } from '../../src/migration/stages/stages.ts';
import { freshPath } from '../../test/support/command.ts';
import { type Engine, engines } from '../../test/support/engines.ts';
import { ODD_DIALECT } from '../../test/support/odd-dialect.ts';
import { sampleData, USER_IDS } from '../../test/support/old-server/sample.ts';
import { startOldServer } from '../../test/support/old-server/server.ts';
import { ODD_WAYS } from '../../test/support/old-server/ways.ts';
import { testWith } from '../../test/support/peers.ts';
import { PROXY_SETTINGS } from '../../test/support/proxied.ts';
import { startService } from '../../test/support/service.ts';
import { asClient, TOOLKITS, type Toolkit, type ToolkitKind } from '../drill/toolkits.ts';

/** Real toolkits get the same through the proxy in each stage, from the WSDL of that stage. */

const NOW = Date.UTC(2026, 10, 15, 12);
const [ALPHA] = USER_IDS;
const READS: readonly (readonly [group: string, operation: string, args: Readonly<Record<string, unknown>>])[] = [
  ['account', 'Profile', {}],
  ['account', 'FetchContacts', {}],
  ['account', 'FetchSavedMessages', {}],
  ['inbox', 'Unread', { max_count: 10 }],
  ['inbox', 'CountUnread', {}],
  ['inbox', 'Read', { from: NOW - 86_400_000, to: NOW, max_count: 10 }],
  ['sent', 'FetchUnmarkedDeliveryStatus', { max: 10 }],
];

for (const { name, peer, start } of TOOLKITS) {
  testWith(peer, `${name} gets equal values through the proxy in every stage`, (command) => run(start, command));
}

async function run(start: ToolkitKind['start'], command: string): Promise<void> {
  const file = freshPath('json');
  writeFileSync(file, JSON.stringify(ODD_DIALECT));
  const old = await startOldServer(sampleData(NOW, { messages: 9 }), ODD_WAYS);
  const { namespace } = ODD_WAYS;
  const service = await startService(engines[0] as Engine, 'empty', { dialect: file, namespace });
  const { database } = service.app;
  const now = () => service.clock.now;
  const client = createOldServer({ url: old.url, dialect: ODD_DIALECT });
  const effects = Object.fromEntries(TESTED.map((name) => [name, 'leaves' as const]));
  await importAccounts({ database, old: client, dialect: ODD_DIALECT, effects, now }, [{ line: 1, userId: ALPHA }]);
  const migration = createMigrationProxy({
    database,
    clock: { ...systemClock, now, sleep: async () => {} },
    oldUrl: old.url,
    newUrl: await service.app.start(),
    ...PROXY_SETTINGS,
    dialect: ODD_DIALECT,
    namespace,
    folder: undefined,
    oldReadingIsSafe: true,
    sync: null,
    failed: () => {},
  });
  await migration.start();
  const toolkit = start(command, `http://127.0.0.1:${await migration.proxy.listen(0, '127.0.0.1')}`);
  const stages = createMigrationStages(database, now);
  const first = new Map<string, unknown>();
  try {
    for (const stage of STAGES) {
      await stages.setDefault(stage, true);
      await migration.refreshStages();
      // In these, the WSDL is that of the other server.
      if (stage === 'record' || stage === 'lead') await toolkit.reload();
      await callAll(toolkit, stage, first);
      await migration.settled();
      await migration.deliver();
    }
    assert.equal(migration.pendingCounts.sinceStart.get('different') ?? 0, 0);
    assert.equal(migration.pendingCounts.sinceStart.get('failed') ?? 0, 0);
    assert.equal(old.data.accounts[0]?.templates.length, 3, 'each template was saved and deleted there, too');
  } finally {
    await toolkit.close();
    client.close();
    await migration.stop();
    await service.stop();
    await old.close();
  }
}

async function callAll(toolkit: Toolkit, stage: string, first: Map<string, unknown>): Promise<void> {
  for (const [group, operation, args] of READS) {
    const { value } = await toolkit.call(group, operation, { user_id: ALPHA, ...args });
    const comparable = withoutSecrets(value);
    if (!first.has(operation)) first.set(operation, comparable);
    assert.deepEqual(comparable, first.get(operation), `${operation} in the stage ${stage}`);
  }
  const { result } = await asClient(toolkit).call('sent', 'FetchSentDS', { user_id: ALPHA, max: 5 });
  assert.equal((result as { value: unknown[] }).value.length, 5, stage);
  const message = `A template in ${stage}`;
  for (const operation of ['SaveMessageTemplate', 'DeleteMessageTemplate']) {
    const { value } = await toolkit.call('account', operation, { user_id: ALPHA, message });
    assert.equal(value, true, `${operation} in ${stage}`);
  }
  await assert.rejects(toolkit.call('inbox', 'CountUnread', { user_id: 'nobody' }), /user_id|Fault|Server/i);
}

/** Fields of a Profile that Columba never shows, and the time of the last call. */
function withoutSecrets(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || !('userID' in value)) return value;
  return { ...value, userID: null, password: null, datetimeLastLoggedIn: null };
}
