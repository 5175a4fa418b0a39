import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** Every program that measures, one after the other: about an hour. */
const PROGRAMS = [
  'xml',
  'dialect',
  'calls',
  'profile',
  'writes',
  'large',
  'size',
  'postgres',
  'mixture',
  'growth',
  'dispatch',
  'beside',
  'backup',
  'smpp',
  'proxy',
  'import',
  'console',
];

for (const program of PROGRAMS) {
  const path = fileURLToPath(new URL(`${program}.ts`, import.meta.url));
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', path], { stdio: 'inherit' });
  const stop = () => void child.kill('SIGTERM');
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, stop);
  const code = await new Promise<number | null>((resolve) => child.once('exit', resolve));
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, stop);
  if (code !== 0) {
    process.stderr.write(`bench/${program}.ts ended with ${code}\n`);
    process.exit(1);
  }
}
