import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { contract } from '../../src/contract/contract.ts';
import { type Dialect, NO_DIALECT } from '../../src/contract/dialect.ts';
import type { Contract } from '../../src/contract/types.ts';
import { readEffects } from '../../src/domain/migrated-accounts.ts';
import { createMigrationFigures } from '../../src/domain/migration-figures.ts';
import { createMigrationStages, type Stage } from '../../src/domain/migration-stages.ts';
import { checkAccounts } from '../../src/migration/check.ts';
import { importAccounts } from '../../src/migration/import.ts';
import { createMigrationProxy, type MigrationProxy } from '../../src/migration/migration-proxy.ts';
import { createOldServer, isReading, type OldServer } from '../../src/migration/old-server.ts';
import { migrationReport } from '../../src/operator/migration-report.ts';
import { type Engine, onEveryEngine } from '../support/engines.ts';
import { PROTOCOLS } from '../support/protocols.ts';
import { type Service, startService } from '../support/service.ts';
import { ODD_DIALECT } from './odd-dialect.ts';
import type { OldAccount } from './old-server/accounts.ts';
import { sampleData, USER_IDS } from './old-server/sample.ts';
import { type OldServerProcess, startOldServer } from './old-server/server.ts';
import { ODD_WAYS } from './old-server/ways.ts';

/** A whole move from an old server that was written by itself, and differs on purpose. */

const NOW = Date.UTC(2026, 10, 15, 12);
const [ALPHA] = USER_IDS;
const WAYS = { ...ODD_WAYS, caps: {} };
const { caps: _, ...DIALECT } = ODD_DIALECT;

interface Move {
  readonly service: Service;
  readonly failures: string[];
  readonly old: OldServerProcess;
  readonly migration: MigrationProxy;
  /** Calls through the proxy, as the old server's clients do. */
  readonly client: OldServer;
  stage(stage: Stage): Promise<void>;
  /** The proxy ends as by a kill, and another one takes its place. */
  restart(): Promise<void>;
  check(): Promise<string[]>;
  importAgain(): Promise<void>;
  alpha(): OldAccount;
}

