import { Problem } from '../../base/problem.ts';
import type { Queries } from '../database.ts';
import {
  commandsOf,
  distributedFunctions,
  distributionSteps,
  foreignKeysOf,
  oldRowSteps,
  withoutForeignKeys,
} from '../schema/distributed.ts';
import { distributionOf } from '../schema/distribution.ts';
import {
  citusState,
  dependentFacts,
  distributable,
  keyFacts,
  localNode,
  nodeFacts,
  tableFacts,
  triggerFacts,
} from '../schema/distribution-facts.ts';
import { currentVersion, migrations, refuseNewer } from '../schema/migrations.ts';

/** A connection whose SQL may be that of a schema. */
interface Distributable extends Queries {
  exec(sql: string): void | Promise<void>;
}

/** none: PostgreSQL without Citus. ready: Citus is there, and the tables are on one node. */
export type CitusState = 'none' | 'ready' | 'distributed';

export async function readCitusState(connection: Queries): Promise<CitusState> {
  if (!(await connection.first(citusState, {}))?.is_there) return 'none';
  const tables = await connection.all(tableFacts, {});
  return tables.some(({ name, method }) => name === 'account' && method !== null) ? 'distributed' : 'ready';
}

const WANTED = { account: 'h', reference: 'n', local: null };

/** Where Citus is not there, nothing is wrong with a table. */
export interface StoredTables {
  /** Tables of the schema that are not stored as it says. */
  readonly undistributed: string[];
  /** Tables whose rows from before the distribution are still on the disk of the coordinator. */
  readonly withOldRows: string[];
  /** Tables that the schema does not have. They stay as they are. */
  readonly ofOthers: string[];
}

const NOTHING_STORED: StoredTables = { undistributed: [], withOldRows: [], ofOthers: [] };

export async function readStoredTables(connection: Queries): Promise<StoredTables> {
  if ((await readCitusState(connection)) === 'none') return NOTHING_STORED;
  const tables = await connection.all(tableFacts, {});
  const undistributed: string[] = [];
  const withOldRows: string[] = [];
  const ofOthers: string[] = [];
  for (const { name, method, has_old_rows } of tables) {
    const declared = distributionOf(name);
    if (declared === undefined) ofOthers.push(name);
    else if (method !== WANTED[declared]) undistributed.push(name);
    else if (has_old_rows) withOldRows.push(name);
  }
  return { undistributed, withOldRows, ofOthers };
}

const versionOf = async (connection: Queries): Promise<number> =>
  Number((await connection.first(currentVersion, {}))?.version ?? 0n);

/** Whether nothing has to be made. */
export async function isStoredAsDeclared(connection: Queries): Promise<boolean> {
  await refuseUnknowing(connection);
  if ((await versionOf(connection)) !== migrations.length) return false;
  return (await readStoredTables(connection)).undistributed.length === 0;
}

/** A worker has the tables of the coordinator only after somebody has made them known. */
async function refuseUnknowing(connection: Queries): Promise<void> {
  if ((await connection.all(tableFacts, {})).some(({ name }) => name === 'schema_version')) return;
  throw new Problem(
    'bad-argument',
    'This server is a worker of Citus that does not know the tables of the coordinator. Use the URL of the coordinator, or make the tables known: see "Ask any node" in docs/SCALING.md.',
  );
}

const isWorker = async (connection: Queries): Promise<boolean> =>
  (await connection.first(localNode, {}))?.is_worker === true;

/** Before the distribution, Citus would refuse to make the tables here with a text of its own. */
export async function refuseUndistributedWorker(connection: Queries): Promise<void> {
  if (!(await isWorker(connection))) return;
  throw new Problem(
    'bad-argument',
    'This server is a worker of Citus, and the tables are not distributed yet. Use the URL of the coordinator.',
  );
}

/** Citus makes tables on the coordinator only. */
export async function refuseWorker(connection: Queries): Promise<void> {
  if (!(await isWorker(connection))) return;
  refuseNewer(await versionOf(connection));
  throw new Problem(
    'bad-argument',
    'The database does not have the tables of this version, and a worker of Citus cannot make them. Run with the URL of the coordinator: columba check',
  );
}

