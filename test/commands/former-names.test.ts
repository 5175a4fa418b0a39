import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { columba, freshDatabase } from '../support/command.ts';

describe('former names in commands', () => {
  test('message arm is message activate with a warning, and help and completion do not name it', async () => {
    const database = ['--database', freshDatabase()];
    await columba(['account', 'add', 'acme', ...database]);
    const former = await columba(['message', 'arm', 'acme', ...database]);
    assert.deepEqual([former.code, former.stdout], [0, 'Activated: 0. Not activated: 0.\n']);
    assert.match(former.stderr, /^columba: columba message arm is now called columba message activate\..*\n$/);
    const current = await columba(['message', 'activate', 'acme', ...database]);
    assert.deepEqual([current.stdout, current.stderr], [former.stdout, '']);
    const help = (await columba(['message', '--help'])).stdout;
    assert.match(help, /^ {2}activate /m);
    assert.doesNotMatch(help, /^ {2}arm\b/m);
    assert.doesNotMatch((await columba(['completion', 'bash'])).stdout, /\barm\b|unsure/);
  });

  test('--unsure-policy is --unknown-outcome-policy with a warning, and people see the field once', async () => {
    const database = ['--database', freshDatabase()];
    const added = await columba(['account', 'add', 'acme', '--unsure-policy', 'submit-again', ...database]);
    assert.equal(added.code, 0);
    assert.match(added.stderr, /^columba: --unsure-policy is now called --unknown-outcome-policy\..*\n$/);
    const { stdout } = await columba(['account', 'show', 'acme', ...database]);
    assert.match(stdout, /^unknownOutcomePolicy: submit-again$/m);
    assert.doesNotMatch(stdout, /unsure/);
    assert.doesNotMatch((await columba(['account', 'add', '--help'])).stdout, /unsure/);
    const both = ['--unsure-policy', 'submit-again', '--unknown-outcome-policy', 'never-twice'];
    const refused = await columba(['account', 'change', 'acme', ...both, ...database]);
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /--unsure-policy: this is the former name of unknownOutcomePolicy/);
  });
});
