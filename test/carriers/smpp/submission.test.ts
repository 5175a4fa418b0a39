import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { describe, test } from 'node:test';
import type { Submission, SubmitResult } from '../../../src/carriers/connector.ts';
import { smppConfig } from '../../../src/carriers/smpp/config.ts';
import { type Address, COMMAND, decodePdu, encodePdu, type Pdu, TLV } from '../../../src/carriers/smpp/pdu.ts';
import { isRefusal, type Prepared, prepare, sourceOf, validityOf } from '../../../src/carriers/smpp/submission.ts';
import { submissionsOf } from '../../../src/carriers/submissions.ts';
import { partHeader, partsOf as partsCount, splitText, widePartHeader } from '../../../src/sms/parts.ts';
import { capture, capturesOf } from './captures.ts';
import { CONFIG, partOf, START } from './scripted-smsc.ts';

const configured = (more: object = {}) => smppConfig.parse({ ...CONFIG, ...more });
function prepared(part: Submission, more: object = {}): Prepared {
  const made = prepare(part, configured(more), START);
  if (isRefusal(made)) assert.fail(JSON.stringify(made));
  return made;
}
function refusal(part: Submission, more: object = {}): SubmitResult {
  const made = prepare(part, configured(more), START);
  return isRefusal(made) ? made : assert.fail('it is not refused');
}
const hexOf = (octets: Uint8Array | undefined): string => Buffer.from(octets ?? []).toString('hex');

/** The octets of submit_sm with the sequence of the recording. */
function octetsLike(name: string, part: Submission, more: object): [Buffer, Buffer] {
  const recorded = capture(name);
  const { sequence } = decodePdu(recorded);
  return [encodePdu({ command: COMMAND.submitSm, status: 0, sequence, ...prepared(part, more) }), recorded];
}

