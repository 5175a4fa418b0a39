import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { gunzipSync, gzipSync } from 'node:zlib';
import { createAccountName, migrationKey } from '../../src/migration/compare/account-names.ts';
import { createPseudonyms, pseudonymize } from '../../src/migration/compare/pseudonyms.ts';
import {
  createRecorder,
  listRecordings,
  type Observed,
  pruneRecordings,
  RECORDER_LIMITS,
  recordedOf,
} from '../../src/migration/compare/recorder.ts';
import {
  formatExchange,
  parseExchange,
  type RecordedExchange,
  readRecording,
} from '../../src/migration/compare/recording.ts';
import { fieldsOf } from '../../src/migration/compare/redaction.ts';
import { readCall } from '../../src/migration/old-server/call-reader.ts';
import { type Arguments, PROTOCOLS, type Protocol, requestOf } from '../support/protocols.ts';

const KEY = Buffer.from('a key for tests');
const accountName = createAccountName(KEY);
const SECRET = '3f0d9c1e-6b1a-4a63-9b57-2f5f0a7d1c11';
const NOW = Date.UTC(2026, 10, 15, 12);

const folderOf = (t: TestContext): string => {
  const folder = mkdtempSync(join(tmpdir(), 'columba-recording-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
};

async function allOf(path: string): Promise<RecordedExchange[]> {
  const read: RecordedExchange[] = [];
  for await (const exchange of readRecording(path)) read.push(exchange);
  return read;
}

interface Given {
  readonly answer?: string;
  readonly rawHeaders?: string[];
  readonly answerHeaders?: string[];
  readonly target?: string;
  readonly body?: Uint8Array;
}

/** As the proxy sees it: the user_id is read from the request. */
function observed(protocol: Protocol, group: string, operation: string, args: Arguments, given: Given = {}): Observed {
  const { method, path, query, headers, bytes } = requestOf(protocol, group, operation, args);
  const rawHeaders = [...Object.entries(headers as Record<string, string>).flat(), ...(given.rawHeaders ?? [])];
  const target = given.target ?? (query === '' ? path : `${path}?${query}`);
  const body = given.body ?? Buffer.from(bytes);
  const call = readCall({ method, target, headers: fieldsOf(rawHeaders), body });
  const answerHeaders = ['Content-Type', 'text/xml; charset=utf-8', ...(given.answerHeaders ?? [])];
  return {
    at: NOW,
    userId: call?.userId ?? null,
    group: call?.group ?? null,
    operation: call?.operation ?? null,
    protocol: call?.protocol ?? null,
    request: { method, target, rawHeaders, body },
    old: { status: 200, rawHeaders: answerHeaders, body: Buffer.from(given.answer ?? '<long>1</long>'), ms: 3 },
    ours: null,
    outcome: 'recorded',
    knownDifferences: [],
  };
}

const PROFILE = (userId: string) =>
  `<AccountDetail xmlns="http://sms.example/api"><userID>${userId}</userID><username>acme</username><password>hunter2</password><x:Password a="1"><![CDATA[hunter2]]></x:Password></AccountDetail>`;

for (const protocol of PROTOCOLS) {
  test(`a recording of ${protocol} has no user_id and no password`, () => {
    const given = {
      answer: PROFILE(SECRET),
      rawHeaders: [
        'Cookie',
        'session=s3cret',
        'Referer',
        `http://old/?user_id=${SECRET}`,
        'Authorization',
        'Basic s3cret',
      ],
      answerHeaders: ['Set-Cookie', 'session=s3cret', 'X-User', SECRET],
    };
    const exchange = recordedOf(observed(protocol, 'account', 'Profile', { user_id: SECRET }, given), accountName);
    const line = formatExchange(exchange);
    assert.doesNotMatch(line, /3f0d9c1e|hunter2|s3cret/i);
    assert.equal(exchange.account, accountName(SECRET));
    assert.match(line, new RegExp(`${accountName(SECRET)}`));
    assert.deepEqual(parseExchange(line, 'line 1'), exchange);
  });
}

test('a recording of the former version, which says masks for known differences, is read', () => {
  const exchange = recordedOf(observed('get', 'account', 'Profile', { user_id: SECRET }), accountName);
  const { knownDifferences, ...others } = { ...exchange, knownDifferences: ['header-date'] };
  const former = JSON.stringify({ ...others, masks: knownDifferences });
  assert.deepEqual(parseExchange(former, 'line 1'), { ...exchange, knownDifferences });
});

/** The same user_id in other notations, each of which a server takes. */
const hex = (text: string) => [...text].map((each) => `%${each.charCodeAt(0).toString(16)}`).join('');
const NOTATIONS: Readonly<Record<string, Given>> = {
  'percent-encoded in the query': { target: `/api/inbox.asmx/CountUnread?USER_ID=${hex(SECRET)}` },
  'twice in the query': { target: `/api/inbox.asmx/CountUnread?user_id=${SECRET}&user_id=${SECRET.toUpperCase()}` },
  'with %u': { target: `/api/inbox.asmx/CountUnread?user_id=%u0033${SECRET.slice(1)}` },
};
for (const [name, given] of Object.entries(NOTATIONS)) {
  test(`a user_id is found ${name}`, () => {
    const line = formatExchange(recordedOf(observed('get', 'inbox', 'CountUnread', {}, given), accountName));
    assert.doesNotMatch(decodeURIComponent(line.replaceAll('%u0033', '3')), /0d9c1e-6b1a/i);
  });
}

test('a user_id in an envelope is found as CDATA, with references and compressed', () => {
  const envelope = (content: string) =>
    `<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/"><s:Body><CountUnread xmlns="http://sms.example/api"><user_id>${content}</user_id></CountUnread></s:Body></s:Envelope>`;
  const references = [...SECRET].map((each) => `&#${each.charCodeAt(0)};`).join('');
  for (const content of [`<![CDATA[${SECRET}]]>`, references, `${SECRET.slice(0, 5)}<![CDATA[${SECRET.slice(5)}]]>`]) {
    for (const isCompressed of [false, true]) {
      const plain = Buffer.from(envelope(content));
      const given = isCompressed
        ? { body: gzipSync(plain), rawHeaders: ['Content-Encoding', 'gzip'] }
        : { body: plain };
      const exchange = recordedOf(observed('soap11', 'inbox', 'CountUnread', {}, given), accountName);
      assert.equal(exchange.account, accountName(SECRET));
      assert.doesNotMatch(formatExchange(exchange), /3f0d9c1e|0d9c1e-6b1a|&#51;/);
    }
  }
});

test('a request that is no call is recorded without query and bodies', () => {
  const given = {
    body: Buffer.from(`<broken>${SECRET}`),
    answer: `no ${SECRET}`,
    target: `/api/inbox.asmx?q=${SECRET}`,
  };
  const exchange = recordedOf(observed('soap11', 'inbox', 'CountUnread', {}, given), accountName);
  assert.deepEqual(
    [exchange.account, exchange.request.withheld, exchange.old?.withheld],
    [null, 'not readable', 'not readable'],
  );
  assert.doesNotMatch(formatExchange(exchange), /3f0d9c1e/);
});

test('a body in UTF-16 is withheld, because it cannot be searched for secrets', () => {
  const plain = requestOf('soap11', 'inbox', 'CountUnread', { user_id: SECRET });
  const body = Buffer.from(`\ufeff${plain.bytes.replace('utf-8', 'utf-16')}`, 'utf16le');
  const exchange = recordedOf(observed('soap11', 'inbox', 'CountUnread', {}, { body }), accountName);
  assert.equal(exchange.request.withheld, 'not readable');
});

test('a short user_id is replaced only as the value of user_id, and nowhere else', () => {
  const exchange = recordedOf(
    observed('get', 'inbox', 'CountUnread', { user_id: '7' }, { answer: '<long>7</long>' }),
    accountName,
  );
  assert.match(exchange.request.target, /user_id=account-[0-9a-f]{16}$/);
  assert.equal(exchange.old?.body, '<long>7</long>');
});

const recorderIn = (folder: string, more = {}) =>
  createRecorder({
    ...RECORDER_LIMITS,
    folder,
    line: (each) => formatExchange(recordedOf(each, accountName)),
    now: () => NOW,
    failed: (thrown) => assert.fail(String(thrown)),
    ...more,
  });

test('a closed recording is compressed, only its owner may read it, and it is read back', async (t) => {
  const folder = folderOf(t);
  chmodSync(folder, 0o755);
  const recorder = recorderIn(folder);
  for (let calls = 0; calls < 3; calls++) recorder.record(observed('get', 'inbox', 'CountUnread', { user_id: SECRET }));
  await recorder.close();
  const [file] = listRecordings(folder);
  assert.ok(file?.isCompressed);
  assert.deepEqual([statSync(file.path).mode & 0o777, statSync(folder).mode & 0o777], [0o600, 0o700]);
  assert.doesNotMatch(gunzipSync(readFileSync(file.path)).toString(), /3f0d9c1e/);
  let count = 0;
  for await (const { operation } of readRecording(file.path)) count += operation === 'CountUnread' ? 1 : 0;
  assert.equal(count, 3);
});

test('files are closed at their size and age, and the oldest are removed beyond the limits of the folder', async (t) => {
  const folder = folderOf(t);
  const clock = { now: NOW };
  const recorder = recorderIn(folder, { fileBytesMax: 1, now: () => clock.now });
  for (let calls = 0; calls < 4; calls++) recorder.record(observed('get', 'inbox', 'CountUnread', { user_id: SECRET }));
  await recorder.close();
  const files = listRecordings(folder);
  assert.equal(files.length, 4);
  for (const [index, { path }] of files.entries())
    utimesSync(path, NOW / 1_000 - index, (NOW - index * 86_400_000) / 1_000);
  const gone = pruneRecordings({ folder, daysMax: 2, folderBytesMax: 1e9 }, NOW + 1);
  assert.equal(gone.length, 2);
  const [first] = listRecordings(folder);
  assert.equal(pruneRecordings({ folder, daysMax: 2, folderBytesMax: first?.bytes ?? 0 }, NOW + 1).length, 1);
});

test('a line that was cut off by a kill is left out, and a wrong one is named', async (t) => {
  const folder = folderOf(t);
  const path = join(folder, 'cut.ndjson');
  const line = formatExchange(recordedOf(observed('get', 'inbox', 'CountUnread', { user_id: SECRET }), accountName));
  writeFileSync(path, `${line}\n${line.slice(0, 40)}`);
  const read = await allOf(path);
  assert.equal(read.length, 1);
  writeFileSync(path, `${line}\n{"version":2}\n${line}\n`);
  await assert.rejects(allOf(path), /cut\.ndjson:2: expected an exchange of version 1/);
});

test('a recorder that cannot write counts the lost exchanges, and throws nothing', async (t) => {
  const failures: unknown[] = [];
  const folder = folderOf(t);
  const recorder = recorderIn(folder, { failed: (thrown: unknown) => failures.push(thrown) });
  rmSync(folder, { recursive: true });
  recorder.record(observed('get', 'inbox', 'CountUnread', { user_id: SECRET }));
  assert.deepEqual([recorder.counts.lost, failures.length], [1, 1]);
});

test('without COLUMBA_LOG_KEY the key is created once and kept beside the recordings', (t) => {
  const folder = folderOf(t);
  assert.deepEqual(migrationKey('', folder), migrationKey('', folder));
  assert.notDeepEqual(migrationKey('', folder), migrationKey('a key', folder));
  assert.equal(statSync(join(folder, 'recordings.key')).mode & 0o777, 0o600);
});

test('pseudonyms keep length and alphabet, and equal values stay equal', () => {
  const pseudonym = createPseudonyms(KEY);
  for (const value of ['Hello Ann, call 0821234567!', 'ΔΦ é € x', 'Привет', '日本語']) {
    const other = pseudonym(value);
    assert.notEqual(other, value);
    assert.deepEqual([other.length, other], [value.length, pseudonym(value)]);
    for (const [index, character] of [...value].entries()) {
      const kinds = [/\p{Lu}/u, /\p{Ll}/u, /\d/].map((kind) => kind.test(character));
      assert.deepEqual(
        [/\p{Lu}/u, /\p{Ll}/u, /\d/].map((kind) => kind.test([...other][index] ?? '')),
        kinds,
        value,
      );
    }
  }
  for (const open of ['2026-11-15T12:00:00Z', 'true', '', '  ']) assert.equal(pseudonym(open), open);
});

test('a number has the same pseudonym in every notation', () => {
  const pseudonym = createPseudonyms(KEY);
  const digits = (text: string) => text.replaceAll(/\D/g, '').slice(-8);
  const [one, two, three] = ['+27821234567', '082 123 4567', '0027-82-123-4567'].map(pseudonym) as [
    string,
    string,
    string,
  ];
  assert.equal(digits(one), digits(two));
  assert.equal(digits(one), digits(three));
  assert.notEqual(digits(one), '21234567');
  assert.match(two, /^\d{3} \d{3} \d{4}$/);
});

test('a recording with pseudonyms has no number, name or text, and keeps ids, dates and words', () => {
  const answer =
    '<?xml version="1.0"?><ArrayOfReceivedMessage xmlns="http://sms.example/api"><ReceivedMessage><id>1001</id><sender>+27821234567</sender><message>Meet Ann &amp; Bob</message><timestamp>2026-11-15T12:00:00Z</timestamp></ReceivedMessage></ArrayOfReceivedMessage>';
  const args = { user_id: SECRET, mobile: '+27821234567', sample_message: 'Ann said & did' };
  for (const protocol of PROTOCOLS) {
    const exchange = recordedOf(observed(protocol, 'account', 'BlackListNumber', args, { answer }), accountName);
    const line = formatExchange(pseudonymize(exchange, createPseudonyms(KEY)));
    assert.doesNotMatch(decodeURIComponent(line), /1234567|Ann|Bob|Meet/);
    assert.match(line, /<id>1001<\/id>/);
    assert.match(line, /2026-11-15T12:00:00Z/);
    assert.match(line, /account-[0-9a-f]{16}/);
  }
});

test('pseudonyms replace texts in CDATA, between comments and in mixed content, and HTML pages are withheld', () => {
  const body = Buffer.from(
    `<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/"><s:Body><BlackListNumber xmlns="http://sms.example/api"><user_id>${SECRET}</user_id><mobile><![CDATA[0821234567]]></mobile><sample_message>Ann<!-- Bob -->Carl<![CDATA[ Dora <b>Emma</b>]]> 5 > Fred</sample_message></BlackListNumber></s:Body></s:Envelope>`,
  );
  const answer = '<!DOCTYPE html><html><body title="Ann">Ann<br>Carl<p>0821234567</body></html>';
  const args = { user_id: SECRET, mobile: '', sample_message: '' };
  const given = { answer, body };
  const exchange = recordedOf(observed('soap11', 'account', 'BlackListNumber', args, given), accountName);
  assert.match(formatExchange(exchange), /Ann/);
  const shared = pseudonymize(exchange, createPseudonyms(KEY));
  assert.doesNotMatch(formatExchange(shared), /1234567|Ann|Bob|Carl|Dora|Emma|Fred/);
  assert.deepEqual([shared.old?.withheld, shared.pseudonyms], ['not readable', true]);
});
