import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accountIn, columba, freshDatabase, serving } from '../support/command.ts';
import { exportOf } from '../support/contract-client.ts';
import { onOneEngine } from '../support/engines.ts';
import { startService } from '../support/service.ts';

/** The user_id that a command has shown. */
const shown = (stdout: string): string => /^[0-9a-f-]{36}$/m.exec(stdout)?.[0] ?? assert.fail(stdout);

test('columba account creates, changes and removes an account beside a service that runs on the same database', async () => {
  const database = freshDatabase();
  const server = await serving(['--database', database]);
  const profile = (userId: string) => fetch(`${server.address}/api/account.asmx/Profile?user_id=${userId}`);
  const statuses = async (...userIds: string[]) =>
    (await Promise.all(userIds.map(profile))).map(({ status }) => status);
  const account = async (args: string[], input = '') => {
    const { code, stdout, stderr } = await columba(['account', ...args, '--database', database], { input });
    assert.deepEqual([code, stderr], [0, ''], args.join(' '));
    return stdout;
  };

  const options = ['--company', 'Initech & <Co>', '--email', 'bill@initech.example', '--mobile', '+27825550100'];
  const more = ['--contact-name', 'Bill', '--contact-surname', 'Lumbergh', '--region', 'ZA', '--credits', '500'];
  const numbers = ['--priority', '2', '--tag=-7', '--password-stdin'];
  const added = await account(['add', 'initech', ...options, ...more, ...numbers], 'hush hush\n');
  assert.match(added, /^Added initech\. Its user_id, which cannot be shown again:\n[0-9a-f-]{36}\n$/);
  const first = shown(added);
  const text = await (await profile(first)).text();
  const fields = [...text.matchAll(/<(\w+)>([^<]*)<\//g)].map(([, name, value]) => [name, value]);
  const { datetimeCreated, datetimeLastLoggedIn, ...rest } = Object.fromEntries(fields);
  assert.equal(datetimeLastLoggedIn, datetimeCreated);
  assert.deepEqual(rest, {
    userID: first,
    username: 'initech',
    company: 'Initech &amp; &lt;Co&gt;',
    email: 'bill@initech.example',
    mobile: '+27825550100',
    contactName: 'Bill',
    contactSurname: 'Lumbergh',
    credits: '500',
    usedCredits: '0',
    transmissionPriority: '2',
    tag: '-7',
  });

  await account(['disable', 'initech']);
  assert.deepEqual(await statuses(first), [403]);
  assert.equal(await account(['list']), 'initech\tInitech & <Co>\t500 credits\tdisabled\n');
  await account(['enable', 'initech']);
  assert.deepEqual(await statuses(first), [200]);

  const second = shown(await account(['rotate-user-id', 'initech']));
  assert.deepEqual(await statuses(first, second), [200, 200]);
  const told = await account(['show', 'initech']);
  assert.match(told, /^username: initech\n/);
  for (const line of ['company: Initech & <Co>', 'region: ZA', 'credits: 500', 'password: set']) {
    assert.ok(told.includes(`\n${line}\n`), told);
  }
  for (const secret of [first, second, 'hush', '$argon2']) assert.ok(!told.includes(secret));
  const [hash = ''] = [...told.matchAll(/^user_id with hash ([0-9a-f]{12})…: created [-\dT:.]+Z, valid$/gm)].map(
    ([, prefix]) => prefix as string,
  );
  assert.equal(await account(['revoke-user-id', 'initech', hash]), 'Revoked.\n');
  assert.deepEqual(await statuses(first, second), [403, 200]);

  const last = await account(['rotate-user-id', 'initech', '--revoke-old']);
  assert.match(last, /\nRevoked: 1\.\n$/);
  assert.deepEqual(await statuses(first, second, shown(last)), [403, 403, 200]);

  const { code, stdout, stderr } = await columba(['account', 'add', 'new', '--password-stdin', '--database', database]);
  assert.deepEqual([code, stdout], [1, '']);
  assert.equal(stderr, 'columba: --password-stdin: there was nothing on standard input\n');

  server.child.kill('SIGTERM');
  assert.equal((await server.ended).code, 0);
});

const MISSING = /^error: missing required argument '/;
const MANY = /^error: too many arguments for '/;
const EMPTY = /^USERNAME: expected at least 1 characters$/;
const NOBODY = /^There is no account with the username nobody\.$/;
const REFUSALS: readonly [args: string[], message: RegExp][] = [
  [['show', 'nobody'], NOBODY],
  [['disable', 'nobody'], NOBODY],
  [['enable', 'nobody'], NOBODY],
  [['rotate-user-id', 'nobody'], NOBODY],
  [['revoke-user-id', 'nobody', '0123456789ab'], NOBODY],
  [['revoke-user-id', 'acme', '0123456'], /^HASH: expected 8 to 64 hexadecimal digits in lower case$/],
  [['revoke-user-id', 'acme', '%%%%%%%%'], /^HASH: expected 8 to 64 hexadecimal digits in lower case$/],
  [['revoke-user-id', 'acme', '00000000'], /^There is no user_id of this account whose hash starts with this\.$/],
  [['add', 'acme'], /^username: there is already an account with the username acme$/],
  [['add', 'new', '--priority', '4'], /^--priority: expected a whole number from 0 to 3$/],
  [['add', 'new', '--credits', '1.5'], /^--credits: expected a whole number from 0 to /],
  [['add', 'new', '--credits=-1'], /^--credits: expected a whole number from 0 to /],
  [['add', 'new', '--tag', '2147483648'], /^--tag: expected a whole number from -2147483648 to 2147483647$/],
  [['add', 'new', '--region', 'XX'], /^--region: expected a country code such as ZA$/],
  [['add', 'new', '--colour', 'red'], /^error: unknown option '--colour'/],
  [['add'], MISSING],
  [['add', ''], EMPTY],
  [['add', 'one', 'two'], MANY],
  [['list', 'more'], MANY],
  [['show'], MISSING],
  [['revoke-user-id', 'acme'], MISSING],
  [['frobnicate'], /^error: unknown command 'frobnicate'/],
  [['constructor'], /^error: unknown command 'constructor'/],
  [[], /^\(outputHelp\)$/],
];

onOneEngine('columba account', (engine) => {
  test('columba account refuses wrong arguments, says what is right, and changes nothing', async () => {
    const service = await startService(engine);
    try {
      const before = await exportOf(service.app);
      for (const [args, message] of REFUSALS) {
        const printed: string[] = [];
        const work = accountIn(service.app, args, (line) => void printed.push(line));
        await assert.rejects(work, { message }, args.join(' '));
        assert.deepEqual(printed, []);
      }
      assert.equal(await exportOf(service.app), before);
    } finally {
      await service.stop();
    }
  });
});
