import { BoundedMap } from '../../base/bounded-map.ts';
import { type Clock, within } from '../../base/clock.ts';
import { createTurns } from '../../base/keyed-queue.ts';
import { booleanResult } from '../compare/compare.ts';
import type { RawAnswer, RawRequest } from '../compare/redaction.ts';
import type { SeenCall } from '../old-server/call-reader.ts';
import type { OldServer } from '../old-server/old-server.ts';
import { isRefused, isUnavailableStatus } from '../old-server/upstream.ts';
import type { Bypass } from './bypass.ts';
import { whileHeld } from './catch-up.ts';
import type { Deliveries, DeliverySettings } from './deliveries.ts';
import { sealWrite, withoutClient, writeOfAll } from './sealed-write.ts';

/**
 * Accounts that Columba leads. A write is in the database before Columba is asked, and stays there
 * until the old server has it too. If Columba does not answer, the old server does, because it has
 * all writes. Columba gets what it missed before it answers the account again.
 */
export interface Lead {
  /** Rejects with NotNow if neither server can answer. */
  write(account: bigint, call: SeenCall, request: RawRequest): Promise<LedAnswer>;
  /** Resolves with false if Columba does not answer or is behind the old server. */
  isReady(account: bigint | null, userId: string | null): Promise<boolean>;
  /** Called when a read got no answer from Columba. */
  noteFailure(): void;
  /** Whether the old server has every write that was acknowledged to clients. */
  isOldComplete(account: bigint): Promise<boolean>;
  /** Gives the old server the waiting writes, for a limited time, before it answers again. */
  drained(account: bigint): Promise<void>;
}

export interface LedAnswer extends RawAnswer {
  readonly isOld: boolean;
}

export interface LeadSettings extends DeliverySettings {
  readonly columbaCalls: Pick<OldServer, 'call'>;
  readonly deliveries: Deliveries;
  readonly bypass: Pick<Bypass, 'isCurrent'>;
}

/**
 * Columba does not answer, and the old server lacks a write that was acknowledged; or the database
 * does not answer, so that nobody knows whether it does, and a write could be lost.
 */
export class NotNow extends Error {}

/** A client waits no longer than this; then the old server answers. */
const CATCH_UP_MS_MAX = 2_000;
const DRAIN_MS_MAX = 5_000;
const DRAIN_LOOK_MS = 20;
const STUCK_MS = 60_000;
const STUCK_ACCOUNTS_MAX = 10_000;

export function createLead(settings: LeadSettings): Lead {
  const { writes, columba, availability, compare, deliveries, bypass, clock } = settings;
  const emptied = createEmptying(deliveries, clock);
  // The old server gets writes in the order of their ids. Columba has to do them in the same order;
  // otherwise two moves of a contact may end in different groups.
  const inTurn = createTurns<bigint>();
  const writeThere = createOldWriting(settings, (account) => isOldComplete(account));

  const isReady = async (account: bigint | null, userId: string | null): Promise<boolean> => {
    if (availability.isDown || !(await bypass.isCurrent(account, userId))) return false;
    if (account === null || !deliveries.behind.has(account)) return true;
    return within(clock, CATCH_UP_MS_MAX, deliveries.catchUp(account), false, { background: true });
  };

  async function writeOne(account: bigint, call: SeenCall, request: RawRequest): Promise<LedAnswer> {
    if (!(await isReady(account, call.userId))) return writeThere(account, call, request);
    let ids: string[] | undefined;
    try {
      ids = await idsOf(settings, call);
    } catch {
      availability.noteFailure();
      return writeThere(account, call, request);
    }
    const id = await begin(settings, account, call, request, ids);
    let answer: RawAnswer;
    try {
      const asking = () => columba.exchange(request, request.body ?? new Uint8Array());
      answer = await whileHeld(settings, { account, id }, asking);
    } catch (thrown) {
      availability.noteFailure();
      return writeThere(account, call, request, { id, isUntouched: isRefused(thrown) });
    }
    if (isUnavailableStatus(answer.status)) return writeThere(account, call, request, { id, isUntouched: false });
    const isDone = booleanResult(call, answer, compare) === true;
    await (isDone ? writes.setDue(account, id) : writes.remove(account, id));
    return { ...answer, isOld: false };
  }

  const isOldComplete = (account: bigint): Promise<boolean> =>
    emptied(account, async () => (await writes.counts(account)).due).catch(notNow(settings));

  return {
    write: (account, call, request) => inTurn(account, () => writeOne(account, call, request)),
    isReady,
    noteFailure: () => availability.noteFailure(),
    isOldComplete,
    async drained(account) {
      await emptied(account, async () => (await writes.counts(account)).waiting).catch(settings.failed);
    },
  };
}

