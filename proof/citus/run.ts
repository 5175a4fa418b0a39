import { spawn } from 'node:child_process';
import { globSync } from 'node:fs';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildCitus, whyNot } from './cluster.ts';
import { type AskedNode, runSuite, SUITES } from './suites.ts';

/**
 * `npm run proof citus [-- PART…]`: builds Citus if it is missing, runs the tests of this folder, and then the suites of
 * `npm test` on clusters, asked through the coordinator and then through a worker. One part runs after the other, so that
 * figures are not those of a machine that does something else. Exits with 1 if something failed, and with 3 if there is no
 * Citus and no source of it.
 */
const root = fileURLToPath(new URL('../..', import.meta.url));
const print = (line: string) => void process.stdout.write(`${line}\n`);

interface Result {
  readonly code: number;
  /** What remains to be said of it in one line. */
  readonly remark?: string;
}

function runFile(file: string): () => Promise<Result> {
  return async () => {
    const child = spawn(process.execPath, ['bin/node.cjs', 'test/run.ts', '--proof', file], {
      cwd: root,
      stdio: 'inherit',
    });
    return { code: await new Promise<number>((resolve) => child.once('exit', (code) => resolve(code ?? 1))) };
  };
}

const parts: Readonly<Record<string, () => Promise<Result>>> = Object.fromEntries([
  ...globSync('proof/citus/*.test.ts', { cwd: root })
    .sort()
    .map((file) => [basename(file, '.test.ts'), runFile(file)] as const),
  ...(['coordinator', 'worker'] as const).flatMap((asked: AskedNode) =>
    SUITES.map((path) => [`${asked}/${path}`, () => runSuite(path, asked)] as const),
  ),
]);

async function main(chosen: readonly string[]): Promise<number> {
  const names = chosen.length > 0 ? chosen : Object.keys(parts);
  const unknown = names.filter((name) => !Object.hasOwn(parts, name));
  if (unknown.length > 0) {
    print(`Unknown: ${unknown.join(', ')}. Choose from ${Object.keys(parts).join(', ')}.`);
    return 2;
  }
  const reason = whyNot();
  if (reason) {
    print(`NOT PROVED HERE: ${reason}.`);
    return 3;
  }
  buildCitus();
  const failed: string[] = [];
  for (const [index, name] of names.entries()) {
    const startedAt = performance.now();
    print(`== ${index + 1} of ${names.length}: ${name}`);
    const { code, remark } = await (parts[name] as () => Promise<Result>)();
    const minutes = ((performance.now() - startedAt) / 60_000).toFixed(1);
    print(`== ${name}: ${code === 0 ? 'passed' : 'FAILED'} in ${minutes} minutes${remark ? `, ${remark}` : ''}`);
    if (code !== 0) failed.push(name);
  }
  print(failed.length === 0 ? `all ${names.length} parts passed` : `FAILED: ${failed.join(', ')}`);
  return failed.length === 0 ? 0 : 1;
}

process.exitCode = await main(process.argv.slice(2));
