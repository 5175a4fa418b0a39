import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { jsonOf } from './recorder.ts';
import { makeTemplate } from './setup.ts';
import { simulate } from './simulate.ts';
import { folderOf } from './world.ts';

/** `npm run simulate`: one seed, or several, and what the checker says about each. */
const print = (line: string) => void process.stdout.write(`${line}\n`);
const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    seeds: { type: 'string', default: '1' },
    hours: { type: 'string', default: '72' },
    nodes: { type: 'string', default: '3' },
    history: { type: 'boolean', default: false },
  },
});
const folder = mkdtempSync(join(folderOf(), 'columba-template-'));
process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
const template = await makeTemplate(folder);
const first = Number(values.seed ?? Date.now() % 1_000_000_000);
for (let seed = first; seed < first + Number(values.seeds); seed++) {
  const startedAt = process.cpuUsage();
  const result = await simulate({ seed, hours: Number(values.hours), nodes: Number(values.nodes), template });
  const { user, system } = process.cpuUsage(startedAt);
  const { hash, faults, hours, messages, deaths, steps, requests, commits } = result;
  print(
    `seed ${seed}: ${hash}, ${hours.toFixed(0)} hours, ${messages} messages, ${deaths} deaths, ${requests} requests, ${commits} commits, ${steps} steps, ${((user + system) / 1e6).toFixed(2)} s CPU, ${faults.length} faults`,
  );
  if (values.history) for (const [order, event] of result.events.entries()) print(`${order} ${jsonOf(event)}`);
  for (const { rule, text } of faults.slice(0, 10)) print(`  ${rule}: ${text}`);
  if (faults.length > 0) process.exitCode = 1;
}
