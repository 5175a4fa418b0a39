import { replaceTurns } from '../../src/base/event-loop.ts';
import { isUnavailable, Problem } from '../../src/base/problem.ts';
import { replaceRandomness } from '../../src/base/random.ts';
import { createRandom } from '../../test/support/random.ts';
import { type Carrier, createCarrier } from './carrier.ts';
import { createCommits } from './commits.ts';
import { CODES, Dead, type SeenStatement } from './disk.ts';
import { createInvariants } from './invariants.ts';
import { type SimulatedNode, startNode } from './node.ts';
import { createNodeClock } from './node-clock.ts';
import { createReceivers, type Receivers } from './receivers.ts';
import { createRecorder, type Recorder } from './recorder.ts';
import { createOwner, createScheduler, type Owner, type Scheduler, type Waiting } from './scheduler.ts';
import { ACTIVE, type Answer, emptySlot, SEEN_BY_ALL, type Slot, WAITS } from './slot.ts';
import type { Observer, Storage } from './storage.ts';

/** Several nodes on one database, with carriers and webhooks around them, under one scheduler. */

export interface World {
  readonly seed: number;
  readonly scheduler: Scheduler;
  readonly outside: Owner;
  readonly recorder: Recorder;
  readonly slots: readonly Slot[];
  readonly carrier: Carrier;
  readonly receivers: Receivers;
  readonly observer: () => Observer;
  /** Asks a node; any that serves where none is named. Lost where it dies before it answers. */
  ask<T>(work: (node: SimulatedNode, slot: Slot) => Promise<T>, index?: number): Promise<Answer<T>>;
  kill(slot: Slot): void;
  losePower(): void;
  takeBackup(): void;
  /** The service is started on the backup, if there is one. */
  restore(onRestored: () => void): void;
  restores(): number;
  /** The server of the database dies, if it has a standby, which takes its place after so long. */
  failOver(afterMs: number): void;
  /** The disk refuses every write until then. */
  refuseWrites(code: number, untilMs: number): void;
  /** Every node runs, and nothing goes wrong any more. */
  heal(): void;
  runUntil(at: number, isOver?: () => boolean): Promise<void>;
  counts(): { deaths: number; steps: number; requests: number; commits: number };
  /** What else is to be told of the run. */
  notes(): string | undefined;
  close(): void;
}

export interface WorldOptions {
  readonly seed: number;
  readonly nodes: number;
  /** With all tables and nothing in them. */
  readonly storage: Storage;
  readonly start: number;
}

/** How long a node is gone. A supervisor starts one that crashes again and again within a second. */
const RESTARTS = [1, 50, 1_000, 5_000, 60_000, 300_000];
const RESTARTS_OF_CRASHES = [1, 50, 1_000];
/** How often work pauses where it may: other nodes run in between. */
const PAUSES = 0.08;
/** When there is work that a look finds. */
const DUE = `select next_due_at as at from dispatch_account
  union select case when due_at > lease_until then due_at else lease_until end from webhook_delivery where due_at is not null order by at`;

