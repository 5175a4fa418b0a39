import { spawnSync } from 'node:child_process';
import { existsSync, globSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readXml } from '../../src/asmx/xml/reader.ts';
import { type Engine, engines } from '../../test/support/engines.ts';
import { LIMITS } from '../../test/support/limits.ts';
import { startService } from '../../test/support/service.ts';
import { cpuOf } from './cpu.ts';
import { formShapes } from './form-shapes.ts';
import { shapes } from './xml-shapes.ts';

/**
 * `npm run proof attack`: what callers without a user_id can cost. Prints the CPU of every shape, then runs the tests of this
 * folder at full size, then attacks every route of the second listener, then the crowds. Takes some minutes; ends with 1 where a budget is exceeded.
 */

const SIZES = [10_000, 100_000, 1_000_000];
/** Of one request of at most 1 MiB: longer than this nobody may hold up the event loop. */
const BUDGET_MS = 50;

let isOver = false;
const print = (line: string) => void process.stdout.write(`${line}\n`);

async function table(title: string, named: Record<string, (bytes: number) => string>, read: (text: string) => unknown) {
  print(`\n## ${title}\n\n| shape | ${SIZES.map((size) => `${size / 1_000} KB, ms of CPU`).join(' | ')} |`);
  print(`|---|${'---|'.repeat(SIZES.length)}`);
  for (const [name, shape] of Object.entries(named)) {
    const cells: string[] = [];
    for (const size of SIZES) {
      const text = Buffer.from(shape(size)).toString();
      const ms = (await cpuOf(() => read(text), 5)) / 1_000;
      cells.push(`${ms.toFixed(2)}${ms > BUDGET_MS ? ' !' : ''}`);
      isOver ||= ms > BUDGET_MS;
    }
    print(`| ${name} | ${cells.join(' | ')} |`);
  }
}

await table('Reading XML', shapes, (text) => {
  try {
    readXml(text, LIMITS);
  } catch {} // a refusal is work too
});
const service = await startService(engines[0] as Engine, 'empty', { addressUnlimited: ['192.0.2.0/24'] });
const headers = { 'content-type': 'application/x-www-form-urlencoded' };
await table('Reading forms', formShapes, (bytes) =>
  service.send({ method: 'POST', path: '/api/inbox.asmx/CountUnread', headers, bytes }),
);
await service.stop();

const here = fileURLToPath(new URL('', import.meta.url));
const run = (...args: string[]): void => {
  const options = ['--disable-warning=ExperimentalWarning', ...args];
  const { status } = spawnSync(process.execPath, options, {
    stdio: 'inherit',
    env: { ...process.env, ATTACK_REQUESTS: process.env.ATTACK_REQUESTS ?? '20000' },
  });
  isOver ||= status !== 0;
};
print('\n## The tests at full size\n');
run(join(here, '../../test/run.ts'), ...globSync(`${here}*.test.ts`)); // with PostgreSQL
run(`${here}web.ts`);
run(`${here}memory.ts`);
if (existsSync(`${here}crowd.ts`)) run(`${here}crowd.ts`);
print(isOver ? '\nA budget is exceeded.' : '\nEverything is within its budget.');
process.exitCode = isOver ? 1 : 0;
