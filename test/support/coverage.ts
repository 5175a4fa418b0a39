import { appendFileSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { contract } from '../../src/asmx/contract/contract.ts';

/** Which operation was called with success in which form, over all test files: each is a process of its own. */
const folder = process.env.TEST_COVERAGE;
const called = new Set<string>();

export function covered(group: string, operation: string, form: string): void {
  called.add(`${group}.${operation}.${form}`);
}

process.on('exit', () => {
  if (folder) appendFileSync(join(folder, `${process.pid}`), [...called].map((name) => `${name}\n`).join(''));
});

/** What no test called. */
export function uncovered(from: string): string[] {
  const names = new Set(readdirSync(from).flatMap((file) => readFileSync(join(from, file), 'utf8').split('\n')));
  return Object.entries(contract)
    .flatMap(([group, operations]) => Object.keys(operations).map((operation) => `${group}.${operation}`))
    .flatMap((operation) => ['soap11', 'soap12', 'get', 'post'].map((form) => `${operation}.${form}`))
    .filter((name) => !names.has(name));
}
