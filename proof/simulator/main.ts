import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { added, isReached, keep, type Options, openCampaign, summaryOf } from './campaign.ts';
import { folderOf } from './lay-disk.ts';
import { type Failover, planOf, planOnPostgres } from './plan.ts';
import { jsonOf } from './recorder.ts';
import { seeds as keptSeeds } from './seeds.ts';
import { makeTemplate } from './setup.ts';
import { shrink } from './shrink.ts';
import { type Simulation, type SimulationOptions, simulate } from './simulate.ts';
import { type Storage, sqliteStorage } from './storage.ts';

/** The options of run.ts. */
export interface Values {
  readonly seed?: string | undefined;
  readonly seeds: string;
  readonly hours: string;
  readonly nodes: string;
  readonly bursts?: string | undefined;
  readonly crashes?: string | undefined;
  readonly minutes?: string | undefined;
  readonly campaign?: string | undefined;
  readonly days: string;
  readonly deaths: string;
  readonly history: boolean;
  readonly shrink: boolean;
  readonly tries: string;
  readonly quiet: boolean;
  readonly postgres: boolean;
  readonly failover: boolean;
  readonly behind: boolean;
  readonly kept: boolean;
  readonly 'until-fault': boolean;
}

/** One seed after the other, and what the checker says about each. */
const print = (line: string) => void process.stdout.write(`${line}\n`);
const QUIET_EVERY = 50;

export async function main(values: Values): Promise<void> {
  const storages = await storagesOf(values);
  const first = Number(values.seed ?? Date.now() % 1_000_000_000);
  const { campaign } = values;
  const given = optionsOf(values);
  const goal = { days: Number(values.days), deaths: Number(values.deaths) };
  let sums = openCampaign(campaign, first, given, goal);
  const isOver = () => campaign !== undefined && isReached(sums);
  if (sums.seeds > 0) print(`continues: ${summaryOf(sums)}`);
  for (const world of worldsOf(values, sums.nextSeed, isOver)) {
    const planned = { ...given, ...world };
    const plan = isOnPostgres(values) ? planOnPostgres(planned, failoverOf(values)) : planOf(planned);
    const options = { ...planned, plan, lay: () => storages.lay(world.seed) };
    const startedAt = process.cpuUsage();
    const result = await simulate(options);
    const { user, system } = process.cpuUsage(startedAt);
    const cpu = (user + system) / 1e6;
    sums = added(sums, result, cpu);
    if (campaign !== undefined) keep(campaign, sums);
    const isQuiet = values.quiet || campaign !== undefined;
    if (!isQuiet || result.faults.length > 0) print(lineOf(result, cpu));
    else if (sums.seeds % QUIET_EVERY === 0) print(summaryOf(sums));
    await tell(result, options, values);
    if (result.faults.length > 0) process.exitCode = 1;
    if (result.faults.length > 0 && values['until-fault']) break;
  }
  if (sums.seeds > 1) print(summaryOf(sums));
  await storages.remove();
}

interface Storages {
  lay(seed: number): Storage | Promise<Storage>;
  remove(): void | Promise<void>;
}

const isOnPostgres = ({ postgres, failover, behind }: Values): boolean => postgres || failover || behind;
const failoverOf = ({ failover, behind }: Values): Failover | undefined =>
  behind ? 'behind' : failover ? 'synchronous' : undefined;
const ON_POSTGRES = ['behind', 'failover', 'postgres'] as const;

async function storagesOf(values: Values): Promise<Storages> {
  if (isOnPostgres(values)) return (await import('./postgres/storage.ts')).createServers(failoverOf(values));
  const folder = mkdtempSync(join(folderOf(), 'columba-template-'));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  process.once('exit', remove);
  const template = await makeTemplate(folder);
  return { lay: () => sqliteStorage(template), remove };
}

const numberOf = (text: string | undefined): number | undefined => (text === undefined ? undefined : Number(text));

/** A campaign has worlds in which much dies and little else happens: see docs/TESTING.md. */
const optionsOf = ({ nodes, hours, bursts, crashes, campaign }: Values): Options =>
  campaign === undefined
    ? { nodes: Number(nodes), hours: Number(hours), bursts: numberOf(bursts), crashes: numberOf(crashes) }
    : {
        nodes: Number(nodes),
        hours: Number(hours),
        bursts: Number(bursts ?? CAMPAIGN.bursts),
        crashes: Number(crashes ?? CAMPAIGN.crashes),
      };
const CAMPAIGN = { bursts: 7, crashes: 7 };

/** Those of the list, as many as were asked for, or as many as the time or the goal allows. */
function* worldsOf(
  values: Values,
  first: number,
  isReached: () => boolean,
): Iterable<{ readonly seed: number } & Partial<Options>> {
  if (values.kept) return yield* keptSeeds.filter(({ behind = false }) => behind === values.behind);
  const { minutes, seeds, campaign } = values;
  const endsAt = minutes === undefined ? undefined : performance.now() + Number(minutes) * 60_000;
  const isOver = (count: number): boolean => {
    if (endsAt !== undefined && performance.now() > endsAt) return true;
    return campaign === undefined ? endsAt === undefined && count >= Number(seeds) : isReached();
  };
  for (let count = 0; !isOver(count); count++) yield { seed: first + count };
}

const lineOf = (
  { seed, hash, hours, messages, deaths, requests, commits, steps, faults, notes }: Simulation,
  cpu: number,
): string =>
  `seed ${seed}: ${hash}, ${hours.toFixed(0)} hours, ${messages} messages, ${deaths} deaths, ${requests} requests, ${commits} commits, ${steps} steps, ${cpu.toFixed(2)} s CPU, ${faults.length} faults${notes === undefined ? '' : `; ${notes}`}`;

/** What repeats this world. */
const commandOf = ({ seed, hours, nodes, bursts, crashes }: SimulationOptions): string =>
  [
    `npm run simulate -- --seed ${seed} --hours ${hours} --nodes ${nodes}`,
    ...(bursts === undefined ? [] : [`--bursts ${bursts}`]),
    ...(crashes === undefined ? [] : [`--crashes ${crashes}`]),
  ].join(' ');

async function tell(result: Simulation, options: SimulationOptions, values: Values): Promise<void> {
  for (const { rule, text } of result.faults.slice(0, 10)) print(`  ${rule}: ${text}`);
  const again = `${[commandOf(options), ...ON_POSTGRES.filter((each) => values[each]).map((each) => `--${each}`)].join(' ')} --shrink`;
  if (result.faults.length > 0 && !values.shrink) print(`  To see what is needed for it: ${again}`);
  if (values.history) tellHistory(result);
  const [fault] = result.faults;
  if (!values.shrink || !fault) return;
  const { plan, result: shortest } = await shrink(options, fault.rule, Number(values.tries));
  print(`  ${plan.length} entries of the plan are enough: ${plan.map(({ id, kind }) => `${id} ${kind}`).join(', ')}`);
  for (const { rule, text } of shortest.faults.slice(0, 10)) print(`  ${rule}: ${text}`);
  tellHistory(shortest);
}

function tellHistory({ events }: Simulation): void {
  for (const [order, event] of events.entries()) print(`  ${order} ${jsonOf(event)}`);
}