export async function createWorld({ seed, nodes, storage, start }: WorldOptions): Promise<World> {
  const scheduler = createScheduler(seed, start, (owner) => waitingFor(slotOf(owner)?.skewMs ?? 0), storage.settled);
  const outside = createOwner('outside');
  const recorder = createRecorder(scheduler.now);
  const { record } = recorder;
  const ids = createRandom('ids', seed);
  const pauses = createRandom('pauses', seed);
  const choices = createRandom('choices', seed);
  const slots: Slot[] = Array.from({ length: nodes }, (_, index) => emptySlot(index));
  const counts = { deaths: 0, requests: 0, restores: 0 };
  let refusedUntil = 0;
  let refusalCode: number = CODES.full;
  let isHealed = false;
  let isRestoring = false;
  const dead: Owner[] = [];
  const slotOf = (owner: Owner): Slot | undefined => slots.find((slot) => slot.owner === owner);
  const { observer } = storage;
  const invariants = createInvariants({ observer, record });
  /** The clock that was ever farthest ahead. */
  let fastest = 0;
  const latest = () => {
    fastest = Math.max(fastest, ...slots.map(({ skewMs }) => skewMs));
    return scheduler.now() + fastest + 1_000;
  };
  const commits = createCommits({ recorder, invariants, observer, latest });

  const restoreRandom = replaceRandomness((length) => ids.bytes(length));
  const restoreTurns = replaceTurns({
    afterPoll: (work) => scheduler.post(scheduler.current() ?? outside, work),
    pause() {
      const owner = scheduler.current() ?? outside;
      const slot = slotOf(owner);
      if (slot && isItsTime(slot)) {
        kill(slot);
        return NEVER;
      }
      if (!pauses.chance(PAUSES)) return undefined;
      return new Promise<void>((resolve) => scheduler.post(owner, resolve));
    },
  });
  const unwatch = storage.watch({
    current: scheduler.current,
    before,
    after,
    post: scheduler.post,
    later: (ms, work) => scheduler.after(outside, ms, work),
  });

  function waitingFor(skewMs: number): Waiting {
    due ??= observer()
      .prepare(DUE)
      .all()
      .map(({ at }) => Number(at));
    const now = scheduler.now() + skewMs;
    const nextAt = due.find((at) => at > now) ?? Number.MAX_SAFE_INTEGER;
    return { nextAt: nextAt - skewMs, isSomethingDue: due.some((at) => at <= now) };
  }
  let due: readonly number[] | undefined;
  let hasWaitingChanged = false;

  function isItsTime(slot: Slot): boolean {
    if (slot.deathIn === undefined || !slot.owner.isAlive) return false;
    slot.deathIn -= 1;
    return slot.deathIn < 0;
  }

  function before(owner: Owner, statement: SeenStatement): void {
    const slot = slotOf(owner);
    if (!slot) return;
    if (isItsTime(slot)) dieWithin(slot);
    if (isHealed) return;
    const isWrite = statement.writes && statement.text !== 'rollback';
    if (isWrite && scheduler.now() < refusedUntil) refuse(statement, refusalCode);
    if (!slot.refusal || !isWrite) return;
    slot.refusal.in -= 1;
    if (slot.refusal.in >= 0) return;
    const { code } = slot.refusal;
    if (!storage.canRefuse(code, statement.text)) return;
    slot.refusal = undefined;
    refuse(statement, code);
  }

  function refuse(statement: SeenStatement, code: number): never {
    if (code !== CODES.busy && pauses.chance(0.5)) statement.rollBack();
    throw Object.assign(new Error('simulated'), { errcode: code });
  }

  function dieWithin(slot: Slot): never {
    kill(slot);
    throw new Dead('the node is dead');
  }

  function after(owner: Owner, statement: SeenStatement): void {
    const slot = slotOf(owner);
    if (!slot) return;
    const { text, writes, inTransaction } = statement;
    if (ACTIVE.test(text)) scheduler.busy(owner);
    if (SEEN_BY_ALL.test(text)) scheduler.alert();
    if (writes && WAITS.test(text)) hasWaitingChanged = true;
    if (hasWaitingChanged && (text === 'commit' || !inTransaction)) {
      due = undefined;
      hasWaitingChanged = false;
    }
    commits.note(slot, statement);
    if (isItsTime(slot)) dieWithin(slot);
  }

  function kill(slot: Slot): void {
    if (!slot.owner.isAlive) return;
    slot.owner.isAlive = false;
    slot.node = undefined;
    slot.deathIn = undefined;
    slot.refusal = undefined;
    slot.unsettled.clear();
    dead.push(slot.owner);
    counts.deaths += 1;
    record({ kind: 'killed', what: `node ${slot.index}` });
    for (const lost of slot.unanswered) lost();
    slot.unanswered.clear();
    const isCrashing = slot.crashes !== undefined && slot.crashes.left > 0;
    const pauses = isCrashing ? RESTARTS_OF_CRASHES : RESTARTS;
    scheduler.after(outside, isHealed ? 10 : choices.pick(pauses), () => boot(slot));
  }

  function endAll(): void {
    for (const slot of slots) kill(slot);
    dead.length = 0;
    storage.closeObserver();
    due = undefined;
  }

  /** After the step in which it died. */
  function closeDead(): void {
    for (const owner of dead.splice(0)) storage.closeOf(owner);
  }

  function boot(slot: Slot): void {
    if (slot.owner.isAlive && slot.node) return;
    if (isRestoring) return void scheduler.after(outside, 1_000, () => boot(slot));
    slot.incarnations += 1;
    const owner = createOwner(`node ${slot.index}.${slot.incarnations}`);
    slot.owner = owner;
    if (slot.crashes && slot.crashes.left > 0) {
      slot.crashes.left -= 1;
      // Mostly while it starts, and sometimes when it has begun to work.
      slot.deathIn = slot.crashes.random.below(slot.crashes.random.pick([20, 60, 150, 300]));
    }
    const random = createRandom(owner.name, seed);
    const clock = createNodeClock(scheduler, owner, random, () => slot.skewMs);
    const start = () =>
      startNode({
        databaseUrl: storage.databaseUrl,
        clock,
        connector: (name) => carrier.connectorOf(owner, name),
        send: (...event) => receivers.send(owner, ...event),
        failed: (thrown, what) => noteFailure(owner, thrown, what),
      }).then(
        (node) => {
          if (owner.isAlive) slot.node = node;
        },
        (thrown) => {
          noteFailure(owner, thrown, 'the node did not start');
          if (owner.isAlive) kill(slot);
        },
      );
    scheduler.post(owner, () => void start());
  }

  /** An outage of the disk, or of a request that nobody waits for, is no fault of the service. */
  function noteFailure(owner: Owner, thrown: unknown, what: string): void {
    if (!owner.isAlive || isDead(thrown) || isUnavailable(thrown)) return;
    const text = thrown instanceof Problem ? `${thrown.kind}: ${thrown.message}` : String(thrown);
    record({ kind: 'internal-error', text: `${what}: ${text}` });
  }

  const serving = () => slots.filter(({ node, owner }) => node && owner.isAlive);
  function ask<T>(work: (node: SimulatedNode, slot: Slot) => Promise<T>, index?: number): Promise<Answer<T>> {
    const able = serving();
    const slot = index === undefined ? (able.length > 0 ? choices.pick(able) : undefined) : slots[index];
    if (!slot?.node || !slot.owner.isAlive) return Promise.resolve({ kind: 'lost' });
    counts.requests += 1;
    const { owner } = slot;
    return new Promise((resolve) => {
      const lost = () => resolve({ kind: 'lost' });
      slot.unanswered.add(lost);
      const settle = (answer: Answer<T>) => {
        if (!owner.isAlive) return;
        slot.unanswered.delete(lost);
        resolve(answer);
      };
      scheduler.post(owner, () => {
        if (!slot.node) return;
        work(slot.node, slot).then(
          (value) => settle({ kind: 'done', value }),
          (thrown) => {
            if (!isDead(thrown) && !isUnavailable(thrown)) noteFailure(owner, thrown, 'a request failed');
            settle({ kind: 'lost' });
          },
        );
      });
    });
  }

  const carrier = createCarrier({
    seed,
    scheduler,
    outside,
    record,
    receiptTaken: (receipt) => {
      record({ kind: 'receipt-taken', ...receipt });
      invariants.receiptTaken(receipt);
    },
    answerSubmitted: () => {},
    bring: async (receipt) => (await ask((node) => node.carrierEvents.receipt(receipt))).kind === 'done',
    heard(owner, event) {
      (event as { answered: boolean }).answered = true;
      slotOf(owner)?.unsettled.set(event.attemptId, event);
    },
    nodeTime: (owner) => scheduler.now() + (slotOf(owner)?.skewMs ?? 0),
  });
  const receivers = createReceivers({ seed, scheduler, outside, record });

  const world: World = {
    seed,
    scheduler,
    outside,
    recorder,
    slots,
    carrier,
    receivers,
    observer,
    ask,
    kill,
    losePower() {
      endAll();
      storage.losePower();
      record({ kind: 'killed', what: 'the power' });
    },
    takeBackup() {
      if (counts.restores > 0) return;
      storage.backup?.take();
      record({ kind: 'backup-taken' });
    },
    restore(onRestored) {
      const { backup } = storage;
      if (!backup?.exists() || counts.restores > 0) return;
      isRestoring = true;
      endAll();
      backup.putBack();
      counts.restores += 1;
      invariants.forget();
      const holdsScheduled = seed % 2 === 0;
      record({ kind: 'restored', holdsScheduled, at: scheduler.now() });
      const owner = createOwner('restore');
      const clock = createNodeClock(scheduler, owner, createRandom('restore', seed), () => 0);
      const adopted = () => {
        storage.closeOf(owner);
        isRestoring = false;
        onRestored();
      };
      scheduler.post(
        owner,
        () =>
          void backup
            .adopt(clock, holdsScheduled)
            .then(adopted, (thrown) => noteFailure(owner, thrown, 'the restore failed')),
      );
    },
    restores: () => counts.restores,
    failOver(afterMs) {
      const promote = storage.failOver?.();
      if (!promote) return;
      record({ kind: 'killed', what: 'the database server' });
      scheduler.after(outside, afterMs, promote);
    },
    refuseWrites(code, untilMs) {
      refusalCode = code;
      refusedUntil = untilMs;
    },
    heal() {
      isHealed = true;
      carrier.heal();
      receivers.heal();
      for (const slot of slots) {
        slot.deathIn = undefined;
        slot.crashes = undefined;
        slot.refusal = undefined;
        slot.skewMs = 0;
        slot.owner.pausedUntil = 0;
      }
    },
    async runUntil(at, isOver = () => false) {
      while (!isOver()) {
        const isMore = await scheduler.step(at);
        if (dead.length > 0) closeDead();
        if (!isMore) break;
      }
      if (!isOver()) await scheduler.runUntil(at);
    },
    counts: () => ({ ...counts, commits: commits.count(), steps: scheduler.steps() }),
    notes: () => storage.notes?.(),
    close() {
      storage.closeObserver();
      unwatch();
      restoreTurns();
      restoreRandom();
    },
  };
  for (const slot of slots) boot(slot);
  return world;
}

const NEVER = new Promise<void>(() => {});

const isDead = (thrown: unknown): boolean =>
  thrown instanceof Dead || (thrown instanceof Problem && thrown.details.cause instanceof Dead);
