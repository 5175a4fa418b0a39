import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { completed, parseDialect, readDialectFile } from '../../../src/asmx/dialect/dialect-file.ts';
import { Problem } from '../../../src/base/problem.ts';
import { columba, freshDatabase } from '../../support/command.ts';

const folder = mkdtempSync(join(tmpdir(), 'columba-dialect-'));
after(() => rmSync(folder, { recursive: true, force: true }));
let count = 0;
function written(content: unknown): string {
  const path = join(folder, `${++count}.json`);
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
}
function mistakeIn(content: unknown): string {
  try {
    parseDialect(content);
  } catch (thrown) {
    assert.ok(thrown instanceof Problem && thrown.kind === 'bad-argument', String(thrown));
    return thrown.message;
  }
  throw new Error('The dialect was taken.');
}
const sent = (...columns: unknown[]) => ({ columns: { 'sent.FetchSentDS': columns } });

describe('the file of a dialect', () => {
  test('every entry of the file of a dialect is read', () => {
    const dialect = {
      namespace: 'http://old.example/sms/',
      dataSet: {
        name: 'Messages',
        table: 'Row',
        dates: { zone: 'offset', timeZone: 'Europe/Berlin', fractionDigits: 7 },
      },
      dataSets: { 'inbox.InboxDS': { table: 'Inbox' } },
      columns: {
        'sent.FetchSentDS': [
          { name: 'ID', type: 'int', from: 'id' },
          { name: 'Cost', type: 'decimal', constant: '0.5' },
          { name: 'Nothing', type: 'string' },
        ],
      },
      statusWords: { DELIVERED: 'Delivered', UNDELIVERABLE: ['Failed', 'Error'] },
      dates: { zone: 'none', timeZone: 'Europe/Berlin', fractionDigits: 'trimmed' },
      groupId: 'zero',
      emptyStrings: 'empty',
      booleanWords: { true: ['Y', 'yes'], false: 'N' },
      faultCode: 'server',
      missing: ['account.LookupContact'],
      orders: { 'inbox.Unread': '-timestamp' },
      caps: { 'inbox.Read': 100, 'account.FetchContacts': 5000 },
      readReturnsReadOnly: true,
      errorStatus: 'asmx',
      evidence: { namespace: 812 },
    };
    assert.deepEqual(readDialectFile(written(dialect), 'UTC'), dialect);
  });

  test('every entry of dates is optional, and dates without a zone in the file end with Z', () => {
    assert.deepEqual(parseDialect({ dates: { fractionDigits: 0 } }), { dates: { zone: 'Z', fractionDigits: 0 } });
    assert.deepEqual(parseDialect({ dates: {} }), { dates: { zone: 'Z' } });
  });

  test('a dialect whose dates have no time zone uses that of the settings', () => {
    const path = written({ dates: { zone: 'none' }, dataSet: { dates: { zone: 'offset' } } });
    assert.deepEqual(readDialectFile(path, 'Africa/Johannesburg'), {
      dates: { zone: 'none', timeZone: 'Africa/Johannesburg' },
      dataSet: { dates: { zone: 'offset', timeZone: 'Africa/Johannesburg' } },
    });
  });

  for (const [content, expected] of [
    [[], /^the dialect: /],
    [{ nameSpace: 'x' }, /^nameSpace: there is no such entry/],
    [{ namespace: 'no uri' }, /^namespace: expected a URI/],
    [{ dataSet: { table: 'two words' } }, /^dataSet\.table: expected a name of XML, with _x0020_/],
    [{ dataSets: { 'inbox.Read': {} } }, /^dataSets\.inbox\.Read: the result of this operation is no DataSet/],
    [{ columns: { 'sent.Fetch': [] } }, /^columns\.sent\.Fetch: there is no such operation/],
    [sent({ name: 'a', type: 'integer' }), /^columns\.sent\.FetchSentDS\[0\]\.type: /],
    [sent({ name: 'a', type: 'string', from: 'body' }), /\[0\]\.from: there is no column body; expected one of id, /],
    [
      sent({ name: 'a', type: 'int', from: 'timestamp_sent' }),
      /\[0\]\.type: timestamp_sent is a dateTime; expected one of/,
    ],
    [sent({ name: 'a', type: 'string', from: 'id', constant: 'x' }), /\[0\]: a column has from or constant/],
    [sent({ name: 'a', type: 'int', constant: 'x' }), /\[0\]\.constant: expected a int/],
    [sent({ name: 'a', type: 'boolean', constant: '1' }), /\[0\]\.constant: /],
    [sent({ name: 'a', type: 'string' }, { name: 'a', type: 'string' }), /two columns have the name a/],
    [{ statusWords: { SENT: 'x' } }, /^statusWords\.SENT: there is no such status here; expected one of QUEUED/],
    [{ statusWords: { DELIVERED: 'UNKNOWN' } }, /^statusWords\.DELIVERED: UNKNOWN is a status here too/],
    [{ statusWords: { DELIVERED: 'a\u0000' } }, /^statusWords\.DELIVERED: /],
    [{ dates: { zone: 'local' } }, /^dates\.zone: /],
    [{ dates: { zone: 'none', timeZone: 'Mars/Phobos' } }, /^dates\.timeZone: expected a time zone such as/],
    [{ dates: { zone: 'none', fractionDigits: 8 } }, /^dates\.fractionDigits: expected at most 7/],
    [{ groupId: 'null' }, /^groupId: /],
    [
      { orders: { 'inbox.Unread': 'sender' } },
      /^orders\.inbox\.Unread: there is no order sender here; expected one of timestamp/,
    ],
    [{ orders: { 'inbox.CountRead': 'id' } }, /^orders\.inbox\.CountRead: the result of this operation is no list/],
    [{ caps: { 'inbox.CountRead': 3 } }, /^caps\.inbox\.CountRead: the result of this operation is no list/],
    [{ caps: { 'inbox.Read': 0 } }, /^caps\.inbox\.Read: /],
    [{ errorStatus: 500 }, /^errorStatus: expected one of asmx, http$/],
    [{ dataSet: 1 }, /^dataSet: expected an object$/],
    [{ readReturnsReadOnly: 'yes' }, /^readReturnsReadOnly: expected true or false$/],
    [{ booleanWords: { true: 1 } }, /^booleanWords\.true: expected a word, or a list of words$/],
    [{ dataSet: { name: 'Sent', table: 'Sent' } }, /^dataSet: the DataSet and its table are both called Sent/],
    [{ dataSet: { name: 'Table' } }, /^dataSet: the DataSet and its table are both called Table/],
    [
      { dataSet: { name: 'Sent' }, dataSets: { 'sent.FetchSentDS': { table: 'Sent' } } },
      /^dataSets\.sent\.FetchSentDS: the DataSet and its table are both called Sent/,
    ],
  ] as const) {
    test(`${JSON.stringify(content)} is refused with its entry and what is expected`, () => {
      assert.match(mistakeIn(content), expected);
    });
  }

  test('all mistakes of a file are reported at once, up to the first 20', () => {
    assert.match(mistakeIn({ groupId: 1, errorStatus: 2 }), /groupId: .*; errorStatus: /);
    const many = Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`x${index}`, 1]));
    assert.match(mistakeIn(many), /x19: .*; and 10 more$/);
  });

  test('a file that does not exist, is too long or is not JSON is reported with its path', () => {
    const missing = join(folder, 'missing.json');
    assert.throws(() => readDialectFile(missing, 'UTC'), {
      message: `${missing}: the dialect cannot be read (ENOENT)`,
    });
    assert.throws(() => readDialectFile(written('{'), 'UTC'), /the dialect is not JSON/);
    assert.throws(() => readDialectFile(written(' '.repeat(1_048_577)), 'UTC'), /at most 1048576 bytes/);
  });
});

