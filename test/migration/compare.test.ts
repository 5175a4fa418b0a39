import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import type { Dialect } from '../../src/asmx/dialect/dialect.ts';
import { type ComparedCall, type Comparison, compareAnswers } from '../../src/migration/compare/compare.ts';
import type { CompareSettings } from '../../src/migration/compare/compare-values.ts';
import { KNOWN_DIFFERENCES, type KnownDifference } from '../../src/migration/compare/known-differences.ts';
import { createPseudonyms } from '../../src/migration/compare/pseudonyms.ts';
import type { RawAnswer } from '../../src/migration/compare/redaction.ts';

const settingsOf = (dialect: Dialect = {}, disabled: readonly KnownDifference[] = []): CompareSettings => ({
  dialect,
  zone: 'UTC',
  disabled: new Set(disabled),
  pseudonym: createPseudonyms(Buffer.from('a key for tests')),
  listLimit: 3,
});

const answer = (body: string | Uint8Array, more: Partial<RawAnswer> & { type?: string } = {}): RawAnswer => ({
  status: 200,
  rawHeaders: ['Content-Type', more.type ?? 'text/xml; charset=utf-8'],
  ms: 1,
  ...more,
  body: typeof body === 'string' ? Buffer.from(body) : body,
});

const call = (name: string, protocol: ComparedCall['protocol'] = 'get'): ComparedCall => {
  const [group, operation] = name.split('.') as [string, string];
  return { group, operation, protocol };
};

const NS = 'xmlns="http://sms.example/api"';
const DECLARATION = '<?xml version="1.0" encoding="utf-8"?>\n';
const long = (value: string) => `${DECLARATION}<long ${NS}>${value}</long>`;
const message = (id: number, text: string, more = '') =>
  `<ReceivedMessage><id>${id}</id><sender>+27821234567</sender><message>${text}</message><timestamp>2026-11-15T12:00:0${id % 10}Z</timestamp>${more}</ReceivedMessage>`;
const messages = (...items: string[]) =>
  `${DECLARATION}<ArrayOfReceivedMessage ${NS}>${items.join('')}</ArrayOfReceivedMessage>`;

const compared = (name: string, old: RawAnswer, ours: RawAnswer, settings = settingsOf()): Comparison =>
  compareAnswers(call(name), old, ours, settings);

describe('differences that are never ignored', () => {
  const DIFFERENT: Readonly<Record<string, [string, string, string]>> = {
    'a count': ['inbox.CountUnread', long('4'), long('5')],
    'an id': ['inbox.Unread', messages(message(1, 'a')), messages(message(2, 'a'))],
    'a text': ['inbox.Unread', messages(message(1, 'a')), messages(message(1, 'b'))],
    'a missing row': ['inbox.Unread', messages(message(1, 'a'), message(2, 'b')), messages(message(1, 'a'))],
    'an empty text that was absent': [
      'inbox.Unread',
      messages(message(1, 'a', '<short_code></short_code>')),
      messages(message(1, 'a')),
    ],
    'true and false': ['account.DeleteContact', `<boolean ${NS}>true</boolean>`, `<boolean ${NS}>false</boolean>`],
    'a namespace': ['inbox.CountUnread', long('4'), long('4').replace('sms.example', 'other.example')],
  };
  for (const [name, [operation, old, ours]] of Object.entries(DIFFERENT)) {
    test(`two answers that differ by ${name} are different, whatever differences are known`, () => {
      const { outcome, differences } = compared(operation, answer(old), answer(ours));
      assert.equal(outcome, 'different');
      assert.ok(differences.length > 0);
      assert.doesNotMatch(differences.join(), /27821234567/);
    });
  }

  test('two answers of different media types are different, whatever differences are known', () => {
    const { outcome } = compared('inbox.CountUnread', answer(long('4')), answer(long('4'), { type: 'text/html' }));
    assert.equal(outcome, 'different');
  });
});

const withField = (name: string, value: string): RawAnswer =>
  answer(long('4'), { rawHeaders: ['Content-Type', 'text/xml; charset=utf-8', name, value] });
const profile = (field: string) => answer(`<AccountDetail ${NS}><username>acme</username>${field}</AccountDetail>`);
const dataSet = (
  rows: string,
  columns = '<xs:element name="id" type="xs:long"/><xs:element name="delivery_status" type="xs:string"/>',
) =>
  answer(
    `<DataSet ${NS}><xs:schema id="NewDataSet" xmlns:xs="http://www.w3.org/2001/XMLSchema"><xs:element name="NewDataSet"><xs:complexType><xs:choice><xs:element name="Table"><xs:complexType><xs:sequence>${columns}</xs:sequence></xs:complexType></xs:element></xs:choice></xs:complexType></xs:element></xs:schema><diffgr:diffgram xmlns:msdata="urn:schemas-microsoft-com:xml-msdata" xmlns:diffgr="urn:schemas-microsoft-com:xml-diffgram-v1"><NewDataSet xmlns="">${rows}</NewDataSet></diffgr:diffgram></DataSet>`,
  );