async function startMove(t: TestContext, engine: Engine, dialect: Dialect, isSynced = true): Promise<Move> {
  const folder = mkdtempSync(join(tmpdir(), 'columba-move-'));
  const dialectFile = join(folder, 'dialect.json');
  writeFileSync(dialectFile, JSON.stringify(dialect));
  const namespace = WAYS.namespace;
  const service = await startService(engine, 'empty', { dialect: dialectFile, namespace });
  service.clock.now = NOW;
  const old = await startOldServer(sampleData(NOW, { messages: 12 }), WAYS);
  const newUrl = await service.app.start();
  const now = () => service.clock.now;
  const { database, archive } = service.app;
  const oldClient = createOldServer({ url: old.url, dialect: DIALECT, now });
  const copying = { database, archive, old: oldClient, dialect: DIALECT, effects: {}, now };
  const { accounts } = await importAccounts(copying, [{ line: 1, userId: ALPHA }], {});
  assert.deepEqual([accounts[0]?.outcome, accounts[0]?.problem], ['copied', null]);
  const failures: string[] = [];
  const create = () =>
    createMigrationProxy({
      database,
      now,
      sleep: () => new Promise((resolve) => setTimeout(resolve, 5)),
      oldUrl: old.url,
      newUrl,
      oldTls: {},
      oldTimeoutMs: 60_000,
      newTimeoutMs: 60_000,
      dialect,
      namespace,
      zone: 'UTC',
      listLimit: 10_000,
      key: Buffer.from('a key for tests'),
      folder,
      pseudonyms: false,
      disabledMasks: new Set(),
      oldReadingIsSafe: false,
      ...(isSynced ? {} : { sync: null }),
      failed: (thrown) => void failures.push(String(thrown)),
    });
  let migration = create();
  await migration.start();
  const port = await migration.proxy.listen(0, '127.0.0.1');
  const client = createOldServer({ url: `http://127.0.0.1:${port}`, dialect: DIALECT, now });
  t.after(async () => {
    for (const each of [client, oldClient]) each.close();
    await migration.stop();
    await service.stop();
    await old.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return {
    service,
    failures,
    old,
    get migration() {
      return migration;
    },
    client,
    async stage(stage) {
      await createMigrationStages(database, now).set('alpha', stage, false);
      await migration.refreshStages();
    },
    async restart() {
      migration.proxy.server.closeAllConnections();
      await migration.stop();
      migration = create();
      await migration.start();
      await migration.proxy.listen(port, '127.0.0.1');
    },
    async check() {
      const effects = await readEffects(database, oldClient.url);
      const found = await checkAccounts({ ...copying, effects }, [{ line: 1, userId: ALPHA }]);
      return found.flatMap(({ differences, problem }) => [...differences.map(String), ...(problem ? [problem] : [])]);
    },
    async importAgain() {
      const effects = await readEffects(database, oldClient.url);
      const report = await importAccounts({ ...copying, effects }, [{ line: 1, userId: ALPHA }], {});
      assert.equal(report.accounts[0]?.problem, null);
    },
    alpha: () => old.data.accounts[0] as OldAccount,
  };
}

const ARGUMENTS: Readonly<Record<string, unknown>> = {
  groupid: 11,
  mobile: '+27820001010',
  from: NOW - 40 * 86_400_000,
  to: NOW + 86_400_000,
  max_count: 1_000,
  max: 1_000,
};

/** Every reading operation in every protocol. */
async function readAll({ client }: Move): Promise<number> {
  let calls = 0;
  for (const [group, operations] of Object.entries(contract as Contract)) {
    for (const [operation, { parameters }] of Object.entries(operations)) {
      if (!isReading(group, operation)) continue;
      const args = Object.fromEntries(Object.keys(parameters).map((name) => [name, ARGUMENTS[name] ?? ALPHA]));
      for (const protocol of PROTOCOLS) {
        const { result } = await client.call(group, operation, args, { protocol });
        assert.equal(result.kind, 'value', `${group}.${operation} ${protocol}`);
        calls += 1;
      }
    }
  }
  return calls;
}

const write = async ({ client }: Move, group: string, operation: string, args: object): Promise<unknown> => {
  const { result } = await client.call(group, operation, { user_id: ALPHA, ...args });
  return result.kind === 'value' ? result.value : result;
};

onEveryEngine('a whole move', (engine) => {
  test('with the dialect every reading operation is equal in every protocol, and the verdict counts them', async (t) => {
    const move = await startMove(t, engine, DIALECT);
    await move.stage('compare');
    const calls = await readAll(move);
    await move.migration.settled();
    const { totals } = move.migration.tally;
    await move.migration.tally.flush();
    const { database } = move.service.app;
    const now = () => move.service.clock.now;
    const figures = createMigrationFigures(database, now);
    const { examples } = await figures.since(1);
    assert.deepEqual(
      examples.filter(({ name }) => name === 'different'),
      [],
    );
    assert.equal((totals.get('equal') ?? 0) + (totals.get('order') ?? 0), calls);
    assert.deepEqual(move.old.data.writes, []);
    await figures.setCheck((await move.check()).length === 0);
    const report = await migrationReport(database, now, { days: 7, callsMin: 1 });
    assert.deepEqual(
      report.rules
        .filter(({ isMet }) => !isMet)
        .map(({ name }) => name)
        .filter((name) => name !== 'latency'),
      ['unseen'],
    );
  });

  test('without the dialect the planted differences are found, and the verdict is not safe', async (t) => {
    const move = await startMove(t, engine, { ...NO_DIALECT, namespace: WAYS.namespace }, false);
    await move.stage('compare');
    for (const [group, operation] of [
      ['sent', 'FetchSentDS'],
      ['compose', 'FetchScheduledDS'],
    ] as const) {
      await move.client.call(group, operation, { user_id: ALPHA, max: 100 }, { protocol: 'get' });
    }
    await move.client.call('inbox', 'Unread', { user_id: ALPHA, max_count: 100 }, { protocol: 'get' });
    await move.migration.settled();
    await move.restart();
    const { database } = move.service.app;
    const report = await migrationReport(database, () => move.service.clock.now, { days: 7, callsMin: 1 });
    assert.equal(report.isSafe, false);
    assert.deepEqual(
      report.operations
        .filter(({ different }) => different > 0)
        .map(({ operation }) => operation)
        .sort(),
      ['compose.FetchScheduledDS', 'inbox.Unread', 'sent.FetchSentDS'],
    );
    assert.match(JSON.stringify(report.examples), /columns: old SmsData\/Row: SmsID long/);
  });

  test('through all stages and back nothing is lost, with a kill of the proxy in each', async (t) => {
    const move = await startMove(t, engine, DIALECT);
    const { alpha, old, service } = move;
    let id = 5_500;
    const arrive = () => {
      id += 1;
      service.clock.now += 20_000;
      const at = service.clock.now;
      alpha().inbox.push({ id, sender: '+27835550000', message: `Arrived ${id}`, shortCode: '31222', at, read: false });
      return String(id);
    };
    const unread = async (): Promise<string[]> => {
      const { result } = await move.client.call('inbox', 'Unread', { user_id: ALPHA, max_count: 1_000 });
      assert(result.kind === 'value');
      return (result.value as { id: bigint }[]).map((each) => String(each.id));
    };
    const asked: string[] = [];
    for (const stage of ['record', 'compare', 'lead', 'compare', 'lead'] as const) {
      await move.stage(stage);
      const [first, second, third] = [arrive(), arrive(), arrive()];
      assert.ok((await unread()).includes(third), `${stage}: what arrived is seen`);
      assert.equal(await write(move, 'inbox', 'MarkMessageAsRead', { message_id: first }), true, stage);
      assert.equal(await write(move, 'inbox', 'DeleteMessage', { message_id: second }), true, stage);
      assert.equal(await write(move, 'account', 'SaveMessageTemplate', { message: `In ${stage} ${third}` }), true);
      asked.push(first, second);
      await move.migration.settled();
      await move.restart();
      await move.migration.deliver();
      if (stage === 'record') {
        // Nothing is applied here before compare: the import brings it over.
        await move.importAgain();
      }
      const seen = await unread();
      assert.ok(seen.includes(third) && !seen.includes(first) && !seen.includes(second), `${stage}: after the kill`);
    }
    assert.deepEqual(await move.check(), []);
    const marked = old.data.writes.filter(({ operation }) => operation.startsWith('inbox.'));
    assert.deepEqual(
      marked.map(({ target }) => target),
      asked,
      'only what clients asked for, once and in order',
    );
    assert.deepEqual([...new Set(old.data.writes.map(({ by }) => by))], ['client']);
  });

  test('a message that arrives at the old server while all are deleted is not lost', async (t) => {
    const move = await startMove(t, engine, DIALECT);
    await move.stage('lead');
    const { alpha, service } = move;
    assert.equal(await write(move, 'inbox', 'DeleteAllMessages', {}), true);
    service.clock.now += 10_000;
    const at = service.clock.now;
    alpha().inbox.push({ id: 6_001, sender: '+2783', message: 'Just arrived', shortCode: '31222', at, read: false });
    await move.migration.deliver();
    assert.deepEqual(
      alpha().inbox.map(({ id }) => id),
      [6_001],
    );
    service.clock.now += 10_000;
    const { result } = await move.client.call('inbox', 'Unread', { user_id: ALPHA, max_count: 100 });
    assert(result.kind === 'value');
    assert.deepEqual(
      (result.value as { id: bigint }[]).map(({ id }) => id),
      [6_001n],
    );
  });
});
