import { type Clock, within } from '../../base/clock.ts';
import type { KeyedQueue } from '../../base/keyed-queue.ts';
import { booleanResult, type Comparison } from '../compare/compare.ts';
import type { Comparing } from '../compare/comparing.ts';
import type { Recorder } from '../compare/recorder.ts';
import type { ExchangeOutcome } from '../compare/recording.ts';
import type { RawAnswer, RawRequest } from '../compare/redaction.ts';
import type { Sync } from '../copy/syncs.ts';
import type { SeenCall } from '../old-server/call-reader.ts';
import { isTemporary, type Upstream } from '../old-server/upstream.ts';
import { KNOWN_DIFFERENCE_PREFIX } from '../stages/counts.ts';
import type { Stage } from '../stages/stages.ts';
import type { Deliveries } from './deliveries.ts';
import type { PendingCounts } from './pending-counts.ts';

/**
 * What happens after the old server has answered a client: the exchange is recorded, and Columba is
 * asked the same. Clients do not notice, whatever goes wrong here.
 */
export interface Answered {
  readonly at: number;
  readonly stage: Stage;
  readonly call: SeenCall | null;
  /** The address of the client. */
  readonly client?: string;
  readonly request: RawRequest;
  readonly old: RawAnswer;
  /** Set for a write that the old server has done, and that Columba gets from the database. */
  readonly write?: { readonly account: bigint; readonly id: bigint } | undefined;
}

export interface ShadowSettings {
  readonly queue: KeyedQueue;
  readonly pendingCounts: PendingCounts;
  /** Undefined if nothing is recorded. */
  readonly recorder: Recorder | undefined;
  readonly columba: Pick<Upstream, 'exchange'>;
  readonly old: Pick<Upstream, 'exchange'>;
  readonly comparing: Pick<Comparing, 'compare' | 'settings'>;
  readonly deliveries: Pick<Deliveries, 'applied' | 'release'>;
  /** Copies what arrived at the old server. Undefined without syncs. */
  readonly sync: Sync | undefined;
  /** Whether an operation marks nothing at the old server, so that it may be asked again. */
  readonly leavesMarks: (operation: string) => boolean;
  readonly clock: Clock;
  readonly failed: (thrown: unknown) => void;
}

export interface Shadow {
  /** Returns at once. */
  observe(answered: Answered): void;
  /**
   * Waits until the writes of the account that were observed before are done here. Resolves with
   * false if that takes longer than a client waits.
   */
  applied(call: SeenCall): Promise<boolean>;
  /** The number of calls whose difference is not decided yet, and is looked at again. */
  readonly pending: number;
  /** Decides pending differences by what is known. */
  stop(): void;
}

/** When a difference is looked at again: three times within a minute. */
const AGAIN_AFTER_MS = [1_000, 10_000, 45_000];
/** The most differences that wait to be looked at again; others are decided at once. */
const PENDING_MAX = 1_000;
/** When a write that Columba did not take is tried again, so that the data stay equal. */
const WRITE_AGAIN_AFTER_MS = [1_000, 2_000, 4_000, 8_000, 16_000];

const APPLIED_MS_MAX = 2_000;

interface Decided {
  readonly outcome: ExchangeOutcome;
  readonly ours: RawAnswer | null;
  readonly comparison?: Comparison;
  readonly example?: string;
}

export function createShadow(settings: ShadowSettings): Shadow {
  const { queue, pendingCounts, comparing, sync, deliveries } = settings;
  const decide = createDeciding(settings);
  const pending = createPending(settings, decide);

  const drop = (call: SeenCall | null): void => {
    const key = keyOf(call);
    if (key) pendingCounts.add(key, 'dropped');
  };

  /** Compares both answers to a read. */
  async function compareRead(answered: Answered, call: SeenCall): Promise<void> {
    // The old server, or a proxy in front of it, could not answer, so there is nothing to compare.
    if (isTemporary(answered.old.status)) return decide(answered, { outcome: 'skipped', ours: null });
    const ours = await askOurs(settings, answered.request).catch(settings.failed);
    if (ours && ours.body === undefined) return drop(call);
    if (!ours) return decide(answered, { outcome: 'failed', ours: null, example: 'Columba did not answer' });
    const comparison = await comparing.compare(call, answered.old, ours);
    if (comparison.outcome !== 'different' || !sync || pending.count() >= PENDING_MAX) {
      return decide(answered, { outcome: comparison.outcome, ours, comparison });
    }
    pending.add(answered, call, { outcome: 'different', ours, comparison });
  }

  /** Applies a write that the old server has done, which must have the same result here. */
  async function applyWrite(answered: Answered, call: SeenCall): Promise<void> {
    const { old } = answered;
    if (booleanResult(call, old, comparing.settings) !== true)
      return decide(answered, { outcome: 'skipped', ours: null });
    const ours = await applied(settings, answered);
    // Another process has applied it.
    if (ours === null) return decide(answered, { outcome: 'skipped', ours });
    if (!ours) return decide(answered, { outcome: 'failed', ours: null, example: 'Columba did not accept a write' });
    const comparison = await comparing.compare(call, old, ours);
    decide(answered, { outcome: comparison.outcome, ours, comparison });
    // Messages that arrived between the two deletes were deleted only here, so they are copied.
    if (DELETES_ALL.test(call.operation) && call.userId !== null) await sync?.(call.userId);
  }

  return {
    get pending() {
      return pending.count();
    },
    stop: pending.decideAll,
    applied: (call) =>
      within(
        settings.clock,
        APPLIED_MS_MAX,
        queue.run(queueKeyOf(call), async () => true),
        false,
        { background: true },
      ),
    observe(answered) {
      const { call, stage, request, old, write } = answered;
      const bytes = (request.body?.length ?? 0) + (old.body?.length ?? 0);
      const isCompared = stage === 'compare' && call !== null && request.body !== undefined;
      const work = async (): Promise<void> => {
        if (!isCompared) return decide(answered, { outcome: 'recorded', ours: null });
        return call.changes ? applyWrite(answered, call) : compareRead(answered, call);
      };
      const isTooLong = stage === 'compare' && call !== null && [request.body, old.body].includes(undefined);
      if (!isTooLong && queue.offer(queueKeyOf(call), bytes, work)) return;
      drop(call);
      if (write) deliveries.release(write.account, write.id);
    },
  };
}

