import { test } from 'node:test';
import { engines } from '../support/engines.ts';
import { runDrill } from './drill/drill.ts';

/** A short one; hours of it: npm run drill. */
for (const engine of engines) {
  test(`all stages of a migration under load, with kills, lose nothing (${engine.name})`, async () => {
    await runDrill(await engine.fresh('empty'), { stageMs: 600, seed: 11 });
  });
}