interface Begun {
  readonly id: bigint;
  readonly isUntouched: boolean;
}

/** Lets the old server do a write when Columba does not answer. */
function createOldWriting(settings: LeadSettings, isOldComplete: (account: bigint) => Promise<boolean>) {
  const { writes, old, compare, deliveries } = settings;
  /** Columba may have done the write; doing it again later changes nothing more. */
  async function writeThere(account: bigint, call: SeenCall, request: RawRequest, begun?: Begun): Promise<LedAnswer> {
    const isUntouched = begun?.isUntouched ?? true;
    if (!(await isOldComplete(account))) {
      if (begun?.isUntouched) await writes.remove(account, begun.id);
      throw new NotNow();
    }
    const id = begun?.id ?? (await begin(settings, account, call, request));
    let answer: RawAnswer;
    try {
      const asking = () => old.exchange(withoutClient(request), request.body ?? new Uint8Array());
      answer = await whileHeld(settings, { account, id }, asking);
    } catch (thrown) {
      // Otherwise one of the servers may have done it, and both are asked again soon.
      if (isUntouched && isRefused(thrown)) await writes.remove(account, id);
      throw thrown;
    }
    const isDone = booleanResult(call, answer, compare);
    if (isDone === true) {
      await writes.setBehind(account, id);
      deliveries.behind.add(account);
    } else if (isUntouched || isDone === false) await writes.remove(account, id);
    return { ...answer, isOld: true };
  }

  return writeThere;
}

/** Delivers writes of an account until none waits. Resolves with false if it takes too long. */
function createEmptying(deliveries: Deliveries, clock: Clock) {
  /** Accounts whose writes the old server does not take, so that not each of their calls waits. */
  const stuckUntil = new BoundedMap<bigint, number>(STUCK_ACCOUNTS_MAX);

  return async function emptied(account: bigint, count: () => Promise<number>): Promise<boolean> {
    const until = clock.monotonic() + DRAIN_MS_MAX;
    while ((await count()) > 0) {
      if ((stuckUntil.get(account) ?? 0) > clock.monotonic()) return false;
      if (clock.monotonic() > until) {
        stuckUntil.set(account, clock.monotonic() + STUCK_MS);
        return false;
      }
      await deliveries.deliver();
      await clock.sleep(DRAIN_LOOK_MS);
    }
    return true;
  };
}

/**
 * The ids that a delete of all deletes here. Undefined for any other write, and if the ids cannot
 * all be listed: then the old server deletes everything too.
 */
async function idsOf({ columbaCalls, compare }: LeadSettings, call: SeenCall): Promise<string[] | undefined> {
  const all = writeOfAll(call);
  if (!all || call.userId === null) return undefined;
  const args = { user_id: call.userId, [all.limit]: compare.listLimit };
  const { result } = await columbaCalls.call(call.group, all.list, args);
  if (result.kind !== 'value') return undefined;
  const rows = result.value as readonly { readonly id: bigint }[];
  return rows.length >= compare.listLimit ? undefined : rows.map(({ id }) => String(id));
}

function begin(
  settings: LeadSettings,
  account: bigint,
  call: SeenCall,
  request: RawRequest,
  ids?: string[],
): Promise<bigint> {
  const sealed = sealWrite(settings.seal, account, call, request, ids);
  return settings.writes.begin(account, `${call.group}.${call.operation}`, sealed).catch(notNow(settings));
}

const notNow =
  ({ failed }: LeadSettings) =>
  (thrown: unknown): never => {
    failed(thrown);
    throw new NotNow();
  };
