import { relative } from 'node:path';
import { isMainThread } from 'node:worker_threads';

/**
 * Loaded into every process of tests. A test that calls process.exit(0) ends its process with all tests that have not run,
 * and node:test then counts those that have: here the process fails. Programs that a test starts inherit the options of
 * Node, and are no tests.
 */
const file = relative(process.cwd(), process.argv[1] ?? '');
const isOfTests = isMainThread && Boolean(process.env.NODE_TEST_CONTEXT) && /\.test\.m?[jt]s$/.test(file);
if (isOfTests) {
  const { exit } = process;
  process.exit = (code) => {
    const given = Number(code ?? process.exitCode ?? 0);
    process.stderr.write(`${file} ended its process with exit code ${given}, so not all of its tests have run\n`);
    return exit(given || 1);
  };
  if (process.env.TEST_CPU && process.platform === 'linux') {
    const { measureProcess } = await import('./cpu.ts');
    measureProcess(process.env.TEST_CPU, file);
  }
}
