import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { addressOf, checkout, freshFolder, otherNode, ROOT, start, untilFree } from './project.ts';

const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
const DEMO = ['serve', '--demo', '--port', '0'];

function program(text: string): string {
  const path = join(freshFolder(), 'program.mjs');
  writeFileSync(path, text);
  return path;
}

/** Loaded before the launcher: it then takes this Node for an older one. */
function olderNode(): string[] {
  const path = join(freshFolder(), 'older.cjs');
  writeFileSync(
    path,
    `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.20.2' } });`,
  );
  return ['--require', path];
}

describe('the launcher', () => {
  test('the launcher runs the command on the Node of the platform package when npm left no node_modules/.bin/node', async () => {
    const project = checkout();
    const { ended } = start(otherNode(), ['bin/columba.cjs', 'version'], project);
    assert.deepEqual(await ended, { code: 0, signal: null, stdout: `${version}\n`, stderr: '' });
    const told = program('process.stdout.write(process.execPath)');
    const { stdout } = await start(otherNode(), ['bin/node.cjs', told], project).ended;
    assert.match(stdout, /node_modules.node-[^/\\]+.bin.node/);
  });

  test('the launcher lets no process leave a core dump, which would hold secrets, whatever the shell before it allows', async () => {
    const told = program(`import { execSync } from 'node:child_process';
      process.stderr.write('core dumps: ' + execSync('ulimit -c', { shell: '/bin/sh' }));`);
    const line = `ulimit -S -c "$(ulimit -H -c)"; NODE_OPTIONS='--import file://${told}' exec ./columba version`;
    const { code, stdout, stderr } = await start('/bin/sh', ['-c', line], ROOT).ended;
    assert.deepEqual({ code, stdout, stderr }, { code: 0, stdout: `${version}\n`, stderr: 'core dumps: 0\n' });
  });

  test('every npm script that runs TypeScript uses the launcher', () => {
    const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
    for (const [name, line] of Object.entries<string>(scripts)) {
      if (/\.ts\b|\bnode\b/.test(line)) assert.match(line, /^node bin\/(node|columba)\.cjs\b/, name);
    }
  });

  test('the launcher runs the command on its own Node when that is new enough and npm installed none', async () => {
    const { ended } = start(process.execPath, ['bin/columba.cjs', 'version'], checkout(false));
    assert.deepEqual(await ended, { code: 0, signal: null, stdout: `${version}\n`, stderr: '' });
  });

  test('the launcher says in one sentence what to do when its Node is too old and npm installed none', async () => {
    const project = checkout(false);
    const { ended } = start(process.execPath, [...olderNode(), 'bin/columba.cjs', 'version'], project);
    const { code, stdout, stderr } = await ended;
    assert.deepEqual([code, stdout], [1, '']);
    assert.match(stderr, /^columba: This is Node 20\.20\.2, and Columba needs 24\.7 or newer\. Run "npm ci" in .+\n$/);
  });

  test('the launcher passes arguments and the exit code', async () => {
    const exits = program('process.stdout.write(process.argv.slice(2).join("|")); process.exitCode = 7;');
    const { ended } = start(otherNode(), ['bin/node.cjs', exits, 'a b', '--c', ''], checkout());
    assert.deepEqual(await ended, { code: 7, signal: null, stdout: 'a b|--c|', stderr: '' });
  });

  test('the launcher ends by the signal that ended its program', async () => {
    const dies = program('process.kill(process.pid, "SIGKILL"); setInterval(() => {}, 1000);');
    const { code, signal } = await start(otherNode(), ['bin/node.cjs', dies], checkout()).ended;
    assert.deepEqual([code, signal], [null, 'SIGKILL']);
  });

  test('the launcher passes SIGTERM, and the service ends with 0', async () => {
    const demo = start(otherNode(), ['bin/columba.cjs', ...DEMO], checkout());
    await addressOf(demo);
    demo.child.kill('SIGTERM');
    const { code, signal, stderr } = await demo.ended;
    assert.deepEqual([code, signal, stderr], [0, null, '']);
  });

  test('the service ends when its launcher is killed', async () => {
    const demo = start(otherNode(), ['bin/columba.cjs', ...DEMO], checkout());
    const address = await addressOf(demo);
    demo.child.kill('SIGKILL');
    await untilFree(address);
  });

  test('npm start leaves no service behind after SIGTERM', async () => {
    const npm = start('npm', ['start', '--', '--demo', '--port', '0'], ROOT);
    const address = await addressOf(npm);
    npm.child.kill('SIGTERM');
    await untilFree(address);
  });
});
