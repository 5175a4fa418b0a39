import { accessSync, constants, statSync } from 'node:fs';
import { InvalidArgumentError } from 'commander';
import { Problem } from '../base/problem.ts';

/** Checks a file that a command reads, and says in words why it cannot be read. */
export function requireFile(path: string, name: string = path): void {
  const fault = fileFault(path);
  if (fault !== null) throw new Problem('bad-argument', `${name}: ${fault}`);
}

function fileFault(path: string): string | null {
  try {
    if (statSync(path).isDirectory()) return 'expected a file, but this is a folder';
    accessSync(path, constants.R_OK);
    return null;
  } catch (thrown) {
    const { code = '', message } = thrown as NodeJS.ErrnoException;
    return REASONS[code] ?? message;
  }
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  ENOTDIR: 'there is no such file',
  EACCES: 'you do not have the permission to read this file',
  EPERM: 'you do not have the permission to read this file',
};

/** A label of the WHATWG Encoding Standard. */
export function readEncoding(label: string): string {
  try {
    return new TextDecoder(label, { fatal: true }).encoding;
  } catch {
    throw new InvalidArgumentError('Expected a name such as utf-8, windows-1252 or utf-16le.');
  }
}
