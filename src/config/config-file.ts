import { lstatSync, readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';

/**
 * A file of settings with the syntax of systemd's EnvironmentFile, without continued lines. `#` and
 * `;` begin a comment line. A value may be quoted.
 */
export interface ConfigFile {
  readonly path: string;
  readonly lines: ReadonlyMap<string, { readonly value: string; readonly number: number }>;
  /** Errors about lines that are not settings, as `file:line: what is wrong`. */
  readonly mistakes: readonly string[];
}

const DEFAULT_NAME = 'columba.conf';
const BYTES_MAX = 1024 * 1024;

/** The file that COLUMBA_CONFIG names, or else `columba.conf` in the folder if it exists. */
export function findConfigFile(
  environment: Readonly<Record<string, string | undefined>>,
  folder: string,
): ConfigFile | undefined {
  const named = environment.COLUMBA_CONFIG || undefined;
  const path = resolve(folder, named ?? DEFAULT_NAME);
  const found = statSync(path, { throwIfNoEntry: false });
  const isLink = !found && lstatSync(path, { throwIfNoEntry: false });
  if (isLink) throw new Error(`${path}: the link points to a file that does not exist`);
  if (!found && named === undefined) return undefined;
  if (!found) throw new Error(`COLUMBA_CONFIG: there is no file ${path}`);
  if (!found.isFile()) throw new Error(`${path}: expected a settings file, but this is a folder or a device`);
  if (found.size > BYTES_MAX) throw new Error(`${path}: expected a settings file of at most ${BYTES_MAX} bytes`);
  return parseConfigFile(path, readFileSync(path));
}

export function parseConfigFile(path: string, bytes: Uint8Array): ConfigFile {
  const lines = new Map<string, { value: string; number: number }>();
  const mistakes: string[] = [];
  for (const [index, line] of textOf(path, bytes).split(/\r?\n/).entries()) {
    const number = index + 1;
    const [, key = '', given = ''] = /^\s*([A-Za-z_]\w*)=(.*)$/s.exec(line) ?? [];
    const value = unquoted(given.trim());
    const before = lines.get(key);
    if (/^\s*(?:[#;].*)?$/s.test(line)) continue;
    // The message does not repeat the line, which may be a secret.
    if (key === '' || value === undefined) mistakes.push(`${path}:${number}: expected KEY=value on one line`);
    else if (before) mistakes.push(`${path}:${number}: ${key} is also in line ${before.number}`);
    else lines.set(key, { value, number });
  }
  return { path, lines, mistakes };
}

function textOf(path: string, bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new Error(`${path}: the file is not UTF-8`);
  }
}

/** Undefined for an unclosed quote, and for a line that systemd would continue. */
function unquoted(value: string): string | undefined {
  if (/^'[^']*'$/.test(value)) return value.slice(1, -1);
  if (/^"(?:[^"\\]|\\.)*"$/.test(value)) return value.slice(1, -1).replace(/\\(["\\$`])/g, '$1');
  return /^["']|\\$/.test(value) ? undefined : value;
}
