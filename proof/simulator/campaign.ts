import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import type { Simulation } from './simulate.ts';

/**
 * A campaign of many worlds that may be stopped and continued: its file has the sums so far and the
 * next seed. It is over when it has the days and the deaths that were asked for.
 */
export interface Goal {
  readonly days: number;
  readonly deaths: number;
}
export interface Options {
  readonly hours: number;
  readonly nodes: number;
  readonly bursts?: number | undefined;
  readonly crashes?: number | undefined;
}
export interface Sums {
  readonly firstSeed: number;
  readonly nextSeed: number;
  readonly options: Options;
  readonly goal: Goal;
  readonly seeds: number;
  readonly days: number;
  readonly deaths: number;
  readonly messages: number;
  readonly requests: number;
  readonly commits: number;
  readonly cpuSeconds: number;
  /** Each can be run again by its seed and the options. */
  readonly faults: readonly { readonly seed: number; readonly rule: string; readonly text: string }[];
}

const FAULTS_MAX = 1_000;

/** The sums of the file, or those of a campaign that begins. */
export function openCampaign(path: string | undefined, firstSeed: number, options: Options, goal: Goal): Sums {
  if (path === undefined || !existsSync(path)) return { ...NOTHING, firstSeed, nextSeed: firstSeed, options, goal };
  const read = JSON.parse(readFileSync(path, 'utf8')) as Sums;
  if (JSON.stringify(read.options) !== JSON.stringify(options))
    throw new Error(`${path} is a campaign with ${JSON.stringify(read.options)}`);
  return { ...read, goal };
}
const NOTHING = { seeds: 0, days: 0, deaths: 0, messages: 0, requests: 0, commits: 0, cpuSeconds: 0, faults: [] };

export function added(sums: Sums, result: Simulation, cpuSeconds: number): Sums {
  const { seed, hours, deaths, messages, requests, commits } = result;
  const faults = result.faults.map(({ rule, text }) => ({ seed, rule, text }));
  return {
    ...sums,
    nextSeed: seed + 1,
    seeds: sums.seeds + 1,
    days: sums.days + hours / 24,
    deaths: sums.deaths + deaths,
    messages: sums.messages + messages,
    requests: sums.requests + requests,
    commits: sums.commits + commits,
    cpuSeconds: sums.cpuSeconds + cpuSeconds,
    faults: [...sums.faults, ...faults].slice(0, FAULTS_MAX),
  };
}

/** A campaign that is killed while it writes finds the file as it was. */
export function keep(path: string, sums: Sums): void {
  writeFileSync(`${path}.new`, `${JSON.stringify(sums, null, 2)}\n`);
  renameSync(`${path}.new`, path);
}

export const isReached = ({ days, deaths, goal }: Sums): boolean => days >= goal.days && deaths >= goal.deaths;

export function summaryOf(sums: Sums): string {
  const { seeds, firstSeed, days, deaths, messages, requests, commits, cpuSeconds, faults } = sums;
  const cpuHours = cpuSeconds / 3_600;
  const rates = `${(days / cpuHours).toFixed(0)} days and ${(deaths / cpuHours).toFixed(0)} deaths per CPU-hour`;
  const failing = new Set(faults.map(({ seed }) => seed)).size;
  return `${seeds} seeds from ${firstSeed}: ${days.toFixed(0)} days, ${deaths} deaths, ${messages} messages, ${requests} requests, ${commits} commits, ${failing} seeds with faults, ${cpuSeconds.toFixed(0)} s CPU: ${rates}`;
}