const row = (order: number, status = 'DELIVERED') =>
  `<Table diffgr:id="Table${order + 1}" msdata:rowOrder="${order}"><id>7</id><delivery_status>${status}</delivery_status></Table>`;
const fault = (code: string, text: string) =>
  answer(
    `<soap:Envelope xmlns:soap="http://schemas.xmlsoap.org/soap/envelope/"><soap:Body><soap:Fault><faultcode>soap:${code}</faultcode><faultstring>${text}</faultstring></soap:Fault></soap:Body></soap:Envelope>`,
    { status: 500 },
  );

interface KnownPair {
  readonly operation: string;
  readonly old: RawAnswer;
  readonly ours: RawAnswer;
  readonly outcome?: Comparison['outcome'];
  readonly protocol?: ComparedCall['protocol'];
  readonly dialect?: Dialect;
}
const plainCount = answer(long('4'));
const head = (name: string): KnownPair => ({
  operation: 'inbox.CountUnread',
  old: withField(name, '1'),
  ours: plainCount,
});

/** Every known difference, with two answers that differ in nothing else. */
const KNOWN_PAIRS: Readonly<Record<KnownDifference, KnownPair>> = {
  'header-date': head('Date'),
  'header-server': head('Server'),
  'header-powered-by': head('X-Powered-By'),
  'header-aspnet-version': head('X-AspNet-Version'),
  'header-set-cookie': head('Set-Cookie'),
  'header-cache-control': head('Cache-Control'),
  'header-connection': head('Connection'),
  'header-length': head('Content-Length'),
  'header-compression': {
    operation: 'inbox.CountUnread',
    old: { ...withField('Content-Encoding', 'gzip'), body: gzipSync(long('4')) },
    ours: plainCount,
  },
  'header-other': head('Pragma'),
  'content-type-form': {
    operation: 'inbox.CountUnread',
    old: answer(long('4'), { type: 'text/xml;charset="UTF-8"' }),
    ours: plainCount,
  },
  'xml-declaration': { operation: 'inbox.CountUnread', old: answer(`<long ${NS}>4</long>`), ours: plainCount },
  'xml-white-space': {
    operation: 'inbox.Unread',
    old: answer(messages(`\n  ${message(1, 'a')}\n`)),
    ours: answer(messages(message(1, 'a'))),
  },
  'xml-prefixes': {
    operation: 'inbox.CountUnread',
    old: answer(`${DECLARATION}<n:long xmlns:n="http://sms.example/api">4</n:long>`),
    ours: plainCount,
  },
  'xml-attribute-order': {
    operation: 'sent.FetchSentDS',
    old: dataSet(row(0), '<xs:element type="xs:long" name="id"/><xs:element name="delivery_status" type="xs:string"/>'),
    ours: dataSet(row(0)),
  },
  'xml-notation': {
    operation: 'inbox.Unread',
    old: answer(messages(message(1, 'a&#38;b'))),
    ours: answer(messages(message(1, 'a&amp;b'))),
  },
  'diffgram-row-ids': { operation: 'sent.FetchSentDS', old: dataSet(row(5)), ours: dataSet(row(0)) },
  'field-userID': {
    operation: 'account.Profile',
    old: profile('<userID>a</userID>'),
    ours: profile('<userID>b</userID>'),
  },
  'field-password': {
    operation: 'account.Profile',
    old: profile('<password>a</password>'),
    ours: profile('<password/>'),
  },
  'field-last-login': {
    operation: 'account.Profile',
    old: profile('<datetimeLastLoggedIn>2026-11-15T12:00:00Z</datetimeLastLoggedIn>'),
    ours: profile('<datetimeLastLoggedIn>2026-11-16T12:00:00Z</datetimeLastLoggedIn>'),
  },
  'fault-text': {
    operation: 'inbox.CountUnread',
    old: fault('Client', 'a'),
    ours: fault('Client', 'b'),
    protocol: 'soap11',
  },
  'dateTime-form': {
    operation: 'inbox.Unread',
    old: answer(messages(message(1, 'a').replace('12:00:01Z', '14:00:01.000+02:00'))),
    ours: answer(messages(message(1, 'a'))),
  },
  'number-form': { operation: 'inbox.CountUnread', old: answer(long('+04')), ours: plainCount },
  'boolean-form': {
    operation: 'account.DeleteContact',
    old: answer(`<boolean ${NS}>1</boolean>`),
    ours: answer(`<boolean ${NS}>true</boolean>`),
  },
  'list-order': {
    operation: 'inbox.Unread',
    old: answer(messages(message(2, 'b'), message(1, 'a'))),
    ours: answer(messages(message(1, 'a'), message(2, 'b'))),
    outcome: 'order',
  },
  'rows-beyond-cap': {
    operation: 'inbox.Unread',
    old: answer(messages(message(1, 'a'), message(2, 'b'))),
    ours: answer(messages(message(1, 'a'), message(2, 'b'), message(3, 'c'))),
    dialect: { caps: { 'inbox.Unread': 2 } },
  },
  'status-words': {
    operation: 'sent.FetchSentDS',
    old: dataSet(row(0, 'Delivered to handset')),
    ours: dataSet(row(0)),
    dialect: { statusWords: { DELIVERED: ['Arrived', 'Delivered to handset'] } },
  },
  'error-status': {
    operation: 'inbox.CountUnread',
    old: answer('Unknown user_id.', { status: 500, type: 'text/plain; charset=utf-8' }),
    ours: answer('Unknown user_id.', { status: 403, type: 'text/plain; charset=utf-8' }),
    outcome: 'by design',
  },
  'plain-error': {
    operation: 'inbox.CountUnread',
    old: fault('Client', 'a'),
    ours: answer('a', { status: 400, type: 'text/plain; charset=utf-8' }),
    outcome: 'by design',
    protocol: 'soap11',
  },
};

