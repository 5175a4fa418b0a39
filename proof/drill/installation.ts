import { writeFileSync } from 'node:fs';
import type { Dialect } from '../../src/asmx/dialect/dialect.ts';
import { type CheckedAccount, checkAccounts } from '../../src/migration/copy/check.ts';
import { type ImportReport, importAccounts } from '../../src/migration/copy/import.ts';
import { createOldServer } from '../../src/migration/old-server/old-server.ts';
import { TESTED } from '../../src/migration/old-server/read-effects.ts';
import { createProxySync } from '../../src/migration/proxy/proxy-sync.ts';
import { createMigrationCounts } from '../../src/migration/stages/counts.ts';
import { storeReadEffects } from '../../src/migration/stages/migrated-accounts.ts';
import { createMigrationStages } from '../../src/migration/stages/stages.ts';
import { createMigrationWrites } from '../../src/migration/stages/writes.ts';
import { type Archive, createArchive } from '../../src/transfer/archive.ts';
import { columba, freshPath, launch, type Outcome } from '../../test/support/command.ts';
import { freePort } from '../../test/support/free-port.ts';
import { type OldData, runSchedule } from '../../test/support/old-server/accounts.ts';
import { type OldServerProcess, startOldServer } from '../../test/support/old-server/server.ts';
import { ODD_WAYS } from '../../test/support/old-server/ways.ts';
import { openStore } from '../../test/support/opened-database.ts';

/** Old server, Columba and proxy, each of which can be killed and started again. */
export interface Installation {
  readonly url: string;
  /** Columba itself, past the proxy. */
  readonly columbaUrl: string;
  /** How many processes were killed. */
  readonly kills: number;
  readonly old: OldServerProcess;
  startColumba(): Promise<void>;
  killColumba(): Promise<void>;
  startProxy(stage: string): Promise<void>;
  killProxy(): Promise<void>;
  /** SIGUSR2: the proxy passes calls on, or ends that. */
  togglePassThrough(): Promise<void>;
  /** The old server is down for a while: connections are refused, its data stays. */
  oldDown(ms: number): Promise<void>;
  /** In this process: a process for each command takes longer than all the rest. */
  setStage(stage: 'compare' | 'lead' | 'alone'): Promise<void>;
  /** Until the old server has all writes of accounts that Columba leads. */
  delivered(): Promise<void>;
  importAll(): Promise<ImportReport>;
  /** As another proxy does it, beside the one that answers. Rejects where a call was cut. */
  sync(userId: string, everything: boolean): Promise<void>;
  checkAll(): Promise<CheckedAccount[]>;
  /** What Columba has of an account. */
  readonly archive: Archive;
  migrate(...args: string[]): Promise<Outcome>;
  /** Starts a command that the drill may kill. */
  launchMigrate(...args: string[]): ReturnType<typeof launch>;
  readonly both: readonly string[];
  stop(): Promise<void>;
}

type CheckDependencies = Parameters<typeof checkAccounts>[0];

/** As a probe tells before. */
const NOTHING_MARKS = Object.fromEntries(TESTED.map((name) => [name, 'leaves' as const]));
/** Every process looks at the stages each second. */
const STAGE_SEEN_MS = 1_500;

