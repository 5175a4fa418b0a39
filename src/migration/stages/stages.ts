import { conflict } from '../../base/problem.ts';
import { randomUuid } from '../../base/random.ts';
import { accountId, accountNamed } from '../../domain/accounts/accounts.ts';
import type { AccountKey } from '../../store/caller.ts';
import type { Database, Queries } from '../../store/database.ts';
import { type ClientRule, clientRules, type KnownRule, putClientRule, removeClientRule } from './client-rules.ts';
import { copyProgress } from './migrated-accounts.ts';
import * as ruleSql from './rules.sql.ts';
import * as sql from './traffic.sql.ts';

/**
 * The stage of each account that moves from an old server. `record`: the old server answers, and
 * nothing else happens. `compare`: the old server answers, and Columba is compared with it. `lead`:
 * Columba answers, and the old server gets the writes too. `alone`: only Columba is asked.
 */
export const STAGES = ['record', 'compare', 'lead', 'alone'] as const;
export type Stage = (typeof STAGES)[number];
const isStage = (text: string): text is Stage => (STAGES as readonly string[]).includes(text);

export interface AccountStage {
  readonly username: string;
  readonly stage: Stage;
  readonly changedAt: number;
}

const DEFAULT_STAGE = 'stage';
/** Gets another value with each change, so that a proxy has to read only this row. */
const VERSION = 'stages version';
/** The name of the last bypass: see bypass.ts. */
export const BYPASS = 'bypass';
/** The prefix of the state that a proxy has while it only passes calls on. */
export const OPEN_BYPASS = 'bypass open ';
/** The first name after all names with that prefix. */
export const BEHIND_OPEN = 'bypass open!';

/** The stage of accounts without one, as long as nobody has set a default. */
export const FIRST_STAGE: Stage = 'record';

const ONE_WAY =
  'The stage alone has no way back without loss: what Columba received and sent since then is not at the old server. ' +
  'Force it if you accept that.';

const LEAD_FIRST =
  'The stage alone has no way back without loss, and is reached from lead: move each account to lead first, and stay ' +
  'there until its customer sees no difference. Force it if you accept the loss.';

export interface StageOfUserId {
  readonly account: bigint;
  /** Null for the default stage. */
  readonly stage: Stage | null;
  /** Whether the old server still has to get writes of the account. */
  readonly hasWaiting: boolean;
}

export interface StagesState {
  readonly version: string;
  readonly defaultStage: Stage;
  /** Whether Columba answers for some account. */
  readonly isLeading: boolean;
  readonly rules: readonly KnownRule[];
  /** The name of the last bypass; null if there was none. */
  readonly bypass: string | null;
  /** Whether a proxy only passes calls on now. */
  readonly isBypassOpen: boolean;
}

export type MigrationStages = ReturnType<typeof createMigrationStages>;

