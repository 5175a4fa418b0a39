import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { type Lockfile, readLockfile, runtimeOf } from '../../tools/lockfile.ts';
import { createSbom, type Sbom } from '../../tools/sbom.ts';

/** The rules of CycloneDX 1.6 that its readers rely on, and that nothing which runs is missing. */

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const own = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
const lock = readLockfile();
const sbom = createSbom(own, lock);
const refs = [sbom.metadata.component, ...sbom.components].map((component) => component['bom-ref']);

const folder = mkdtempSync(join(tmpdir(), 'columba-sbom-'));
after(() => rmSync(folder, { recursive: true, force: true }));

function written(name: string, env: Record<string, string> = {}): string {
  const path = join(folder, name);
  execFileSync(process.execPath, ['tools/sbom.ts', path], { cwd: ROOT, env: { PATH: process.env.PATH, ...env } });
  return readFileSync(path, 'utf8');
}

describe('the bill of materials', () => {
  test('the SBOM names its format, version and program', () => {
    assert.deepEqual([sbom.bomFormat, sbom.specVersion, sbom.version], ['CycloneDX', '1.6', 1]);
    assert.match(sbom.serialNumber, /^urn:uuid:[\da-f]{8}-[\da-f]{4}-8[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/);
    const { name, version, licenses } = sbom.metadata.component;
    assert.deepEqual(
      { name, version, licenses },
      { name: 'columba', version: own.version, licenses: [{ license: { id: 'MIT' } }] },
    );
  });

  test('the SBOM has every runtime package in its version, and no other', () => {
    const expected = runtimeOf(lock).map(({ name, version }) => `${name}@${version}`);
    assert.deepEqual(refs.slice(1), [...new Set(expected)].sort());
    for (const [name, version] of Object.entries({ ...own.dependencies, ...own.optionalDependencies })) {
      assert.ok(refs.includes(`${name}@${version}`), name);
    }
    for (const name of Object.keys(own.devDependencies))
      assert.ok(!refs.some((ref) => ref.startsWith(`${name}@`)), name);
  });

  test('the SBOM has the runtime packages that `npm ls` finds', () => {
    const flags = ['ls', '--omit=dev', '--all', '--parseable', '--long'];
    const lines = execFileSync('npm', flags, { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
    const listed = lines
      .trimEnd()
      .split('\n')
      .map((line) => line.slice(line.lastIndexOf(':') + 1)); // FOLDER:NAME@VERSION
    assert.ok(listed.length > 20, lines);
    assert.deepEqual(
      listed.filter((each) => !refs.includes(each)),
      [],
    );
  });

  test('the references of the SBOM are unique, and every dependency is one of them', () => {
    assert.equal(new Set(refs).size, refs.length);
    assert.deepEqual(
      sbom.dependencies.map(({ ref }) => ref),
      refs,
    );
    for (const { ref, dependsOn } of sbom.dependencies) {
      assert.equal(new Set(dependsOn).size, dependsOn.length, ref);
      assert.deepEqual(
        dependsOn.filter((each) => !refs.includes(each)),
        [],
        ref,
      );
    }
  });

  test('every component of the SBOM is a dependency of the service', () => {
    const reached = new Set<string>();
    const visit = (ref: string): void => {
      if (reached.has(ref)) return;
      reached.add(ref);
      for (const each of sbom.dependencies.find((one) => one.ref === ref)?.dependsOn ?? []) visit(each);
    };
    visit(refs[0] as string);
    assert.deepEqual(
      refs.filter((ref) => !reached.has(ref)),
      [],
    );
  });

  for (const component of sbom.components) {
    test(`${component['bom-ref']} has a package URL, a licence and its SHA-512`, () => {
      const name = component.group ? `${component.group}/${component.name}` : component.name;
      assert.equal(`${name}@${component.version}`, component['bom-ref']);
      assert.match(component.purl ?? '', /^pkg:npm\/(%40[a-z\d._-]+\/)?[a-z\d._-]+@[\w.-]+$/);
      assert.equal(decodeURIComponent(component.purl ?? ''), `pkg:npm/${component['bom-ref']}`);
      assert.equal(component.licenses?.length, 1);
      assert.deepEqual(
        component.hashes?.map(({ alg }) => alg),
        ['SHA-512'],
      );
      assert.match(component.hashes?.[0]?.content ?? '', /^[\da-f]{128}$/);
      const { integrity = '' } =
        runtimeOf(lock).find((each) => each.name === name && each.version === component.version) ?? {};
      assert.equal(`sha512-${Buffer.from(component.hashes?.[0]?.content ?? '', 'hex').toString('base64')}`, integrity);
    });
  }

  test('the packages that contain Node have the name that advisories use, and are optional', () => {
    const nodes = sbom.components.filter(({ cpe }) => cpe !== undefined);
    assert.deepEqual(
      nodes.map(({ name }) => name),
      Object.keys(own.optionalDependencies),
    );
    for (const { cpe, version, scope } of nodes) {
      assert.deepEqual([cpe, scope], [`cpe:2.3:a:nodejs:node.js:${version}:*:*:*:*:*:*:*`, 'optional']);
    }
    const running = realpathSync(process.execPath);
    const bringer = nodes.find(({ name }) => running.includes(join('node_modules', name)));
    if (bringer) assert.equal(`v${bringer.version}`, process.version); // else these tests run on the machine's own
  });
});

describe('npm run sbom', () => {
  test('npm run sbom writes the same bytes each time, without a time of day', () => {
    const first = written('first.json');
    assert.equal(written('second.json'), first);
    assert.deepEqual(JSON.parse(first), JSON.parse(JSON.stringify(sbom)));
    assert.equal(sbom.metadata.timestamp, undefined);
  });

  test('npm run sbom writes the time of SOURCE_DATE_EPOCH', () => {
    const dated: Sbom = JSON.parse(written('dated.json', { SOURCE_DATE_EPOCH: '1760000000' }));
    assert.equal(dated.metadata.timestamp, '2025-10-09T08:53:20.000Z');
  });

  test('npm run sbom is a script of package.json', () =>
    assert.equal(own.scripts.sbom, 'node bin/node.cjs tools/sbom.ts'));
});

describe('the SBOM of another lockfile', () => {
  const integrity = `sha512-${createHash('sha512').update('').digest('base64')}`;
  const other: Lockfile = {
    lockfileVersion: 3,
    packages: {
      '': { dependencies: { a: '^1', b: '^1' }, optionalDependencies: { gone: '^1' } },
      'node_modules/a': { version: '1.0.0', integrity, license: 'MIT OR ISC', dependencies: { c: '^1' } },
      'node_modules/b': { version: '1.0.0', integrity, license: 'MIT', dependencies: { c: '^2' } },
      'node_modules/b/node_modules/c': { version: '2.0.0', integrity, license: 'MIT', dependencies: { a: '^1' } },
      'node_modules/c': { version: '1.0.0+build', integrity, license: 'MIT' },
      'node_modules/d': { version: '1.0.0', integrity, license: 'MIT', dev: true },
    },
  };
  const made = createSbom({ name: 'x', version: '0.0.1', license: 'MIT' }, other);

  test('the SBOM has two versions of a package, each at its dependents', () => {
    assert.deepEqual(Object.fromEntries(made.dependencies.map(({ ref, dependsOn }) => [ref, dependsOn])), {
      'x@0.0.1': ['a@1.0.0', 'b@1.0.0'],
      'a@1.0.0': ['c@1.0.0+build'],
      'b@1.0.0': ['c@2.0.0'],
      'c@1.0.0+build': [],
      'c@2.0.0': ['a@1.0.0'],
    });
  });

  test('the SBOM has a licence expression as an expression, and escapes what a package URL cannot contain', () => {
    assert.deepEqual(made.components[0]?.licenses, [{ expression: 'MIT OR ISC' }]);
    assert.equal(made.components[2]?.purl, 'pkg:npm/c@1.0.0%2Bbuild');
  });

  test('the serial number of the SBOM changes only with its content', () => {
    assert.notEqual(made.serialNumber, sbom.serialNumber);
    assert.equal(createSbom({ name: 'x', version: '0.0.1', license: 'MIT' }, other).serialNumber, made.serialNumber);
    assert.notEqual(createSbom({ name: 'x', version: '0.0.2', license: 'MIT' }, other).serialNumber, made.serialNumber);
  });
});
