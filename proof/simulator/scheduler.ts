import { createRandom, type Random } from '../../test/support/random.ts';

/**
 * Owns the time of a simulated world and decides what runs next. A step is one piece of work of one
 * owner with everything that follows from it without waiting. Between two steps nothing is under
 * way, so an owner can be ended there: what it waits for is never told to it.
 */
export interface Owner {
  readonly name: string;
  isAlive: boolean;
  /** A paused owner runs nothing, as a virtual machine that stalls. */
  pausedUntil: number;
  readonly ready: (() => void)[];
  /** Looks that found nothing since the owner last did something. */
  idleLooks: number;
}

interface Timer {
  at: number;
  /** Where it would be if the owner were not idle. */
  readonly dueAt: number;
  /** Breaks ties by chance. */
  readonly order: number;
  readonly number: number;
  readonly owner: Owner;
  readonly work: () => void;
  isCancelled: boolean;
}

export type Scheduler = ReturnType<typeof createScheduler>;

// A process that finds nothing to do looks again when something falls due, and else after this time. A
// late timer is what a busy machine gives too, so this is a behaviour that the service has to bear anyway.
const IDLE_MS_MAX = 6 * 3_600_000;
/** After so many looks that found nothing. A process has eight kinds of looks. */
const IDLE_AFTER = 1;
/** How many of its late looks an owner makes at their usual time when it gets something to do. */
const HASTENED = 0.15;
const TIE = 2 ** 31;

export const createOwner = (name: string): Owner => ({
  name,
  isAlive: true,
  pausedUntil: 0,
  ready: [],
  idleLooks: 0,
});

/** What waits for an owner, by the scheduler's clock. */
export interface Waiting {
  /** When the next of it falls due. */
  readonly nextAt: number;
  readonly isSomethingDue: boolean;
}

/** `settled` resolves when nothing is under way outside of the world, where something can be. */
export function createScheduler(
  seed: number,
  start: number,
  waitingFor: (owner: Owner) => Waiting,
  settled?: () => Promise<void>,
) {
  const random: Random = createRandom('schedule', seed);
  const timers = createHeap();
  const owners = new Set<Owner>();
  let now = start;
  let current: Owner | undefined;
  let steps = 0;
  let numbers = 0;

  function post(owner: Owner, work: () => void): void {
    if (!owner.isAlive) return;
    owner.ready.push(work);
    owners.add(owner);
  }

  function addTimer(owner: Owner, ms: number, work: () => void, isPoll: boolean): () => void {
    const dueAt = now + Math.max(0, ms);
    const lateMs = isPoll && owner.idleLooks > IDLE_AFTER ? idleMs(owner, ms, waitingFor(owner), dueAt) : 0;
    const timer: Timer = {
      at: dueAt + lateMs,
      dueAt,
      order: random.below(TIE),
      number: ++numbers,
      owner,
      work,
      isCancelled: false,
    };
    timers.push(timer);
    return () => {
      timer.isCancelled = true;
    };
  }

  /** Everything that is due belongs to what is ready. */
  function takeDue(): void {
    for (let timer = timers.peek(); timer && timer.at <= now; timer = timers.peek()) {
      timers.pop();
      if (!timer.isCancelled) post(timer.owner, guarded(timer));
    }
  }
  const guarded = (timer: Timer) => () => {
    if (!timer.isCancelled) timer.work();
  };

  function runnable(): Owner[] {
    const found: Owner[] = [];
    for (const owner of owners) {
      if (!owner.isAlive || owner.ready.length === 0) owners.delete(owner);
      else if (owner.pausedUntil <= now) found.push(owner);
    }
    return found;
  }

  /** When something can run next; undefined where nothing will. */
  function nextAt(): number | undefined {
    let at = Number.POSITIVE_INFINITY;
    for (let timer = timers.peek(); timer; timer = timers.peek()) {
      if (!timer.isCancelled && timer.owner.isAlive) {
        at = timer.at;
        break;
      }
      timers.pop();
    }
    for (const owner of owners) if (owner.isAlive && owner.ready.length > 0) at = Math.min(at, owner.pausedUntil);
    return Number.isFinite(at) ? at : undefined;
  }

  /** One step. False where nothing is left to run before that time. */
  async function step(until: number): Promise<boolean> {
    takeDue();
    let choices = runnable();
    if (choices.length === 0) {
      const at = nextAt();
      if (at === undefined || at > until) return false;
      now = Math.max(now, at);
      takeDue();
      choices = runnable();
      if (choices.length === 0) return true;
    }
    const owner = choices.length === 1 ? (choices[0] as Owner) : random.pick(choices);
    const work = owner.ready.shift() as () => void;
    current = owner;
    steps += 1;
    work();
    await rest();
    if (settled) await settled();
    current = undefined;
    // Work takes time. Mostly less than a millisecond, and rarely much.
    if (random.chance(0.05)) now += random.below(20) === 0 ? random.between(20, 400) : random.between(1, 8);
    return true;
  }

  return {
    now: () => now,
    steps: () => steps,
    /** Whose step is under way. */
    current: () => current,
    post,
    after: (owner: Owner, ms: number, work: () => void) => addTimer(owner, ms, work, false),
    /** A look for work, which comes later the longer its owner has found nothing. */
    poll: (owner: Owner, ms: number, work: () => void) =>
      addTimer(
        owner,
        ms,
        () => {
          owner.idleLooks += 1;
          work();
        },
        true,
      ),
    /** The owner has something to do, so some of its looks come at their usual times. */
    busy(owner: Owner): void {
      if (owner.idleLooks === 0) return;
      owner.idleLooks = 0;
      timers.hasten((timer) => timer.owner === owner && timer.at > timer.dueAt && random.chance(HASTENED), now);
    },
    /** All late looks of everybody come at their usual times. */
    alert(): void {
      timers.hasten((timer) => timer.at > timer.dueAt, now);
    },
    step,
    /** Runs everything up to this time, and moves on to it. */
    async runUntil(until: number, isOver: () => boolean = () => false): Promise<void> {
      while (!isOver() && (await step(until)));
      if (!isOver()) now = Math.max(now, until);
    },
  };
}

