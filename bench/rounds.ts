/**
 * Measuring on machines that are never quiet: candidates take turns, round by round, and only ratios within one run count.
 * Median of the rounds, and how far they were apart.
 */
export type Figures = Readonly<Record<string, number>>;
export type Candidates = Readonly<Record<string, () => Promise<Figures>>>;
export type Results = Readonly<Record<string, readonly Figures[]>>;

export const ROUNDS = Number(process.env.ROUNDS ?? 7);

export async function rounds(candidates: Candidates, count = ROUNDS): Promise<Results> {
  const results: Record<string, Figures[]> = {};
  for (let round = 0; round <= count; round++) {
    for (const [name, measure] of Object.entries(candidates)) {
      const figures = await measure();
      results[name] ??= [];
      if (round > 0) results[name].push(figures); // the first one warms up
    }
    process.stderr.write(`round ${round} of ${count}\n`);
  }
  return results;
}

const median = (values: readonly number[]): number => {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1
    ? (sorted[middle] as number)
    : ((sorted[middle - 1] as number) + (sorted[middle] as number)) / 2;
};

/** Figures in which less is better, and how many times better than `base` each candidate was, round by round. */
export function table(results: Results, base: string): string {
  const names = Object.keys(results);
  const figures = Object.keys(results[base]?.[0] ?? {});
  const of = (name: string, figure: string) => (results[name] ?? []).map((each) => each[figure] ?? Number.NaN);
  const cell = (name: string, figure: string) => {
    const ratios = of(name, figure).map((value, round) => (of(base, figure)[round] as number) / value);
    const spread = `${Math.min(...ratios).toFixed(2)}–${Math.max(...ratios).toFixed(2)}`;
    return `${median(of(name, figure)).toFixed(1)}; ${median(ratios).toFixed(2)} (${spread})`;
  };
  const lines = [
    `| | ${figures.join(' | ')} |`,
    `|---|${figures.map(() => '---|').join('')}`,
    ...names.map((name) => `| ${name} | ${figures.map((figure) => cell(name, figure)).join(' | ')} |`),
  ];
  return `${lines.join('\n')}\n`;
}