export async function createInstallation(
  database: string,
  data: OldData,
  userIds: readonly string[],
  dialect: Dialect,
): Promise<Installation> {
  const [oldPort, columbaPort, proxyPort] = [await freePort(), await freePort(), await freePort()];
  const [dialectFile, usersFile, folder] = [freshPath('json'), freshPath('txt'), freshPath('recordings')];
  writeFileSync(dialectFile, JSON.stringify(dialect));
  writeFileSync(usersFile, userIds.join('\n'), { mode: 0o600 });
  const env = {
    COLUMBA_DATABASE: database,
    COLUMBA_DIALECT: dialectFile,
    COLUMBA_PORT: String(columbaPort),
    COLUMBA_WEB_PORT: '0',
    COLUMBA_DRAIN_TIMEOUT_MS: '0',
    COLUMBA_TURN_MAX_MS: '60000',
    COLUMBA_LOG_KEY: '0123456789abcdef0123456789abcdef',
  };
  let old = await startOldServer(data, ODD_WAYS, oldPort);
  let isOldUp = true;
  const schedule = setInterval(() => isOldUp && runSchedule(data, Date.now()), 100);
  let serving: ReturnType<typeof launch> | undefined;
  let proxy: ReturnType<typeof launch> | undefined;
  let kills = 0;
  const killed = async (running: ReturnType<typeof launch> | undefined) => {
    if (running?.child.kill('SIGKILL')) kills += 1;
    await running?.ended.catch(() => {});
  };
  const store = await openStore(database, Date.now());
  const stages = createMigrationStages(store, Date.now);
  const users = userIds.map((userId, index) => ({ line: index + 1, userId }));
  await storeReadEffects(store, old.url, NOTHING_MARKS, Date.now());
  const withClient = async <T>(work: (dependencies: CheckDependencies) => Promise<T>): Promise<T> => {
    const client = createOldServer({ url: old.url, dialect });
    const common = {
      database: store,
      archive: createArchive(store, Date.now, null),
      old: client,
      dialect,
      now: Date.now,
    };
    return work({ ...common, effects: NOTHING_MARKS }).finally(() => client.close());
  };
  const both = ['--old', old.url, '--users', usersFile, '--rate', '1000'];
  return {
    url: `http://127.0.0.1:${proxyPort}`,
    columbaUrl: `http://127.0.0.1:${columbaPort}`,
    get kills() {
      return kills;
    },
    get old() {
      return old;
    },
    both,
    async startColumba() {
      serving = launch(['serve'], { env });
      await answers(`http://127.0.0.1:${columbaPort}/health/ready`, serving);
    },
    killColumba: () => killed(serving),
    async startProxy(stage) {
      const args = ['--old', old.url, '--new', `http://127.0.0.1:${columbaPort}`, '--port', String(proxyPort)];
      proxy = launch(['migrate', 'proxy', ...args, '--stage', stage, '--folder', folder], { env });
      await answers(`http://127.0.0.1:${proxyPort}/api/account.asmx?WSDL`, proxy);
    },
    killProxy: () => killed(proxy),
    async togglePassThrough() {
      proxy?.child.kill('SIGUSR2');
      await new Promise((resolve) => setTimeout(resolve, STAGE_SEEN_MS / 3));
    },
    async oldDown(ms) {
      isOldUp = false;
      await old.close();
      await new Promise((resolve) => setTimeout(resolve, ms));
      const { onCall } = old;
      old = await startOldServer(data, ODD_WAYS, oldPort);
      old.onCall = onCall;
      isOldUp = true;
    },
    async setStage(stage) {
      await stages.setDefault(stage, stage !== 'alone');
      await new Promise((resolve) => setTimeout(resolve, STAGE_SEEN_MS));
    },
    async delivered() {
      const { waitingWrites } = createMigrationCounts(store, Date.now);
      while ((await waitingWrites()).total > 0) await new Promise((resolve) => setTimeout(resolve, 100));
    },
    async sync(userId, everything) {
      const client = createOldServer({ url: old.url, dialect });
      const writes = createMigrationWrites(store, Date.now, 'drill');
      const { sync } = createProxySync({ database: store, old: client, dialect, now: Date.now, stages, writes });
      await sync(userId, { everything }).finally(() => client.close());
    },
    importAll: () => withClient((dependencies) => importAccounts(dependencies, users)),
    checkAll: () => withClient((dependencies) => checkAccounts(dependencies, users)),
    archive: createArchive(store, Date.now, null),
    migrate: (...args) => columba(['migrate', ...args], { env }),
    launchMigrate: (...args) => launch(['migrate', ...args], { env }),
    async stop() {
      clearInterval(schedule);
      await killed(proxy);
      await killed(serving);
      await old.close();
      await store.close();
    },
  };
}

async function answers(url: string, { ended, output }: ReturnType<typeof launch>): Promise<void> {
  let hasEnded = false;
  ended.then(() => {
    hasEnded = true;
  });
  for (;;) {
    const isUp = await fetch(url).then(
      ({ status }) => status === 200,
      () => false,
    );
    if (isUp) return;
    if (hasEnded) throw new Error(`${url}: ${output.stderr}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
