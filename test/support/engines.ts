import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe } from 'node:test';
import { fileURLToPath } from 'node:url';
import { pino } from 'pino';
import { createApp } from '../../src/app.ts';
import { importFile } from '../../src/operator/import.ts';
import { readConfig } from '../../src/server/config.ts';

/** The databases that every suite of store, domain and wire runs on. */
export interface Engine {
  readonly name: string;
  /** A database of its own, empty or with the sample data, as a setting. */
  fresh(data: 'empty' | 'sample'): Promise<string>;
}

export const SAMPLE = fileURLToPath(new URL('../../examples/sample.json', import.meta.url));

const folder = mkdtempSync(join(tmpdir(), 'columba-test-'));
let count = 0;
const nextPath = () => join(folder, `${++count}.db`);

/** The sample is imported once and copied after that: hashing its passwords takes longer than everything else. */
let sample: Promise<string> | undefined;

async function importSample(): Promise<string> {
  const path = nextPath();
  const app = await createApp(readConfig({ COLUMBA_DATABASE: `sqlite:${path}` }), {
    now: Date.now,
    sleep: async () => {},
    log: pino({ level: 'silent' }),
  });
  await importFile(SAMPLE, app.archive, Date.now);
  await app.stop();
  return path;
}

const sqlite: Engine = {
  name: 'sqlite',
  async fresh(data) {
    const path = nextPath();
    if (data === 'sample') {
      sample ??= importSample();
      copyFileSync(await sample, path);
    }
    return `sqlite:${path}`;
  },
};

export const engines: readonly Engine[] = [sqlite];

/** The same suite on every engine. */
export function onEveryEngine(name: string, suite: (engine: Engine) => void): void {
  for (const engine of engines) describe(`${name} (${engine.name})`, () => suite(engine));
}

after(() => rmSync(folder, { recursive: true, force: true }));
