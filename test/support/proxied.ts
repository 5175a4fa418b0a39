import { mkdtempSync, rmSync } from 'node:fs';
import { Agent, type IncomingMessage, request as requestHttp } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { systemClock } from '../../src/base/clock.ts';
import { listRecordings } from '../../src/migration/compare/recorder.ts';
import { type RecordedExchange, readRecording } from '../../src/migration/compare/recording.ts';
import {
  createMigrationProxy,
  type MigrationProxy,
  type MigrationProxySettings,
} from '../../src/migration/proxy/migration-proxy.ts';
import { createMigrationStages, type MigrationStages, type Stage } from '../../src/migration/stages/stages.ts';
import { type Engine, engines } from './engines.ts';
import { type Arguments, NAMESPACE, type Protocol, requestOf } from './protocols.ts';
import { type Service, startService } from './service.ts';

/** A proxy between an old server and Columba. Both have the sample data, unless a test says otherwise. */
export interface Proxied {
  readonly address: string;
  readonly migration: MigrationProxy;
  /** Columba. */
  readonly service: Service;
  /** Another Columba, which plays the old server. */
  readonly oldService: Service;
  readonly oldUrl: string;
  /** Of `oldService`, also where a test gives the proxy another old server. */
  readonly oldServiceUrl: string;
  readonly newUrl: string;
  readonly folder: string;
  readonly stages: MigrationStages;
  readonly settings: MigrationProxySettings;
  /** Messages of what failed in the background. */
  readonly failures: string[];
  call(protocol: Protocol, group: string, operation: string, args: Arguments): Promise<Received>;
  /** The default stage, seen by the proxy. */
  stage(stage: Stage): Promise<void>;
  /** All that was recorded. Ends the recording. */
  recorded(): Promise<RecordedExchange[]>;
}

export interface Received {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly text: string;
}

/** What most tests have. On a busy machine they wait for both servers. */
export const PROXY_SETTINGS = {
  oldTls: {},
  oldTimeoutMs: 60_000,
  newTimeoutMs: 60_000,
  zone: 'UTC',
  listLimit: 10_000,
  key: Buffer.from('a key for tests'),
  pseudonyms: false,
  disabledKnownDifferences: new Set<never>(),
  oldReadingIsSafe: false,
};

export async function startProxied(
  t: TestContext,
  engine: Engine,
  more: Partial<MigrationProxySettings> = {},
): Promise<Proxied> {
  // The old server is the same in every run, so it has the database that starts faster.
  const [service, oldService] = [await startService(engine), await startService(engines[0] as Engine)];
  const [newUrl, ownOldUrl] = [await service.app.start(), await oldService.app.start()];
  const folder = mkdtempSync(join(tmpdir(), 'columba-recordings-'));
  const failures: string[] = [];
  const settings: MigrationProxySettings = {
    database: service.app.database,
    clock: { ...systemClock, now: () => service.clock.now, sleep: () => systemClock.sleep(5) },
    oldUrl: ownOldUrl,
    newUrl,
    ...PROXY_SETTINGS,
    dialect: {},
    namespace: NAMESPACE,
    folder,
    sync: null,
    failed: (thrown) => void failures.push(String((thrown as Error)?.message ?? thrown)),
    ...more,
  };
  const migration = createMigrationProxy(settings);
  await migration.start();
  const address = `http://127.0.0.1:${await migration.proxy.listen(0, '127.0.0.1')}`;
  const stages = createMigrationStages(service.app.database, () => service.clock.now);
  const agent = new Agent({ keepAlive: true });
  t.after(async () => {
    agent.destroy();
    await migration.stop();
    await Promise.all([service.stop(), oldService.stop()]);
    rmSync(folder, { recursive: true, force: true });
  });
  const { oldUrl } = settings;
  return {
    address,
    migration,
    service,
    oldService,
    oldUrl,
    oldServiceUrl: ownOldUrl,
    newUrl,
    folder,
    stages,
    settings,
    failures,
    call: (protocol, group, operation, args) => send(address, protocol, group, operation, args, agent),
    async stage(stage) {
      await stages.setDefault(stage, true);
      await migration.refreshStages();
    },
    async recorded() {
      await migration.settled();
      await migration.recorder?.close();
      const found: RecordedExchange[] = [];
      for (const { path } of listRecordings(folder)) for await (const each of readRecording(path)) found.push(each);
      return found;
    },
  };
}

export function send(
  address: string,
  protocol: Protocol,
  group: string,
  operation: string,
  args: Arguments,
  agent?: Agent,
): Promise<Received> {
  const { method, path, query, headers, bytes } = requestOf(protocol, group, operation, args);
  return new Promise((resolve, reject) => {
    const target = query === '' ? path : `${path}?${query}`;
    const length = bytes === '' ? {} : { 'Content-Length': Buffer.byteLength(bytes) };
    const sent = requestHttp(
      new URL(target, address),
      { method, headers: { ...(headers as object), ...length }, ...(agent ? { agent } : {}) },
      (answer) => {
        const chunks: Buffer[] = [];
        answer.on('data', (chunk) => chunks.push(chunk));
        answer.on('error', reject);
        answer.on('end', () =>
          resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text: Buffer.concat(chunks).toString() }),
        );
      },
    );
    sent.on('error', reject);
    sent.end(bytes);
  });
}
