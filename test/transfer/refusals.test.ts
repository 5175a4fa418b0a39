import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { accountChanges } from '../support/account-changes.ts';
import { clientOf } from '../support/contract-client.ts';
import { onOneEngine } from '../support/engines.ts';
import { account, document, exportText, importText, lines, TIME } from '../support/import-files.ts';
import { type Service, startService } from '../support/service.ts';

const HASH = { sha256: 'a'.repeat(64), created: TIME };
const STATUSES = 'QUEUED, SUBMITTED, ENROUTE, DELIVERED, EXPIRED, DELETED, UNDELIVERABLE, ACCEPTED, UNKNOWN, REJECTED';
const DATE = 'expected a date and time such as 2026-10-02T10:45:30Z';
const LONG = 'expected a whole number of 64 bits';
const INT = 'expected a whole number of 32 bits';

const received = { id: 1, timestamp: TIME, read: false };
const sent = { id: 1, delivery_status: 'DELIVERED', timestamp_sent: TIME, timestamp_updated: TIME, marked: false };
const scheduled = { id: 1, timestamp_scheduled: TIME, timestamp_created: TIME };
const blocked = { mobile: '+27825550666', timestamp: TIME };

/** What is wrong with the account, and what is said about it. */
const MISTAKES: readonly [fields: Readonly<Record<string, unknown>>, message: string][] = [
  [{ colour: 'red' }, 'colour: there is no such field'],
  [{ credit: 1 }, 'credit: there is no such field'],
  [{ contacts: [{ id: 1, colour: 'red' }] }, 'contacts[0].colour: there is no such field'],
  [{ inbox: [received, { ...received, id: 2, marked: true }] }, 'inbox[1].marked: there is no such field'],
  [{ userIDHashes: [{ ...HASH, sha512: '' }] }, 'userIDHashes[0].sha512: there is no such field'],

  [{ userID: undefined }, 'userID: missing (or userIDHashes)'],
  [{ userID: '' }, 'userID: expected 1 to 128 characters'],
  [{ userID: 'SECRET'.repeat(22) }, 'userID: expected 1 to 128 characters'],
  [{ userID: 5 }, 'userID: expected a text'],
  [{ userID: 'user_id of somebody' }, 'userID: another account has this user_id'],
  [{ userIDHashes: [HASH, HASH] }, 'userIDHashes[2].sha256: the same as in userIDHashes[1]'],
  [{ userIDHashes: [{ ...HASH, sha256: 'SECRET' }] }, 'userIDHashes[0].sha256: expected 64 hexadecimal digits'],
  [{ userIDHashes: [{ sha256: HASH.sha256 }] }, 'userIDHashes[0].created: missing'],
  [{ passwordHash: '$argon2id$SECRET', password: undefined }, 'passwordHash: expected an argon2id hash, $argon2id$…'],
  [{ passwordHash: '$2b$12$SECRET', password: undefined }, 'passwordHash: expected an argon2id hash, $argon2id$…'],
  [{ password: ['SECRET'] }, 'password: expected a text'],

  [{ credits: undefined }, 'credits: missing'],
  [{ credits: 'SECRET' }, `credits: ${LONG}`],
  [{ credits: '' }, `credits: ${LONG}`],
  [{ credits: 1.5 }, `credits: ${LONG}`],
  [{ credits: true }, `credits: ${LONG}`],
  [{ usedCredits: '9223372036854775808' }, `usedCredits: ${LONG}`],
  [{ transmissionPriority: 2147483648 }, `transmissionPriority: ${INT}`],
  [{ tag: '1e3' }, `tag: ${INT}`],
  [{ groups: [{ id: '2147483648' }] }, `groups[0].id: ${INT}`],
  [{ contacts: [{ id: 'x' }] }, `contacts[0].id: ${LONG}`],
  [{ contacts: [{}] }, 'contacts[0].id: missing'],

  [{ datetimeCreated: undefined }, 'datetimeCreated: missing'],
  [{ datetimeCreated: 'yesterday' }, `datetimeCreated: ${DATE}`],
  [{ datetimeCreated: '2026-02-30T00:00:00Z' }, `datetimeCreated: ${DATE}`],
  [{ datetimeCreated: '10:45:30' }, `datetimeCreated: ${DATE}`],
  [{ datetimeCreated: 1_700_000_000 }, 'datetimeCreated: expected a text'],
  [{ datetimeDisabled: true }, 'datetimeDisabled: expected a text'],
  [{ inbox: [{ ...received, timestamp: '2026-05-01T25:00:00Z' }] }, `inbox[0].timestamp: ${DATE}`],
  // An instant outside of the years 1 to 9999 could not be written so that anybody reads it again.
  [{ inbox: [{ ...received, timestamp: '9999-12-31T23:59:59-14:00' }] }, `inbox[0].timestamp: ${DATE}`],
  [{ inbox: [{ ...received, timestamp: '0001-01-01T00:00:00+14:00' }] }, `inbox[0].timestamp: ${DATE}`],

  [{ inbox: [{ ...received, read: 'false' }] }, 'inbox[0].read: expected true or false'],
  [{ inbox: [{ ...received, read: undefined }] }, 'inbox[0].read: missing'],
  [{ sent: [{ ...sent, marked: 0 }] }, 'sent[0].marked: expected true or false'],
  [{ sent: [{ ...sent, delivery_status: 'Delivered' }] }, `sent[0].delivery_status: expected one of ${STATUSES}`],
  [{ sent: [{ ...sent, delivery_status: undefined }] }, 'sent[0].delivery_status: missing'],

  [{ groups: [{ id: 1 }, { id: '01' }] }, 'groups[1].id: the same as in groups[0]'],
  [{ contacts: [{ id: 5 }, { id: 6 }, { id: '5' }] }, 'contacts[2].id: the same as in contacts[0]'],
  [{ inbox: [received, { ...received, id: '1' }] }, 'inbox[1].id: the same as in inbox[0]'],
  [{ sent: [sent, sent] }, 'sent[1].id: the same as in sent[0]'],
  [{ scheduled: [scheduled, scheduled] }, 'scheduled[1].id: the same as in scheduled[0]'],
  [{ blacklist: [blocked, blocked] }, 'blacklist[1].mobile: the same as in blacklist[0]'],
  [{ templates: ['a', 'b', 'a'] }, 'templates[2].text: the same as in templates[0]'],

  [{ contacts: [{ id: 1, groupid: 7 }] }, 'contacts[0].groupid: there is no such group'],
  [{ templates: ['a', ''] }, 'templates[1]: a template cannot be empty'],
  [{ templates: ['a', 5] }, 'templates[1]: expected a text'],
  [{ templates: ['a', 'x'.repeat(2_001)] }, 'templates[1]: a template has at most 2000 characters'],
  [
    { templates: Array.from({ length: 1_001 }, (_, index) => `${index}`) },
    'templates: an account has at most 1000 templates',
  ],
  [{ blacklist: [{ ...blocked, mobile: 'none' }] }, 'blacklist[0].mobile: a phone number has at least one digit'],
  [{ region: 'za' }, 'region: expected a country code such as ZA'],
  [{ contacts: { id: 1 } }, 'contacts: expected a list'],
  [{ contacts: [5] }, 'contacts[0]: expected an object'],
];