/** How much later an idle owner looks. Where something is due that it cannot serve, it looks less and less often. */
function idleMs({ idleLooks }: Owner, ms: number, { nextAt, isSomethingDue }: Waiting, dueAt: number): number {
  const lookMs = isSomethingDue ? ms * 4 ** Math.min(idleLooks - IDLE_AFTER, 10) : IDLE_MS_MAX;
  return Math.max(0, Math.min(lookMs, nextAt - dueAt, IDLE_MS_MAX));
}

/** Promises and their followers come to rest before this resolves: no work of ours uses the event loop. */
const rest = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Timers by time. */
function createHeap() {
  let items: Timer[] = [];
  const isBefore = (one: Timer, other: Timer): boolean =>
    one.at !== other.at
      ? one.at < other.at
      : one.order !== other.order
        ? one.order < other.order
        : one.number < other.number;
  const swap = (one: number, other: number): void => {
    const kept = items[one] as Timer;
    items[one] = items[other] as Timer;
    items[other] = kept;
  };
  function up(from: number): void {
    for (let place = from; place > 0; ) {
      const parent = (place - 1) >> 1;
      if (!isBefore(items[place] as Timer, items[parent] as Timer)) return;
      swap(place, parent);
      place = parent;
    }
  }
  function down(from: number): void {
    for (let place = from; ; ) {
      let least = place;
      for (const child of [2 * place + 1, 2 * place + 2]) {
        if (child < items.length && isBefore(items[child] as Timer, items[least] as Timer)) least = child;
      }
      if (least === place) return;
      swap(place, least);
      place = least;
    }
  }
  return {
    peek: (): Timer | undefined => items[0],
    push(timer: Timer): void {
      items.push(timer);
      up(items.length - 1);
    },
    pop(): void {
      const last = items.pop();
      if (last === undefined || items.length === 0) return;
      items[0] = last;
      down(0);
    },
    /** Late timers come at the time for which they were asked. */
    hasten(isMeant: (timer: Timer) => boolean, now: number): void {
      items = items.filter(({ isCancelled, owner: own }) => !isCancelled && own.isAlive);
      for (const timer of items) if (isMeant(timer)) timer.at = Math.max(timer.dueAt, now);
      for (let place = (items.length >> 1) - 1; place >= 0; place--) down(place);
    },
  };
}