type Decide = (answered: Answered, decided: Decided) => void;

/** Counts the outcome of an exchange, and records it. */
const createDeciding =
  ({ pendingCounts, recorder }: ShadowSettings): Decide =>
  (answered, { outcome, ours, comparison, example }) => {
    const { call, client, request, old, at } = answered;
    const key = keyOf(call);
    if (key) {
      pendingCounts.add(key, outcome, example ?? comparison?.differences[0]);
      for (const [name, shown] of comparison?.knownDifferences ?? [])
        pendingCounts.add(key, KNOWN_DIFFERENCE_PREFIX + name, shown);
      pendingCounts.addLatency(key, 'old', old.ms);
      if (ours) pendingCounts.addLatency(key, 'our', ours.ms);
    }
    recorder?.record({
      at,
      userId: call?.userId ?? null,
      ...(client === undefined ? {} : { client }),
      group: call?.group ?? null,
      operation: call?.operation ?? null,
      protocol: call?.protocol ?? null,
      request,
      old,
      ours,
      outcome,
      knownDifferences: [...(comparison?.knownDifferences.keys() ?? [])],
    });
  };

/** Differences that are looked at again, because something may not have been copied yet. */
function createPending(settings: ShadowSettings, decide: Decide) {
  const { queue, comparing, sync, clock } = settings;
  const pending = new Map<Answered, Decided>();

  async function lookAgain(answered: Answered, call: SeenCall): Promise<void> {
    let waited = 0;
    for (const after of AGAIN_AFTER_MS) {
      await clock.sleep(after - waited, undefined, { background: true });
      waited = after;
      if (!pending.has(answered)) return;
      const found = await queue.run(queueKeyOf(call), () => compareAgain(answered, call)).catch(settings.failed);
      if (!found || found.comparison.outcome === 'different' || found.comparison.outcome === 'failed') continue;
      pending.set(answered, { outcome: 'lag', ours: found.ours, comparison: found.comparison });
      break;
    }
    decideNow(answered);
  }

  function decideNow(answered: Answered): void {
    const decided = pending.get(answered);
    pending.delete(answered);
    if (decided) decide(answered, decided);
  }

  async function compareAgain(answered: Answered, call: SeenCall) {
    if (call.userId !== null) await sync?.(call.userId);
    const { request } = answered;
    const ours = await askOurs(settings, request);
    const comparison = await comparing.compare(call, answered.old, ours);
    if (comparison.outcome !== 'different' || !mayAskOld(call)) return { ours, comparison };
    // More may have arrived since, so both servers are asked at the same time.
    const old = await settings.old.exchange(request, request.body ?? new Uint8Array());
    const again = await askOurs(settings, request);
    return { ours: again, comparison: await comparing.compare(call, old, again) };
  }

  /** Reading can mark only received messages and statuses. */
  const mayAskOld = ({ group, operation }: SeenCall): boolean =>
    group === 'account' ||
    group === 'compose' ||
    operation === 'FetchSentDS' ||
    operation.startsWith('Count') ||
    settings.leavesMarks(`${group}.${operation}`);

  return {
    count: (): number => pending.size,
    add(answered: Answered, call: SeenCall, decided: Decided): void {
      pending.set(answered, decided);
      lookAgain(answered, call).catch(settings.failed);
    },
    decideAll(): void {
      for (const answered of [...pending.keys()]) decideNow(answered);
    },
  };
}

const askOurs = ({ columba }: ShadowSettings, request: RawRequest): Promise<RawAnswer> =>
  columba.exchange(request, request.body ?? new Uint8Array());

/** Undefined if Columba does not take the write. A write in the database is delivered later. */
async function applied(settings: ShadowSettings, { request, write }: Answered): Promise<RawAnswer | null | undefined> {
  const { deliveries, sync, clock, failed } = settings;
  let ours: RawAnswer | null | undefined;
  for (const pause of [0, ...WRITE_AGAIN_AFTER_MS]) {
    if (pause > 0) await clock.sleep(pause, undefined, { background: true });
    const asking = write ? deliveries.applied(write.account, write.id, sync) : askOurs(settings, request);
    ours = (await asking.catch(failed)) as RawAnswer | null | undefined;
    if (ours === null || (ours && !isTemporary(ours.status))) return ours;
  }
  return ours;
}

export const DELETES_ALL = /^DeleteAll/;

const keyOf = (call: SeenCall | null) =>
  call && { operation: `${call.group}.${call.operation}`, protocol: call.protocol };

/** Calls of one account keep their order. */
export const queueKeyOf = (call: SeenCall | null): string => call?.userId ?? '';
