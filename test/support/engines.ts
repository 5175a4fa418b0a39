import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { clusterOf, createDatabase, databaseOf, dropDatabase } from './databases.ts';
import { pathOf } from './opened-database.ts';
import { createRestorer, createTemplates, type Restorer, type Template, type Templates } from './templates.ts';

export { SAMPLE } from './templates.ts';

/** none: not even tables. empty: tables of the newest version. sample: tables and the sample data. */
export type Data = 'none' | Template;

/** The databases that every suite of store, domain and wire runs on. */
export interface Engine {
  readonly name: string;
  /** A database of its own, as a setting. */
  fresh(data: Data): Promise<string>;
  /** It is not used any more, and may be given to the next one. */
  release(database: string): void;
}

/** What test/run.ts has made. */
const prepared: Record<string, Templates> | undefined = JSON.parse(process.env.TEST_TEMPLATES ?? 'null') ?? undefined;

const folder = mkdtempSync(join(tmpdir(), 'columba-test-'));
let count = 0;
const nextPath = () => join(folder, `${++count}.db`);

function sqlite(): Engine {
  const templates = prepared?.sqlite ?? createTemplates(async () => `sqlite:${nextPath()}`);
  return {
    name: 'sqlite',
    async fresh(data) {
      const path = nextPath();
      if (data !== 'none') copyFileSync(pathOf(await templates[data]), path);
      return `sqlite:${path}`;
    },
    release: () => {},
  };
}

/** `server` is the address of a server on which databases can be made; test/run.ts starts one, or TEST_POSTGRES names one. */
function postgres(server: string): Engine & { readonly untouched: () => Promise<string> } {
  const made: string[] = [];
  const make = async (template?: string) => {
    const name = `test_${process.pid}_${++count}`;
    made.push(name);
    return createDatabase(server, name, template && databaseOf(template));
  };
  const restorerOf = (database: string) => {
    const restorer = restorers.get(database) ?? createRestorer(database);
    restorers.set(database, restorer);
    return restorer;
  };
  const templates = prepared?.postgres ?? createTemplates(make);
  const released: string[] = [];
  const restorers = new Map<string, Restorer>();
  after(async () => {
    for (const each of restorers.values()) await each.close();
    for (const name of made) await dropDatabase(server, name);
  });
  return {
    name: 'postgres',
    async fresh(data) {
      const isCluster = (await clusterOf(server)) !== undefined;
      // A copy of the template takes less than filling the tables of all nodes again, and the nodes of a cluster keep
      // processes and connections for every database.
      if (isCluster) for (const each of released.splice(0)) await dropDatabase(server, databaseOf(each));
      const used = data === 'sample' ? released.pop() : undefined;
      if (used) await restorerOf(used).restore();
      return used ?? make(data === 'none' ? undefined : await templates[data]);
    },
    release: (database) => void released.push(database),
    untouched: async () => make(await templates.sample),
  };
}

const onServer = process.env.TEST_POSTGRES ? postgres(process.env.TEST_POSTGRES) : undefined;
if (process.env.TEST_ENGINE === 'postgres' && !onServer) throw new Error('TEST_ENGINE=postgres needs TEST_POSTGRES');
export const engines: readonly Engine[] = [sqlite(), ...(onServer ? [onServer] : [])];

/** The sample data on PostgreSQL in a database that no test has used: dead rows of others would change its plans. */
export async function untouchedPostgres(): Promise<string> {
  if (!onServer) throw new Error('there is no PostgreSQL');
  return onServer.untouched();
}

/** Whether the suites of an engine run on PostgreSQL alone. */
const isOther = Boolean(
  process.env.TEST_POSTGRES && (process.env.TEST_POSTGRES_BIN || process.env.TEST_ENGINE === 'postgres'),
);

/**
 * The same suite on every engine. Where TEST_POSTGRES_BIN chooses another PostgreSQL, it runs on that alone: SQLite is the
 * same beside each of them.
 */
export function onEveryEngine(name: string, suite: (engine: Engine) => void): void {
  for (const engine of isOther ? engines.slice(1) : engines) describe(`${name} (${engine.name})`, () => suite(engine));
  if (!process.env.TEST_POSTGRES)
    test(`${name} (postgres)`, { skip: 'skipped: no PostgreSQL, see test/run.ts' }, () => {});
}

/**
 * A suite of rooms above those with SQL, whose statements the suites of store and domain run on every engine. It runs on
 * SQLite, and with TEST_ENGINE=postgres on PostgreSQL, as `.ci/run` does.
 */
export function onOneEngine(name: string, suite: (engine: Engine) => void): void {
  const engine = isOther ? engines[1] : engines[0];
  describe(`${name} (${engine?.name})`, () => suite(engine as Engine));
}

/** A suite about what does not depend on the database. */
export function onFirstEngine(name: string, suite: (engine: Engine) => void): void {
  describe(name, () => suite(engines[0] as Engine));
}

// Not by node:test's `after`: its hook watches every promise, and a program that measures CPU would count that.
process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
