import { systemClock } from '../base/clock.ts';
import { counted } from '../base/counted.ts';
import { Problem } from '../base/problem.ts';
import { databaseName, sqlitePath } from '../config/database-name.ts';
import type { Config } from '../config/settings.ts';
import { pendingMigrations } from '../store/schema/migrations.ts';
import { createTeller } from './output.ts';

/** `columba citus distribute` spreads the tables of a PostgreSQL database over several machines. */
export async function runDistribute(config: Config, isDryRun: boolean, asJson: boolean): Promise<void> {
  const { tell, end } = createTeller(asJson);
  if (sqlitePath(config) !== undefined)
    throw new Problem(
      'bad-argument',
      'SQLite is one file. Move the accounts to PostgreSQL first: see docs/SCALING.md.',
    );
  const { countSessions, distributePostgres, readDistribution, readSchemaState } = await import(
    '../store/postgres/database.ts'
  );
  const settings = settingsOf(config);
  const { version } = await readSchemaState(settings, systemClock);
  if (pendingMigrations(version).length > 0)
    throw new Problem('bad-argument', 'The database needs the tables of this version first. Run: columba check');
  const { steps } = await readDistribution(settings, systemClock);
  const pending = await steps();
  const sql = pending.length > 0 ? ['begin', ...pending, 'commit'].map((step) => step.replace(/\n\s+/g, '\n  ')) : [];
  tell({ database: databaseName(config), isDryRun, sql });
  if (pending.length === 0) tell({}, `${databaseName(config)}: every table is distributed already.`);
  else if (isDryRun) tell({}, ...sql.map((step) => `${step};`));
  if (pending.length === 0 || isDryRun) return end();
  const sessions = await countSessions(settings, systemClock);
  if (sessions > 0)
    throw new Problem(
      'conflict',
      `The service has ${counted(sessions, 'connection')} to the database. Stop it first, on every machine.`,
    );
  const done = await distributePostgres(settings, systemClock);
  tell(
    { statements: done },
    `${databaseName(config)}: distributed, with ${counted(done, 'statement')}. Start the service again.`,
  );
  end();
}

const settingsOf = ({ database: url, databaseTimeoutMs: timeoutMs }: Config) => ({ url, connectionsMax: 1, timeoutMs });

interface Stored {
  readonly faults: readonly string[];
  readonly remarks: readonly string[];
  readonly lines: readonly string[];
}

const NOTHING: Stored = { faults: [], remarks: [], lines: [] };

/** How the tables are stored, and one sentence for each fault. */
export async function checkDistribution(config: Config): Promise<Stored> {
  if (sqlitePath(config) !== undefined) return NOTHING;
  const { readDistribution } = await import('../store/postgres/database.ts');
  const { state, undistributed, withOldRows, ofOthers, workers } = await readDistribution(
    settingsOf(config),
    systemClock,
  );
  if (state === 'none') return NOTHING;
  if (state === 'ready')
    return {
      ...NOTHING,
      lines: ['Citus: installed, and all tables are on one node. To distribute them: columba citus distribute'],
    };
  return {
    faults: undistributed.map(
      (table) => `The table ${table} is not distributed as this version needs it. Run: columba citus distribute`,
    ),
    // Nothing fails by them, so they may wait until the service is stopped for another reason.
    remarks:
      withOldRows.length > 0
        ? [
            `Rows from before the distribution are still on the coordinator, where no query finds them and no erasure reaches them: ${withOldRows.join(', ')}. Stop the service, and run: columba citus distribute`,
          ]
        : [],
    lines: [
      `Citus: the accounts are spread over ${counted(workers, 'worker node')}`,
      ...(ofOthers.length > 0 ? [`Tables that are not of Columba, and stay as they are: ${ofOthers.join(', ')}`] : []),
    ],
  };
}
