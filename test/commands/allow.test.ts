import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { readAccount } from '../../src/transfer/account-json.ts';
import { accountChanges } from '../support/account-changes.ts';
import { accountIn, columba, freshPath, serving } from '../support/command.ts';
import { adopt, exportOf } from '../support/contract-client.ts';
import { onOneEngine } from '../support/engines.ts';
import { requestOf } from '../support/protocols.ts';
import { ACME, GLOBEX, startService } from '../support/service.ts';

/** `columba account allow`, and its list in files. */
const MISSING = /^error: missing required argument '/;
const WRONG = /^NETWORKS: expected addresses or networks such as 10\.0\.0\.1 or 10\.0\.0\.0\/8, or any$/;
const REFUSALS: readonly (readonly [args: string[], message: RegExp])[] = [
  [['allow'], MISSING],
  [['allow', 'acme'], MISSING],
  [['allow', 'acme', '10.0.0.1', '10.0.0.2'], /^error: too many arguments for 'allow'/],
  [['allow', 'acme', ''], WRONG],
  [['allow', 'acme', ' '], WRONG],
  [['allow', 'acme', ','], WRONG],
  [['allow', 'acme', 'ANY'], WRONG],
  [['allow', 'acme', 'any,10.0.0.1'], WRONG],
  [['allow', 'acme', 'none'], WRONG],
  [['allow', 'acme', '10.0.0.0/33'], WRONG],
  [['allow', 'acme', '10.0.0.1,sms.example'], WRONG],
  [['allow', 'acme', '2001:db8::/129'], WRONG],
  [['allow', 'nobody', '10.0.0.0/8'], /^There is no account with the username nobody\.$/],
  [['allow', 'nobody', 'any'], /^There is no account with the username nobody\.$/],
  [['allow', 'acme', '10.0.0.1', '--force'], /^error: unknown option '--force'/],
];

