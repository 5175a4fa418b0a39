import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { DEVELOPMENT, OLD_FORM, permits, RUNTIME, refused } from '../../tools/licences.ts';
import { type LockedPackage, packagesOf, readLockfile, runtimeOf } from '../../tools/lockfile.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const lock = readLockfile();
const installed = packagesOf(lock).filter(({ path }) => existsSync(join(ROOT, path, 'package.json')));
const manifestOf = (path: string) => JSON.parse(readFileSync(join(ROOT, path, 'package.json'), 'utf8'));

describe('licences', () => {
  test('every package has a licence that is allowed', () => assert.deepEqual(refused(lock), []));

  test('the lockfile has the licence that the installed package names', () => {
    const missing = runtimeOf(lock).filter(({ path, optional }) => !optional && !existsSync(join(ROOT, path)));
    assert.deepEqual(missing, []);
    const wrong = installed.filter(({ name, version, path, license }) => {
      const { license: named, licenses } = manifestOf(path);
      return license === undefined
        ? licenses?.[0]?.type !== OLD_FORM[`${name}@${version}`]
        : (named?.type ?? named) !== license;
    });
    assert.deepEqual(
      wrong.map(({ path }) => path),
      [],
    );
  });

  test('the exceptions are exactly the locked packages that name no licence, each with its version', () => {
    const silent = packagesOf(lock).filter(({ license }) => license === undefined);
    assert.deepEqual(silent.map(({ name, version }) => `${name}@${version}`).sort(), Object.keys(OLD_FORM).sort());
  });

  const withOne = (entry: LockedPackage) =>
    refused({
      lockfileVersion: 3,
      packages: { '': { license: 'UNLICENSED' }, 'node_modules/it': { version: '1.0.0', ...entry } },
    });

  test('a licence that is not allowed is refused by name, and runtime packages have a shorter list of allowed ones', () => {
    assert.deepEqual(withOne({ license: 'MIT' }), []);
    assert.deepEqual(withOne({ license: 'GPL-3.0-only' }), ['it@1.0.0: GPL-3.0-only']);
    assert.deepEqual(withOne({ license: 'MPL-2.0' }), ['it@1.0.0: MPL-2.0']);
    assert.deepEqual(withOne({ license: 'MPL-2.0', dev: true }), []);
    assert.deepEqual(withOne({ license: 'GPL-3.0-only', dev: true }), ['it@1.0.0: GPL-3.0-only']);
    assert.deepEqual(withOne({}), ['it@1.0.0: names no licence']);
    assert.deepEqual(withOne({ license: 'SEE LICENSE IN LICENSE' }), ['it@1.0.0: SEE LICENSE IN LICENSE']);
  });

  const expressions: [string, boolean][] = [
    ['MIT', true],
    ['(MIT)', true],
    ['MIT OR GPL-3.0-only', true],
    ['GPL-3.0-only OR MIT', true],
    ['MIT AND GPL-3.0-only', false],
    ['MIT AND ISC', true],
    ['GPL-3.0-only AND MIT OR ISC', true],
    ['GPL-3.0-only AND (MIT OR ISC)', false],
    ['(MIT OR GPL-3.0-only) AND ISC', true],
    ['Apache-2.0 WITH LLVM-exception', true],
    ['GPL-2.0-only WITH Classpath-exception-2.0', false],
    ['mit', false],
    ['MIT ISC', false],
    ['(MIT', false],
    ['MIT OR', false],
    ['AND MIT', false],
    ['', false],
  ];
  for (const [expression, permitted] of expressions) {
    test(`"${expression}" is ${permitted ? 'allowed' : 'refused'}`, () =>
      assert.equal(permits(expression, RUNTIME), permitted));
  }

  test('the list for development packages contains the one for runtime packages', () => {
    assert.deepEqual(
      RUNTIME.filter((each) => !DEVELOPMENT.includes(each)),
      [],
    );
  });
});
