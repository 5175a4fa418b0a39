import { createRandom } from '../../test/support/random.ts';
import { check, type Fault } from '../checker/checker.ts';
import type { Event } from '../checker/history.ts';
import { createClients } from './clients.ts';
import { applyFault } from './disturbances.ts';
import { historyOf } from './observe.ts';
import { type PlanEntry, type PlanOptions, planOf } from './plan.ts';
import { setUp } from './setup.ts';
import type { Storage } from './storage.ts';
import { createWorld } from './world.ts';

/** One simulated world from its seed to its end, and what the checker says about it. */
export interface Simulation {
  readonly seed: number;
  readonly hash: string;
  readonly faults: readonly Fault[];
  readonly events: readonly Event[];
  /** Simulated, with the time at the end in which everything is settled. */
  readonly hours: number;
  readonly messages: number;
  readonly deaths: number;
  readonly steps: number;
  readonly requests: number;
  readonly commits: number;
  readonly notes?: string | undefined;
}
export interface SimulationOptions extends PlanOptions {
  readonly nodes: number;
  /** A new one for each world. */
  readonly lay: () => Storage | Promise<Storage>;
  /** In place of the plan of the seed: a part of it. */
  readonly plan?: readonly PlanEntry[];
}

const HOUR = 3_600_000;
/** The day before the clocks change in Europe, at any hour. Often quiet hours begin soon. */
const startOf = (seed: number): number => {
  const random = createRandom('start', seed);
  return Date.UTC(2026, 9, 24) + (random.chance(0.5) ? 18 : random.below(24)) * HOUR;
};
/** Retries end after 48 hours, and the wait for receipts after 72. */
const SETTLE_HOURS = 60;
const SETTLE_HOURS_MAX = 200;
/** Ten times as many as a world takes. On PostgreSQL each answer is a step. */
const STEPS_MAX = { sqlite: 40_000, postgres: 400_000 };
const STEPS_PER_HOUR = 4_000;
const UNTOLD = 'select count(*) as count from webhook_delivery where due_at is not null';

export async function simulate(options: SimulationOptions): Promise<Simulation> {
  const { seed, hours, nodes, lay, plan = planOf(options) } = options;
  const start = startOf(seed);
  const storage = await lay();
  const stepsMax = (storage.settled ? STEPS_MAX.postgres : STEPS_MAX.sqlite) + hours * STEPS_PER_HOUR;
  const world = await createWorld({ seed, nodes, storage, start });
  const { scheduler, outside, recorder } = world;
  try {
    // Where the file is locked when a process starts, it starts again some minutes later.
    await world.runUntil(start + HOUR, () => world.slots.every(({ node }) => node !== undefined));
    const setting = await setUp(world);
    const begin = scheduler.now();
    const clients = createClients(world, setting);
    for (const entry of plan) {
      scheduler.after(outside, entry.at, () => {
        if (entry.kind === 'act') clients.act(entry);
        else if (entry.kind === 'restore') world.restore(clients.afterRestore);
        else applyFault(world, entry);
      });
    }
    const isEndless = () => scheduler.steps() > stepsMax;
    await world.runUntil(begin + hours * HOUR, isEndless);
    world.heal();
    const isTold = () => world.observer().prepare(UNTOLD).get()?.count === 0n;
    const isOver = () => world.carrier.receiptsOnTheirWay() === 0 && clients.isQuiet() && isTold();
    await world.runUntil(scheduler.now() + SETTLE_HOURS * HOUR, isEndless);
    for (let more = SETTLE_HOURS; more < SETTLE_HOURS_MAX && !isOver() && !isEndless(); more += 10) {
      await world.runUntil(scheduler.now() + 10 * HOUR, isEndless);
    }
    clients.lastOrders();
    await world.runUntil(scheduler.now() + HOUR, isEndless);
    const last = clients.lastSend();
    await world.runUntil(scheduler.now() + last.lookAfterMs, isEndless);
    last.look();
    for (let more = 0; more < SETTLE_HOURS && !isOver() && !isEndless(); more += 5) {
      await world.runUntil(scheduler.now() + 5 * HOUR, isEndless);
    }
    if (isEndless())
      recorder.record({ kind: 'internal-error', text: `${scheduler.steps()} steps: it works without end` });
    const faults = check(historyOf(world, setting));
    const { deaths, steps, requests, commits } = world.counts();
    const simulated = (scheduler.now() - start) / HOUR;
    const messages = clients.messages();
    const { events } = recorder;
    return {
      seed,
      hash: recorder.hash(),
      faults,
      events,
      hours: simulated,
      messages,
      deaths,
      steps,
      requests,
      commits,
      notes: world.notes(),
    };
  } finally {
    world.close();
  }
}
