import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { describe, test } from 'node:test';
import { contract } from '../../src/asmx/contract/contract.ts';
import type { Operation } from '../../src/asmx/contract/types.ts';
import { readXml } from '../../src/asmx/xml/reader.ts';
import { adopt, readResult } from '../../test/support/contract-client.ts';
import { type Engine, engines } from '../../test/support/engines.ts';
import { LIMITS } from '../../test/support/limits.ts';
import { testWith } from '../../test/support/peers.ts';
import { type Arguments, requestOf } from '../../test/support/protocols.ts';
import { type Answer, type Service, startService } from '../../test/support/service.ts';
import { openConnection, requestBytes } from '../../test/support/socket.ts';

/** The servers that Columba is measured against give the same answers, so that the same work is measured. */
process.env.ACCOUNTS = '3';
process.env.MESSAGES = '30';
// Only now: what they import reads the two.
const { accountOf, messageOf, userIdOf } = await import('../../bench/data.ts');
const { startPeer, toolkits } = await import('../../bench/peers.ts');

type Call = readonly [group: 'account' | 'inbox', operation: string, args: Arguments];
const users = [0, 1, 2].map(userIdOf);
const [first = '', second = ''] = users;

const CALLS: readonly Call[] = [
  ...users.map((user_id): Call => ['account', 'Profile', { user_id }]),
  ...users.map((user_id): Call => ['inbox', 'Unread', { user_id, max_count: 20 }]),
  ['inbox', 'Unread', { user_id: first, max_count: 0 }],
  ['inbox', 'Unread', { user_id: first, max_count: 1_000 }],
  ['inbox', 'CountUnread', { user_id: first }],
  ...['1000003', '1000003', '1000000', '77', 'x', '1000001x', '1000029'].flatMap((message_id): Call[] => [
    ['inbox', 'MarkMessageAsRead', { user_id: first, message_id }],
    ['inbox', 'CountUnread', { user_id: first }],
    ['inbox', 'Unread', { user_id: first, max_count: 5 }],
  ]),
  ['inbox', 'Unread', { user_id: first, max_count: 1_000 }],
  ['inbox', 'CountUnread', { user_id: second }],
  ['inbox', 'Unread', { user_id: second, max_count: 5 }],
];
const REFUSED: readonly Call[] = [
  ['account', 'Profile', { user_id: 'nobody' }],
  ['inbox', 'MarkMessageAsRead', { user_id: 'nobody', message_id: '1000000' }],
  ['inbox', 'Unread', { user_id: first, max_count: -1 }],
];

for (const toolkit of toolkits) {
  const installed = { name: toolkit.name, command: toolkit.version() };
  testWith(installed, `${toolkit.name} answers with the same values as Columba`, async (version) => {
    const columba = await startColumba();
    const peer = await startPeer(toolkit, version);
    try {
      assert.ok(peer.pids().includes(peer.child.pid as number));
      const kept = connect(peer.port);
      for (const [group, operation, args] of CALLS) {
        const { result } = contract[group][operation as never] as Operation;
        const values = (answer: Answer) => readResult('soap11', operation, result, answer);
        const ours = values(await columba.call('soap11', group, operation, args));
        assert.deepEqual(
          values(await kept.ask([group, operation, args])),
          ours,
          `${operation} ${JSON.stringify(args)}`,
        );
      }
      kept.close();
      for (const call of REFUSED) {
        const single = connect(peer.port);
        const answer = await single.ask(call);
        single.close();
        assert.equal(answer.status, 500);
        assert.equal(faultOf(answer), faultOf(await columba.call('soap11', ...call)));
      }
    } finally {
      await peer.stop();
      await columba.stop();
    }
  });
}

describe('servers whose packages are missing', () => {
  test('servers whose packages are not installed are left out, and the benchmark names each with its packages', () => {
    const program = `const { startPeers } = await import('${new URL('../../bench/peers.ts', import.meta.url)}');
      process.stdout.write(String((await startPeers()).length));`;
    const args = ['--disable-warning=ExperimentalWarning', '--input-type=module', '--eval', program];
    const { stdout, stderr } = spawnSync(process.execPath, args, { env: { PATH: '/nonexistent' }, encoding: 'utf8' });
    assert.equal(stdout, '0');
    const lines = toolkits.map(
      ({ name, packages }) => `${name}: not installed (apt-get install ${packages}), left out\n`,
    );
    assert.equal(stderr, lines.join(''));
  });
});

async function startColumba(): Promise<Service> {
  const service = await startService(engines[0] as Engine, 'empty');
  for (const account of users.keys()) {
    const inbox = Array.from({ length: 30 }, (_, message) => messageOf(account, message));
    await adopt(service.app, { ...accountOf(account), inbox });
  }
  return service;
}

/** Calls over one connection, with answers that say how long they are. */
function connect(port: number) {
  const connection = openConnection(`http://127.0.0.1:${port}`);
  return {
    async ask([group, operation, args]: Call): Promise<Answer> {
      const { method, path, headers, bytes } = requestOf('soap11', group, operation, args);
      const fields = Object.entries({ host: '127.0.0.1', ...headers }).map(([name, value]) => `${name}: ${value}`);
      const { send, receive } = await connection;
      await send(requestBytes(`${method} ${path} HTTP/1.1`, fields, bytes));
      const reply = await receive();
      assert.ok(reply.headers['content-length']);
      const [, status] = reply.start.split(' ');
      return { status: Number(status), headers: reply.headers, body: reply.body, text: reply.body.toString('utf8') };
    },
    close: () => void connection.then(({ close }) => close()),
  };
}

function faultOf({ text }: Answer): string | undefined {
  const [fault] = readXml(text, LIMITS).children[0]?.children ?? [];
  return fault?.children.find(({ local }) => local === 'faultstring')?.text;
}
