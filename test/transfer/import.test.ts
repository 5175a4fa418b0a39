import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { clientOf } from '../support/contract-client.ts';
import { onEveryEngine, SAMPLE } from '../support/engines.ts';
import { account, document, exportText, importText, lines, TIME, withService } from '../support/import-files.ts';
import { ACME } from '../support/service.ts';

const BOM = '\uFEFF';
const SAMPLE_TEXT = readFileSync(SAMPLE, 'utf8');
const NONE_REFUSED = { updated: 0, refused: 0, mistakes: [], mistakesLeftOut: 0 };

/** One and the same pair of accounts, in all the ways in which files are written. */
const PAIR = [account('one', { company: 'Ünïcødé 😀' }), account('two', { templates: ['a\nb'] })];
const WRITTEN: Record<string, string | Uint8Array> = {
  'a JSON document': document(...PAIR),
  'an indented JSON document': JSON.stringify({ accounts: PAIR }, null, 2),
  'an indented JSON document with CRLF': JSON.stringify({ accounts: PAIR }, null, 2).replaceAll('\n', '\r\n'),
  'a JSON document with a byte order mark': BOM + document(...PAIR),
  'a JSON document with white space around': ` \n\t ${document(...PAIR)} \n`,
  NDJSON: lines(...PAIR),
  'NDJSON without a last line end': lines(...PAIR).trimEnd(),
  'NDJSON with CRLF': lines(...PAIR).replaceAll('\n', '\r\n'),
  'NDJSON with a byte order mark': BOM + lines(...PAIR),
  'NDJSON with empty lines': `\n${lines(...PAIR).replaceAll('\n', '\n\n \n')}`,
};

