import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { Dialect } from '../../src/asmx/dialect/dialect.ts';
import { systemClock } from '../../src/base/clock.ts';
import { checkAccounts } from '../../src/migration/copy/check.ts';
import { importAccounts } from '../../src/migration/copy/import.ts';
import { createOldServer, type OldServer } from '../../src/migration/old-server/old-server.ts';
import { createMigrationProxy, type MigrationProxy } from '../../src/migration/proxy/migration-proxy.ts';
import { readEffects } from '../../src/migration/stages/migrated-accounts.ts';
import { createMigrationStages, type Stage } from '../../src/migration/stages/stages.ts';
import type { Engine } from '../support/engines.ts';
import { ODD_DIALECT } from '../support/odd-dialect.ts';
import type { OldAccount } from '../support/old-server/accounts.ts';
import { sampleData, USER_IDS } from '../support/old-server/sample.ts';
import { type OldServerProcess, startOldServer } from '../support/old-server/server.ts';
import { ODD_WAYS } from '../support/old-server/ways.ts';
import { PROXY_SETTINGS } from '../support/proxied.ts';
import { type Service, startService } from '../support/service.ts';

/** A whole move from an old server that was written by itself, and differs on purpose. */

export const NOW = Date.UTC(2026, 10, 15, 12);
export const [ALPHA] = USER_IDS;
export const WAYS = { ...ODD_WAYS, caps: {} };
export const { caps: _, ...DIALECT } = ODD_DIALECT;

export interface Move {
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

export async function startMove(t: TestContext, engine: Engine, dialect: Dialect, isSynced = true): Promise<Move> {
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
  const oldClient = createOldServer({ url: old.url, dialect: DIALECT, clock: { ...systemClock, now } });
  const copying = { database, archive, old: oldClient, dialect: DIALECT, effects: {}, now };
  const { accounts } = await importAccounts(copying, [{ line: 1, userId: ALPHA }], {});
  assert.deepEqual([accounts[0]?.outcome, accounts[0]?.problem], ['copied', null]);
  const failures: string[] = [];
  const create = () =>
    createMigrationProxy({
      database,
      clock: { ...systemClock, now, sleep: () => systemClock.sleep(5) },
      oldUrl: old.url,
      newUrl,
      ...PROXY_SETTINGS,
      dialect,
      namespace,
      folder,
      ...(isSynced ? {} : { sync: null }),
      failed: (thrown) => void failures.push(String(thrown)),
    });
  let migration = create();
  await migration.start();
  const port = await migration.proxy.listen(0, '127.0.0.1');
  const client = createOldServer({ url: `http://127.0.0.1:${port}`, dialect: DIALECT, clock: { ...systemClock, now } });
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
