import type { Columba } from './columba.ts';
import { driveOperation, NAMES, type Name } from './operations.ts';
import { mainThreadUs } from './proc.ts';
import { say } from './report.ts';
import { mean, median, quantile } from './rounds.ts';
import { numberFrom } from './settings.ts';

/**
 * Two services that differ in one thing. Two processes of one program already differ by more than a
 * tenth, because each compiles its functions in an order of its own and lies elsewhere in memory.
 * So every pair is two new processes, and only the median of many pairs says something.
 */
const PAIRS = numberFrom('PAIRS', 15);
const REQUESTS = numberFrom('REQUESTS', 10_000);
/** Within a pair the two take turns: a machine's speed changes within seconds. */
const SLICES = 4;

export interface Candidate {
  start(): Promise<Columba>;
  /** Processes that work for it, such as those of a database. */
  readonly behind?: () => number[];
}

/** CPU in microseconds for each call. */
interface Cost {
  /** Of the thread that answers calls. */
  readonly servingUs: number;
  /** Of all threads of the service, and of what is behind it. */
  readonly wholeUs: number;
}

type Costs = Record<Name, { base: Cost; own: Cost }[]>;

export async function comparePairs(base: Candidate, own: Candidate): Promise<Costs> {
  const costs = Object.fromEntries(NAMES.map((name) => [name, []])) as unknown as Costs;
  const sides = [follow(base), follow(own)] as const;
  for (let pair = 0; pair < PAIRS; pair++) {
    const order = pair % 2 === 0 ? sides : sides.toReversed();
    for (const side of order) await side.start();
    for (const name of NAMES) {
      for (const side of order) await side.drive(name, REQUESTS); // until its functions are compiled
      for (let slice = 0; slice < SLICES; slice++) {
        for (const side of order) side.slices.push(await side.drive(name, REQUESTS / SLICES));
      }
      const [first, second] = sides.map(({ slices }) => meanOf(slices.splice(0)));
      costs[name].push({ base: first as Cost, own: second as Cost });
    }
    for (const side of sides) await side.stop();
    say(`pair ${pair + 1} of ${PAIRS}`);
  }
  return costs;
}

/** One object for all processes of a candidate: the calls of the next go on where those of the last ended. */
function follow({ start, behind = () => [] }: Candidate) {
  let running: Columba;
  const server = {
    get port() {
      return running.port;
    },
    pids: () => running.pids(),
    stop: () => running.stop(),
  };
  return {
    slices: [] as Cost[],
    start: async () => {
      running = await start();
    },
    stop: server.stop,
    async drive(operation: Name, requests: number): Promise<Cost> {
      const before = mainThreadUs(running.pid);
      const { cpuUs, behindUs } = await driveOperation({ server, behind, protocol: 'SOAP 1.1', operation, requests });
      return { servingUs: (mainThreadUs(running.pid) - before) / requests, wholeUs: cpuUs + behindUs };
    },
  };
}

const meanOf = (costs: readonly Cost[]): Cost => ({
  servingUs: mean(costs.map(({ servingUs }) => servingUs)),
  wholeUs: mean(costs.map(({ wholeUs }) => wholeUs)),
});

/** What a call costs, how much more than at the base, and between which quartiles of the pairs that lies. */
export function tableOf(costs: Costs, baseName: string, ownName: string): { head: string[]; rows: string[][] } {
  const head = ['call', ...['serving thread', 'whole'].flatMap((of) => [`${of}, ${baseName}`, ownName, 'ratio'])];
  const rows = NAMES.map((name) => {
    const cells = (['servingUs', 'wholeUs'] as const).flatMap((of) => {
      const ratios = costs[name].map(({ base, own }) => own[of] / base[of]);
      const [low, middle, high] = [0.25, 0.5, 0.75].map((part) => quantile(ratios, part).toFixed(3));
      const side = (which: 'base' | 'own') => median(costs[name].map((cost) => cost[which][of])).toFixed(1);
      return [side('base'), side('own'), `${middle} (${low}–${high})`];
    });
    return [name, ...cells];
  });
  return { head, rows };
}

export const PAIRS_MEASURED = `${PAIRS} pairs of new processes, ${REQUESTS} calls of each after as many that do not count, in turn. CPU in µs for each call; the median of the ratios and their quartiles.`;
