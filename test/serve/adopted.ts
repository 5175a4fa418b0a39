import { queuedMessages } from '../../src/domain/queue/queue.ts';
import type { Adoption } from '../../src/serve/adopt.ts';
import { copyDatabase, databaseOf, dropDatabase } from '../support/databases.ts';
import type { Engine } from '../support/engines.ts';
import { pathOf } from '../support/opened-database.ts';
import { MINUTE, openSendingOn, type Sending, START } from '../support/sending.ts';

let copies = 0;

/** Closes the database, and returns a copy of it as a backup restores it. */
export async function copyOf(one: Sending): Promise<string> {
  copies += 1;
  if (one.setting.startsWith('sqlite:')) {
    const path = `${pathOf(one.setting)}.copy-${copies}`;
    await one.database.backup(path);
    await one.database.close();
    return `sqlite:${path}`;
  }
  await one.database.close();
  return copyDatabase(one.setting, `${databaseOf(one.setting)}_copy_${copies}`);
}

export async function dropCopy(setting: string): Promise<void> {
  if (setting.startsWith('sqlite:')) return;
  await dropDatabase(setting, databaseOf(setting));
}

export const adoptionOf = (
  sending: Sending,
  given: Partial<Pick<Adoption, 'dryRun' | 'holdScheduled' | 'nothingLost' | 'restored'>> = {},
) => ({
  path: sending.setting.startsWith('sqlite:') ? pathOf(sending.setting) : undefined,
  clock: { now: sending.now },
  actorName: 'root',
  nothingLost: false,
  holdScheduled: false,
  dryRun: false,
  restored: [],
  ...given,
});

type Scene = {
  before(one: Sending): Promise<void>;
  lost?(one: Sending): Promise<void>;
  after(two: Sending): Promise<void>;
};

/** `before` the backup, in the time that is `lost`, and `after` the restore a minute later. */
export async function play(engine: Engine, { before, lost, after }: Scene): Promise<void> {
  const one = await openSendingOn(await engine.fresh('empty'));
  await before(one);
  const copy = await copyOf(one);
  const again = await openSendingOn(one.setting);
  again.clock.now = START + 1;
  await lost?.(again);
  await again.database.close();
  const two = await openSendingOn(copy);
  two.clock.now = START + MINUTE;
  try {
    await after(two);
  } finally {
    await two.database.close();
    await dropCopy(copy);
  }
}

export const openOf = async ({ database }: Sending) =>
  (await queuedMessages(database, { kind: 'open', after: null, limit: 100 })).map(({ id, state, reason }) => ({
    id,
    state,
    reason,
  }));
