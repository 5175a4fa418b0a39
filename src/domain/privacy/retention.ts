import type { Database, Queries } from '../../store/database.ts';
import { allAccounts } from '../accounts/accounts.ts';
import { carryForward, countMovementsBefore } from '../accounts/ledger.ts';
import { removeEmptyBatches } from '../messages/batches.ts';
import { countUnroutedBefore, deleteUnroutedBefore } from '../receiving/unrouted.ts';
import type { Extension, RetentionRule } from './extension.ts';
import * as sql from './retention.sql.ts';

/**
 * Deletes data that is older than its retention, in small batches. Other calls are served in the
 * pauses.
 */
export const RETENTION_KINDS = ['inbox', 'sent', 'unrouted', 'audit', 'ledger', 'clients'] as const;
export type RetentionKind = (typeof RETENTION_KINDS)[number];
/** How many days each kind is kept; null means for ever. */
export type RetentionDays = Readonly<Record<RetentionKind, number | null>>;
export type RetentionCounts = Readonly<Record<RetentionKind, number>>;

export const DAYS_MAX = 36_500;
const DAY_MS = 24 * 3_600_000;
// A batch delays other calls by about 1 ms on SQLite, as in purge.ts.
const BATCH = 100;
const PAUSE_MS = 5;
/** How often data that has become too old is removed. */
export const APPLY_EVERY_MS = 3_600_000;
/**
 * How often a server looks whether a removal is due. A process renews its claim only while it
 * works, so a run that was cut off is due again after this time.
 */
export const LOOK_EVERY_MS = 300_000;
const RENEW_EVERY_MS = 60_000;

export type Retention = ReturnType<typeof createRetention>;

export function createRetention(database: Database, now: () => number, extensions: readonly Extension[] = []) {
  const rules = createRules(extensions);
  const cutoff = (days: number): number => now() - days * DAY_MS;

  /** The time of application to store for a kind that is to be due again after LOOK_EVERY_MS. */
  const claimed = (): number => now() - APPLY_EVERY_MS + LOOK_EVERY_MS;

  async function applyOne(
    kind: RetentionKind,
    before: number,
    sleep: (ms: number) => Promise<void>,
    isStopping: () => boolean,
  ): Promise<number> {
    let removed = 0;
    let renewedAt = now();
    for await (const gone of rules.batches(database, kind, before)) {
      removed += gone;
      if (isStopping()) {
        await database.run(sql.hold, { kind, at: now() - APPLY_EVERY_MS }); // the next process continues at once
        return removed;
      }
      if (now() - renewedAt >= RENEW_EVERY_MS) {
        renewedAt = now();
        await database.run(sql.hold, { kind, at: claimed() });
      }
      await sleep(PAUSE_MS);
    }
    await database.run(sql.hold, { kind, at: now() });
    return removed;
  }

  return {
    days: () => daysOf(database),

    /** Counts the rows that a setting would delete now. */
    async preview(wanted: RetentionDays): Promise<RetentionCounts> {
      const counts = { inbox: 0, sent: 0, unrouted: 0, audit: 0, ledger: 0, clients: 0 };
      for (const kind of RETENTION_KINDS) {
        const limit = wanted[kind];
        if (limit !== null) counts[kind] = await rules.count(database, kind, cutoff(limit));
      }
      return counts;
    },

    async set(wanted: Partial<RetentionDays>): Promise<void> {
      for (const kind of RETENTION_KINDS) {
        const limit = wanted[kind];
        if (limit === undefined) continue;
        await (limit === null ? database.run(sql.unset, { kind }) : database.run(sql.set, { kind, days: limit }));
      }
    },

    /**
     * Deletes all rows that are too old, unless another process does so in this hour. It ends after
     * the batch during which `isStopping` becomes true.
     */
    async applyDue(sleep: (ms: number) => Promise<void>, isStopping: () => boolean): Promise<number> {
      let removed = 0;
      for (const [kind, limit] of Object.entries(await daysOf(database)) as [RetentionKind, number | null][]) {
        if (limit === null || isStopping()) continue;
        const taken = { kind, at: claimed(), due: now() - APPLY_EVERY_MS + 1 };
        if ((await database.run(sql.take, taken)) === 0) continue;
        removed += await applyOne(kind, cutoff(limit), sleep, isStopping);
      }
      if (removed > 0) await database.scrub();
      return removed;
    },
  };
}