describe('known differences', () => {
  for (const name of Object.keys(KNOWN_DIFFERENCES) as KnownDifference[]) {
    test(`the known difference ${name} has an example, which counts as different without it`, () => {
      const { operation, old, ours, outcome = 'equal', protocol = 'get', dialect } = KNOWN_PAIRS[name];
      const found = compareAnswers(call(operation, protocol), old, ours, settingsOf(dialect));
      assert.equal(found.outcome, outcome, found.differences.join('\n'));
      assert.ok(found.knownDifferences.get(name), [...found.knownDifferences.keys()].join());
      const off = compareAnswers(call(operation, protocol), old, ours, settingsOf(dialect, [name]));
      assert.equal(off.outcome, 'different');
      assert.match(off.differences.join('\n'), new RegExp(`the known difference ${name} is switched off`));
    });
  }

  test('two faults with different codes are different', () => {
    const asked = call('inbox.CountUnread', 'soap11');
    const { outcome, differences } = compareAnswers(asked, fault('Server', 'a'), fault('Client', 'a'), settingsOf());
    assert.deepEqual(
      [outcome, differences],
      ['different', ['old 500 Server, ours 500 Client: set faultCode in the dialect']],
    );
    assert.equal(compareAnswers(asked, fault('Server', 'a'), fault('Server', 'b'), settingsOf()).outcome, 'equal');
  });

  test('two answers of equal bytes are equal without a known difference', () => {
    const { outcome, knownDifferences } = compared(
      'inbox.Unread',
      answer(messages(message(1, 'a'))),
      answer(messages(message(1, 'a'))),
    );
    assert.deepEqual([outcome, knownDifferences.size], ['equal', 0]);
  });
});

describe('classes', () => {
  test('another order of rows is different if the dialect names one', () => {
    const { old, ours } = KNOWN_PAIRS['list-order'];
    const dialect = { orders: { 'inbox.Unread': 'timestamp' } };
    assert.equal(compareAnswers(call('inbox.Unread'), old, ours, settingsOf(dialect)).outcome, 'different');
  });

  test('lists of different lengths are different unless the shorter one ends at a limit', () => {
    const { old, ours } = KNOWN_PAIRS['rows-beyond-cap'];
    assert.equal(compared('inbox.Unread', old, ours).outcome, 'different');
  });

  test('an internal error of Columba counts as failed, and a mistake of the caller does not', () => {
    const result = answer(long('4'));
    const plain = { status: 503, type: 'text/plain; charset=utf-8' };
    for (const status of [503, 429]) {
      assert.equal(compared('inbox.CountUnread', result, answer('busy', { ...plain, status })).outcome, 'failed');
    }
    const soap = compareAnswers(
      call('inbox.CountUnread', 'soap11'),
      fault('Server', 'a'),
      fault('Server', 'b'),
      settingsOf(),
    );
    assert.equal(soap.outcome, 'equal');
    assert.equal(compared('inbox.CountUnread', result, answer('no', { ...plain, status: 403 })).outcome, 'different');
  });

  test('columns of another name, order or type are different', () => {
    const other = dataSet(
      row(0),
      '<xs:element name="delivery_status" type="xs:string"/><xs:element name="id" type="xs:int"/>',
    );
    const { outcome, differences } = compared('sent.FetchSentDS', dataSet(row(0)), other);
    assert.equal(outcome, 'different');
    assert.match(
      differences[0] ?? '',
      /columns: old NewDataSet\/Table: id long, delivery_status string; ours .*id int/,
    );
  });

  test('two answers of which one is no XML are different, unless their bytes are equal', () => {
    const broken = answer('<long');
    assert.equal(compared('inbox.CountUnread', broken, answer(long('4'))).outcome, 'different');
    assert.equal(compared('inbox.CountUnread', broken, broken).outcome, 'equal');
  });
});
