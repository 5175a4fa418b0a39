import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { until } from '../durability/program.ts';
import { type Peer, testWith } from '../support/peers.ts';
import { read, readKannel } from './formats.ts';
import { freePort } from './image.ts';

const FILE = 'examples/deploy/kannel/kannel.conf';
const groups = readKannel();

/** The groups that there must be, with what Kannel demands of each and what is used besides. Others are mistakes. */
const KNOWN: Record<string, { required: string[]; more: string[] }> = {
  core: {
    required: ['admin-port', 'admin-password', 'smsbox-port'],
    more: ['admin-deny-ip', 'admin-allow-ip', 'store-type', 'store-location', 'dlr-storage'],
  },
  smsc: { required: ['smsc', 'smsc-id', 'port'], more: ['connect-allow-ip'] },
  smsbox: { required: ['bearerbox-host', 'sendsms-port'], more: [] },
  'sendsms-user': { required: ['username', 'password'], more: ['max-messages', 'forced-smsc'] },
  'sms-service': { required: ['keyword', 'text'], more: ['max-messages'] },
};

describe(FILE, () => {
  test('has each group once, with what it needs and nothing that Kannel would not know', () => {
    assert.deepEqual(
      groups.map(({ group }) => group),
      Object.keys(KNOWN),
    );
    for (const { group = '', ...fields } of groups) {
      const { required, more } = KNOWN[group] ?? assert.fail(group);
      assert.deepEqual(
        required.filter((key) => fields[key] === undefined),
        [],
        group,
      );
      assert.deepEqual(
        Object.keys(fields).filter((key) => ![...required, ...more].includes(key)),
        [],
        group,
      );
    }
  });

  test('the ports of the Kannel example are different', () => {
    const ports = groups.flatMap((group) => Object.entries(group).filter(([key]) => /port$/.test(key)));
    assert.equal(ports.length, 4);
    assert.equal(new Set(ports.map(([, port]) => port)).size, 4);
  });

  test('the only carrier of the Kannel example is the fake SMSC', () => {
    assert.deepEqual(
      groups.filter(({ group }) => group === 'smsc').map(({ smsc }) => smsc),
      ['fake'],
    );
  });
});

describe('Kannel itself', () => {
  const folder = mkdtempSync(join(tmpdir(), 'columba-kannel-'));
  const running: ChildProcess[] = [];
  after(async () => {
    for (const child of running) child.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });
  const found = ['bearerbox', 'smsbox'].every(
    (each) => spawnSync(each, ['--version'], { stdio: 'ignore' }).status === 0,
  );
  const peer: Peer = { name: 'kannel', command: found ? 'bearerbox' : null };

  testWith(peer, 'bearerbox and smsbox start with it, and a message is taken for the fake SMSC', async (bearerbox) => {
    const store = join(folder, 'store');
    mkdirSync(store);
    let text = read(FILE)
      .replace('/var/spool/kannel/store', store)
      .replace('bearerbox-host = bearerbox', 'bearerbox-host = 127.0.0.1');
    const ports: Record<string, string> = {};
    for (const [line, port = ''] of text.matchAll(/^\S*port = (\d+)$/gm)) {
      ports[port] = await freePort();
      text = text.replace(line, line.replace(port, ports[port] as string));
    }
    const path = join(folder, 'kannel.conf');
    writeFileSync(path, text);
    const ask = async (address: string): Promise<string> =>
      fetch(address).then(
        (answer) => answer.text(),
        () => '',
      );
    const status = () => ask(`http://127.0.0.1:${ports['13000']}/status.txt`);
    for (const box of [bearerbox, 'smsbox']) {
      running.push(spawn(box, ['-v', '1', path], { stdio: 'ignore' }));
      if (box === bearerbox) await until('bearerbox answers', async () => /running/.test(await status()));
    }
    await until('smsbox is connected', async () => /smsbox:.*on-line/.test(await status()));
    assert.match(await status(), /fake\[fake\] +FAKE:\d+/);
    const user = groups.find(({ group }) => group === 'sendsms-user');
    const query = new URLSearchParams({
      username: user?.username ?? '',
      password: user?.password ?? '',
      from: '31000',
      to: '+27825550100',
      text: 'hi',
    });
    assert.match(
      await ask(`http://127.0.0.1:${ports['13013']}/cgi-bin/sendsms?${query}`),
      /^3: Queued for later delivery/,
    );
    query.set('password', 'wrong');
    assert.match(await ask(`http://127.0.0.1:${ports['13013']}/cgi-bin/sendsms?${query}`), /Authorization failed/);
  });
});
