import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import { addressOf, checkout, freshFolder, linkModules, otherNode, ROOT, start } from './project.ts';

/** What `npm pack` makes, installed as npm installs it: below a node_modules. */

const { version, allowScripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
const host = freshFolder();
const installed = join(host, 'node_modules', 'columba');

before(async () => {
  const project = checkout();
  const packing = await start('npm', ['pack', '--silent', '--pack-destination', host], project).ended;
  assert.equal(packing.code, 0, packing.stderr);
  assert.ok(!readdirSync(project).includes('dist'), 'dist stays behind');
  linkModules(join(host, 'node_modules'));
  mkdirSync(installed);
  const unpacking = start('tar', ['-xzf', packing.stdout.trim(), '--strip-components=1', '-C', installed], host);
  assert.equal((await unpacking.ended).code, 0);
});

describe('the npm package', () => {
  test('the npm package runs below node_modules, where Node refuses TypeScript', async () => {
    const { ended } = start(otherNode(), [join(installed, 'bin/columba.cjs'), 'version'], host);
    assert.deepEqual(await ended, { code: 0, signal: null, stdout: `${version}\n`, stderr: '' });
  });

  test('the npm package has the sample data and the pages, and the demo serves both', async () => {
    const demo = start(otherNode(), [join(installed, 'bin/columba.cjs'), 'serve', '--demo', '--port', '0'], host);
    const curl = await demo.written(/http\S+Unread\?[^']+/);
    assert.match(await (await fetch(curl)).text(), /<id>1003<\/id>/);
    const page = await (await fetch(`${await addressOf(demo)}/`)).text();
    assert.match(page, /account\.asmx/);
    demo.child.kill('SIGTERM');
    const { code, stderr } = await demo.ended;
    assert.deepEqual([code, stderr], [0, '']);
  });

  test('the npm package has no tests, no TypeScript and no data but the sample', () => {
    const files = readdirSync(installed, { recursive: true }).map(String);
    assert.deepEqual(
      files.filter((file) => /\.(ts|db)$|(^|\/)(test|bench|data)(\/|$)/.test(file)),
      [],
    );
    assert.ok(files.includes(join('examples', 'sample.json')));
  });
});

test('package.json denies the install scripts of the embedded PostgreSQL, so that npm warns of none', () => {
  const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'));
  const scripted = Object.entries<{ hasInstallScript?: boolean }>(lock.packages)
    .filter(([, { hasInstallScript }]) => hasInstallScript)
    .map(([path]) => [path.replace('node_modules/', ''), false]);
  assert.deepEqual(allowScripts, Object.fromEntries(scripted));
});
