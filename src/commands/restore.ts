import { systemClock } from '../base/clock.ts';
import { Problem } from '../base/problem.ts';
import { sqlitePath } from '../config/database-name.ts';
import { adopt } from '../serve/adopt.ts';
import { print } from './output.ts';
import { type Session, userName } from './session.ts';

export interface RestoreFlags {
  readonly adopt?: true;
  readonly nothingLost?: true;
  readonly dryRun?: true;
}

/** `columba restore --adopt`: the database is a restored copy, which may be served from now on. */
export async function runAdopt({ services, config }: Session, flags: RestoreFlags): Promise<void> {
  if (flags.adopt !== true) throw new Problem('bad-argument', 'Say what to restore: see columba restore --help.');
  const dryRun = flags.dryRun === true;
  const { generation, held } = await adopt(services.database, {
    path: sqlitePath(config),
    clock: systemClock,
    actorName: userName(),
    nothingLost: flags.nothingLost === true,
    dryRun,
  });
  const messages = held === 1 ? '1 message' : `${held.toLocaleString('en')} messages`;
  if (dryRun) print(`Would hold ${messages} for a decision. Nothing was changed.`);
  else {
    print(`The database is adopted as generation ${generation}. Held for a decision: ${messages}.`);
    if (held > 0) print('Show them with columba queue list --open, and decide with columba queue decide --restored.');
  }
}