async function daysOf(database: Database): Promise<RetentionDays> {
  const rows = await database.all(sql.settings, {});
  const of = (kind: RetentionKind) => {
    const row = rows.find((each) => each.kind === kind);
    return row ? Number(row.days) : null;
  };
  return {
    inbox: of('inbox'),
    sent: of('sent'),
    unrouted: of('unrouted'),
    audit: of('audit'),
    ledger: of('ledger'),
    clients: of('clients'),
  };
}

const total = (row: { total: bigint } | undefined): number => Number(row?.total ?? 0n);

/** The rules of tables that belong to the whole installation. */
const WHOLE: Readonly<Record<'audit' | 'unrouted', RetentionRule>> = {
  audit: {
    count: async (queries, before) => total(await queries.first(sql.countAudit, { before })),
    remove: (database, before, limit) => database.run(sql.deleteAudit, { before, limit }),
  },
  unrouted: {
    count: countUnroutedBefore,
    remove: deleteUnroutedBefore,
  },
};

interface AccountRule {
  count(queries: Queries, account: bigint, before: number): Promise<number>;
  remove(database: Database, account: bigint, before: number, limit: number): Promise<number>;
}
const OF_ACCOUNT: Readonly<Record<'inbox' | 'sent' | 'ledger', AccountRule>> = {
  inbox: {
    count: async (queries, account, before) => total(await queries.first(sql.countInbox, { account, before })),
    async remove(database, account, before, limit) {
      const gone = await database.run(sql.deleteInbox, { account, before, limit });
      return gone > 0 ? gone : database.run(sql.deleteGatewayMessages, { account, before, limit });
    },
  },
  sent: {
    count: async (queries, account, before) => total(await queries.first(sql.countSent, { account, before })),
    async remove(database, account, before, limit) {
      await database.run(sql.deleteAttempts, { account, before, limit });
      const gone = await database.run(sql.deleteSent, { account, before, limit });
      return gone > 0 ? gone : removeEmptyBatches(database, account, before, limit);
    },
  },
  ledger: {
    count: countMovementsBefore,
    remove: (database, account, before, limit) =>
      database.transaction(account, (queries) => carryForward(queries, account, before, limit)),
  },
};

/** The rules of the service and of its extensions. */
function createRules(extensions: readonly Extension[]) {
  const whole: Readonly<Record<string, RetentionRule>> = Object.assign(
    {},
    WHOLE,
    ...extensions.map(({ retention }) => retention),
  );
  const ofAccount: Readonly<Record<string, AccountRule>> = OF_ACCOUNT;
  return {
    async count(queries: Queries, kind: RetentionKind, before: number): Promise<number> {
      let sum = (await whole[kind]?.count(queries, before)) ?? 0;
      const rule = ofAccount[kind];
      if (rule) for await (const { id } of allAccounts(queries)) sum += await rule.count(queries, id, before);
      return sum;
    },

    /** Deletes older rows, one batch for each item that is requested. */
    async *batches(database: Database, kind: RetentionKind, before: number): AsyncGenerator<number> {
      const rule = whole[kind];
      if (rule) yield* untilNone(() => rule.remove(database, before, BATCH));
      const own = ofAccount[kind];
      if (!own) return;
      for await (const { id } of allAccounts(database)) {
        yield* untilNone(() => own.remove(database, id, before, BATCH));
      }
    },
  };
}

async function* untilNone(remove: () => Promise<number>): AsyncGenerator<number> {
  for (let gone = await remove(); gone > 0; gone = await remove()) yield gone;
}