export const countWorkers = async (connection: Queries): Promise<number> =>
  (await connection.all(nodeFacts, {})).filter(({ is_coordinator, is_active }) => !is_coordinator && is_active).length;

/** What the command would execute; nothing if all tables are distributed and no old rows remain. */
export async function readCommandSteps(connection: Queries): Promise<string[]> {
  const steps = await readDistributionSteps(connection);
  return [...steps, ...oldRowSteps(await connection.all(tableFacts, {}))];
}

/** What remains to be executed until all tables are distributed. */
async function readDistributionSteps(connection: Queries): Promise<string[]> {
  const state = await readCitusState(connection);
  if (state === 'none')
    throw new Problem(
      'bad-argument',
      'The extension citus is not installed in this database. Run there: create extension citus',
    );
  const nodes = await connection.all(nodeFacts, {});
  if (!nodes.some(({ is_coordinator }) => is_coordinator))
    throw new Problem(
      'bad-argument',
      "The coordinator does not know its own address. Run there: select citus_set_coordinator_host('HOST', PORT)",
    );
  if (!nodes.some(({ is_coordinator }) => !is_coordinator))
    throw new Problem(
      'bad-argument',
      "Citus has no worker node. Run on the coordinator, for each: select citus_add_node('HOST', PORT)",
    );
  const role = await readRoleSteps(connection);
  const steps = distributionSteps({
    tables: await connection.all(tableFacts, {}),
    keys: await connection.all(keyFacts, {}),
    triggers: await connection.all(triggerFacts, {}),
    dependents: await connection.all(dependentFacts, {}),
  });
  return steps.length > 0 ? [...role, ...steps] : [];
}

/**
 * New tables belong to the role of the others, also if a member of it makes them: else that role
 * could not use them. Refuses what would fail in the middle, or later when calls are served.
 */
export async function readRoleSteps(connection: Queries): Promise<string[]> {
  const found = await connection.first(distributable, {});
  if (!found) return [];
  const { user, owner, is_owner, take_role, schema, are_triggers_allowed } = found;
  if (schema !== 'public')
    throw new Problem(
      'bad-argument',
      `The tables are in the schema ${schema}. On Citus they must be in the schema public: an export and an import move them there.`,
    );
  if (!is_owner)
    throw new Problem(
      'bad-argument',
      `The tables belong to the role ${owner}, and new ones would belong to ${user}. Run this command with a URL that names ${owner}.`,
    );
  if (!are_triggers_allowed)
    throw new Problem(
      'bad-argument',
      'Citus does not allow triggers here. Set citus.enable_unsafe_triggers = on in the postgresql.conf of every node, and reload.',
    );
  return take_role === null ? [] : [take_role];
}

/** Runs in a transaction. Returns how many statements it has executed. */
export async function distribute(connection: Distributable): Promise<number> {
  const steps = await readCommandSteps(connection);
  for (const step of steps) await connection.exec(step);
  return steps.length;
}

/**
 * A connection for migrations of a distributed database. A new table is made without foreign keys
 * to tables of other nodes, which Citus refuses; `finish` distributes it, and adds those keys that
 * are possible then.
 */
export function distributedMigration(connection: Distributable): Distributable & { finish(): Promise<void> } {
  const keys: string[] = [];
  return {
    all: (statement, parameters) => connection.all(statement, parameters),
    first: (statement, parameters) => connection.first(statement, parameters),
    run: (statement, parameters) => connection.run(statement, parameters),
    async exec(sql) {
      keys.push(...foreignKeysOf(sql));
      for (const command of commandsOf(withoutForeignKeys(sql))) await connection.exec(command);
    },
    async finish() {
      for (const step of await readDistributionSteps(connection)) await connection.exec(step);
      // A migration may have replaced one by that of plain PostgreSQL.
      for (const each of distributedFunctions) await connection.exec(each);
      for (const key of keys) await connection.exec(key);
    },
  };
}
