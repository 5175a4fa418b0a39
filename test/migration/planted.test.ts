import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { contract } from '../../src/asmx/contract/contract.ts';
import type { Contract } from '../../src/asmx/contract/types.ts';
import type { Dialect } from '../../src/asmx/dialect/dialect.ts';
import { systemClock } from '../../src/base/clock.ts';
import { importAccounts } from '../../src/migration/copy/import.ts';
import { createOldServer, isReading } from '../../src/migration/old-server/old-server.ts';
import { TESTED } from '../../src/migration/old-server/read-effects.ts';
import { createMigrationProxy } from '../../src/migration/proxy/migration-proxy.ts';
import { createMigrationCounts } from '../../src/migration/stages/counts.ts';
import { createMigrationStages } from '../../src/migration/stages/stages.ts';
import { verdictOf } from '../../src/migration/stages/verdict.ts';
import { freshPath } from '../support/command.ts';
import { type Engine, engines } from '../support/engines.ts';
import { ODD_DIALECT } from '../support/odd-dialect.ts';
import { sampleData, USER_IDS } from '../support/old-server/sample.ts';
import { startOldServer } from '../support/old-server/server.ts';
import { ODD_WAYS } from '../support/old-server/ways.ts';
import { PROXY_SETTINGS } from '../support/proxied.ts';
import { startService } from '../support/service.ts';

const NOW = Date.UTC(2026, 10, 15, 12);
const [ALPHA] = USER_IDS;
const PROTOCOLS = ['soap11', 'soap12', 'get', 'post'] as const;
const READS = Object.entries(contract as Contract).flatMap(([group, operations]) =>
  Object.keys(operations)
    .filter((operation) => isReading(group, operation))
    .map((operation) => [group, operation] as const),
);
const ARGUMENTS: Readonly<Record<string, unknown>> = {
  user_id: ALPHA,
  groupid: 11,
  mobile: '+27820001010',
  from: NOW - 86_400_000,
  to: NOW,
  max_count: 15,
  max: 15,
};
const EFFECTS = Object.fromEntries(TESTED.map((name) => [name, 'leaves' as const]));

/** Compares every read in every protocol, and returns the rules of the verdict that are not met. */
async function unmetRules(engine: Engine, dialect: Dialect): Promise<string[]> {
  const file = freshPath('json');
  writeFileSync(file, JSON.stringify(dialect));
  const old = await startOldServer(sampleData(NOW, { messages: 12 }), ODD_WAYS);
  const namespace = ODD_WAYS.namespace;
  const service = await startService(engine, 'empty', { dialect: file, namespace });
  const { database } = service.app;
  const now = () => service.clock.now;
  const client = createOldServer({ url: old.url, dialect: ODD_DIALECT });
  const dependencies = { database, old: client, dialect: ODD_DIALECT, effects: EFFECTS, now };
  const { accounts } = await importAccounts(dependencies, [{ line: 1, userId: ALPHA }]);
  assert.equal(accounts[0]?.problem, null);
  const proxy = createMigrationProxy({
    database,
    clock: { ...systemClock, now, sleep: async () => {} },
    oldUrl: old.url,
    newUrl: await service.app.start(),
    ...PROXY_SETTINGS,
    dialect,
    namespace,
    folder: undefined,
    oldReadingIsSafe: true,
    sync: null,
    failed: () => {},
  });
  const stages = createMigrationStages(database, now);
  await stages.setDefault('compare', true);
  await proxy.start();
  const url = `http://127.0.0.1:${await proxy.proxy.listen(0, '127.0.0.1')}`;
  const caller = createOldServer({ url, dialect: ODD_DIALECT });
  for (const [group, operation] of READS) {
    const declared = Object.keys((contract as Contract)[group]?.[operation]?.parameters ?? {});
    const args = Object.fromEntries(declared.map((name) => [name, ARGUMENTS[name]]));
    for (const protocol of PROTOCOLS) await caller.call(group, operation, args, { protocol });
  }
  await proxy.settled();
  await proxy.pendingCounts.flush();
  const migrationCounts = createMigrationCounts(database, now);
  const { counts, examples } = await migrationCounts.since(7);
  const input = {
    counts,
    examples,
    unknown: [],
    acceptances: [],
    check: { isEqual: true, at: now() },
    since: now() - 1,
  };
  const operations = READS.map(([group, operation]) => `${group}.${operation}`);
  const { rules } = verdictOf({ ...input, operations }, { days: 7, callsMin: 1 });
  caller.close();
  client.close();
  await proxy.stop();
  await service.stop();
  await old.close();
  // Which of two servers on a busy machine is faster says nothing.
  return rules
    .filter(({ isMet, name }) => !isMet && name !== 'latency')
    .map(({ name, detail }) => `${name}: ${detail}`);
}

describe('the verdict is safe only after every planted difference is in the dialect', () => {
  for (const engine of engines) {
    test(`with the whole dialect nothing is different (${engine.name})`, async () => {
      assert.deepEqual(await unmetRules(engine, ODD_DIALECT), []);
    });
  }
  for (const entry of ['dataSet', 'columns', 'statusWords', 'dates', 'groupId'] as const) {
    test(`the verdict is not safe without the entry ${entry} of the dialect`, async () => {
      const { [entry]: _, ...dialect } = ODD_DIALECT;
      const unmet = await unmetRules(engines[0] as Engine, dialect);
      assert(
        unmet.some((rule) => rule.startsWith('different: ')),
        unmet.join(),
      );
    });
  }
});
