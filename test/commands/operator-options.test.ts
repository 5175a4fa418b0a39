import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { describe, test } from 'node:test';
import { columba, folder, freshDatabase, freshPath } from '../support/command.ts';

describe('options of operator commands', () => {
  test('a received message can be marked as read and as unread', async () => {
    const database = ['--database', freshDatabase()];
    await columba(['account', 'add', 'acme', ...database]);
    await columba(['inbox', 'receive', 'acme', '--text', 'hi', ...database]);
    const mark = (...flags: string[]) => columba(['inbox', 'mark', 'acme', '1', ...flags, ...database]);
    assert.equal((await mark('--read')).stdout, 'The message 1 is read.\n');
    assert.equal((await mark('--no-read')).stdout, 'The message 1 is unread.\n');
    const without = await mark();
    assert.deepEqual([without.code, without.stderr], [1, 'columba: --read: expected boolean\n']);
  });

  test('every option of a list can be repeated, and takes commas', async () => {
    const database = ['--database', freshDatabase()];
    const lists = ['--stop-words', 'STOP', '--stop-words', 'END,QUIT', '--allowed-networks', '10.0.0.0/8'];
    await columba(['account', 'add', 'acme', ...lists, '--allowed-networks', '192.0.2.0/24', ...database]);
    const { stopWords, allowedNetworks } = JSON.parse(
      (await columba(['account', 'show', 'acme', '--json', ...database])).stdout,
    );
    assert.deepEqual(stopWords, ['STOP', 'END', 'QUIT']);
    assert.deepEqual(allowedNetworks, ['10.0.0.0/8', '192.0.2.0/24']);
    const scopes = ['--scopes', 'accounts', '--scopes', 'audit,metrics'];
    const added = await columba(['token', 'add', 'ci', ...scopes, '--json', ...database]);
    assert.deepEqual(JSON.parse(added.stdout).scopes, ['accounts', 'audit', 'metrics']);
  });

  test('a text that has a comma is one text, and the option is repeated for the next recipient', async () => {
    const database = ['--database', freshDatabase()];
    await columba(['account', 'add', 'acme', '--credits', '10', ...database]);
    const texts = ['--texts', 'Dear Ann, see you at 9', '--texts', 'Dear Bo, see you at 10'];
    const recipients = '+27825550201,+27825550202';
    const sent = await columba(['message', 'send', 'acme', recipients, ...texts, '--json', ...database]);
    assert.equal(sent.code, 0, sent.stderr);
    const { items } = JSON.parse((await columba(['message', 'list', 'acme', '--json', ...database])).stdout);
    assert.deepEqual(items.map(({ text }: { text: string }) => text).sort(), [
      'Dear Ann, see you at 9',
      'Dear Bo, see you at 10',
    ]);
  });

  test('connector put takes no secret on the command line, but from a file, standard input or a prompt', async () => {
    const database = ['--database', freshDatabase()];
    await columba(['account', 'add', 'acme', ...database]);
    const url = { url: 'https://carrier.example/' };
    const secret = `whsec_${Buffer.alloc(24, 7).toString('base64')}`;
    const put = (config: string, input?: string, ...more: string[]) =>
      columba(['connector', 'put', 'hook', '--kind', 'callback', '--config', config, ...more, ...database], {
        ...(input !== undefined && { input }),
      });
    const shown = await put(JSON.stringify({ ...url, secret }));
    assert.equal(shown.code, 1);
    assert.match(
      shown.stderr,
      /^columba: --config secret: a secret on the command line is seen by others\. Write --config @FILE/,
    );
    assert.ok(!shown.stderr.includes(secret));
    const file = freshPath('json');
    writeFileSync(file, JSON.stringify({ ...url, secret }));
    const done = { code: 0, stdout: 'The connector hook is of the kind callback.\n', stderr: '' };
    assert.deepEqual(await put(`@${file}`), done);
    assert.deepEqual(await put('-', JSON.stringify({ ...url, secret })), done);
    assert.deepEqual(await put(JSON.stringify(url), `${secret}\n\n`, '--config-secrets'), done);
    const none = await put(JSON.stringify(url), '\n', '--config-secrets');
    assert.equal(none.code, 1);
    assert.match((await put('@/nowhere.json')).stderr, /nowhere\.json/);
  });

  test('check connects to the gateway of a callback connector, and posts nothing to it', async () => {
    const database = ['--database', freshDatabase()];
    await columba(['account', 'add', 'acme', ...database]);
    const seen = { connections: 0, bytes: 0 };
    const gateway = createServer((socket) => {
      seen.connections += 1;
      socket
        .on('error', () => {})
        .on('data', (bytes) => {
          seen.bytes += bytes.length;
        });
    });
    await new Promise<void>((resolve) => gateway.listen(0, '127.0.0.1', resolve));
    const { port } = gateway.address() as AddressInfo;
    const secret = `whsec_${Buffer.alloc(24, 7).toString('base64')}`;
    const config = JSON.stringify({ url: `http://127.0.0.1:${port}/`, secret, allowPrivate: true });
    const words = ['connector', 'put', 'hook', '--kind', 'callback', '--is-default', '--config', '-', ...database];
    assert.equal((await columba(words, { input: config })).stderr, '');
    const { code, stderr } = await columba(['check', ...database]);
    assert.deepEqual([code, stderr, seen], [0, '', { connections: 1, bytes: 0 }]);
    await new Promise((resolve) => gateway.close(resolve));
    const dead = await columba(['check', ...database]);
    assert.match(dead.stderr, /The address of the connector hook cannot be reached: ECONNREFUSED/);
  });

  test('retention set accepts null, as its help says, and shows each kind', async () => {
    const database = ['--database', freshDatabase()];
    await columba(['account', 'add', 'acme', ...database]);
    const set = (...flags: string[]) => columba(['retention', 'set', ...flags, ...database]);
    const others =
      ['sent', 'unrouted', 'audit', 'ledger'].map((kind) => `${kind}: kept for ever\n`).join('') +
      'clients: kept for 90 days, older now: 0\n';
    const lines = (inbox: string) => `${inbox}\n${others}`;
    assert.equal((await set('--inbox', '365')).stdout, lines('inbox: kept for 365 days, older now: 0'));
    const dry = await set('--inbox', 'null', '--dry-run');
    assert.equal(dry.stdout, `A dry run: nothing is set.\n${lines('inbox: kept for ever')}`);
    const shown = () => columba(['retention', 'show', ...database]);
    assert.match((await shown()).stdout, /^inbox: kept for 365 days/);
    assert.equal((await set('--inbox', 'null')).code, 0);
    assert.match((await shown()).stdout, /^inbox: kept for ever/);
    const wrong = await set('--inbox', 'x');
    assert.deepEqual([wrong.code, wrong.stderr], [1, 'columba: --inbox: expected number\n']);
  });

  test('person show says that no account knows a number, and prints JSON otherwise', async () => {
    const database = ['--database', freshDatabase()];
    await columba(['account', 'add', 'acme', '--region', 'ZA', ...database]);
    await columba(['contact', 'add', 'acme', '0825550201', ...database]);
    const show = (number: string) => columba(['person', 'show', number, ...database]);
    assert.equal((await show('+27825550209')).stdout, 'No account knows this number.\n');
    const known = JSON.parse((await show('+27825550201')).stdout);
    assert.equal(known.accounts[0].contacts[0].mobile, '0825550201');
  });

  test('null on the command line clears a field, and is not stored as a text', async () => {
    const database = ['--database', freshDatabase()];
    const fields = ['--company', 'X', '--email', 'a@b.example', '--region', 'ZA', '--stop-words', 'STOP'];
    const more = ['--time-zone', 'Africa/Johannesburg', '--quiet-hours', '22:00-06:00', '--low-credits', '5'];
    const networks = ['--allowed-networks', '10.0.0.0/8'];
    await columba(['account', 'add', 'acme', ...fields, ...more, ...networks, ...database]);
    const given = [...fields, ...more, ...networks].filter((word) => word.startsWith('--'));
    const cleared = [...given, '--connector'].flatMap((flag) => [flag, 'null']);
    const changed = await columba(['account', 'change', 'acme', ...cleared, ...database]);
    assert.deepEqual([changed.code, changed.stderr], [0, '']);
    const account = JSON.parse((await columba(['account', 'show', 'acme', '--json', ...database])).stdout);
    for (const name of ['company', 'email', 'region', 'timeZone', 'quietHours', 'lowCredits', 'connector']) {
      assert.equal(account[name], null, name);
    }
    assert.deepEqual([account.stopWords, account.allowedNetworks], [[], []]);
  });

  test('a wrong --time-zone of an account is reported as the option, not as a setting', async () => {
    const database = ['--database', freshDatabase()];
    await columba(['account', 'add', 'acme', ...database]);
    const { code, stderr } = await columba(['account', 'change', 'acme', '--time-zone', 'Mars/Base', ...database]);
    const sentence = 'columba: --time-zone: expected a time zone such as Africa/Johannesburg\n';
    assert.deepEqual([code, stderr], [1, sentence]);
  });

  test('message send ends with 1 if every recipient is refused', async () => {
    const database = ['--database', freshDatabase()];
    await columba(['account', 'add', 'acme', '--region', 'ZA', '--credits', '5', ...database]);
    const send = (to: string, ...flags: string[]) =>
      columba(['message', 'send', 'acme', to, '--text', 'Hi', ...flags, ...database]);
    const stderr = [
      'columba: No recipient can get the message.',
      'recipient 1: this is not a possible phone number',
      'recipient 2: a spreadsheet has written this number with an exponent, and digits are lost',
    ];
    assert.deepEqual(await send('12,2.78E+10'), { code: 1, stdout: '', stderr: `${stderr.join('\n')}\n` });
    const asJson = await send('12', '--json');
    assert.deepEqual([asJson.code, JSON.parse(asJson.stdout).accepted], [1, []]);
    assert.equal((await send('12,0825550201')).code, 0, 'the others go');
  });

  test('mistakes in a file are reported with the name of the file, not as options', async () => {
    const database = ['--database', freshDatabase()];
    await columba(['account', 'add', 'acme', '--region', 'ZA', ...database]);
    const [empty, bad] = [freshPath('csv'), freshPath('csv')];
    writeFileSync(empty, '');
    writeFileSync(bad, 'mobile\n0825550201\nnone\n');
    const told = async (file: string) => {
      const { code, stdout, stderr } = await columba(['contact', 'import', 'acme', file, ...database]);
      assert.deepEqual([code, stdout], [1, '']);
      return stderr;
    };
    assert.equal(await told(empty), `columba: ${empty}: it is empty\n`);
    assert.equal(await told(bad), `columba: ${bad}: row 3: this is not a phone number\n`);
    assert.equal(await told('nofile.csv'), 'columba: nofile.csv: there is no such file\n');
    assert.equal(await told(folder), `columba: ${folder}: expected a file, but this is a folder\n`);
    const put = ['connector', 'put', 'box', '--kind', 'kannel-box', '--config', '{"host":7}', ...database];
    assert.equal((await columba(put)).stderr, 'columba: --config host: expected a text\n');
  });

  test('the help names options, not fields of the API', async () => {
    const { stdout } = await columba(['help', 'contact', 'import']);
    assert.match(stdout, /^Usage: columba contact import /, 'help of two words was the help of the first one');
    assert.match(stdout, /unless --skip-bad is given/);
    assert.doesNotMatch(stdout, /skip_bad/);
  });
});
