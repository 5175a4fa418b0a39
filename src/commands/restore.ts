import { dirname } from 'node:path';
import { systemClock } from '../base/clock.ts';
import { counted } from '../base/counted.ts';
import { Problem } from '../base/problem.ts';
import { sqlitePath } from '../config/database-name.ts';
import type { Config } from '../config/settings.ts';
import { type Adopted, type Adoption, adopt } from '../serve/adopt.ts';
import { generationsIn } from '../serve/backup/chain.ts';
import { announce, moveIntoPlace, refuseInUse, removeDatabase, restoreTo, told } from '../serve/backup/recover.ts';
import { createServices } from '../serve/compose/services.ts';
import { readInstant, sourceOf } from './backup.ts';
import { createTeller, progressLine, refuseExisting, remark } from './output.ts';
import { appDependencies, type Session, userName } from './session.ts';

export interface RestoreFlags {
  readonly adopt?: true;
  readonly nothingLost?: true;
  readonly holdScheduled?: true;
  readonly dryRun?: true;
  readonly from?: string;
  readonly at?: string;
  readonly force?: true;
  readonly beforeUpgrade?: true;
  readonly json?: true;
}

/** The generations that the target of the backup knows; none where it does not answer. */
async function restoredBefore(config: Config): Promise<readonly bigint[]> {
  if (config.backup === '' || sqlitePath(config) === undefined) return [];
  return generationsIn(sourceOf(config, undefined).target).catch(() => []);
}

const messages = (held: number): string => counted(held, 'message');

const askedLines = (asked: number): string[] =>
  asked > 0 ? [`Carriers will be asked about ${counted(asked, 'part')} that they had before.`] : [];

const wouldAsk = (asked: number): string =>
  asked > 0 ? `, and ask carriers about ${counted(asked, 'part')} that they had before` : '';

const heldLines = (held: number): string[] =>
  held > 0
    ? ['Show them with columba queue list --restored true, and decide with columba queue decide --restored.']
    : [];

/** About messages that are due later: one that was brought forward since may have been sent. */
function scheduledLines(scheduled: number, isHeld: boolean): string[] {
  if (scheduled === 0) return [];
  return [
    isHeld
      ? `Due later, and held then: ${messages(scheduled)}.`
      : `Due later: ${messages(scheduled)}. With --hold-scheduled they are held then, because clients may have brought some forward or deleted them since the backup.`,
  ];
}

/** Throws Problem if a service or a command uses the database, which is about to be adopted. */
export async function refuseServed(config: Pick<Config, 'database' | 'databaseTimeoutMs'>): Promise<void> {
  const { database: url, databaseTimeoutMs: timeoutMs } = config;
  const path = sqlitePath(config);
  if (path !== undefined) return refuseInUse(path);
  const { countSessions } = await import('../store/postgres/database.ts');
  const sessions = await countSessions({ url, connectionsMax: 1, timeoutMs }, systemClock);
  if (sessions === 0) return;
  throw new Problem(
    'bad-argument',
    `A service or a command has ${counted(sessions, 'connection')} to the database. Stop it first, on every machine.`,
  );
}

/** `columba restore --adopt`: the database is a restored copy, which may be served from now on. */
export async function runAdopt({ services, config }: Session, flags: RestoreFlags): Promise<void> {
  const dryRun = flags.dryRun === true;
  const nothingLost = flags.nothingLost === true;
  const holdScheduled = flags.holdScheduled === true;
  const path = sqlitePath(config);
  const restored = await restoredBefore(config);
  const adoption = { path, clock: systemClock, actorName: userName(), nothingLost, holdScheduled, dryRun, restored };
  const { generation, held, scheduled, asked } = await adopt(services.database, adoption);
  const lines = dryRun
    ? [
        `Would hold ${messages(held)} for a decision${wouldAsk(asked)}. Nothing was changed.`,
        ...scheduledLines(scheduled, holdScheduled),
      ]
    : [
        `The database is adopted as generation ${generation}. Held for a decision: ${messages(held)}.`,
        ...heldLines(held),
        ...scheduledLines(scheduled, holdScheduled),
        ...askedLines(asked),
      ];
  const { tell, end } = createTeller(flags.json === true);
  tell({ isDryRun: dryRun, generation, held, scheduled, asked }, ...lines);
  end();
}

/** Adopts the restored file, which gets its marks beside it. */
async function adoptFile(
  config: Config,
  temporary: string,
  given: Pick<Adoption, 'dryRun' | 'holdScheduled' | 'restored'>,
): Promise<Adopted> {
  const own = { ...config, database: `sqlite:${temporary}` };
  const services = await createServices(own, { ...(await appDependencies(config)), keepsCopy: false });
  const adoption = { path: temporary, clock: systemClock, actorName: userName(), nothingLost: false, ...given };
  return adopt(services.database, adoption).finally(() => services.stop());
}

/**
 * `columba restore`: the database of a moment, from the target of the backup. Until the last step
 * it is a file beside the database, so a failure changes nothing.
 */
export async function runRestore(config: Config, flags: RestoreFlags): Promise<void> {
  const path = sqlitePath(config);
  if (path === undefined) {
    throw new Problem('bad-argument', 'Restore PostgreSQL with its own tools, and then run columba restore --adopt.');
  }
  const dryRun = flags.dryRun === true;
  const holdScheduled = flags.holdScheduled === true;
  const at = flags.at === undefined ? null : readInstant(flags.at);
  const source = sourceOf(config, flags.from);
  if (!dryRun) {
    refuseExisting(path, flags.force === true);
    refuseInUse(path);
  }
  const temporary = `${path}.restoring-${process.pid}`;
  const line = progressLine();
  try {
    const { last } = await told(
      () =>
        restoreTo(source, { at, temporary, standby: dryRun ? null : path }, (done, all) =>
          line(() => `Restored ${done} of ${all} objects`),
        ),
      path,
    );
    if (!dryRun) refuseInUse(path); // somebody may have started it meanwhile
    const restored = await told(() => generationsIn(source.target));
    const adoption = { dryRun, holdScheduled, restored };
    const { generation, held, scheduled, asked } = await told(() => adoptFile(config, temporary, adoption), path);
    const reach = new Date(last.at).toISOString();
    const { tell, end } = createTeller(flags.json === true);
    tell({ isDryRun: dryRun, restoredTo: reach, held, scheduled, asked });
    if (dryRun) {
      const would = `hold ${messages(held)} for a decision${wouldAsk(asked)}`;
      tell({}, `Would restore the state of ${reach}, and ${would}. Nothing was changed.`);
      tell({}, ...scheduledLines(scheduled, holdScheduled));
      return end();
    }
    await announce(source.target, generation, systemClock.now()).catch((thrown: Error) =>
      remark(`columba: ${thrown.message} An older service that uses this target does not learn that it is replaced.`),
    );
    const aside = moveIntoPlace(temporary, path, systemClock.now());
    tell(
      { generation, setAside: aside },
      `Restored the state of ${reach} as generation ${generation}. Held for a decision: ${messages(held)}.`,
      ...heldLines(held),
      ...scheduledLines(scheduled, holdScheduled),
      ...askedLines(asked),
      ...(aside === null ? [] : [`The database that was in ${dirname(path)} is now ${aside}.`]),
    );
    end();
  } finally {
    removeDatabase(temporary);
  }
}
