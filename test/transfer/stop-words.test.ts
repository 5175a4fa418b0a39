import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readAccount, writeAccount } from '../../src/transfer/account-json.ts';
import { createArchive } from '../../src/transfer/archive.ts';
import { openActions } from '../support/actions.ts';
import { onOneEngine } from '../support/engines.ts';

const account = (stopWords?: string) => ({
  username: 'initech',
  userID: 'secret',
  credits: '1',
  usedCredits: '0',
  datetimeCreated: '2026-11-01T00:00:00Z',
  stopWords,
});

onOneEngine('STOP words of an account', (engine) => {
  test('STOP words are imported and exported, and the operator can see and clear them', async (t) => {
    const bench = await openActions(engine, t);
    const archive = createArchive(bench.database, Date.now, null);
    const more = {
      startWords: 'JA',
      helpWords: 'INFO',
      wordLanguages: 'de,en',
      stopAnswer: 'Bye.',
      helpAnswer: 'Call us.',
    };
    await archive.load(await readAccount({ ...account('STOP,ENDE'), ...more }, 0));
    assert.deepEqual((await bench.of('initech', 'account show')).stopWords, ['STOP', 'ENDE']);
    let exported = '';
    await archive.read('initech', async (reading) => {
      for await (const piece of writeAccount(reading)) exported += piece;
    });
    const { stopWords, startWords, helpWords, wordLanguages, stopAnswer, helpAnswer } = JSON.parse(exported);
    assert.equal(stopWords, 'STOP,ENDE');
    assert.deepEqual({ startWords, helpWords, wordLanguages, stopAnswer, helpAnswer }, more);
    const changed = await bench.of('initech', 'account change', { body: { stopWords: [] } });
    assert.deepEqual(changed.stopWords, []);
    const refused = await bench.refusal('account change', {
      params: { username: 'initech' },
      body: { stopWords: ['two words'] },
    });
    assert.equal(refused.kind, 'bad-argument');
  });
});

test('an import refuses settings of sending that an operator could not set', async () => {
  for (const [name, value] of [
    ['timeZone', 'Mars/Olympus'],
    ['timeZone', ''],
    ['quietHours', '22:00'],
    ['quietHours', '24:00-06:00'],
    ['unknownOutcomePolicy', 'maybe'],
    ['connector', ''],
    ['connector', 'x'.repeat(65)],
    ['connector', 'a\nb'],
    ['wordLanguages', 'xx'],
    ['helpWords', 'two words'],
    ['stopAnswer', ' '],
    ['lowCredits', '-1'],
    ['lowCredits', '9223372036854775808'],
  ] as const) {
    await assert.rejects(readAccount({ ...account(), [name]: value }, 0), new RegExp(`^\\w+: ${name}: `), name);
  }
});

test('an import refuses STOP words that are no words', async () => {
  for (const words of ['', 'STOP,,ENDE', 'two words', 'STOP!', 'x'.repeat(51)]) {
    await assert.rejects(readAccount(account(words), 0), /stopWords/, words);
  }
});
