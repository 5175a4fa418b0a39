import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createApp, type Surroundings } from './app.ts';
import { importFile } from './operator/import.ts';
import { Problem } from './problem.ts';
import type { Config } from './server/config.ts';

export interface ServeOptions {
  /** With sample data, in a database that is gone afterwards. */
  readonly demo: boolean;
  /** A file to write exchanges to. */
  readonly trace: string | undefined;
}

/** `columba serve`: until a signal ends it. */
export async function serve(
  config: Config,
  surroundings: (config: Config) => Surroundings,
  { demo, trace }: ServeOptions,
): Promise<number> {
  const temporary = demo ? mkdtempSync(join(tmpdir(), 'columba-demo-')) : null;
  const effective = temporary
    ? { ...config, database: `sqlite:${join(temporary, 'demo.db')}`, logLevel: 'warn' }
    : config;
  const around = surroundings(effective);
  try {
    const app = await createApp(effective, around);
    if (demo) await importFile(SAMPLE, app.archive, around.now);
    const address = await app.start(trace).catch((thrown) => {
      if (thrown.code !== 'EADDRINUSE') throw thrown;
      throw new Problem('bad-argument', `Port ${config.port} is taken. Choose another with --port or COLUMBA_PORT.`);
    });
    if (demo) process.stdout.write(welcome(config.baseUrl || address));
    around.log.info({ address }, 'serving');

    const signal = await firstSignal();
    around.log.info({ signal }, 'stopping');
    await app.stop();
    return 0;
  } finally {
    if (temporary) rmSync(temporary, { recursive: true, force: true });
  }
}

const SAMPLE = fileURLToPath(new URL('../examples/sample.json', import.meta.url));
const SAMPLE_USER_ID = '3f0d9c1e-6b1a-4a63-9b57-2f5f0a7d1c11';

const welcome = (address: string): string => `
Columba is serving an account of sample data, which is gone when it stops.

  Pages   ${address}/
  Try     curl '${address}/api/inbox.asmx/Unread?user_id=${SAMPLE_USER_ID}&max_count=2'

Stop it with Ctrl-C.
`;

/** The first signal asks; a second one does not wait any longer. */
function firstSignal(): Promise<string> {
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      process.once(signal, () => {
        process.once(signal, () => process.exit(1));
        resolve(signal);
      });
    }
  });
}
