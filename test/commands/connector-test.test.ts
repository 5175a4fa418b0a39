import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { columba } from '../support/command.ts';
import { onOneEngine } from '../support/engines.ts';

const SECRET = 'a-token-of-twilio';
const CONFIG = { provider: 'twilio', settings: { accountSid: 'AC1' }, publicUrl: 'https://sms.example.org' };

onOneEngine('columba connector test', (engine) => {
  test('columba connector test shows the request with masked secrets, and the result of an answer in a file', async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'columba-connector-'));
    t.after(() => rmSync(folder, { recursive: true }));
    const database = ['--database', await engine.fresh('empty')];
    const put = ['connector', 'put', 'twilio', '--kind', 'http'];
    const inline = JSON.stringify({ ...CONFIG, secrets: { authToken: SECRET } });
    const shown = await columba([...put, '--config', inline, ...database]);
    assert.match(shown.stderr, /--config secrets.authToken: a secret on the command line is seen by others/);
    const saved = await columba([...put, '--config', JSON.stringify(CONFIG), '--config-secrets', ...database], {
      input: `${SECRET}\n`,
    });
    assert.equal(saved.code, 0, saved.stderr);

    const tried = await columba([
      'connector',
      'test',
      'twilio',
      '--to',
      '+27825550201',
      '--from',
      '+27825550100',
      '--text',
      'Hi & bye',
      ...database,
    ]);
    assert.equal(tried.code, 0, tried.stderr);
    assert.deepEqual(tried.stdout.trimEnd().split('\n'), [
      'POST https://api.twilio.com/2010-04-01/Accounts/AC1/Messages.json',
      'Content-Type: application/x-www-form-urlencoded',
      'Authorization: Basic ***',
      '',
      'To=%2B27825550201&From=%2B27825550100&Body=Hi%20%26%20bye&StatusCallback=https%3A%2F%2Fsms.example.org%2Fcarriers%2Ftwilio%2Freceipt%3Fa%3D0123456789abcdef0123456789abcdef',
    ]);

    const file = join(folder, 'answer.json');
    writeFileSync(file, '{"code":21610}');
    const refused = await columba(['connector', 'test', 'twilio', '--status', '400', '--answer', file, ...database]);
    assert.match(refused.stdout, /\nResult: permanent\nReason: 21610\nThe rule 4 fits: the message is REJECTED\.\n$/);
    writeFileSync(file, 'what is this?');
    const unread = await columba(['connector', 'test', 'twilio', '--answer', file, ...database]);
    assert.match(unread.stdout, /\nResult: unknown\nNo rule fits, so the status alone decides: nobody knows/);
    assert.doesNotMatch(shown.stdout + tried.stdout + refused.stdout + unread.stdout, new RegExp(SECRET));

    const other = await columba(['connector', 'put', 'loopback', '--kind', 'loopback', ...database]);
    assert.equal(other.code, 0, other.stderr);
    const none = await columba(['connector', 'test', 'loopback', '--to', '+27825550201', ...database]);
    assert.match(none.stderr, /A connector of the kind loopback shows no request\./);
  });

  test('a file with a mistake is not saved, and the command names the place', async () => {
    const database = ['--database', await engine.fresh('empty')];
    const provider = {
      receipts: 'none',
      request: { method: 'POST', url: 'https://127.0.0.1/' },
      answer: [{ when: { status: 200 }, result: 'accepted' }],
    };
    const save = (given: object) =>
      columba([
        'connector',
        'put',
        'own',
        '--kind',
        'http',
        '--config',
        JSON.stringify({ provider: given }),
        ...database,
      ]);
    const isPrivate = await save(provider);
    assert.equal(isPrivate.code, 1);
    assert.match(
      isPrivate.stderr,
      /--config provider\/request\/url: the address is not public, and allowPrivate is off/,
    );
    const wrong = await save({ ...provider, answer: [{ when: { status: 200 }, result: 'taken' }] });
    assert.match(wrong.stderr, /--config provider\/answer\/0\/result: expected one of accepted, permanent/);
  });
});
