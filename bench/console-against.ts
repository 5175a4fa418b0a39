import { copyFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import * as here from './columba.ts';
import { consoleDatabase } from './console-data.ts';
import { openPages, PATHS } from './console-pages.ts';
import { type ConsoleSession, signInTo } from './console-session.ts';
import { mainThreadUs } from './proc.ts';
import { freePort } from './processes.ts';
import { heading, printTable, say, whole } from './report.ts';
import { mean, median, quantile } from './rounds.ts';
import { numberFrom } from './settings.ts';

/**
 * What a page of the console costs in this checkout and in another, whose folder is the argument. As in pairs.ts, every
 * pair is two new processes that take turns. ONLY is a pattern of their paths.
 */
const [other] = process.argv.slice(2);
if (!other) throw new Error('name the folder of the other checkout, where npm ci has run');
const MESSAGES = numberFrom('MESSAGES', 1_000_000);
const PAIRS = numberFrom('PAIRS', 9);
const PAGES = numberFrom('PAGES', 40);
const SLICES = 4;

const paths = PATHS.filter((path) => new RegExp(process.env.ONLY || '').test(path));
const columbas = { other: await import(join(resolve(other), 'bench', 'columba.ts')), here } as const;
const sides = Object.entries(columbas as Record<string, typeof here>);
// Each has its own file: what one writes makes the other forget what it knows of the file.
const databases = new Map<string, string>();
const first = await consoleDatabase(MESSAGES, 50);
for (const [name] of sides) {
  const path = first.slice('sqlite:'.length);
  copyFileSync(path, `${path}.${name}`);
  databases.set(name, `${first}.${name}`);
}

const costs = new Map<string, Record<string, number[]>>(paths.map((path) => [path, { other: [], here: [] }]));
for (let pair = 0; pair < PAIRS; pair++) {
  const running = new Map<string, Awaited<ReturnType<typeof opened>>>();
  for (const [name, side] of pair % 2 === 0 ? sides : sides.toReversed()) running.set(name, await opened(name, side));
  for (const path of paths) {
    for (const { session } of running.values()) await openPages(session, path, PAGES); // until its functions are compiled
    const slices = new Map<string, number[]>(sides.map(([name]) => [name, []]));
    for (let slice = 0; slice < SLICES; slice++) {
      for (const [name, { session, columba }] of running) {
        const before = mainThreadUs(columba.pid);
        await openPages(session, path, PAGES / SLICES);
        slices.get(name)?.push((mainThreadUs(columba.pid) - before) / (PAGES / SLICES) / 1_000);
      }
    }
    for (const [name, values] of slices) costs.get(path)?.[name]?.push(mean(values));
  }
  for (const { columba } of running.values()) await columba.stop();
  say(`pair ${pair + 1} of ${PAIRS}`);
}

async function opened(
  name: string,
  { startColumba }: typeof here,
): Promise<{ session: ConsoleSession; columba: here.Columba }> {
  const webPort = await freePort();
  const database = databases.get(name) as string;
  const columba = await startColumba({ database, flags: ['--web-port', String(webPort)] });
  return { session: await signInTo(`http://127.0.0.1:${webPort}`, database, 'account000000'), columba };
}

heading(
  'The console against another checkout',
  `${whole(MESSAGES)} received and as many sent messages, SQLite. ${PAIRS} pairs of new processes, ${PAGES} pages of each after as many that do not count.`,
  'CPU of the serving thread for a page: the medians, and the median of the ratios with their quartiles.',
);
printTable(
  ['', 'other', 'here', 'ratio'],
  [...costs].map(([path, { other: base = [], here: own = [] }]) => {
    const ratios = own.map((value, pair) => value / (base[pair] as number));
    const [low, middle, high] = [0.25, 0.5, 0.75].map((part) => quantile(ratios, part).toFixed(2));
    return [path, `${median(base).toFixed(2)} ms`, `${median(own).toFixed(2)} ms`, `${middle} (${low}–${high})`];
  }),
);
