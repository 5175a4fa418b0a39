import { createRandom, type Random } from '../../test/support/random.ts';

/**
 * What happens to a simulated world, and when. The seed makes the whole plan before the run, so a
 * failing one can be made shorter by leaving entries out. Each entry draws what it needs from a
 * sequence of its own.
 */
export interface PlanEntry {
  /** Its place in the whole plan: its name. */
  readonly id: number;
  /** Milliseconds after the start. */
  readonly at: number;
  readonly kind: EntryKind;
}
export type EntryKind =
  | 'act'
  | 'death'
  | 'crashes'
  | 'power'
  | 'pause'
  | 'skew'
  | 'statement'
  | 'disk'
  | 'outage'
  | 'backup'
  | 'restore'
  | 'commit'
  | 'failover';

export interface PlanOptions {
  readonly seed: number;
  readonly hours: number;
  /** In place of a number that depends on the hours. */
  readonly bursts?: number | undefined;
  /** Nodes that crash again and again after their starts, for each burst. */
  readonly crashes?: number | undefined;
}

const HOUR = 3_600_000;
const BURSTS_PER_DAY = 14;
const BURSTS_MIN = 6;
const ACTS_MAX = 16;
const RESTORED = 0.2;
/** A world that begins at 18 o'clock UTC has quiet hours in Berlin so long after its start. */
export const QUIET_AFTER_MS = 2 * HOUR;
/** Nothing dies in some bursts, and in others hardly anything lives. */
const DEATHS = [0, 3, 8, 20, 60];

export function planOf({ seed, hours, bursts: given, crashes = 0 }: PlanOptions): PlanEntry[] {
  const random = createRandom('plan', seed);
  const entries: Omit<PlanEntry, 'id'>[] = [];
  const bursts = given ?? Math.max(BURSTS_MIN, Math.round((hours / 24) * BURSTS_PER_DAY));
  const add = (begin: number) => addBurst(entries, random, begin, crashes);
  for (let burst = 0; burst < bursts; burst++) add(random.below(hours * HOUR));
  // Just before quiet hours begin in some worlds: see startOf.
  add(Math.min(QUIET_AFTER_MS, hours * HOUR) - random.below(10 * 60_000));
  if (random.chance(RESTORED)) addRestore(entries, random, hours * HOUR);
  return entries.sort((one, other) => one.at - other.at).map((entry, id) => ({ ...entry, id }));
}

/**
 * A backup is taken, life goes on, and the service is started on the backup. Clocks are right in
 * such a world: what is due later than now cannot have been sent.
 */
function addRestore(entries: Omit<PlanEntry, 'id'>[], random: Random, lengthMs: number): void {
  const { at } = random.pick(entries); // in the middle of a burst
  const restoredAt = Math.min(at + random.pick([2_000, 20_000, 120_000, HOUR]), lengthMs);
  const others = entries.filter(({ kind }) => kind !== 'skew');
  entries.splice(0, entries.length, ...others, { at, kind: 'backup' }, { at: restoredAt, kind: 'restore' });
}

/**
 * The same on a real PostgreSQL, which is restored by its own tools: see proof/disasters. Connections break
 * at commits beside acts. Where there is a standby, the server dies in the middle of a burst. A standby that
 * is behind is started with `columba restore --adopt`, like a backup of the moment that it knows.
 */
export function planOnPostgres(options: PlanOptions, failover: Failover | undefined): PlanEntry[] {
  const random = createRandom('postgres', options.seed);
  const entries = planOf(options).filter(({ kind }) => kind !== 'backup' && kind !== 'restore');
  const acts = entries.filter(({ kind }) => kind === 'act');
  const broken = acts.filter(() => random.chance(BROKEN_COMMITS)).map(({ at }) => ({ at, kind: 'commit' as const }));
  const place = random.below(acts.length - ACTS_LOST);
  const [{ at }, last] = [acts[place], acts[place + ACTS_LOST]] as [PlanEntry, PlanEntry];
  const died: Omit<PlanEntry, 'id'>[] = failover === 'synchronous' ? [{ at, kind: 'failover' }] : [];
  const lostAt = last.at + random.below(5_000);
  if (failover === 'behind') died.push({ at, kind: 'backup' }, { at: lostAt, kind: 'restore' });
  const added = [...broken, ...died].map((entry, place) => ({ ...entry, id: FIRST_ID_ON_POSTGRES + place }));
  // The standby is the last server. Where commits are lost, clocks are right: see addRestore.
  const unwanted = new Set<EntryKind>(
    failover === undefined ? [] : failover === 'behind' ? ['power', 'skew'] : ['power'],
  );
  return [...entries.filter(({ kind }) => !unwanted.has(kind)), ...added];
}
/** Whether the standby has every commit that was acknowledged, or lacks those of the last seconds or minutes. */
export type Failover = 'synchronous' | 'behind';
const BROKEN_COMMITS = 0.3;
const ACTS_LOST = 5;
const FIRST_ID_ON_POSTGRES = 1_000_000;

/** Much happens at once, and then nothing for a while: an idle hour costs little. */
function addBurst(entries: Omit<PlanEntry, 'id'>[], random: Random, begin: number, crashes: number): void {
  const spanMs = random.pick([2_000, 20_000, 120_000, 900_000]);
  const add = (kind: EntryKind, count: number) => {
    for (let each = 0; each < count; each++) entries.push({ at: begin + random.below(spanMs), kind });
  };
  add('act', random.between(3, ACTS_MAX));
  add('death', random.pick(DEATHS));
  add('crashes', crashes);
  add('statement', random.below(3));
  if (random.chance(0.3)) add('pause', random.between(1, 2));
  if (random.chance(0.3)) add('skew', random.between(1, 2));
  if (random.chance(0.25)) add('outage', 1);
  if (random.chance(0.1)) add('disk', 1);
  if (random.chance(0.06)) add('power', 1);
}
