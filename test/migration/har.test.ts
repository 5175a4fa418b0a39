import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createAccountName } from '../../src/migration/compare/account-names.ts';
import { parseHar, readHar } from '../../src/migration/compare/har.ts';
import { recordedOf } from '../../src/migration/compare/recorder.ts';
import { formatExchange } from '../../src/migration/compare/recording.ts';

/** Samples written by hand, in the form of each tool. */
const sample = (name: string): string => fileURLToPath(new URL(`har/${name}.har`, import.meta.url));
const accountName = createAccountName(Buffer.from('a key for tests'));
const recordedIn = (name: string) => {
  const { exchanges, entries, skipped } = readHar(sample(name));
  return { recorded: exchanges.map((each) => recordedOf(each, accountName)), entries, skipped };
};

describe('HAR', () => {
  test('a HAR file of Fiddler is read: a SOAP call with a byte order mark, and a decompressed body', () => {
    const { recorded, entries, skipped } = recordedIn('fiddler');
    assert.deepEqual([recorded.length, entries, skipped], [1, 2, 1]);
    const [call] = recorded;
    assert.deepEqual([call?.group, call?.operation, call?.protocol], ['inbox', 'CountUnread', 'soap11']);
    assert.equal(call?.at, '2026-11-15T10:00:00.123Z');
    assert.match(call?.old?.body ?? '', /<CountUnreadResult>2</);
    assert.deepEqual([call?.old?.status, call?.old?.ms], [200, 31]);
  });

  test('a HAR file of mitmproxy is read: a form as text, a form as parameters only, and a body as Base64', () => {
    const { recorded, skipped } = recordedIn('mitmproxy');
    assert.deepEqual(
      recorded.map(({ operation, protocol }) => `${operation} ${protocol}`),
      ['MarkMessageAsRead post', 'CountUnread post'],
    );
    assert.equal(skipped, 1);
    assert.match(recorded[0]?.request.body ?? '', /^user_id=account-[0-9a-f]{16}&message_id=1001$/);
    assert.match(recorded[1]?.old?.body ?? '', /<long /);
  });

  test('a HAR file of Chromium is read without pseudo-fields of HTTP/2, and an answer that was not saved is withheld', () => {
    const { recorded, entries, skipped } = recordedIn('chromium');
    assert.deepEqual([recorded.length, entries, skipped], [2, 4, 2]);
    const [count, profile] = recorded;
    assert.deepEqual([count?.operation, count?.protocol, profile?.operation], ['CountUnread', 'get', 'Profile']);
    assert.ok(count?.request.headers.every(([name]) => !name.startsWith(':')));
    assert.match(count?.old?.body ?? '', />2<\/long>/);
    assert.deepEqual([profile?.old?.body, profile?.old?.withheld], ['', 'too long']);
  });

  for (const name of ['fiddler', 'mitmproxy', 'chromium']) {
    test(`a recording of ${name} has no user_id and no session`, () => {
      const lines = recordedIn(name).recorded.map(formatExchange).join('\n');
      assert.doesNotMatch(lines, /3f0d9c1e|s3cret/);
    });
  }

  test('a file that is no HAR is refused with a sentence', () => {
    assert.throws(() => parseHar('not json', 'x.har'), /x\.har: expected a HAR file, and this is no JSON/);
    assert.throws(() => parseHar('{}', 'x.har'), /log\.entries/);
    const odd = [
      null,
      1,
      {},
      { request: { url: 'not a url' } },
      { request: { url: 'http://h/' }, response: { status: 'x' } },
    ];
    assert.deepEqual(parseHar(JSON.stringify({ log: { entries: odd } }), 'x.har').exchanges, []);
  });
});
