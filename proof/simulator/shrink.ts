import { type PlanEntry, planOf } from './plan.ts';
import { type Simulation, type SimulationOptions, simulate } from './simulate.ts';

/**
 * Leaves out of the plan what is not needed for the same rule to fail: whole kinds first, then halves and smaller
 * pieces, until nothing can go or the tries are used up.
 */
export async function shrink(
  options: SimulationOptions,
  rule: string,
  triesMax: number,
  progress: (entries: number) => void = () => {},
): Promise<{ plan: readonly PlanEntry[]; result: Simulation }> {
  let plan: readonly PlanEntry[] = options.plan ?? planOf(options);
  let result = await simulate({ ...options, plan });
  let tries = 0;
  const tryWith = async (shorter: readonly PlanEntry[]): Promise<boolean> => {
    tries += 1;
    const tried = await simulate({ ...options, plan: shorter });
    if (!tried.faults.some((fault) => fault.rule === rule)) return false;
    plan = shorter;
    result = tried;
    progress(plan.length);
    return true;
  };
  for (const unwanted of new Set(plan.map(({ kind }) => kind)))
    await tryWith(plan.filter(({ kind }) => kind !== unwanted));
  for (
    let size = Math.ceil(plan.length / 2);
    size >= 1 && tries < triesMax;
    size = size > 1 ? Math.ceil(size / 2) : 0
  ) {
    for (let from = 0; from < plan.length && tries < triesMax; ) {
      const shorter = [...plan.slice(0, from), ...plan.slice(from + size)];
      if (!(await tryWith(shorter))) from += size;
    }
  }
  return { plan, result };
}
