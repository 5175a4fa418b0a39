import { conflict } from '../../base/problem.ts';
import type { SendingAccount } from '../../domain/sending/accept.ts';
import { activateSchedule, activationRefusal } from '../../domain/sending/schedule.ts';
import type { ValueRecord } from '../old-server/answer-values.ts';
import { type OldAccount, read, readScheduled } from '../old-server/old-account.ts';
import {
  accountIdNamed,
  copyProgress,
  noteTaken,
  type TakeOverState,
  takenMessages,
} from '../stages/migrated-accounts.ts';
import { createMigrationStages } from '../stages/stages.ts';
import type { CopyDependencies } from './copy-account.ts';
import { removeGoneScheduled, scheduledHere } from './message-copy.ts';

/**
 * Takes over the schedule, message by message. Each message is deleted at the old server, and
 * activated here only after the old server answered true. Each step is on disk before the next one,
 * so after a kill nothing is sent twice, and messages with an unknown outcome are held and listed.
 */
export interface TakeOverDependencies extends CopyDependencies {
  /** How the account's messages are sent. */
  readonly sendingOf: (account: bigint) => Promise<SendingAccount>;
  /** How long a message that is due is tried. */
  readonly tryForMs: number;
}

/**
 * `activated`: the message is sent from here. `gone`: the old server did not have it any more, so
 * it was sent or deleted there, and is removed here. `refused`: it cannot be sent from here, and
 * stays there. `unknown-outcome`: no answer came, and the message is not there. `missing`: it is
 * there and not here. `would-activate`: what a dry run would activate.
 */
export type TakeOverOutcome = 'activated' | 'gone' | 'refused' | 'unknown-outcome' | 'missing' | 'would-activate';
export interface TakenMessage {
  readonly id: bigint;
  readonly outcome: TakeOverOutcome;
  readonly dueAt: number | null;
}
export interface TakeOverReport {
  readonly username: string;
  readonly messages: readonly TakenMessage[];
}

export async function takeOverSchedule(
  dependencies: TakeOverDependencies,
  userId: string,
  { dryRun = false }: { readonly dryRun?: boolean } = {},
): Promise<TakeOverReport> {
  const { database, old, dialect, effects } = dependencies;
  const from: OldAccount = { old, userId, dialect, effects };
  const profile = (await read(from, 'account.Profile')).value as ValueRecord | null;
  const username = String(profile?.username ?? '');
  const account = await accountIdNamed(database, username);
  const progress = account === null ? null : await copyProgress(database, account);
  if (account === null || progress?.completedAt == null) {
    throw conflict(`The account ${username} is not copied yet. Run: columba migrate import`);
  }
  await checkStage(dependencies, username);
  const schedule = await readScheduled(from);
  const there = new Map(schedule.messages.map((each) => [each.id, each.scheduledAt]));
  const here = await scheduledHere(database, account);
  const states = await takenMessages(database, account);
  const ids = [...new Set([...there.keys(), ...openOf(states), ...inactiveOf(here, progress.highest.message)])];
  const messages = new Map<bigint, TakenMessage>();
  const deleted: bigint[] = [];
  const activateDeleted = async () => {
    for (const [id, outcome] of await activate(dependencies, account, deleted.splice(0))) {
      messages.set(id, { id, outcome, dueAt: messages.get(id)?.dueAt ?? null });
    }
  };
  for (const id of ids.sort((one, other) => (one < other ? -1 : 1))) {
    const found = here.get(id);
    const dueAt = there.get(id) ?? (found ? Number(found.scheduled_at) : null);
    // For messages beyond the end of a list, the answer to the delete tells whether they exist.
    const isThere = there.has(id) || (schedule.isCapped && found !== undefined);
    const step = { id, isThere, isHere: found !== undefined, state: states.get(id) };
    const outcome = dryRun ? foreseen(step) : await takeOver(dependencies, from, account, step);
    messages.set(id, { id, outcome: outcome === 'deleted' ? 'unknown-outcome' : outcome, dueAt });
    if (outcome === 'deleted') deleted.push(id);
    if (deleted.length >= ACTIVATED_AT_ONCE) await activateDeleted();
  }
  await activateDeleted();
  return { username, messages: [...messages.values()] };
}

