import { spawnSync } from 'node:child_process';
import { missingPackages } from './packages.ts';
import { type Proof, proofs } from './proofs.ts';

/**
 * `npm run proof` runs the bounded slice of every proof, `npm run proof slice NAME…` that of some.
 * `npm run proof NAME` runs its long campaign, or its slice where it has none.
 */
const USAGE = `npm run proof                    the bounded slice of all
npm run proof slice NAME…        the bounded slice of some
npm run proof NAME [-- OPTIONS]  all of one: its campaign where it has one

Exit codes: 0 all proved, 1 something failed, 2 not understood, 3 nothing failed, but a program is missing.

${Object.entries(proofs)
  .map(([name, { proves }]) => `${name.padEnd(12)} ${proves}`)
  .join('\n')}
`;

function run(...args: string[]): number {
  const options = ['--disable-warning=ExperimentalWarning', ...args];
  return spawnSync(process.execPath, options, { stdio: 'inherit' }).status ?? 1;
}

function runSlices(chosen: readonly Proof[]): number {
  const missing = missingPackages();
  if (missing.length > 0) {
    const names = missing.join(' ');
    process.stdout.write(`Missing: ${names}. What needs them is not proved here. Try: apt-get install ${names}\n`);
  }
  return run('test/run.ts', '--proof', ...chosen.flatMap(({ slice }) => slice));
}

function main([name = 'slice', ...rest]: readonly string[]): number {
  const chosen = name === 'slice' ? rest : [name];
  const unknown = chosen.filter((each) => !Object.hasOwn(proofs, each));
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