onOneEngine('refused imports', (engine) => {
  let service: Service;
  before(async () => {
    service = await startService(engine, 'empty');
    assert.deepEqual((await importText(service.app, document(account('somebody')))).mistakes, []);
  });
  after(() => service.stop());
  const exists = (username: string) =>
    accountChanges(service.app)
      .show(username)
      .then(
        () => true,
        () => false,
      );

  for (const [index, [fields, message]] of MISTAKES.entries()) {
    test(`an account with ${JSON.stringify(fields).slice(0, 100)} is reported, nothing of it is kept, and the others are imported`, async () => {
      const [first, bad, last] = ['first', 'bad', 'last'].map((name) => `${name}-${index}`) as [string, string, string];
      const secrets = { userID: `SECRET user_id ${index}`, password: 'SECRET password' };
      const wrong = account(bad, { ...secrets, groups: [{ id: 1 }], templates: ['kept?'], ...fields });
      const result = await importText(service.app, document(account(first), wrong, account(last)));
      const mistakes = [`accounts[1] (${bad}): ${message}`];
      assert.deepEqual(result, { accounts: 2, updated: 0, messages: 0, refused: 1, mistakes, mistakesLeftOut: 0 });
      assert.ok(!result.mistakes.join().includes('SECRET'));
      assert.deepEqual(await Promise.all([first, bad, last].map(exists)), [true, false, true]);
      const denied = await clientOf(service, 'get', secrets.userID).refused('account', 'Profile');
      assert.equal(denied.kind, 'denied');
      const right = account(bad, { userID: secrets.userID });
      assert.deepEqual((await importText(service.app, document(right))).mistakes, []);
    });
  }

  for (const [value, message] of [
    [{ ...account('x'), username: undefined }, 'accounts[0]: username: missing'],
    [
      { ...account('x'), username: '' },
      'accounts[0] (): username: a username has 1 to 200 characters, and no control characters',
    ],
    [{ ...account('x'), username: 5 }, 'accounts[0]: username: expected a text'],
    [5, 'accounts[0]: expected an object'],
    [null, 'accounts[0]: expected an object'],
    [[], 'accounts[0]: expected an object'],
  ] as const) {
    test(`an account that has no name is reported by its place: ${JSON.stringify(value)}`, async () => {
      const { mistakes } = await importText(service.app, document(value));
      assert.deepEqual(mistakes, [message]);
    });
  }

  test('of two accounts with one username in a file the second is refused', async () => {
    const { accounts, mistakes } = await importText(
      service.app,
      lines(account('a'), account('a', { userID: 'other' })),
    );
    assert.deepEqual(
      [accounts, mistakes],
      [1, ['line 2 (a): username: there is already an account with the username a']],
    );
  });

  test('an account that the database would not take does not stop the others', async () => {
    // Halves of a surrogate pair are no characters: in UTF-8 both become U+FFFD, and so the same template.
    const text = lines(account('halves', { templates: ['\ud800', '\udfff'] }), account('good'));
    const { mistakes } = await importText(service.app, text);
    assert.ok(
      mistakes.every((mistake) => mistake.startsWith('line 1 (halves): templates')),
      mistakes.join('\n'),
    );
    assert.equal(JSON.parse(await exportText(service.app, true, 'good')).username, 'good');
  });

  test('a line that is not JSON is reported without its content, and the others are imported', async () => {
    const broken = JSON.stringify(account('broken', { password: 'SECRET password' })).replace(
      '"SECRET password"',
      'SECRET',
    );
    const { accounts, mistakes } = await importText(
      service.app,
      `${lines(account('above'))}${broken}\n${lines(account('below'))}`,
    );
    assert.equal(accounts, 2);
    assert.deepEqual(mistakes, [`line 2: not JSON (column ${broken.indexOf('SECRET') + 1})`]);
  });

  for (const [what, text, message] of [
    ['an empty file', '', /: the file is empty$/],
    ['a file of white space', '\uFEFF \r\n\t', /: the file is empty$/],
    ['a document that breaks off', '{"accounts": [ {"userID": "SECRET"', /: not JSON \(line 1, column 35\)$/],
    ['a document with a mistake', '{"accounts": [ {"userID": SECRET} ]}', /: not JSON \(line 1, column 27\)$/],
    ['a document without accounts', '{\n "account": []\n}', /: expected \{"accounts": \[ … \]\}$/],
    ['a document whose accounts are no list', '{"accounts": {"SECRET": 1}}', /: expected \{"accounts": \[ … \]\}$/],
  ] as const) {
    test(`${what} is refused with the file's name and the reason`, async () => {
      await assert.rejects(
        importText(service.app, text),
        ({ kind, message: told }: { kind: string; message: string }) => {
          assert.equal(kind, 'bad-argument');
          assert.match(told, message);
          assert.match(told, /\.json: /);
          assert.doesNotMatch(told, /SECRET/);
          return true;
        },
      );
    });
  }

  test('a file of something else is refused line by line, without its content', async () => {
    const { accounts, mistakes } = await importText(service.app, 'SECRET,user_id\n[]\n');
    assert.equal(accounts, 0);
    assert.deepEqual(mistakes, ['line 1: not JSON (column 1)', 'line 2: expected an object']);
  });
});
