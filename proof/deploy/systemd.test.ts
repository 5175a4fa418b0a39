import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { freshDatabase } from '../../test/support/command.ts';
import { type Peer, testWith } from '../../test/support/peers.ts';
import { startProgram, until } from '../../test/support/program.ts';
import { ROOT, read, readUnit } from './formats.ts';

const UNIT = 'examples/deploy/columba.service';
const HOME = '/opt/columba';
const sections = readUnit(UNIT);
const service = sections.get('Service') ?? [];
const values = (key: string): string[] => service.filter(([name]) => name === key).map(([, value]) => value);
const value = (key: string): string => {
  const [only, ...more] = values(key);
  assert.ok(only !== undefined && more.length === 0, `${key} stands ${values(key).length} times`);
  return only;
};
const environment = Object.fromEntries(values('Environment').map((line) => line.split(/=(.*)/s).slice(0, 2)));

describe(UNIT, () => {
  const guards: [string, string][] = [
    ...[
      'NoNewPrivileges',
      'ProtectHome',
      'ProtectClock',
      'ProtectControlGroups',
      'ProtectHostname',
      'ProtectKernelLogs',
    ],
    'ProtectKernelModules',
    'ProtectKernelTunables',
    'PrivateDevices',
    'PrivateTmp',
    'PrivateUsers',
    'RemoveIPC',
    'LockPersonality',
    'RestrictNamespaces',
    'RestrictRealtime',
    'RestrictSUIDSGID',
  ].map((key) => [key, 'yes']);
  guards.push(
    ['ProtectSystem', 'strict'],
    ['CapabilityBoundingSet', ''],
    ['AmbientCapabilities', ''],
    ['UMask', '0077'],
    ['LimitCORE', '0'],
    ['LimitNOFILE', '65536'],
  );
  guards.push(['RestrictAddressFamilies', 'AF_INET AF_INET6 AF_UNIX'], ['SystemCallArchitectures', 'native']);
  for (const [key, expected] of guards) {
    test(`${key} is ${expected || 'empty'}`, () => assert.equal(value(key), expected));
  }

  test('the systemd unit does not run as root and has an allowlist of system calls', () => {
    assert.equal(value('User'), 'columba');
    assert.deepEqual(values('SystemCallFilter'), ['@system-service', '~@privileged']);
  });

  test('the systemd unit allows memory that is writable and executable, which V8 needs', () => {
    assert.deepEqual(values('MemoryDenyWriteExecute'), []);
  });

  test('the systemd unit starts a file of the checkout, and its database is in the folder that systemd makes', () => {
    const [program = '', command] = value('ExecStart').split(' ');
    accessSync(program.replace(HOME, ROOT), constants.X_OK);
    assert.equal(command, 'serve');
    for (const [, path = ''] of read(UNIT).matchAll(/\/opt\/columba(\/[\w./]+)/g))
      assert.ok(existsSync(join(ROOT, path)), path);
    const state = `/var/lib/${value('StateDirectory')}`;
    assert.equal(value('WorkingDirectory'), state);
    assert.ok(environment.COLUMBA_DATABASE?.startsWith(`sqlite:${state}/`), environment.COLUMBA_DATABASE);
  });

  test('systemd signals the primary process, and waits for longer than connections may take to end', () => {
    assert.equal(value('KillMode'), 'mixed');
    assert.equal(value('KillSignal'), 'SIGTERM');
    const [, seconds] = /^(\d+)s$/.exec(value('TimeoutStopSec')) ?? [];
    assert.ok(Number(seconds) * 1_000 > Number(environment.COLUMBA_DRAIN_TIMEOUT_MS) + 5_000);
  });

  test('a reload replaces all workers and keeps the primary process', async () => {
    assert.equal(value('ExecReload'), '/bin/kill -HUP $MAINPID');
    const count = Number(environment.COLUMBA_WORKERS);
    assert.ok(count > 1);
    const program = await startProgram(freshDatabase(), count);
    const before = program.workers().map(({ pid }) => pid);
    assert.equal(before.length, count);
    program.kill('SIGHUP');
    await until('the workers are new', () => program.logged('the workers are restarted').length === 1);
    const now = program.workers().map(({ pid }) => pid);
    assert.equal(now.length, count);
    assert.deepEqual(
      now.filter((pid) => before.includes(pid)),
      [],
    );
    program.kill('SIGTERM');
    assert.equal((await program.ended).code, 0);
  });
});

test('a single process continues after SIGHUP, and says that it has no workers to restart', async () => {
  const program = await startProgram(freshDatabase(), 1);
  const live = async () => (await fetch(`${program.address}/health/live`)).status;
  assert.equal(await live(), 200);
  program.kill('SIGHUP');
  await until('it says so', () => program.logged('SIGHUP restarts workers, but this service has none').length === 1);
  assert.equal(await live(), 200);
  program.kill('SIGTERM');
  assert.equal((await program.ended).code, 0);
});

describe('systemd-analyze', () => {
  const folder = mkdtempSync(join(tmpdir(), 'columba-unit-'));
  after(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'columba.service');
  // The program is where it would be installed.
  writeFileSync(path, read(UNIT).replaceAll(HOME, ROOT.replace(/\/$/, '')));
  const [, version] =
    /^systemd (\d+)/.exec(spawnSync('systemd-analyze', ['--version'], { encoding: 'utf8' }).stdout) ?? [];
  const peer: Peer = { name: 'systemd 250 or newer', command: Number(version) >= 250 ? 'systemd-analyze' : null };
  const analyze = (command: string, ...args: string[]) => {
    const { status, stdout, stderr } = spawnSync(command, args, { encoding: 'utf8' });
    return { status, text: stdout + stderr };
  };

  /** And not what it finds in units of the machine. */
  const aboutColumba = (text: string) => text.split('\n').filter((line) => line.includes('columba'));

  testWith(peer, 'systemd-analyze verify finds no fault in the unit', async (command) => {
    const { status, text } = analyze(command, 'verify', path);
    assert.deepEqual(aboutColumba(text), []);
    assert.equal(status, 0, text);
  });

  // systemd passes over what it does not know with a warning that nobody reads, so a misspelt guard is no guard.
  testWith(peer, 'systemd-analyze verify names a directive that systemd does not know', async (command) => {
    const misspelt = join(folder, 'columba-misspelt.service');
    writeFileSync(misspelt, readFileSync(path, 'utf8').replace('\nProtectHome=', '\nProtectHomes='));
    const lines = aboutColumba(analyze(command, 'verify', misspelt).text);
    assert.ok(
      lines.some((line) => line.includes('ProtectHomes')),
      lines.join('\n'),
    );
  });

  // Of 10. What is left is what a service on the network with a compiler in it needs.
  testWith(peer, 'systemd-analyze security rates the exposure of the unit at 2.0 at most', async (command) => {
    const { status, text } = analyze(command, 'security', '--offline=true', '--threshold=20', '--no-pager', path);
    assert.equal(status, 0, text);
    assert.match(text, /Overall exposure level/);
  });
});
