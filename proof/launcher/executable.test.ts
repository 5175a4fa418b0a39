import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import { freshDatabase, serving } from '../../test/support/command.ts';
import { until } from '../../test/support/program.ts';
import { checkout, freshFolder, ROOT, start } from './project.ts';

/** Columba as one file with Node inside, as `npm run executable` makes it. It runs in an empty folder. */

const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
const empty = freshFolder();
let command = '';
let checksum = '';

const make = (): { command: string; checksum: string } => {
  const project = checkout();
  execFileSync(process.execPath, ['tools/executable.ts'], { cwd: project, stdio: 'ignore' });
  const [made = assert.fail('nothing was made')] = globSync('build/columba-*', { cwd: project });
  const path = join(project, made);
  const bytes = createHash('sha256').update(readFileSync(path)).digest('hex');
  assert.match(readFileSync(join(project, 'build', 'SHA256SUMS'), 'utf8'), new RegExp(`^${bytes} {2}columba-`, 'm'));
  return { command: path, checksum: bytes };
};

before(() => {
  ({ command, checksum } = make());
});

describe('the executable', () => {
  test('the executable has the same bytes when it is made again', () => {
    assert.equal(make().checksum, checksum);
  });

  test('the executable needs nothing beside it and prints no warning', async () => {
    const ended = await start(command, ['version'], empty).ended;
    assert.deepEqual(ended, { code: 0, signal: null, stdout: `${version}\n`, stderr: '' });
  });

  test('the demo of the executable serves the sample data, the pages and the console', async () => {
    const demo = start(command, ['serve', '--demo', '--port', '0'], empty);
    const curl = await demo.written(/http\S+Unread\?[^']+/);
    assert.match(await (await fetch(curl)).text(), /<id>1003<\/id>/);
    const link = await demo.written(/http\S+\/console\/sign-in\/\S+/);
    assert.match(await (await fetch(link)).text(), /<title>/);
    demo.child.kill('SIGTERM');
    assert.equal((await demo.ended).code, 0);
  });

  test('workers, the web process and the thread of health are started by the executable itself', async () => {
    const ports = ['--port', '0', '--web-port', '0', '--health-port', '0', '--workers', '2'];
    const server = await serving([...ports, '--database', freshDatabase()], { command, cwd: empty });
    const lines = () => server.output.stderr.split('\n').filter((line) => line.includes('"msg":"serving"'));
    await until('both workers serve', () => lines().length === 2);
    await until('the web process serves', () => /"msg":"serving the console/.test(server.output.stderr));
    assert.equal((await fetch(`${server.address}/api/inbox.asmx?wsdl`)).status, 200);
    server.child.kill('SIGTERM');
    await server.ended;
    assert.equal(server.child.exitCode, 0);
    assert.ok(!/"level":[56]0/.test(server.output.stderr), server.output.stderr);
  });
});
