import { readFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { resolve } from 'node:path';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { type Dialect, NO_DIALECT } from '../../asmx/dialect/dialect.ts';
import { requireFile } from '../../commands/input-file.ts';
import { remark, writeWhole } from '../../commands/output.ts';
import type { Config } from '../../config/settings.ts';
import { createAccountName, migrationKey } from '../compare/account-names.ts';
import type { CompareSettings } from '../compare/compare-values.ts';
import { isKnownDifference, KNOWN_DIFFERENCES, type KnownDifference } from '../compare/known-differences.ts';
import { createPseudonyms } from '../compare/pseudonyms.ts';

/** Options and settings that several commands of a migration share. */

const DEFAULT_FOLDER = 'recordings';

export const folderOption = (): Option =>
  new Option('--folder <FOLDER>', 'where recordings are').default(DEFAULT_FOLDER);

const addKnownDifference = (name: string, before: KnownDifference[] | undefined): KnownDifference[] => {
  if (isKnownDifference(name)) return [...(before ?? []), name];
  throw new InvalidArgumentError(`Expected one of ${Object.keys(KNOWN_DIFFERENCES).join(', ')}.`);
};

export const knownDifferenceOption = (): Option =>
  new Option('--without-known-difference <NAME>', 'treat this known difference as a difference; may be repeated')
    .argParser(addKnownDifference)
    .default([]);

/** The former name of `--without-known-difference`. */
export const formerKnownDifferenceOption = (): Option =>
  new Option('--without-mask <NAME>').argParser(addKnownDifference).default([]).hideHelp();

export const jsonOption = (): Option => new Option('--json', 'for programs');

export const readUrl = (text: string): string => {
  const url = URL.parse(text);
  if (!url || !/^https?:$/.test(url.protocol) || url.username !== '' || url.search !== '' || url.hash !== '') {
    throw new InvalidArgumentError('Expected an address such as https://old.example, without user, query or fragment.');
  }
  return text.replace(/\/+$/, '');
};

export const readCount =
  (least: number, most: number) =>
  (text: string): number => {
    const number = Number(text);
    if (!/^\d{1,9}$/.test(text) || number < least || number > most) {
      throw new InvalidArgumentError(`Expected a whole number from ${least} to ${most}.`);
    }
    return number;
  };

export async function dialectOf({ dialect, timeZone }: Config): Promise<Dialect> {
  if (dialect === '') return NO_DIALECT;
  return (await import('../../asmx/dialect/dialect-file.ts')).readDialectFile(dialect, timeZone);
}

/** The key, the names of accounts, and how answers are compared. */
export async function migrationSettings(config: Config, command: Command) {
  const {
    folder: given,
    withoutKnownDifference = [],
    withoutMask = [],
  } = command.opts() as {
    folder?: string;
    withoutKnownDifference?: KnownDifference[];
    withoutMask?: KnownDifference[];
  };
  if (withoutMask.length > 0) {
    remark(
      'columba: --without-mask is now called --without-known-difference. The next version will not accept the former name.',
    );
  }
  const folder = resolve(given ?? DEFAULT_FOLDER);
  const key = migrationKey(config.logKey, folder);
  const dialect = await dialectOf(config);
  const compare: CompareSettings = {
    dialect,
    zone: config.timeZone,
    disabled: new Set([...withoutKnownDifference, ...withoutMask]),
    pseudonym: createPseudonyms(key),
    listLimit: config.listLimit,
  };
  return { folder, key, dialect, compare, accountName: createAccountName(key) };
}

export function readText(path: string, option: string): string {
  requireFile(path, `${option} ${path}`);
  return readFileSync(path, 'utf8');
}

/** Writes a file that only its owner can read. */
export async function writeText(path: string, force: boolean, text: string): Promise<void> {
  await writeWhole(path, { force }, async (temporary) => {
    const file = await open(temporary, 'wx', 0o600);
    try {
      await file.appendFile(text);
    } finally {
      await file.close();
    }
  });
}
