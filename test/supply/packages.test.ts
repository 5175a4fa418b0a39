import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';

/** What package.json and its lockfile say about the packages of others. */

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const textOf = (file: string): string => readFileSync(join(ROOT, file), 'utf8');

interface LockedPackage {
  readonly version?: string;
  readonly integrity?: string;
  readonly dev?: boolean;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly hasInstallScript?: boolean;
}

describe('packages', () => {
  const own = JSON.parse(textOf('package.json'));
  const lock: { packages: Record<string, LockedPackage> } = JSON.parse(textOf('package-lock.json'));
  const declared: [string, string][] = ['dependencies', 'devDependencies', 'optionalDependencies'].flatMap((kind) =>
    Object.entries<string>(own[kind] ?? {}),
  );

  test('every version in package.json is exact, and the lockfile has the same', () => {
    for (const [name, version] of declared) {
      assert.match(version, /^\d+\.\d+\.\d+(-[\w.]+)?$/, name);
      assert.equal(lock.packages[`node_modules/${name}`]?.version, version, name);
    }
  });

  test('every package in the lockfile has its checksum', () => {
    const unchecked = Object.entries(lock.packages).filter(([path, { integrity }]) => path !== '' && !integrity);
    assert.deepEqual(unchecked, []);
  });

  test('neither package.json nor the lockfile names a registry', () => {
    assert.doesNotMatch(textOf('package-lock.json'), /"resolved"/);
    for (const file of ['package.json', 'package-lock.json'])
      assert.doesNotMatch(textOf(file), /\bregistry\.|npmjs\./i, file);
    assert.ok(!existsSync(join(ROOT, '.npmrc')), 'there is an .npmrc');
  });

  test('the lockfile has every package that one of its packages needs, on any platform', () => {
    // npm ci of npm 11 refuses a lockfile that lacks the optional packages of other platforms.
    const missing = Object.entries(lock.packages).flatMap(([path, { dependencies, optionalDependencies }]) =>
      Object.keys({ ...dependencies, ...optionalDependencies })
        .filter((name) => !foundFrom(path, name))
        .map((name) => `${path} needs ${name}`),
    );
    assert.deepEqual(missing, []);
  });

  /** As Node looks for it: beside the package's own packages, then in each folder above. */
  function foundFrom(path: string, name: string): boolean {
    for (let at = path; ; at = at.slice(0, Math.max(0, at.lastIndexOf('/node_modules/')))) {
      if (lock.packages[`${at}${at && '/'}node_modules/${name}`]) return true;
      if (at === '') return false;
    }
  }

  test('no runtime package has an install script', () => {
    const scripted = Object.entries(lock.packages).filter(([, { dev, hasInstallScript }]) => hasInstallScript && !dev);
    assert.deepEqual(scripted, []);
  });
});
