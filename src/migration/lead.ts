import { BoundedMap } from '../bounded-map.ts';
import type { MigrationWrites, WaitingWrite } from '../domain/migration-writes.ts';
import type { SeenCall } from './call-reader.ts';
import { booleanResult } from './compare.ts';
import type { CompareSettings } from './compare-values.ts';
import type { OldServer } from './old-server.ts';
import type { RawAnswer, RawRequest } from './redaction.ts';
import type { Tally } from './tally.ts';
import { isRefused, type Upstream } from './upstream.ts';
import type { Seal } from './write-seal.ts';

/**
 * Writes of accounts that Columba leads. A write is in the database before Columba is asked, and
 * stays there until the old server has it too.
 */
export interface Lead {
  /** Columba's answer. Rejects where Columba does not answer. */
  write(account: bigint, call: SeenCall, request: RawRequest): Promise<RawAnswer>;
  /** Gives the old server what is due. */
  deliver(): Promise<void>;
  /** Before the old server answers an account again: it gets what waits, if it takes it soon. */
  drained(account: bigint): Promise<void>;
  start(): void;
  stop(): Promise<void>;
}

export interface LeadSettings {
  readonly writes: MigrationWrites;
  readonly seal: Seal;
  readonly columba: Pick<Upstream, 'exchange'>;
  readonly old: Pick<Upstream, 'exchange'>;
  /** Calls by the contract, for what a write of all becomes. */
  readonly columbaCalls: Pick<OldServer, 'call'>;
  readonly oldCalls: Pick<OldServer, 'call'>;
  readonly compare: CompareSettings;
  readonly tally: Tally;
  readonly now: () => number;
  readonly failed: (thrown: unknown) => void;
}

interface SealedWrite {
  readonly group: string;
  readonly operation: string;
  readonly protocol: SeenCall['protocol'];
  readonly method: string;
  readonly target: string;
  readonly rawHeaders: readonly string[];
  readonly body: string;
  readonly userId: string | null;
  /** For a write of all: the ids that Columba had. */
  readonly ids?: readonly string[];
}

/**
 * A message may arrive at the old server after Columba has deleted all. So the old server is told
 * to delete those that Columba had, one by one.
 */
const ALL: Readonly<Record<string, { list: string; limit: string; each: string }>> = {
  'inbox.DeleteAllMessages': { list: 'InboxDS', limit: 'max_count', each: 'DeleteMessage' },
  'compose.DeleteAllScheduled': { list: 'FetchScheduledDS', limit: 'max', each: 'DeleteScheduledMessage' },
};

const LOOK_EVERY_MS = 500;
const ACCOUNTS_AT_ONCE = 20;
const WRITES_AT_ONCE = 100;
const PAUSE_MS_MAX = 300_000;
const DRAIN_MS_MAX = 5_000;
const DRAIN_LOOK_MS = 20;
const STUCK_MS = 60_000;
const STUCK_ACCOUNTS_MAX = 10_000;

export function createLead(settings: LeadSettings): Lead {
  const { writes, seal, columba, compare } = settings;
  const delivery = createDelivery(settings);
  let timer: NodeJS.Timeout | undefined;

  async function write(account: bigint, call: SeenCall, request: RawRequest): Promise<RawAnswer> {
    const operation = `${call.group}.${call.operation}`;
    const ids = await idsOf(settings, call);
    const id = await writes.begin(account, operation, seal.seal(account, JSON.stringify(sealedOf(call, request, ids))));
    let answer: RawAnswer;
    try {
      answer = await columba.exchange(request, request.body ?? new Uint8Array());
    } catch (thrown) {
      // Where Columba may have done it, the write is asked for again in a minute.
      if (isRefused(thrown)) await writes.remove(account, id);
      throw thrown;
    }
    const isDone = booleanResult(call, answer, compare) === true;
    await (isDone ? writes.arm(account, id) : writes.remove(account, id));
    return answer;
  }

  /** Accounts whose writes the old server does not take. Their calls do not wait each time. */
  const stuckUntil = new BoundedMap<bigint, number>(STUCK_ACCOUNTS_MAX);

  async function drained(account: bigint): Promise<void> {
    const until = performance.now() + DRAIN_MS_MAX;
    if ((stuckUntil.get(account) ?? 0) > performance.now()) return;
    while ((await writes.count(account)) > 0) {
      if (performance.now() > until) {
        stuckUntil.set(account, performance.now() + STUCK_MS);
        return;
      }
      await delivery.deliver();
      await new Promise((resolve) => setTimeout(resolve, DRAIN_LOOK_MS));
    }
  }

  return {
    write,
    deliver: delivery.deliver,
    drained: (account) => drained(account).catch(settings.failed),
    start() {
      timer ??= setInterval(() => delivery.deliver().catch(settings.failed), LOOK_EVERY_MS).unref();
    },
    async stop() {
      clearInterval(timer);
      await delivery.stop();
    },
  };
}