onOneEngine('columba account allow', (engine) => {
  test('columba account allow applies to the next call of a running service, also if the answer was cached', async (t) => {
    const database = await engine.fresh('sample');
    t.after(() => engine.release(database));
    const server = await serving(['--database', database]);
    const ask = async (userId: string) => {
      const reply = await fetch(`${server.address}/api/inbox.asmx/CountUnread?user_id=${userId}`);
      return [reply.status, await reply.text()] as const;
    };
    const command = async (...args: string[]) => {
      const { code, stdout, stderr } = await columba(['account', ...args, '--database', database]);
      assert.deepEqual([code, stderr], [0, ''], args.join(' '));
      return stdout;
    };
    const shown = async () => /^allowedNetworks: (.*)$/m.exec(await command('show', 'acme'))?.[1];
    const served = async (userId: string) => {
      for (const _ of [1, 2, 3]) assert.equal((await ask(userId))[0], 200);
    };
    const denied = [403, 'The user_id is not valid.\n'];

    await served(ACME);
    assert.equal(
      await command('allow', 'acme', '10.0.0.0/8, 2001:db8::/32'),
      'acme may be used from 10.0.0.0/8, 2001:db8::/32.\n',
    );
    assert.deepEqual(await ask(ACME), denied);
    assert.equal(await shown(), '10.0.0.0/8,2001:db8::/32');
    await served(GLOBEX);

    await command('allow', 'acme', '127.0.0.1');
    await served(ACME);
    assert.equal(await command('allow', 'acme', 'any'), 'acme may be used from everywhere.\n');
    await served(ACME);
    assert.equal(await shown(), undefined);

    const { code, stdout, stderr } = await columba(['account', 'allow', 'acme', 'somewhere', '--database', database]);
    assert.deepEqual([code, stdout], [1, '']);
    assert.match(stderr, /^columba: NETWORKS: expected addresses or networks such as .*, or any\n$/);
    await served(ACME);

    server.child.kill('SIGTERM');
    assert.equal((await server.ended).code, 0);
  });

  test('columba account allow refuses wrong arguments, says what is right, and leaves the list as it is', async () => {
    const service = await startService(engine);
    try {
      await accountChanges(service.app).allow('acme', ['10.0.0.0/8']);
      const before = await exportOf(service.app);
      for (const [args, message] of REFUSALS) {
        const work = accountIn(service.app, args, () => assert.fail('printed'));
        await assert.rejects(work, { message }, args.join(' '));
      }
      assert.equal(await exportOf(service.app), before);
    } finally {
      await service.stop();
    }
  });

  test('the list of networks is exported and imported, and applies after the import', async () => {
    const service = await startService(engine);
    const other = await startService(engine, 'empty');
    try {
      await accountChanges(service.app).allow('acme', ['10.0.0.0/8', '2001:db8::1']);
      const text = await exportOf(service.app);
      for (const line of text.trimEnd().split('\n'))
        await other.app.archive.load(await readAccount(JSON.parse(line), 0));
      assert.equal(await exportOf(other.app), text);
      const [acme, globex] = text.split('\n').map((line) => (line === '' ? {} : JSON.parse(line)));
      assert.deepEqual([acme?.allowedNetworks, globex?.allowedNetworks], ['10.0.0.0/8,2001:db8::1', undefined]);
      const from = async (user_id: string, client: string) =>
        (await other.send({ ...requestOf('get', 'inbox', 'CountUnread', { user_id }), client })).status;
      assert.deepEqual([await from(ACME, '10.1.1.1'), await from(ACME, '2001:db8::1')], [200, 200]);
      assert.deepEqual([await from(ACME, '192.0.2.1'), await from(GLOBEX, '192.0.2.1')], [403, 200]);
    } finally {
      await service.stop();
      await other.stop();
    }
  });

  test('an imported list of networks may have blanks, and one that is wrong or empty is refused', async () => {
    const service = await startService(engine, 'empty');
    try {
      const account = (name: string, allowedNetworks: unknown) => ({ username: name, userID: name, allowedNetworks });
      await adopt(service.app, account('blanks', ' 10.0.0.0/8 ,, 192.0.2.7 '));
      await adopt(service.app, account('null', null));
      const from = async (user_id: string, client: string) =>
        (await service.send({ ...requestOf('get', 'inbox', 'CountUnread', { user_id }), client })).status;
      for (const client of ['10.0.0.1', '192.0.2.7']) assert.equal(await from('blanks', client), 200);
      assert.equal(await from('blanks', '192.0.2.8'), 403);
      assert.equal(await from('null', '192.0.2.8'), 200);
      const { account: shown } = await accountChanges(service.app).show('blanks');
      assert.equal(shown.allowedNetworks, '10.0.0.0/8,192.0.2.7');

      for (const wrong of ['', ' ', ',', '10.0.0.0/33', 'any', '10.0.0.1;10.0.0.2']) {
        await assert.rejects(adopt(service.app, account('wrong', wrong)), {
          message: 'allowedNetworks: expected addresses or networks such as 10.0.0.1 or 10.0.0.0/8',
        });
      }
      await assert.rejects(adopt(service.app, account('wrong', ['10.0.0.1'])), {
        message: 'allowedNetworks: expected a text',
      });
    } finally {
      await service.stop();
    }
  });
});

test('columba import reports a wrong list of networks with its place', async () => {
  const file = freshPath('json');
  const account = { username: 'a', userID: 'a', credits: 0, usedCredits: 0, datetimeCreated: '2026-01-01' };
  writeFileSync(file, JSON.stringify({ accounts: [{ ...account, allowedNetworks: '10.0.0.0/99' }] }));
  const { code, stderr } = await columba(['import', file, '--database', `sqlite:${freshPath('db')}`]);
  assert.equal(code, 1);
  assert.match(stderr, /^accounts\[0\] \(a\): allowedNetworks: expected addresses or networks such as/);
});