/**
 * In the stages record and compare, the old server answers a client that deletes a scheduled
 * message. After a take-over it would say that there is none, and Columba would send the message.
 */
async function checkStage({ database, now }: TakeOverDependencies, username: string): Promise<void> {
  const stages = createMigrationStages(database, now);
  if (!(await stages.areUsed())) return; // no proxy is in use
  const { stage } = await stages.of(username);
  if (stage === 'lead' || stage === 'alone') return;
  throw conflict(
    `${username} is in the stage ${stage}: take-over is for lead and alone. Its schedule was left at the old server.`,
  );
}

// Messages per transaction. The next run activates what a killed run left.
const ACTIVATED_AT_ONCE = 100;

/** The messages that an earlier run did not finish. */
const openOf = (states: ReadonlyMap<bigint, TakeOverState>): bigint[] =>
  [...states].filter(([, state]) => state === 'asked' || state === 'deleted').map(([id]) => id);

const inactiveOf = (here: Awaited<ReturnType<typeof scheduledHere>>, highest: bigint): bigint[] =>
  [...here].filter(([id, row]) => id <= highest && row.is_active === 0n).map(([id]) => id);

interface Step {
  readonly id: bigint;
  readonly isThere: boolean;
  readonly isHere: boolean;
  readonly state: TakeOverState | undefined;
}

function foreseen({ isThere, isHere, state }: Step): TakeOverOutcome {
  if (state === 'deleted') return 'would-activate';
  if (!isHere) return isThere ? 'missing' : 'gone';
  if (isThere) return 'would-activate';
  return state === 'asked' ? 'unknown-outcome' : 'gone';
}

async function takeOver(
  dependencies: TakeOverDependencies,
  from: OldAccount,
  account: bigint,
  step: Step,
): Promise<TakeOverOutcome | 'deleted'> {
  const { database, now, sendingOf } = dependencies;
  const { id, isThere, isHere, state } = step;
  const note = (next: TakeOverState) => noteTaken(database, account, id, next, now());
  if (state === 'deleted') return 'deleted';
  if (!isThere) {
    // After a lost answer nobody knows whether our delete or the old schedule removed it.
    if (state === 'asked') return 'unknown-outcome';
    if (state === 'refused') return 'refused';
    await removeGoneScheduled(database, account, [id], now());
    return 'gone';
  }
  if (!isHere) return 'missing'; // a sync copies it, and the next run takes it over
  // A message that cannot be sent from here stays there.
  if (await activationRefusal(database, account, (await sendingOf(account)).region, id)) return 'refused';
  await note('asked');
  const answer = await from.old.call('compose', 'DeleteScheduledMessage', {
    user_id: from.userId,
    message_id: String(id),
  });
  if (answer.result.kind !== 'value') return 'unknown-outcome';
  if (answer.result.value !== true) {
    await removeGoneScheduled(database, account, [id], now());
    return 'gone';
  }
  await note('deleted');
  return 'deleted';
}

/** Activating again does nothing, because an active or sent message is not among the inactive. */
async function activate(
  { database, now, sendingOf, tryForMs }: TakeOverDependencies,
  account: bigint,
  ids: readonly bigint[],
): Promise<[bigint, 'activated' | 'refused'][]> {
  if (ids.length === 0) return [];
  const { refused } = await activateSchedule(database, account, await sendingOf(account), tryForMs, new Set(ids));
  const isRefused = new Set(refused.map(({ id }) => id));
  const outcomes = ids.map((id): [bigint, 'activated' | 'refused'] => [
    id,
    isRefused.has(id) ? 'refused' : 'activated',
  ]);
  for (const [id, state] of outcomes) await noteTaken(database, account, id, state, now());
  return outcomes;
}
