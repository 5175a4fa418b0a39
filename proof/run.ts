import { spawnSync } from 'node:child_process';
import { type Proof, proofs } from './proofs.ts';

/**
 * `npm run proof` runs the bounded slice of every proof, `npm run proof slice NAME…` that of some.
 * `npm run proof NAME` runs its long campaign, or its slice where it has none.
 */
const USAGE = `npm run proof                    the bounded slice of all
npm run proof slice NAME…        the bounded slice of some
npm run proof NAME [-- OPTIONS]  all of one: its campaign where it has one

${Object.entries(proofs)
  .map(([name, { proves }]) => `${name.padEnd(12)} ${proves}`)
  .join('\n')}
`;

function run(...args: string[]): number {
  const options = ['--disable-warning=ExperimentalWarning', ...args];
  return spawnSync(process.execPath, options, { stdio: 'inherit' }).status ?? 1;
}

const runSlices = (chosen: readonly Proof[]): number => run('test/run.ts', ...chosen.flatMap(({ slice }) => slice));

function main([name = 'slice', ...rest]: readonly string[]): number {
  const chosen = name === 'slice' ? rest : [name];
  const unknown = chosen.filter((each) => !proofs[each]);
  if (unknown.length > 0) {
    process.stderr.write(`There is no proof ${unknown.join(', ')}.\n\n${USAGE}`);
    return 2;
  }
  if (name === 'slice')
    return runSlices(rest.length > 0 ? rest.map((each) => proofs[each] as Proof) : Object.values(proofs));
  const proof = proofs[name] as Proof;
  return proof.campaign ? run(proof.campaign, ...rest) : runSlices([proof]);
}

process.exitCode = main(process.argv.slice(2));
