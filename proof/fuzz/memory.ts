import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { demand } from './target.ts';

/** Memory that inputs leave behind for good. Compiled code and cached responses make for some MiB, and then no more. */
const GROWTH_MAX_MIB = 48;

let first: number | undefined;

/** The first look is what the others are held against. */
export function demandSteadyMemory(): void {
  const now = memoryInUse();
  first ??= now;
  const told = `from ${first.toFixed(0)} to ${now.toFixed(0)} MiB`;
  demand(now - first <= GROWTH_MAX_MIB, 'memory grows', () => told);
}

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** In MiB, without what can be thrown away. */
function memoryInUse(): number {
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / 2 ** 20;
}
