import { relative } from 'node:path';
import { isMainThread } from 'node:worker_threads';

/**
 * Loaded into every process of tests. A test that calls process.exit(0) ends its process with all tests that have not run,
 * and node:test then counts those that have: the process fails unless its tests have ended. Programs that a test starts
 * inherit the options of Node, and are no tests.
 */
const isOfTests =
  isMainThread && Boolean(process.env.NODE_TEST_CONTEXT) && /\.test\.m?[jt]s$/.test(process.argv[1] ?? '');
if (isOfTests) {
  const { after } = await import('node:test');
  if (process.env.TEST_CPU && process.platform === 'linux') {
    const { measureProcess } = await import('./cpu.ts');
    measureProcess(process.env.TEST_CPU, relative(process.cwd(), process.argv[1] as string));
  }
  let haveEnded = false;
  after(() => {
    haveEnded = true;
  });
  process.once('exit', (code) => {
    if (haveEnded) return;
    process.stderr.write(`${process.argv[1]} was ended with exit code ${code} before all of its tests had run\n`);
    process.exitCode = code || 1;
  });
}