describe('a message as submit_sm', () => {
  const text = (name: string) => capturesOf('submit').find((each) => each.name === name)?.text as string;
  const place = (reference: number, number: number) => ({ reference, total: 2, number });
  const numbered = (number: string) => ({ recipient: `+278255502${number}` });
  const { message: recordedPart } = decodePdu(capture('submit_sm-udh16-part1')) as Required<Pdu>;
  const bearerbox = { esmMode: 3, receipts: 'all' };
  const cases: [string, Partial<Submission> & { text: string }, object][] = [
    ['submit_sm-alphanumeric-sender', { text: 'fate 1', ...numbered('01') }, bearerbox],
    [
      'submit_sm-short-code-sender-validity-priority',
      { text: 'short code sender', sender: '31234', priority: 2, ...numbered('25'), validUntil: START + 3_600_000 },
      { ...bearerbox, sourceTon: 2, sourceNpi: 1 },
    ],
    [
      'submit_sm-international-sender',
      { text: 'int sender', sender: '+27115550100', ...numbered('26') },
      { esmMode: 3, receipts: 'final' },
    ],
    ['submit_sm-no-receipt', { text: 'no receipt' }, { esmMode: 3, receipts: 'none' }],
    ['submit_sm-gsm7-whole-table', { text: text('submit_sm-gsm7-whole-table') }, bearerbox],
    ['submit_sm-gsm7-extension', { text: text('submit_sm-gsm7-extension') }, bearerbox],
    ['submit_sm-ucs2', { text: text('submit_sm-ucs2') }, bearerbox],
    ['submit_sm-udh8-part1', { text: 'part one of two,', udh: partHeader(42, 2, 1), place: place(42, 1) }, bearerbox],
    ['submit_sm-udh8-part2', { text: ' part two', udh: partHeader(42, 2, 2), place: place(42, 2) }, bearerbox],
    [
      'submit_sm-udh16-part1',
      { text: 'part one 16 bit,', udh: widePartHeader(0x1234, 2, 1), place: place(0x1234, 1) },
      bearerbox,
    ],
    ['submit_sm-sar-part1', { text: 'sar part 1,', place: place(0x1234, 1) }, { parts: 'sar' }],
    ['submit_sm-sar-part2', { text: ' sar part 2', place: place(0x1234, 2) }, { parts: 'sar' }],
    ['submit_sm-latin1', { text: 'café ©' }, { alphabet: 'latin1As3' }],
    [
      'submit_sm-dlt',
      { text: 'Your OTP is 123456' },
      {
        tlvs: [
          { tag: '0x1400', text: '1101234560000012345' },
          { tag: '0x1401', text: '1107160000000012345' },
        ],
      },
    ],
  ];
  for (const [name, { text: own, ...more }, config] of cases) {
    test(`${name}: the octets are those of the recording`, () => {
      const { destination } = (decodePdu(capture(name)) as Required<Pdu>).message;
      const [made, recorded] = octetsLike(name, partOf(own, { recipient: `+${destination.address}`, ...more }), config);
      assert.equal(hexOf(made), hexOf(recorded));
    });
  }

  test('a relative validity counts from now, as recorded, and a message without one has none', () => {
    const { validity } = (decodePdu(capture('submit_sm-relative-validity')) as Required<Pdu>).message;
    assert.equal(validityOf(START + 86_400_000, 'relative', START), validity);
    assert.equal(validityOf(START + 86_400_000, 'none', START), '');
    assert.equal(validityOf(null, 'absolute', START), '');
  });

  test('a recipient is sent as digits with TON 1 and NPI 1, unless settings name other values', () => {
    assert.deepEqual(prepared(partOf()).message.destination, { ton: 1, npi: 1, address: '27825550201' });
    const fixed = prepared(partOf(), { destinationTon: 0, destinationNpi: 8 });
    assert.deepEqual(fixed.message.destination, { ton: 0, npi: 8, address: '27825550201' });
  });

  test('the TON and NPI of a sender follow from what it is', () => {
    const senders: [string | null, Address | null][] = [
      [null, { ton: 0, npi: 0, address: '' }],
      ['+27115550100', { ton: 1, npi: 1, address: '27115550100' }],
      ['31234', { ton: 3, npi: 0, address: '31234' }],
      ['0115550100', { ton: 2, npi: 1, address: '0115550100' }],
      ['Acme & Co', { ton: 5, npi: 0, address: 'Acme & Co' }],
      ['Café', { ton: 5, npi: 0, address: 'Café' }],
      ['a name too long', null],
      ['Ακμή', null],
    ];
    for (const [sender, wanted] of senders) assert.deepEqual(sourceOf(sender, {}), wanted, String(sender));
    assert.deepEqual(sourceOf('31234', { sourceTon: 2, sourceNpi: 1 }), { ton: 2, npi: 1, address: '31234' });
    assert.equal(prepared(partOf('x', { sender: null }), { defaultSender: 'Shop' }).message.source.address, 'Shop');
  });

  test('a value that an SMSC would garble is refused before anything is sent', () => {
    assert.equal(refusal(partOf('x', { sender: 'a name too long' })).kind, 'permanent');
    assert.equal(refusal(partOf('x', { recipient: '0825550201' })).kind, 'permanent');
    assert.equal(refusal(partOf('x', { validUntil: START })).kind, 'temporary');
    assert.equal(refusal(partOf('Ω'.repeat(100)), { alphabet: 'latin1' }).kind, 'permanent');
  });

  test('a text that does not fit the 8-bit alphabet is sent as UCS-2', () => {
    const coded = (own: string, alphabet: string): [number, string] => {
      const { dataCoding, message } = prepared(partOf(own), { alphabet }).message;
      return [dataCoding, hexOf(message)];
    };
    assert.deepEqual(coded('é@_', 'latin1'), [0, 'e9405f']);
    assert.deepEqual(coded('é@_', 'latin1As3'), [3, 'e9405f']);
    assert.deepEqual(coded('a@_', 'ascii'), [0, '61405f']);
    assert.deepEqual(coded('é', 'ascii'), [8, '00e9']);
    assert.deepEqual(coded('5 €', 'latin1'), [8, '0035002020ac']);
    assert.deepEqual(coded('Привет', 'latin1'), [8, '041f04400438043204350442']);
    assert.deepEqual(coded('é@_', 'gsm7'), [0, '050011']);
  });

  test('the quirk ucs2LittleEndian sends the low octet first', () => {
    const { message } = prepared(partOf('П'), { quirks: { ucs2LittleEndian: true } });
    assert.deepEqual([message.dataCoding, hexOf(message.message)], [8, '1f04']);
  });

  test('a whole text is sent in message_payload', () => {
    const long = 'x'.repeat(300);
    const { message, tlvs } = prepared(partOf(long, { isWhole: true }), { parts: 'payload' });
    assert.deepEqual([message.message.length, hexOf(tlvs.get(TLV.messagePayload))], [0, hexOf(Buffer.from(long))]);
    const recorded = (decodePdu(capture('submit_sm-message_payload')) as Required<Pdu>).tlvs;
    assert.deepEqual([...recorded.keys()], [TLV.messagePayload]);
  });

  test('user_message_reference and the TLVs of the configuration are sent, with a NUL unless it is off', () => {
    const tlvs = [
      { tag: '0x1400', text: 'own' },
      { tag: '0x1401', text: 'two', nul: false },
      { tag: '0x1402', hex: '00ff' },
    ];
    const made = prepared(partOf('x', { attemptId: '0abc' }), { tlvs, userMessageReference: true });
    assert.deepEqual(
      [...made.tlvs].map(([tag, value]) => [tag, Buffer.from(value).toString('latin1')]),
      [
        [0x0204, '\x0a\xbc'],
        [0x1400, 'own\0'],
        [0x1401, 'two'],
        [0x1402, '\x00\xff'],
      ],
    );
  });

  test('a TLV of a field has the value of the message, else its default; without both it is left out', () => {
    const tlvs = [
      { tag: '0x1400', field: 'entityId', text: 'ours' },
      { tag: '0x1401', field: 'templateId', nul: false },
    ];
    const sent = (fields: Record<string, string>) =>
      [...prepared(partOf('x', { fields }), { tlvs }).tlvs].map(([tag, value]) => [
        tag,
        Buffer.from(value).toString('latin1'),
      ]);
    assert.deepEqual(sent({ entityId: '1101', templateId: '1107' }), [
      [0x1400, '1101\0'],
      [0x1401, '1107'],
    ]);
    assert.deepEqual(sent({ other: 'x' }), [[0x1400, 'ours\0']]);
  });

  test('no part is longer than a phone can get, in any alphabet and with every way to mark parts', () => {
    const texts = ['a'.repeat(1_000), 'é€'.repeat(300), 'Я😀'.repeat(200), `${'x'.repeat(159)}€`, 'я'.repeat(71)];
    for (const own of texts) {
      for (const partsAs of ['udh8', 'udh16', 'bare'] as const) {
        const partsTotal = partsCount(own);
        const parts = Array.from({ length: partsTotal }, (_, index) => ({ number: index + 1, attemptId: 'a' }));
        const message = {
          account: 7n,
          id: 5n,
          fence: 1n,
          attempt: 1,
          sender: null,
          recipient: '+27825550201',
          text: own,
        };
        const times = { priority: 0, notAfter: null, expiresAt: 0, isAnswer: false };
        const made = submissionsOf({ ...message, ...times, partsTotal, parts }, partsAs);
        assert.equal(made.map((each) => each.text).join(''), own);
        for (const each of made) {
          const header = each.udh?.length ?? (partsAs === 'bare' && partsTotal > 1 ? 6 : 0);
          const octets = each.encoding === 'gsm7' ? Math.ceil((each.body.length * 7) / 8) : each.body.length;
          assert.ok(header + octets <= 140, `${partsAs}: ${header} and ${octets} octets`);
          assert.equal(each.udh === null, partsAs === 'bare' || partsTotal === 1);
          assert.deepEqual(each.place === null, partsTotal === 1);
        }
        assert.equal(new Set(made.map((each) => each.place?.reference)).size, 1);
        assert.equal(new Set(made.map((each) => each.udh?.[0])).size, 1, 'one kind of header in all parts');
      }
    }
    assert.equal(splitText('a'.repeat(306)).parts.length, 2);
    assert.ok(recordedPart.message.length > 0);
  });
});