export function createMigrationStages(database: Database, now: () => number) {
  return {
    defaultStage: () => defaultStage(database),

    /** Returns null if nothing has changed since that version. */
    async state(known: string | undefined): Promise<StagesState | null> {
      const version = (await database.first(sql.stateOf, { name: VERSION }))?.value ?? 'none';
      if (version === known) return null;
      const { stage } = await defaultStage(database);
      const leading = await database.first(sql.anyLeading, {});
      return {
        version,
        defaultStage: stage,
        isLeading: leading !== undefined || stage === 'lead' || stage === 'alone',
        rules: await clientRules(database),
        bypass: (await database.first(sql.stateOf, { name: BYPASS }))?.value ?? null,
        isBypassOpen: (await database.first(sql.anyState, { from: OPEN_BYPASS, before: BEHIND_OPEN })) !== undefined,
      };
    },

    /** The account of a user_id and its stage; undefined for an unknown user_id. */
    async ofUserId(hash: string): Promise<StageOfUserId | undefined> {
      const row = await database.first(sql.stageOfUserId, { hash });
      if (!row) return undefined;
      const { account_id: account, stage } = row;
      const waiting = (await database.first(sql.countWritesOf, { account }))?.waiting ?? 0n;
      return { account, stage: stage === null ? null : toStage(stage), hasWaiting: waiting > 0n };
    },

    async of(username: string): Promise<AccountStage & { readonly isDefault: boolean }> {
      const account = await accountId(database, username);
      const row = await database.first(sql.stageOf, { account });
      if (row) return { username, stage: toStage(row.stage), changedAt: Number(row.changed_at), isDefault: false };
      const { stage, changedAt } = await defaultStage(database);
      return { username, stage, changedAt: changedAt ?? 0, isDefault: true };
    },

    /** Whether a stage was ever set, as everybody does who runs a proxy. */
    async areUsed(): Promise<boolean> {
      if ((await defaultStage(database)).changedAt !== null) return true;
      return (await database.all(sql.stagesAfter, { after: '', limit: 1 })).length > 0;
    },

    /** Accounts with a stage of their own, by username. */
    async list(after: string, limit: number): Promise<AccountStage[]> {
      const rows = await database.all(sql.stagesAfter, { after, limit });
      return rows.map(({ username, stage, changed_at }) => ({
        username,
        stage: toStage(stage),
        changedAt: Number(changed_at),
      }));
    },

    ...createStageChanges(database, now),
    ...createRuleChanges(database, now),
  };
}

/** The author of a stage that was set at the start of a proxy. */
const PROXY = 'the start of a proxy';

interface Named {
  readonly id: bigint;
  readonly username: string;
}

/** Changes stages. Every proxy sees a change within a second. */
function createStageChanges(database: Database, now: () => number) {
  const renew = renewing(now);

  /** Returns the present stage. Throws if the change would be refused. */
  async function tryChange(queries: Queries, { id: account, username }: Named, stage: Stage, force: boolean) {
    const before = await stageOf(queries, account);
    if (!force) checkWay(before, stage, `${username} is`);
    if (!force && isBack(before, stage)) checkTaken(await queries.first(sql.countWritesOf, { account }), now());
    return before;
  }
  async function tryDefault(stage: Stage, force: boolean): Promise<Stage> {
    const { stage: before } = await defaultStage(database);
    const moved = force || !skipsLead(before, stage) ? '' : await movedByDefault(database);
    if (!force && moved !== null) checkWay(before, stage, moved);
    if (!force && isBack(before, stage)) checkTaken(await database.first(sql.countWrites, {}), now());
    return before;
  }

  return {
    async tryStage(username: string, stage: Stage, force: boolean): Promise<Stage> {
      return tryChange(database, await accountNamed(database, username), stage, force);
    },
    tryDefault,

    /** Returns the stage before the change. */
    async set(username: string, stage: Stage, force: boolean, by = ''): Promise<Stage> {
      const named = await accountNamed(database, username);
      const { id: account } = named;
      return database.transaction(account, async (queries) => {
        const before = await tryChange(queries, named, stage, force);
        await queries.run(sql.setStage, { account, stage, at: now() });
        await queries.run(ruleSql.addStageChange, { account, stage, by, at: now() });
        await renew(queries);
        return before;
      });
    },

    /** Sets the stage of all accounts that have none of their own. */
    async setDefault(stage: Stage, force: boolean, by = ''): Promise<Stage> {
      const before = await tryDefault(stage, force);
      await database.run(sql.setState, { name: DEFAULT_STAGE, value: stage, at: now() });
      await database.run(ruleSql.addDefaultChange, { stage, by, at: now() });
      await renew(database);
      return before;
    },

    /** Called at the start of a proxy. A default that an operator has set stays. */
    async offerDefault(stage: Stage): Promise<Stage> {
      const isNew = (await database.run(sql.addState, { name: DEFAULT_STAGE, value: stage, at: now() })) > 0;
      if (isNew) await database.run(ruleSql.addDefaultChange, { stage, by: PROXY, at: now() });
      await renew(database);
      return (await defaultStage(database)).stage;
    },
    async offer(username: string, stage: Stage): Promise<Stage> {
      const account = await accountId(database, username);
      return database.transaction(account, async (queries) => {
        const row = await queries.first(sql.stageOf, { account });
        if (row) return toStage(row.stage);
        await queries.run(sql.setStage, { account, stage, at: now() });
        await queries.run(ruleSql.addStageChange, { account, stage, by: PROXY, at: now() });
        await renew(queries);
        return stage;
      });
    },
  };
}

