import { fileURLToPath } from 'node:url';
import { end, launch, type Running, temporaryFolder } from './processes.ts';

/** The floors and npm soap, which say on which port they listen as soon as they do. */
export async function startServer(script: 'floor.ts' | 'net-floor.ts' | 'npm-soap.ts'): Promise<Running> {
  const path = fileURLToPath(new URL(`servers/${script}`, import.meta.url));
  const child = launch({ args: [path, temporaryFolder()], output: 'pipe' });
  const line = await new Promise((resolve) => child.stdout?.once('data', resolve).once('close', () => resolve('')));
  if (!line) throw new Error(`${script} did not start`);
  return { port: Number(line), pids: () => [child.pid as number], stop: () => end(child) };
}
