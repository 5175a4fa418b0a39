import { BoundedMap } from '../../base/bounded-map.ts';
import { type Clock, within } from '../../base/clock.ts';
import { createRepeat } from '../../base/repeat.ts';
import { hashUserId, USER_ID_LENGTH_MAX } from '../../domain/accounts/credentials.ts';
import { FIRST_STAGE, type MigrationStages, type Stage } from '../stages/stages.ts';
import { compileClientRules, NO_RULES, type ReadStage } from './client-rules.ts';

/**
 * The stage of a call, by its user_id. Clients of the old server do not wait for our database:
 * while it does not answer, the last known stage counts. A change is seen within a second.
 */
export interface StageCache {
  of(userId: string | null): AccountOfCall | Promise<AccountOfCall>;
  /** The stage in which a read is answered, by the rules of clients. */
  readonly readStage: ReadStage;
  /** The stage of requests that are no calls. */
  readonly defaultStage: Stage;
  /** The name of the last bypass of the proxy; null if there was none. */
  readonly bypass: string | null;
  /** Whether this or another proxy only passes calls on. */
  readonly isBypassOpen: boolean;
  /** Looks for changes now. */
  refresh(): Promise<void>;
  start(): void;
  stop(): void;
}

export interface AccountOfCall {
  /** Null for a user_id that no account has. */
  readonly account: bigint | null;
  readonly stage: Stage;
  /** Whether the old server still has to get writes of the account. */
  readonly hasWaiting?: boolean;
  /** Whether the database did not answer, so that Columba may lead the account. */
  readonly isStageUnknown?: boolean;
}

const REFRESH_MS = 500;
const USERS_MAX = 10_000;
/** How long it is cached that a user_id is unknown, and that writes wait. */
const UNKNOWN_MS_MAX = 5_000;
const WAITING_MS_MAX = 500;
/** How long the first call of a user_id waits for the database. */
const FIRST_WAIT_MS = 1_000;

interface Known {
  readonly account: bigint | null;
  readonly stage: Stage | null;
  readonly hasWaiting: boolean;
  readonly at: number;
}

export interface StageCacheSettings {
  readonly stages: Pick<MigrationStages, 'ofUserId' | 'state'>;
  readonly clock: Clock;
  readonly failed: (thrown: unknown) => void;
}

export function createStageCache({ stages, clock, failed }: StageCacheSettings): StageCache {
  const { now } = clock;
  let users = new BoundedMap<string, Known>(USERS_MAX);
  let version: string | undefined;
  let defaultStage: Stage = FIRST_STAGE;
  let isLeading = false;
  let readStage = NO_RULES;
  let bypass: string | null = null;
  let isBypassOpen = false;
  let refreshing: Promise<void> | undefined;

  async function look(): Promise<void> {
    const state = await stages.state(version);
    if (state === null) return;
    version = state.version;
    defaultStage = state.defaultStage;
    isLeading = state.isLeading;
    readStage = compileClientRules(state.rules);
    bypass = state.bypass;
    isBypassOpen = state.isBypassOpen;
    users = new BoundedMap(USERS_MAX);
  }
  const refresh = (): Promise<void> => {
    refreshing ??= look().finally(() => {
      refreshing = undefined;
    });
    return refreshing;
  };

  const shown = ({ account, stage, hasWaiting }: Known): AccountOfCall => ({
    account,
    stage: stage ?? defaultStage,
    hasWaiting,
  });

  async function ask(hash: string): Promise<AccountOfCall> {
    const answered = stages.ofUserId(hash).then((row): Known => {
      const { account = null, stage = null, hasWaiting = false } = row ?? {};
      const known = { account, stage, hasWaiting, at: now() };
      users.set(hash, known);
      return known;
    });
    answered.catch(failed);
    const known = await within(
      clock,
      FIRST_WAIT_MS,
      answered.catch(() => null),
      null,
      { background: true },
    );
    if (known) return shown(known);
    return { account: null, stage: defaultStage, isStageUnknown: isLeading };
  }

  const refreshes = createRepeat({ clock, everyMs: REFRESH_MS, work: refresh, failed });

  return {
    readStage: (stage, client) => readStage(stage, client),
    get defaultStage() {
      return defaultStage;
    },
    get bypass() {
      return bypass;
    },
    get isBypassOpen() {
      return isBypassOpen;
    },
    of(userId) {
      if (userId === null || userId === '' || userId.length > USER_ID_LENGTH_MAX) {
        return { account: null, stage: defaultStage };
      }
      const hash = hashUserId(userId);
      const known = users.get(hash);
      if (!known || now() - known.at > validMs(known)) return ask(hash);
      return shown(known);
    },
    refresh,
    start: refreshes.start,
    stop: () => void refreshes.stop(),
  };
}

function validMs({ account, hasWaiting }: Known): number {
  if (account === null) return UNKNOWN_MS_MAX;
  return hasWaiting ? WAITING_MS_MAX : Number.POSITIVE_INFINITY;
}