/** Changes rules of clients. Every proxy sees a change within a second. */
function createRuleChanges(database: Database, now: () => number) {
  const renew = renewing(now);
  return {
    rules: () => clientRules(database),
    putRule: (rule: ClientRule): Promise<void> => putClientRule(database, rule, now(), renew),
    async removeRule(name: string): Promise<boolean> {
      const isGone = await removeClientRule(database, name);
      if (isGone) await renew(database);
      return isGone;
    },
  };
}

/** Tells the proxies that something has changed. */
export const renewing =
  (now: () => number) =>
  (queries: Queries): Promise<number> =>
    queries.run(sql.setState, { name: VERSION, value: randomUuid(), at: now() });

async function defaultStage(queries: Queries): Promise<{ stage: Stage; changedAt: number | null }> {
  const row = await queries.first(sql.stateOf, { name: DEFAULT_STAGE });
  return row
    ? { stage: toStage(row.value), changedAt: Number(row.changed_at) }
    : { stage: FIRST_STAGE, changedAt: null };
}

/** The account's own stage, or the default one. */
async function stageOf(queries: Queries, account: AccountKey): Promise<Stage> {
  const row = await queries.first(sql.stageOf, { account });
  return row ? toStage(row.stage) : (await defaultStage(queries)).stage;
}

/** `who` begins a sentence that ends with the stage. */
function checkWay(from: Stage, to: Stage, who: string): void {
  if (from === 'alone' && to !== 'alone') throw conflict(ONE_WAY);
  if (skipsLead(from, to)) throw conflict(`${who} in the stage ${from}. ${LEAD_FIRST}`);
}

/**
 * Only in lead do both servers have every write, so an account leaves the old server from there.
 */
const skipsLead = (from: Stage, to: Stage): boolean => to === 'alone' && (from === 'record' || from === 'compare');

/** The most names that are listed for a person. */
const NAMES_SHOWN_MAX = 20;
const PAGE = 200;

/** Names the accounts with the default stage; null if all have a stage of their own. */
async function movedByDefault(queries: Queries): Promise<string | null> {
  const names: string[] = [];
  for (let after: string | undefined = ''; after !== undefined && names.length <= NAMES_SHOWN_MAX; ) {
    const rows: ruleSql.MovingRow[] = await queries.all(ruleSql.stagesOfAll, { after, limit: PAGE });
    for (const { account_id: account, username, stage } of rows) {
      if (stage === null && (await copyProgress(queries, account))) names.push(username);
    }
    after = rows.length < PAGE ? undefined : rows.at(-1)?.username;
  }
  if (names.length === 0)
    return (await queries.first(sql.anyLeading, {})) ? null : 'No account is in lead yet: all are';
  const more = names.splice(NAMES_SHOWN_MAX).length > 0 ? ' and further accounts' : '';
  return `${names.join(', ')}${more} ${names.length > 1 ? 'are' : 'is'}`;
}

const isBack = (from: Stage, to: Stage): boolean => from === 'lead' && (to === 'record' || to === 'compare');

/** Newer writes are on their way: the proxy delivers them before the next call. */
const STUCK_MS = 30_000;

/** The old server answers again only when it has every write that Columba acknowledged. */
function checkTaken(waiting: { total: bigint; oldest: bigint | null } | undefined, now: number): void {
  if (waiting?.oldest == null || now - Number(waiting.oldest) < STUCK_MS) return;
  throw conflict(
    `The old server does not accept ${waiting.total} writes that were acknowledged to clients. Try again when both servers have them.`,
  );
}

/** A word of a later version counts as the stage that changes least. */
export const toStage = (text: string): Stage => (isStage(text) ? text : FIRST_STAGE);
