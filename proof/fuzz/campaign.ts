import type { Engine } from '../../test/support/engines.ts';
import { createRandom } from '../../test/support/random.ts';
import { demandSteadyMemory } from './memory.ts';
import { minimised } from './minimiser.ts';
import { type Finding, type Found, type Session, type Target, toFinding } from './target.ts';

/** Inputs one after the other, each the same for the same seed and number, until there are enough or a rule is broken. */
export interface Plan {
  readonly engine: Engine;
  readonly seed: number;
  /** The number of the first input and the one after the last. */
  readonly from: number;
  readonly to: number;
  readonly progress?: (summary: Summary) => void;
  /** Told of every input before it is sent. */
  readonly next?: (number: number) => void;
}

export interface Summary {
  inputs: number;
  /** How many answers there were of each kind. */
  readonly answers: Map<string, number>;
  slowest: { ms: number; number: number };
  found: Found | null;
}

/** After so many inputs there is a fresh service: calls that delete have left little to read by then. */
const SERVICE_INPUTS = 250;
const MEMORY_EVERY_INPUTS = 2_000;

export async function campaign<I>(
  target: Target<I>,
  { engine, seed, from, to, progress, next }: Plan,
): Promise<Summary> {
  const summary: Summary = { inputs: 0, answers: new Map(), slowest: { ms: 0, number: from }, found: null };
  const input = (number: number) => target.generate(createRandom(`${target.name} ${number}`, seed));
  for (let start = from; start < to && !summary.found; start += SERVICE_INPUTS) {
    const session = await target.open(engine);
    let number = start;
    try {
      for (; number < Math.min(to, start + SERVICE_INPUTS); number += 1) {
        next?.(number);
        const startedAt = performance.now();
        const kind = await session.examine(input(number));
        const ms = performance.now() - startedAt;
        if (ms > summary.slowest.ms) summary.slowest = { ms, number };
        summary.answers.set(kind, (summary.answers.get(kind) ?? 0) + 1);
        summary.inputs += 1;
      }
      await session.finish();
    } catch (thrown) {
      const finding = toFinding(thrown);
      const inputs = Array.from({ length: Math.min(to, number + 1) - start }, (_, index) => input(start + index));
      summary.found = await minimised(target, engine, finding, inputs);
    } finally {
      await session.close();
    }
    if (!summary.found && summary.inputs % MEMORY_EVERY_INPUTS === 0) summary.found = growth();
    progress?.(summary);
  }
  return summary;
}

/** No single input is behind it. */
function growth(): Found | null {
  try {
    demandSteadyMemory();
    return null;
  } catch (thrown) {
    return { ...toFinding(thrown), inputs: [] };
  }
}

/** Whether these inputs, one after the other, are all as they should be; the finding if not. */
export async function replay<I>(target: Target<I>, engine: Engine, inputs: readonly I[]): Promise<Finding | null> {
  const session: Session<I> = await target.open(engine);
  try {
    for (const input of inputs) await session.examine(input);
    await session.finish();
    return null;
  } catch (thrown) {
    return toFinding(thrown);
  } finally {
    await session.close();
  }
}