describe('a dialect that is wrong', () => {
  test('serve does not start with a wrong dialect and check refuses it, and both name the entry', async () => {
    const env = { COLUMBA_DATABASE: freshDatabase(), COLUMBA_DIALECT: written({ groupId: 'null' }) };
    assert.equal(
      (await columba(['account', 'add', 'acme'], { env: { COLUMBA_DATABASE: env.COLUMBA_DATABASE } })).code,
      0,
    );
    for (const command of [['check'], ['serve', '--port', '0']]) {
      const { code, stderr } = await columba(command, { env });
      assert.equal(code, 1, stderr);
      assert.match(stderr, /^columba: .*\d\.json: groupId: /);
    }
  });

  test('check lists the entries of a valid dialect', async () => {
    const env = {
      COLUMBA_DATABASE: freshDatabase(),
      COLUMBA_DIALECT: written({ groupId: 'zero', evidence: { groupId: 3 } }),
    };
    await columba(['account', 'add', 'acme'], { env: { COLUMBA_DATABASE: env.COLUMBA_DATABASE } });
    const { code, stdout } = await columba(['check'], { env });
    assert.equal(code, 0);
    assert.match(stdout, /^Dialect: groupId$/m);
  });
});

describe('a dialect that is completed by recordings', () => {
  test('existing entries stay, missing ones are added, and those that the recordings contradict are listed', () => {
    const written = parseDialect({
      groupId: 'zero',
      statusWords: { DELIVERED: 'Arrived' },
      missing: ['account.LookupContact'],
    });
    const learned = parseDialect({
      groupId: 'empty',
      errorStatus: 'asmx',
      statusWords: { DELIVERED: 'Delivered', EXPIRED: 'Too late' },
      evidence: { groupId: 3 },
    });
    assert.deepEqual(completed(written, learned), {
      dialect: {
        groupId: 'zero',
        statusWords: { DELIVERED: 'Arrived', EXPIRED: 'Too late' },
        missing: ['account.LookupContact'],
        errorStatus: 'asmx',
        evidence: { groupId: 3 },
      },
      disputed: ['statusWords.DELIVERED', 'groupId'],
    });
  });
});