/** Of nobody; its key was thrown away. */
const CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIBhTCCASugAwIBAgIUZ1N3OdQKbZKMuncz3y38m+KZN4owCgYIKoZIzj0EAwIw
FzEVMBMGA1UEAwwMc21zYy5leGFtcGxlMCAXDTI2MTExOTAxNDk1OVoYDzIxMjYx
MDI2MDE0OTU5WjAXMRUwEwYDVQQDDAxzbXNjLmV4YW1wbGUwWTATBgcqhkjOPQIB
BggqhkjOPQMBBwNCAATM5ji/sStzAOUoXLeoGFDyCbvHbzvys8jLJ0FUGBZxersN
f1umhrzbD6unpnNaytigU7VpsYwWjjpILzN3pskCo1MwUTAdBgNVHQ4EFgQUJWfS
VNIWlwifpHtgmcSWPljue6MwHwYDVR0jBBgwFoAUJWfSVNIWlwifpHtgmcSWPlju
e6MwDwYDVR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAgNIADBFAiBGugHOPPkaJrgm
s1/3c6nJ22fkvmFJnk985/ZKFYdOgwIhAIRXyMeu5WSl2boT+Ah5CsNANdwv2mi+
wd+I3VrAJDYT
-----END CERTIFICATE-----`;

describe('the configuration of an SMSC', () => {
  const faults = (more: object): string[] => {
    const read = smppConfig.safeParse({ ...CONFIG, ...more });
    return read.success ? [] : read.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
  };

  test('each mistake in a configuration is named with its place', () => {
    assert.deepEqual(faults({}), []);
    assert.match(faults({ password: undefined }).join(), /^password: /);
    assert.match(faults({ receipts: 'some' }).join(), /^receipts: /);
    assert.match(faults({ tlvs: [{ tag: '1400', text: 'x' }] }).join(), /^tlvs\.0\.tag: expected a tag such as 0x1400/);
    assert.match(
      faults({ tlvs: [{ tag: '0x1400' }] }).join(),
      /^tlvs\.0: expected text, hex, or field with or without text/,
    );
    assert.match(
      faults({ tlvs: ['0x14AA', '0x14aa'].map((tag) => ({ tag, text: 'x' })) }).join(),
      /^tlvs: expected each tag once/,
    );
    assert.match(faults({ statusMeanings: { '0x45': 'final' } }).join(), /^statusMeanings\.0x45: /);
    assert.match(
      faults({ statusMeanings: { 45: 'permanent' } }).join(),
      /^statusMeanings: expected each command_status as in 0x45/,
    );
    assert.match(faults({ quirks: { doneDateLocal: 'Mars' } }).join(), /^quirks\.doneDateLocal: expected a time zone/);
    assert.match(faults({ quirks: { unknown: true } }).join(), /^quirks: /);
    assert.match(faults({ tlsCertificate: 'x' }).join(), /^tlsCertificate: expected a certificate in PEM/);
    assert.match(faults({ tlsClientKey: CERTIFICATE }).join(), /^tlsClientKey: expected a private key in PEM/);
    const own = { tlsCertificate: CERTIFICATE, tlsClientCertificate: CERTIFICATE };
    assert.match(faults(own).join(), /^tlsClientKey: expected tlsClientCertificate and/);
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const other = { ...own, tlsClientKey: privateKey.export({ type: 'pkcs8', format: 'pem' }) };
    assert.match(faults(other).join(), /^tlsClientKey: this is not the key of tlsClientCertificate/);
    assert.match(faults({ idleSeconds: 20 }).join(), /^idleSeconds: expected more than enquireLinkSeconds/);
  });
});
