import { test } from 'node:test';
import { engines } from '../../test/support/engines.ts';
import { runDrill } from './drill.ts';

/** A short one; hours of it: npm run proof drill. */
for (const engine of engines) {
  test(`all stages of a migration under load, with kills, lose nothing (${engine.name})`, async () => {
    await runDrill(await engine.fresh('empty'), { stageMs: 600, seed: 11 });
  });
}