/** For a write of all: the ids that Columba has. Undefined where a list does not show all. */
async function idsOf({ columbaCalls, compare }: LeadSettings, call: SeenCall): Promise<string[] | undefined> {
  const all = ALL[`${call.group}.${call.operation}`];
  if (!all || call.userId === null) return undefined;
  const args = { user_id: call.userId, [all.limit]: compare.listLimit };
  const { result } = await columbaCalls.call(call.group, all.list, args);
  if (result.kind !== 'value') return undefined;
  const rows = result.value as readonly { readonly id: bigint }[];
  return rows.length >= compare.listLimit ? undefined : rows.map(({ id }) => String(id));
}

/** Gives waiting writes to the old server, those of one account in their order. */
function createDelivery(settings: LeadSettings) {
  const { writes, seal, tally } = settings;
  let delivering: Promise<void> | undefined;
  let isStopped = false;

  /** Whether the account's next write can follow. */
  async function deliverOne(waiting: WaitingWrite): Promise<boolean> {
    const { account, id, attempts } = waiting;
    const sealed = JSON.parse(seal.open(account, waiting.sealed)) as SealedWrite;
    const key = { operation: waiting.operation, protocol: sealed.protocol };
    if (waiting.state === 'begun') {
      if (settings.now() - waiting.createdAt < 60_000) return false;
      if (!(await isDoneHere(settings, sealed))) {
        await writes.remove(account, id);
        return true;
      }
    }
    const isTaken = await giveToOld(settings, sealed).catch((thrown) => {
      settings.failed(thrown);
      return undefined;
    });
    if (isTaken === undefined) {
      await writes.postpone(account, id, Math.min(1_000 * 2 ** attempts, PAUSE_MS_MAX));
      tally.add(key, 'old write postponed');
      return false;
    }
    await writes.remove(account, id);
    tally.add(key, isTaken ? 'old write' : 'old write refused');
    return true;
  }

  async function deliverAll(): Promise<void> {
    for (const account of await writes.dueAccounts(ACCOUNTS_AT_ONCE)) {
      for (const waiting of await writes.of(account, WRITES_AT_ONCE)) {
        if (isStopped || !(await deliverOne(waiting))) break;
      }
    }
  }

  return {
    deliver(): Promise<void> {
      delivering ??= deliverAll().finally(() => {
        delivering = undefined;
      });
      return delivering;
    },
    async stop(): Promise<void> {
      isStopped = true;
      await delivering?.catch(() => {});
    },
  };
}

/** The process ended before it knew. Asked again, which changes nothing more, but for all. */
async function isDoneHere({ columba, compare }: LeadSettings, sealed: SealedWrite): Promise<boolean> {
  if (ALL[`${sealed.group}.${sealed.operation}`]) return false;
  const answer = await columba.exchange(sealed, Buffer.from(sealed.body, 'base64'));
  return booleanResult(sealed, answer, compare) === true;
}

/** True and false are answers; undefined is none. */
async function giveToOld({ old, oldCalls, compare }: LeadSettings, sealed: SealedWrite): Promise<boolean | undefined> {
  const { group, operation, ids, userId } = sealed;
  const all = ALL[`${group}.${operation}`];
  if (!all || ids === undefined) {
    return booleanResult(sealed, await old.exchange(sealed, Buffer.from(sealed.body, 'base64')), compare);
  }
  for (const id of ids) {
    const { result } = await oldCalls.call(group, all.each, { user_id: userId, message_id: id });
    if (result.kind !== 'value') return undefined;
  }
  return true;
}

function sealedOf(call: SeenCall, request: RawRequest, ids: string[] | undefined): SealedWrite {
  const { group, operation, protocol, userId } = call;
  const { method, target, rawHeaders } = request;
  const body = Buffer.from(request.body ?? new Uint8Array()).toString('base64');
  return { group, operation, protocol, userId, method, target, rawHeaders, body, ...(ids ? { ids } : {}) };
}
