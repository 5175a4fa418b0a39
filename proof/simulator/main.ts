import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { jsonOf } from './recorder.ts';
import { seeds as keptSeeds } from './seeds.ts';
import { makeTemplate } from './setup.ts';
import { shrink } from './shrink.ts';
import { type Simulation, type SimulationOptions, simulate } from './simulate.ts';
import { folderOf } from './world.ts';

/** The options of run.ts. */
export interface Values {
  readonly seed?: string | undefined;
  readonly seeds: string;
  readonly hours: string;
  readonly nodes: string;
  readonly minutes?: string | undefined;
  readonly history: boolean;
  readonly shrink: boolean;
  readonly quiet: boolean;
  readonly kept: boolean;
  readonly 'until-fault': boolean;
}

/** One seed after the other, and what the checker says about each. */
const print = (line: string) => void process.stdout.write(`${line}\n`);
const SHRINKING_TRIES = 300;
const QUIET_EVERY = 50;

export async function main(values: Values): Promise<void> {
  const folder = mkdtempSync(join(folderOf(), 'columba-template-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  const template = await makeTemplate(folder);
  const first = Number(values.seed ?? Date.now() % 1_000_000_000);
  const totals = { seeds: 0, hours: 0, messages: 0, deaths: 0, requests: 0, commits: 0, faults: 0 };
  for (const { seed, hours } of worldsOf(values, first)) {
    const options = { seed, hours, nodes: Number(values.nodes), template };
    const startedAt = process.cpuUsage();
    const result = await simulate(options);
    const { user, system } = process.cpuUsage(startedAt);
    totals.seeds += 1;
    for (const key of ['hours', 'messages', 'deaths', 'requests', 'commits'] as const) totals[key] += result[key];
    totals.faults += result.faults.length;
    if (!values.quiet || result.faults.length > 0) print(lineOf(result, (user + system) / 1e6));
    else if (totals.seeds % QUIET_EVERY === 0) print(sumOf(first, totals));
    await tell(result, options, values);
    if (result.faults.length > 0) process.exitCode = 1;
    if (result.faults.length > 0 && values['until-fault']) break;
  }
  if (totals.seeds > 1) print(sumOf(first, totals));
}

/** Those of the list, as many as were asked for, or as many as the time allows. */
function* worldsOf(values: Values, first: number): Iterable<{ readonly seed: number; readonly hours: number }> {
  if (values.kept) return yield* keptSeeds;
  const { minutes, seeds } = values;
  const endsAt = minutes === undefined ? undefined : performance.now() + Number(minutes) * 60_000;
  const isOver = (count: number) => (endsAt === undefined ? count >= Number(seeds) : performance.now() > endsAt);
  for (let count = 0; !isOver(count); count++) yield { seed: first + count, hours: Number(values.hours) };
}

const lineOf = (
  { seed, hash, hours, messages, deaths, requests, commits, steps, faults }: Simulation,
  cpu: number,
): string =>
  `seed ${seed}: ${hash}, ${hours.toFixed(0)} hours, ${messages} messages, ${deaths} deaths, ${requests} requests, ${commits} commits, ${steps} steps, ${cpu.toFixed(2)} s CPU, ${faults.length} faults`;

function sumOf(first: number, totals: Readonly<Record<string, number>>): string {
  const { user, system } = process.cpuUsage();
  const cpuHours = (user + system) / 3.6e9;
  const days = (totals.hours as number) / 24;
  const rates = `${(days / cpuHours).toFixed(0)} days and ${((totals.deaths as number) / cpuHours).toFixed(0)} deaths per CPU-hour`;
  return `${totals.seeds} seeds from ${first}: ${days.toFixed(0)} days, ${totals.deaths} deaths, ${totals.messages} messages, ${totals.requests} requests, ${totals.commits} commits, ${totals.faults} faults, ${(cpuHours * 3_600).toFixed(0)} s CPU: ${rates}`;
}

async function tell(result: Simulation, options: SimulationOptions, values: Values): Promise<void> {
  for (const { rule, text } of result.faults.slice(0, 10)) print(`  ${rule}: ${text}`);
  const { seed, hours, nodes } = options;
  const again = `npm run simulate -- --seed ${seed} --hours ${hours} --nodes ${nodes} --shrink`;
  if (result.faults.length > 0 && !values.shrink) print(`  To see what is needed for it: ${again}`);
  if (values.history) tellHistory(result);
  const [fault] = result.faults;
  if (!values.shrink || !fault) return;
  const { plan, result: shortest } = await shrink(options, fault.rule, SHRINKING_TRIES);
  print(`  ${plan.length} entries of the plan are enough: ${plan.map(({ id, kind }) => `${id} ${kind}`).join(', ')}`);
  for (const { rule, text } of shortest.faults.slice(0, 10)) print(`  ${rule}: ${text}`);
  tellHistory(shortest);
}

function tellHistory({ events }: Simulation): void {
  for (const [order, event] of events.entries()) print(`  ${order} ${jsonOf(event)}`);
}
