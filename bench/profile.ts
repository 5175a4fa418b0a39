import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CACHE_OFF, startColumba } from './columba.ts';
import { ACCOUNTS, MESSAGES } from './data.ts';
import { fillSqlite } from './fill.ts';
import { driveOperation, type Name } from './operations.ts';
import { endAll, temporaryFolder } from './processes.ts';
import { GROUPS, type SelfTimes, selfTimes } from './profile-groups.ts';
import { heading, print, printTable, say } from './report.ts';
import { numberFrom } from './settings.ts';

/** Where the time of a call goes: V8's profile of Columba under load, for one operation at a time. */
const REQUESTS = numberFrom('REQUESTS', 20_000);
const INTERVAL_US = 200;

const folder = temporaryFolder();
say(`filling a database with ${ACCOUNTS} accounts of ${MESSAGES} messages`);
const { database, close } = await fillSqlite(join(folder, 'bench.db'), {
  accounts: ACCOUNTS,
  every: 1,
  messages: MESSAGES,
});
await close();

const CASES = (['Profile', 'Unread'] as const).flatMap((operation) => [
  { name: `${operation}, cached`, operation, flags: [] },
  { name: `${operation}, cache off`, operation, flags: CACHE_OFF },
]);
const profiles: { name: string; times: SelfTimes; totalUs: number }[] = [];
for (const { name, operation, flags } of CASES) {
  say(name);
  const times = await profiled(operation, flags);
  profiles.push({ name, times, totalUs: [...times.groups.values()].reduce((sum, us) => sum + us, 0) });
}
await endAll();

heading(
  'Where the time goes',
  `SOAP 1.1, SQLite, ${ACCOUNTS} accounts, ${REQUESTS} calls over 32 connections; of each function its own time, in µs for each call, and its`,
  'share. The profiler takes time of its own.',
);
printTable(
  ['', ...profiles.map(({ name }) => name)],
  GROUPS.map((group) => [
    group,
    ...profiles.map(({ times, totalUs }) => {
      const us = times.groups.get(group) ?? 0;
      return `${(us / REQUESTS).toFixed(1)} (${((100 * us) / totalUs).toFixed(0)} %)`;
    }),
  ]),
);
for (const { name, times } of profiles) {
  print(`The longest of ${name}:`);
  const longest = times.functions.slice(0, 12);
  printTable(
    ['function', 'µs', ''],
    longest.map(({ label, group, us }) => [`\`${label}\``, (us / REQUESTS).toFixed(1), group]),
  );
}

/** Of calls to a process that is warm. The profile is written when it ends by itself. */
async function profiled(operation: Name, flags: readonly string[]): Promise<SelfTimes> {
  const into = join(temporaryFolder(), 'profile');
  const node = ['--cpu-prof', `--cpu-prof-dir=${into}`, `--cpu-prof-interval=${INTERVAL_US}`];
  const columba = await startColumba({ database, flags, node });
  const load = { server: columba, protocol: 'SOAP 1.1', operation, requests: REQUESTS } as const;
  await driveOperation(load);
  const from = nowUs();
  await driveOperation(load);
  const to = nowUs();
  await columba.stop();
  const [file] = readdirSync(into);
  return selfTimes(JSON.parse(readFileSync(join(into, file as string), 'utf8')), from, to);
}

/** On the clock that the profile has too. */
function nowUs(): number {
  return Number(process.hrtime.bigint() / 1_000n);
}
