import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Found } from './target.ts';

/** Findings in files: what went wrong on the first line, then the target, then the inputs, one a line, as JSON. */
export interface Case {
  readonly name: string;
  readonly what: string;
  readonly target: string;
  readonly inputs: readonly unknown[];
}

export const CASES = fileURLToPath(new URL('./cases/', import.meta.url));

export const readCases = (folder = CASES): Case[] =>
  readdirSync(folder)
    .filter((file) => file.endsWith('.txt'))
    .sort()
    .map((file) => {
      const [what = '', target = '', ...lines] = readFileSync(join(folder, file), 'utf8').split('\n');
      const inputs = lines.filter((line) => line !== '').map((line) => JSON.parse(line));
      return { name: file.replace(/\.txt$/, ''), what, target, inputs };
    });

/** The same finding has the same name. */
export function writeCase(folder: string, target: string, { rule, what, inputs }: Found): string {
  const lines = inputs.map((input) => JSON.stringify(input));
  const mark = createHash('sha256').update(lines.join('\n')).digest('hex').slice(0, 8);
  const path = join(folder, `${target}.${rule.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')}.${mark}.txt`);
  mkdirSync(folder, { recursive: true });
  const told = `${rule}: ${what}`.replaceAll(/\s*\n\s*/g, ' | ').slice(0, 500);
  writeFileSync(path, `${[told, target, ...lines].join('\n')}\n`);
  return path;
}
