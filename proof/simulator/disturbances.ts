import { createRandom } from '../../test/support/random.ts';
import { CODES } from './disk.ts';
import type { PlanEntry } from './plan.ts';
import { CONNECTOR_NAMES } from './setup.ts';
import type { Slot } from './slot.ts';
import type { World } from './world.ts';

/** What goes wrong besides carriers and webhooks: processes, clocks and the disk. */
export function applyFault(world: World, { id, kind }: PlanEntry): void {
  const { seed, scheduler, slots, recorder, outside } = world;
  const random = createRandom(`disturbance ${id}`, seed);
  const slot = random.pick(slots) as Slot;
  if (kind === 'death') {
    // Mostly within the next piece of work.
    slot.deathIn ??= random.below(random.pick([3, 12, 40, 150, 600]));
    // One that is idle dies as well.
    const { owner } = slot;
    scheduler.after(outside, random.pick([100, 5_000, 60_000]), () => {
      if (slot.owner === owner && slot.deathIn !== undefined) world.kill(slot);
    });
  } else if (kind === 'crashes') {
    slot.crashes = { left: random.between(5, 30), random };
    world.kill(slot);
  } else if (kind === 'power') world.losePower();
  else if (kind === 'failover') world.failOver(random.pick([0, 2_000, 30_000, 200_000]));
  else if (kind === 'backup') world.takeBackup();
  else if (kind === 'pause') {
    slot.owner.pausedUntil = scheduler.now() + random.pick([2_000, 40_000, 130_000, 1_200_000]);
  } else if (kind === 'skew') {
    recorder.record({ kind: 'clock-jumped' });
    slot.skewMs = random.chance(0.3)
      ? 0
      : random.between(-1, 1) * random.below(random.pick([500, 20_000, 300_000, 7_200_000]));
  } else if (kind === 'statement') {
    slot.refusal ??= { in: random.below(random.pick([4, 30, 200])), code: random.pick(Object.values(CODES)) };
  } else if (kind === 'commit') {
    for (const each of slots) each.refusal ??= { in: 0, code: CODES.busy };
  } else if (kind === 'outage') {
    world.carrier.breakDown(random.pick(CONNECTOR_NAMES), random.pick([20_000, 120_000, 900_000]), random);
  } else if (kind === 'disk') {
    const lengthMs = random.pick([500, 5_000, 60_000, 400_000]);
    world.refuseWrites(random.pick([CODES.full, CODES.readonly, CODES.io]), scheduler.now() + lengthMs);
  }
}
