import type { Database, Queries } from '../../store/database.ts';
import { DAY_MS } from './counts.ts';
import { copyProgress } from './migrated-accounts.ts';
import * as sql from './rules.sql.ts';
import { createMigrationStages, STAGES, type Stage, toStage } from './stages.ts';
import { countWritesOf } from './traffic.sql.ts';

/** How far each account has moved from the old server, and how long it was in each stage. */
export interface StageChange {
  readonly stage: Stage;
  readonly at: number;
  /** Empty for changes before this was stored. */
  readonly by: string;
}
export interface MovingAccount {
  readonly username: string;
  readonly stage: Stage;
  readonly isDefault: boolean;
  /** Since when the account has the stage; null for a default that nobody has set. */
  readonly since: number | null;
  readonly days: Readonly<Record<Stage, number>>;
  readonly changes: readonly StageChange[];
  /** When the whole account was first copied; null if it was not yet. */
  readonly copiedAt: number | null;
  /** Writes that one of the servers still has to get. */
  readonly waiting: { readonly total: number; readonly oldestAt: number | null };
  /** Scheduled messages that were copied, and that Columba does not send yet. */
  readonly held: number;
}

const CHANGES_MAX = 200;
const PAGE = 200;

export type MigrationProgress = ReturnType<typeof createMigrationProgress>;

export function createMigrationProgress(database: Database, now: () => number) {
  async function page(after: string, limit: number): Promise<{ accounts: MovingAccount[]; last: string | null }> {
    const rows = await database.all(sql.stagesOfAll, { after, limit });
    const defaults = await defaultChanges(database, now);
    const accounts: MovingAccount[] = [];
    for (const row of rows) {
      const found = await movingAccount(database, row, defaults, now());
      if (found) accounts.push(found);
    }
    return { accounts, last: rows.length < limit ? null : (rows.at(-1)?.username ?? null) };
  }

  return {
    /** Accounts that were copied or have a stage of their own, by username. */
    async list(after: string, limit: number): Promise<MovingAccount[]> {
      const accounts: MovingAccount[] = [];
      let from: string | null = after;
      while (from !== null && accounts.length < limit) {
        const found = await page(from, PAGE);
        accounts.push(...found.accounts);
        from = found.last;
      }
      return accounts.slice(0, limit);
    },
    async of(username: string): Promise<MovingAccount | null> {
      const { account_id, stage, stage_at } = (await database.first(sql.stageOfName, { username })) ?? {};
      if (account_id === undefined) return null;
      const row = { account_id, username, stage: stage ?? null, stage_at: stage_at ?? null };
      return movingAccount(database, row, await defaultChanges(database, now), now());
    },
    defaultChanges: () => defaultChanges(database, now),
    /** The old server that was asked last; null before the first import. */
    async oldServer(): Promise<string | null> {
      const rows = await database.all(sql.servers, { limit: 100 });
      return rows.sort((one, other) => Number(other.tested_at - one.tested_at))[0]?.url ?? null;
    },
  };
}

const toChange = ({ changed_at, stage, changed_by }: sql.StageChangeRow): StageChange => ({
  stage: toStage(stage),
  at: Number(changed_at),
  by: changed_by,
});

/** A default that nobody has set counts as the first stage, from the beginning. */
async function defaultChanges(database: Database, now: () => number): Promise<StageChange[]> {
  const rows = await database.all(sql.defaultChanges, { limit: CHANGES_MAX });
  if (rows.length > 0) return rows.map(toChange);
  const { stage, changedAt } = await createMigrationStages(database, now).defaultStage();
  return [{ stage, at: changedAt ?? 0, by: '' }];
}

/** Returns null for an account that was created here and never moved. */
async function movingAccount(
  queries: Queries,
  row: sql.MovingRow,
  defaults: readonly StageChange[],
  now: number,
): Promise<MovingAccount | null> {
  const { account_id: account, username } = row;
  const copy = await copyProgress(queries, account);
  if (!copy && row.stage === null) return null;
  const own = (await queries.all(sql.stageChanges, { account, limit: CHANGES_MAX })).map(toChange);
  const writes = await queries.first(countWritesOf, { account });
  const changes = timeline(defaults, own, copy?.startedAt ?? null);
  const last = changes.at(-1);
  const held = await queries.first(sql.heldScheduled, { account });
  return {
    username,
    stage: row.stage === null ? (defaults.at(-1)?.stage ?? 'record') : toStage(row.stage),
    isDefault: row.stage === null,
    since: last && last.at > 0 ? last.at : null,
    days: daysIn(changes, now),
    changes,
    copiedAt: copy?.completedAt ?? null,
    waiting: { total: Number(writes?.total ?? 0n), oldestAt: writes?.oldest == null ? null : Number(writes.oldest) },
    held: Number(held?.total ?? 0n),
  };
}

/** The default stages count from the beginning of the copy until the account has its own stage. */
export function timeline(
  defaults: readonly StageChange[],
  own: readonly StageChange[],
  from: number | null,
): StageChange[] {
  const firstOwn = own[0]?.at ?? Number.POSITIVE_INFINITY;
  const start = from ?? (own.length > 0 ? firstOwn : 0);
  const inherited = defaults.filter(({ at }) => at < firstOwn);
  const before = inherited.filter(({ at }) => at <= start).at(-1);
  const begun = before && start < firstOwn ? [{ ...before, at: Math.max(before.at, start) }] : [];
  return [...begun, ...inherited.filter(({ at }) => at > start), ...own];
}

/** Days in each stage, with fractions. */
export function daysIn(changes: readonly StageChange[], now: number): Record<Stage, number> {
  const days = Object.fromEntries(STAGES.map((stage) => [stage, 0])) as Record<Stage, number>;
  for (const [index, { stage, at }] of changes.entries()) {
    if (at === 0) continue; // the time before the first change has no number of days
    days[stage] += Math.max(0, (changes[index + 1]?.at ?? now) - at) / DAY_MS;
  }
  return days;
}
