import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createAccepting } from '../src/domain/accepting.ts';
import { accountId, addRecord } from '../src/domain/account-records.ts';
import { heldReceiptsFor } from '../src/domain/receipts.ts';
import { createCarrierEvents } from '../src/gateway/carrier-events.ts';
import type { CarrierEvents } from '../src/gateway/connector.ts';
import { createGateway } from '../src/gateway/gateway.ts';
import type { Database } from '../src/store/database.ts';
import { openPostgres } from '../src/store/postgres/database.ts';
import { openSqlite } from '../src/store/sqlite/database.ts';
import { print } from './report.ts';

/**
 * Messages per second through the loopback, from the claim to the receipt on disk. SQLite runs with
 * synchronous=full, as always. MESSAGES, ACCOUNTS and SCHEDULED set the amounts; POSTGRES is the
 * URL of an empty database.
 */
const MESSAGES = Number(process.env.MESSAGES ?? 20_000);
const ACCOUNTS = Number(process.env.ACCOUNTS ?? 10);
const SCHEDULED = Number(process.env.SCHEDULED ?? 0);
const BATCH = 1_000;
const DAY_MS = 86_400_000;

async function acceptAll(database: Database, accounts: readonly bigint[], count: number, sendAt: number | null) {
  const accepting = createAccepting(database, Date.now);
  const settings = { region: 'ZA', timeZone: null, quietHours: null };
  for (let done = 0; done < count; done += BATCH) {
    const recipients = Array.from({ length: Math.min(BATCH, count - done) }, (_, index) => ({
      number: `+2782${String(1_000_000 + ((done + index) % 8_000_000))}`,
      text: 'Your parcel has arrived.',
    }));
    const account = accounts[(done / BATCH) % accounts.length] as bigint;
    const given = { recipients, sender: null, reference: null, sendAt, notAfter: null };
    await accepting.accept(account, settings, given);
  }
}

async function measure(name: string, database: Database): Promise<void> {
  const accounts: bigint[] = [];
  for (let index = 0; index < ACCOUNTS; index++) {
    const username = `bench-${index}`;
    await addRecord(database, { username, passwordHash: null, credits: 2n ** 40n }, Date.now());
    accounts.push(await accountId(database, username));
  }
  if (SCHEDULED > 0) await acceptAll(database, accounts, SCHEDULED, Date.now() + DAY_MS);
  let start = performance.now();
  await acceptAll(database, accounts, MESSAGES, null);
  const accepted = performance.now() - start;
  const own = createCarrierEvents(database, Date.now);
  let receipts = 0;
  const events: CarrierEvents = {
    ...own,
    async receipt(receipt) {
      await own.receipt(receipt);
      receipts += 1;
    },
  };
  const config = { name: 'loopback', kind: 'loopback', config: { receiptAfterMs: 5 }, isDefault: true };
  const gateway = createGateway({
    database,
    now: Date.now,
    sleep: async (ms) => void (await sleep(ms)),
    ofFile: [{ ...config, submissionsMax: 1_000, ratePerSecond: null }],
    events,
    onGatewayIds: heldReceiptsFor(Date.now),
    failed: (thrown) => console.error(thrown),
  });
  const cpu = process.cpuUsage();
  start = performance.now();
  await gateway.start();
  // Numbers with a fate of their own get no receipt, or two.
  while (receipts < MESSAGES * 0.99) await sleep(5);
  const sent = performance.now() - start;
  const { user, system } = process.cpuUsage(cpu);
  await gateway.stop();
  const rate = (ms: number) => Math.round((MESSAGES / ms) * 1_000).toLocaleString('en');
  const cost = Math.round((user + system) / MESSAGES);
  print(`| ${name} | ${SCHEDULED.toLocaleString('en')} | ${rate(accepted)} | ${rate(sent)} | ${cost} |`);
}

print('| database | scheduled besides | accepted/s | sent with receipt/s | CPU of the process, µs each |');
print('|---|---|---|---|---|');
const folder = mkdtempSync(join(tmpdir(), 'columba-bench-'));
try {
  const sqlite = await openSqlite(join(folder, 'dispatch.db'), Date.now);
  await measure('SQLite', sqlite);
  await sqlite.close();
  if (process.env.POSTGRES) {
    const url = process.env.POSTGRES;
    const postgres = await openPostgres({ url, connectionsMax: 10, timeoutMs: 30_000 }, Date.now);
    await measure('PostgreSQL', postgres);
    await postgres.close();
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
