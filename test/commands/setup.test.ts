import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { CARRIERS } from '../../src/commands/setup.ts';
import { columba, serving } from '../support/command.ts';
import { onOneEngine } from '../support/engines.ts';
import { until } from '../support/program.ts';
import { startSmsc } from '../support/smsc.ts';

onOneEngine('columba setup', (engine) => {
  test('setup with flags brings a message to a carrier, and a second run changes nothing', async () => {
    const database = await engine.fresh('empty');
    const smsc = await startSmsc();
    after(() => smsc.close());
    const server = await serving(['--database', database]);
    const carrier = { host: '127.0.0.1', port: smsc.port, systemId: 'columba', password: 'secret' };
    const whom = [
      '--operator',
      'ann',
      '--account',
      'acme',
      '--region',
      'ZA',
      '--credits',
      '7',
      '--send-to',
      '0825550201',
    ];
    const args = ['setup', '--database', database, ...whom, '--carrier', 'smpp'];
    const input = JSON.stringify(carrier);
    try {
      const first = await columba([...args, '--carrier-config', '-'], { input });
      assert.deepEqual([first.code, first.stderr], [0, '']);
      assert.match(
        first.stdout,
        /^Operator: ann signs in once within 24 hours with\n {2}http:\S+\/console\/sign-in\/\S+$/m,
      );
      assert.match(first.stdout, /^Account: acme with 7 credits, country ZA\.$/m);
      assert.match(first.stdout, /^Carrier: smpp\.$/m);
      assert.match(first.stdout, /^ {2}user_id {4}[0-9a-f-]{36} \(it cannot be shown again\)$/m);
      assert.doesNotMatch(first.stdout, /secret/);
      await until('the SMSC has the test message', () => smsc.submitted.length === 1);
      assert.equal(smsc.submitted[0]?.to, '27825550201');

      const again = await columba([...args.filter((each) => !/send-to|0825/.test(each))]);
      assert.deepEqual([again.code, again.stderr], [0, '']);
      assert.match(again.stdout, /^Operator: ann is there already\..*sign-in-link ann$/m);
      assert.match(again.stdout, /^Account: acme is there already\.$/m);
      assert.match(again.stdout, /^Carrier: smpp is there already\./m);
      assert.match(again.stdout, /^ {2}user_id {4}as before; another one: columba account rotate-user-id acme$/m);
      const { stdout } = await columba(['account', 'show', 'acme', '--json', '--database', database]);
      assert.equal(JSON.parse(stdout).region, 'ZA');
    } finally {
      server.child.kill('SIGTERM');
      await server.ended;
    }
  });

  test('setup without a terminal and without flags says which flags there are', async () => {
    const { code, stderr } = await columba(['setup', '--database', await engine.fresh('empty')]);
    assert.equal(code, 1);
    assert.match(stderr, /columba setup --operator ann --account acme --carrier loopback/);
  });

  test('a carrier that cannot be reached is named with the command that corrects it', async () => {
    const config = JSON.stringify({ host: '127.0.0.1', port: 1, systemId: 'columba', password: 'secret' });
    const database = await engine.fresh('empty');
    const args = ['setup', '--database', database, '--carrier', 'smpp', '--carrier-config', '-'];
    const { code, stderr } = await columba(args, { input: config });
    assert.equal(code, 0);
    assert.match(stderr, /127\.0\.0\.1:1 cannot be used[\s\S]*columba setup --carrier smpp --replace-carrier\n$/);
  });

  test('a local number without a region is refused with the way to set one', async () => {
    const database = await engine.fresh('empty');
    const set = ['setup', '--database', database, '--account', 'acme', '--carrier', 'loopback'];
    const { code, stderr } = await columba([...set, '--send-to', '082 555 0201']);
    assert.equal(code, 1);
    assert.match(stderr, /the account has no region\..*: columba account change acme --region ZA$/m);
    const send = ['message', 'send', 'acme', '082 555 0201', '--text', 'x', '--database', database];
    assert.match((await columba(send)).stderr, /\nSet the region with: columba account change USERNAME --region ZA\n$/);
    const { stderr: other } = await columba(['message', 'send', 'acme', '12', '--text', 'x', '--database', database]);
    assert.match(other, /not a possible phone number/);
  });
});

test('shells offer every carrier of setup, and its help names them', async () => {
  const script = (await columba(['completion', 'bash'])).stdout;
  assert.ok(script.includes(`'setup --carrier') choices='${CARRIERS.join(' ')}'`));
  const words = (await columba(['setup', '--help'])).stdout.split(/[\s,.]+/);
  assert.deepEqual(
    CARRIERS.filter((name) => !words.includes(name)),
    [],
  );
});
