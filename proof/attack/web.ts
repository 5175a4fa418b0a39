import { type Engine, engines } from '../../test/support/engines.ts';
import { type OperatorApi, startOperatorApi } from '../../test/support/operator-api.ts';
import { isMain, leastCost } from './hold.ts';
import { type WebRoute, webRoutes } from './web-routes.ts';
import { hostileRequests } from './web-shapes.ts';

/**
 * What a request to any route of the second listener may cost: `node bin/node.cjs proof/attack/web.ts [part of a route's name [requests of each caller]]`.
 * Prints the dearest requests, and ends with 1 where a budget is exceeded.
 */

/** Longer than this no request may hold up the event loop, in CPU as machine.ts counts it. */
export const HOLD_MS_MAX = 50;
/** A request may take so much CPU in all turns, and so much more for each byte. */
const CPU_MS_MAX = 150;
const CPU_US_PER_BYTE_MAX = 0.5;
/** A cost is measured so often before it counts as over the budget. */
export const RUNS = 4;
const BODY_BYTES = 10_000_000;
const SHOWN = 25;
/** A prime, so that each route gets other shapes first. */
const STEP = 7;

export interface Measured {
  readonly route: string;
  readonly caller: string;
  readonly shape: string;
  readonly bytes: number;
  readonly status: number;
  readonly holdMs: number;
  readonly cpuMs: number;
}

/** So many times over its budget: 1 is just within it. */
export const shareOfBudget = ({ holdMs, cpuMs, bytes }: Measured): number =>
  Math.max(holdMs / HOLD_MS_MAX, cpuMs / (CPU_MS_MAX + (bytes * CPU_US_PER_BYTE_MAX) / 1_000));

export const shownCost = ({ route, caller, shape, bytes, status, holdMs, cpuMs }: Measured): string =>
  `${holdMs.toFixed(1).padStart(8)} ms held ${cpuMs.toFixed(1).padStart(8)} ms CPU ${String(bytes).padStart(9)} bytes ${status} ${route}, ${caller}: ${shape}`;

interface Selection {
  readonly bodyBytes: number;
  /** Requests of each caller at each route, others in each route; all where it is not given. */
  readonly ofEach?: number;
  readonly isWanted?: (route: string) => boolean;
  /** Called for each route when all its requests have been measured. */
  readonly attacked?: (ofRoute: readonly Measured[]) => void;
}

export async function measureWeb(
  api: OperatorApi,
  routes: readonly WebRoute[],
  { bodyBytes, ofEach, isWanted, attacked }: Selection,
): Promise<Measured[]> {
  const measured: Measured[] = [];
  let turn = 0;
  for (const route of routes) {
    if (isWanted && !isWanted(route.name)) continue;
    const before = measured.length;
    for (const [caller, fields] of Object.entries(route.callers)) {
      const all = [...hostileRequests(route, fields, bodyBytes)];
      const chosen =
        ofEach === undefined ? all : Array.from({ length: ofEach }, (_, index) => all[(turn + index) % all.length]);
      turn += STEP;
      for (const request of chosen) {
        if (!request) continue;
        const bytes = request.make();
        const cost = await leastCost(api.address, bytes, RUNS, HOLD_MS_MAX / 2);
        measured.push({ route: route.name, caller, shape: request.shape, bytes: bytes.length, ...cost });
      }
    }
    attacked?.(measured.slice(before));
  }
  return measured;
}

if (isMain(import.meta.url)) {
  const [wanted = '', given] = process.argv.slice(2);
  const api = await startOperatorApi(engines[0] as Engine);
  const ofEach = given === undefined ? undefined : Number(given);
  const isWanted = (route: string) => route.includes(wanted);
  const print = (line: string) => void process.stdout.write(`${line}\n`);
  const dearest = (one: Measured, other: Measured) => other.holdMs - one.holdMs;
  // All routes take more than an hour: each one is shown when it is done.
  const attacked = (ofRoute: readonly Measured[]) => {
    const [most] = ofRoute.toSorted(dearest);
    if (most) print(`${String(ofRoute.length).padStart(4)} ${shownCost(most)}`);
  };
  const measured = await measureWeb(api, await webRoutes(api), {
    bodyBytes: BODY_BYTES,
    isWanted,
    attacked,
    ...(ofEach && { ofEach }),
  });
  await api.stop();
  const over = measured.filter((each) => shareOfBudget(each) > 1);
  measured.sort(dearest);
  print(`\n## Every route of the second listener: ${measured.length} requests, the dearest first\n`);
  for (const each of measured.slice(0, SHOWN)) print(shownCost(each));
  print(`\nOver budget: ${over.length}`);
  for (const each of over) print(shownCost(each));
  const failed = measured.filter(({ status }) => status === 500);
  for (const each of failed) print(`internal error: ${shownCost(each)}`);
  process.exitCode = over.length + failed.length > 0 ? 1 : 0;
}