onEveryEngine('import', (engine) => {
  test('the sample file is imported completely, and the import says what it did', () =>
    withService(engine, async ({ app }) => {
      const result = await importText(app, SAMPLE_TEXT);
      assert.deepEqual(result, { accounts: 2, messages: 15, ...NONE_REFUSED });
    }));

  for (const [how, text] of Object.entries(WRITTEN)) {
    test(`import reads ${how}`, () =>
      withService(engine, async (service) => {
        assert.deepEqual(await importText(service.app, text), { accounts: 2, messages: 0, ...NONE_REFUSED });
        const profile = await clientOf(service, 'soap12', 'user_id of one').ask('account', 'Profile');
        assert.deepEqual([profile?.username, profile?.company], ['one', 'Ünïcødé 😀']);
        const templates = await clientOf(service, 'soap12', 'user_id of two').ask('account', 'FetchSavedMessages');
        assert.deepEqual(templates, ['a\nb']);
      }));
  }

  test('an archive of an earlier version is imported with unsurePolicy, and exported as unknownOutcomePolicy', () =>
    withService(engine, async ({ app }) => {
      const result = await importText(app, document(account('one', { unsurePolicy: 'submit-again' })));
      assert.deepEqual(result.mistakes, []);
      const [exported] = JSON.parse(await exportText(app, false)).accounts;
      assert.equal(exported.unknownOutcomePolicy, 'submit-again');
      assert.equal(exported.unsurePolicy, undefined);
      const both = { unsurePolicy: 'submit-again', unknownOutcomePolicy: 'never-twice' };
      assert.match((await importText(app, document(account('two', both)))).mistakes.join(), /unsurePolicy/);
      const wrong = await importText(app, document(account('two', { unsurePolicy: 'perhaps' })));
      assert.match(wrong.mistakes.join(), /unsurePolicy: expected one of never-twice, submit-again/);
    }));

  test('NDJSON breaks its lines at line feeds only, not at other separators inside of a text', () =>
    withService(engine, async ({ app }) => {
      const company = 'a\u2028b\u2029c\u0085d\u000be';
      assert.deepEqual((await importText(app, lines(account('one', { company }), account('two')))).mistakes, []);
      assert.equal(JSON.parse(await exportText(app, true, 'one')).company, company);
    }));

  test('whole numbers may be JSON numbers or texts, exact over all 64 bits', () =>
    withService(engine, async ({ app }) => {
      const numbers = [
        '9223372036854775807',
        '-9223372036854775808',
        '9007199254740993',
        '-9007199254740993',
        '12',
        '0',
      ];
      const text = (quote: string, name: string) =>
        numbers.map((number, index) =>
          JSON.stringify(account(`${name}${index}`)).replace('"credits":0', `"credits":${quote}${number}${quote}`),
        );
      const { mistakes } = await importText(app, `${[...text('', 'n'), ...text('"', 't')].join('\n')}\n`);
      assert.deepEqual(mistakes, []);
      for (const name of ['n', 't']) {
        for (const [index, number] of numbers.entries()) {
          assert.equal(JSON.parse(await exportText(app, true, `${name}${index}`)).credits, number);
        }
      }
    }));

  test('a number that is not written as a whole one is refused, never rounded', () =>
    withService(engine, async ({ app }) => {
      for (const number of ['9007199254740993.0', '9.007199254740993e15', '1.5', '1e400']) {
        const text = JSON.stringify(account('one')).replace('"credits":0', `"credits":${number}`);
        const { mistakes } = await importText(app, `${text}\n`);
        assert.deepEqual(mistakes, ['line 1 (one): credits: expected a whole number of 64 bits'], number);
      }
    }));

  test('texts are exact, and absent, null and empty ones stay what they are', () =>
    withService(engine, async (service) => {
      const inbox = [
        { id: 1, timestamp: TIME, read: false, message: ' \r\n "quoted" \\ \u0000 \uFFFF 😀' },
        { id: 2, timestamp: TIME, read: false, message: '' },
        { id: 3, timestamp: TIME, read: false, message: null },
        { id: 4, timestamp: TIME, read: false },
      ];
      assert.deepEqual((await importText(service.app, document(account('one', { inbox })))).mistakes, []);
      const exported = JSON.parse(await exportText(service.app, true));
      assert.deepEqual(
        exported.inbox.map(({ message }: { message?: string }) => message),
        [inbox[0]?.message, '', undefined, undefined],
      );
    }));

  test('hashes of secrets are taken in place of the secrets', () =>
    withService(engine, async (service) => {
      const hashOf = (userId: string) => createHash('sha256').update(userId).digest('hex');
      const passwordHash = `$argon2id$v=19$m=19456,t=2,p=1$${'A'.repeat(22)}$${'A'.repeat(43)}`;
      const { userID: _, ...without } = account('hashed', {
        passwordHash,
        userIDHashes: [
          { sha256: hashOf('first'), created: TIME },
          { sha256: hashOf('second'), created: TIME, revoked: TIME },
          { sha256: hashOf('third'), created: TIME, revoked: null },
        ],
      });
      const both = { ...account('both'), userIDHashes: [{ sha256: hashOf('more'), created: TIME }] };
      assert.deepEqual((await importText(service.app, document(without, both))).mistakes, []);
      const client = clientOf(service, 'post');
      for (const userId of ['first', 'third', 'more', 'user_id of both']) {
        assert.equal((await client.as(userId).ask('account', 'Profile'))?.userID, userId);
      }
      assert.equal((await client.as('second').refused('account', 'Profile')).kind, 'denied');
      const exported = JSON.parse(await exportText(service.app, true, 'hashed'));
      assert.equal(exported.passwordHash, passwordHash);
    }));

  test('times may have any zone or none, which is UTC; a date alone is midnight', () =>
    withService(engine, async ({ app }) => {
      const times = [
        '2026-05-01T12:00:00.5+02:00',
        '2026-05-01T10:00:00.500',
        '2026-05-01',
        '2026-05-01T00:00:00.0009Z',
      ];
      const inbox = times.map((timestamp, id) => ({ id, timestamp, read: false }));
      assert.deepEqual((await importText(app, document(account('one', { inbox })))).mistakes, []);
      assert.deepEqual(
        JSON.parse(await exportText(app, true)).inbox.map(({ timestamp }: { timestamp: string }) => timestamp),
        ['2026-05-01T10:00:00.5Z', '2026-05-01T10:00:00.5Z', '2026-05-01T00:00:00Z', '2026-05-01T00:00:00Z'],
      );
    }));

  test('an account with more messages than a page of the export is imported and exported whole', () =>
    withService(engine, async ({ app }) => {
      const inbox = Array.from({ length: 2_500 }, (_, id) => ({ id: String(id), timestamp: TIME, read: id % 2 === 0 }));
      assert.deepEqual(await importText(app, document(account('one', { inbox }))), {
        accounts: 1,
        messages: 2_500,
        ...NONE_REFUSED,
      });
      assert.deepEqual(JSON.parse(await exportText(app, true)).inbox, inbox);
    }));

  test('a second import of the same file refuses every account and changes nothing', () =>
    withService(engine, async (service) => {
      await importText(service.app, SAMPLE_TEXT);
      await clientOf(service, 'get', ACME).ask('inbox', 'DeleteMessage', { message_id: '1001' });
      const before = await exportText(service.app, false);
      const { accounts, messages, mistakes } = await importText(service.app, SAMPLE_TEXT);
      assert.deepEqual([accounts, messages], [0, 0]);
      assert.deepEqual(mistakes, [
        'accounts[0] (acme): username: there is already an account with the username acme',
        'accounts[1] (globex): username: there is already an account with the username globex',
      ]);
      assert.equal(await exportText(service.app, false), before);
    }));
});
