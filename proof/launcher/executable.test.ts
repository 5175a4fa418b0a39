import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
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
let [command, checksum, folder] = ['', '', ''];

const make = (): { command: string; checksum: string; folder: string } => {
  const project = checkout();
  execFileSync(process.execPath, ['tools/executable.ts'], { cwd: project, stdio: 'ignore' });
  const [made = assert.fail('nothing was made')] = globSync('build/columba-*', { cwd: project });
  const path = join(project, made);
  const bytes = createHash('sha256').update(readFileSync(path)).digest('hex');
  assert.match(readFileSync(join(project, 'build', 'SHA256SUMS'), 'utf8'), new RegExp(`^${bytes} {2}columba-`, 'm'));
  return { command: path, checksum: bytes, folder: project };
};

before(() => {
  ({ command, checksum, folder } = make());
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

  const noDebian = spawnSync('dpkg-deb', ['--version']).status === 0 ? false : 'dpkg-deb is missing';
  test('the Debian package has the executable, the unit, the settings and a manual page, all of root', {
    skip: noDebian,
  }, () => {
    execFileSync(process.execPath, ['tools/deb.ts'], { cwd: folder, stdio: 'ignore' });
    const [made = assert.fail('nothing was made')] = globSync('build/*.deb', { cwd: folder });
    const run = (...args: string[]) =>
      execFileSync('dpkg-deb', args, { cwd: folder, encoding: 'latin1', maxBuffer: 2 ** 28 });
    const files = run('--contents', made)
      .split('\n')
      .flatMap((line) => (line.startsWith('-') ? [line.replace(/\s+\d+ \S+ \S+ \./, ' ')] : []));
    assert.deepEqual(files.sort(), [
      '-rw-r--r-- root/root /etc/columba/columba.conf',
      '-rw-r--r-- root/root /lib/systemd/system/columba.service',
      '-rw-r--r-- root/root /usr/share/doc/columba/changelog.gz',
      '-rw-r--r-- root/root /usr/share/doc/columba/copyright',
      '-rw-r--r-- root/root /usr/share/lintian/overrides/columba',
      '-rw-r--r-- root/root /usr/share/man/man1/columba.1.gz',
      '-rwxr-xr-x root/root /usr/bin/columba',
      '-rwxr-xr-x root/root /usr/lib/columba/columba',
    ]);
    assert.match(run('--field', made, 'Version'), new RegExp(`^${version}$`, 'm'));
    const unit = run('--fsys-tarfile', made).toString();
    assert.match(unit, /ExecStart=\/usr\/lib\/columba\/columba serve\n/);
    assert.match(unit, /Environment=COLUMBA_CONFIG=\/etc\/columba\/columba\.conf\n/);
    assert.match(unit, /ProtectSystem=strict\nReadWritePaths=-\/var\/backups\/columba\n/);
    assert.match(unit, /^COLUMBA_BACKUP=file:\/var\/backups\/columba$/m);
    assert.ok(!unit.includes('ExecStart=/opt/columba'));
  });
});
