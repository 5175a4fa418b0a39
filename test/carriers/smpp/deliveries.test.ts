import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ReceivedReceipt } from '../../../src/carriers/connector.ts';
import { smppConfig } from '../../../src/carriers/smpp/config.ts';
import { canonicalId, idsToMatch } from '../../../src/carriers/smpp/ids.ts';
import { type ReadMessage, readMessage } from '../../../src/carriers/smpp/incoming.ts';
import { answerTo, COMMAND, decodePdu, encodePdu, NO_MESSAGE } from '../../../src/carriers/smpp/pdu.ts';
import { type ReadReceipt, readReceipt } from '../../../src/carriers/smpp/receipts.ts';
import { settled } from '../../support/virtual-clock.ts';
import { type Capture, capture, capturesOf } from './captures.ts';
import { CONFIG, openSmpp } from './scripted-smsc.ts';

const configured = (more: object = {}) => smppConfig.parse({ ...CONFIG, ...more });
const NOW = Date.UTC(2026, 10, 18, 1, 50);
const receiptOf = (name: string, more: object = {}): ReadReceipt =>
  readReceipt(decodePdu(capture(name)), configured(more), NOW) ?? assert.fail('it is a message');
const messageOf = (name: string, more: object = {}): ReadMessage =>
  readMessage(decodePdu(capture(name)), configured(more)) ?? assert.fail('it is none');

interface Expected {
  readonly ids: readonly string[];
  readonly status: string;
  readonly detail?: string;
}
const canonical = (id: string): string | null => canonicalId(id, configured());

describe('receipts of an SMSC', () => {
  const receipts = capturesOf('receipts').filter(({ expect }) => expect !== undefined);
  for (const { name, expect } of receipts) {
    test(`${name}: the ids, the status and the code are read`, () => {
      const wanted = expect as unknown as Expected;
      const quirks = name === 'receipt-without-esm_class' ? { receiptsWithoutEsmClass: true } : {};
      const { ids, status, detail } = receiptOf(name, { quirks });
      assert.deepEqual(ids, wanted.ids.map(canonical));
      assert.equal(status, wanted.status);
      if (wanted.detail !== undefined) assert.equal(detail, wanted.detail);
    });
  }

  test('a text in the form of a receipt is a message, unless the quirk says that it is a receipt', () => {
    const pdu = decodePdu(capture('receipt-without-esm_class'));
    assert.equal(readReceipt(pdu, configured(), NOW), null);
    const chat = { ...NO_MESSAGE, message: Buffer.from('id:5 stat:DELIVRD is what it said') };
    const quirky = configured({ quirks: { receiptsWithoutEsmClass: true } });
    assert.equal(readReceipt({ command: COMMAND.deliverSm, status: 0, sequence: 1, message: chat }, quirky, NOW), null);
  });

  test('an id in another case or with zeros in front is the same id; one with other letters stays as it is', () => {
    assert.deepEqual(['1A2B1B', '00001a2b1b', '0', '000'].map(canonical), ['1a2b1b', '1a2b1b', '0', '0']);
    assert.deepEqual(['7F3C-00', 'Msg-01', 'g0'].map(canonical), ['7F3C-00', 'Msg-01', 'g0']);
    assert.equal(canonical(''), null);
    assert.equal(canonicalId('00ab', configured({ quirks: { idInHexUpper: true } })), 'AB');
  });

  test('ids in another base are converted into that of the answers', () => {
    const ids = (receiptIdIs: string, ofText: string, ofTlv: string | null = null) =>
      idsToMatch(ofTlv, ofText, configured({ receiptIdIs }));
    assert.deepEqual(ids('hexToDecimal', '1000000001'), ['3b9aca01']);
    assert.deepEqual(ids('decimalToHex', '3b9aca01'), ['1000000001']);
    assert.deepEqual(ids('hexToDecimal', '1000000001', '3B9ACA01'), ['3b9aca01']);
    assert.deepEqual(ids('hexToDecimal', 'not-a-number'), ['not-a-number']);
    assert.deepEqual(ids('decimalToHex', 'f'.repeat(33)), ['f'.repeat(33)]);
  });

  test('a receipt that is passed on has the two numbers and the text of its message, and the quirk noReceiptForParts', async () => {
    const received: ReceivedReceipt[] = [];
    const deliver = async (more: object) => {
      const { smsc } = await openSmpp(more, () => {}, { receipt: async (receipt) => void received.push(receipt) });
      const [source, destination] = ['27825550201', 'Acme'].map((address) => ({ ton: 1, npi: 1, address }));
      const text = 'id:1 stat:DELIVRD err:000 text:Hello';
      const message = { ...NO_MESSAGE, source, destination, esmClass: 4, message: Buffer.from(text) } as never;
      smsc.last.send({ command: COMMAND.deliverSm, sequence: 9, message });
      await settled();
    };
    await deliver({ defaultSender: 'Acme' });
    await deliver({ matchByAddress: false, quirks: { noReceiptForParts: true } });
    const about = { recipient: '27825550201', sender: 'Acme', isDefaultSender: true, textStart: 'Hello' };
    assert.deepEqual(
      received.map((each) => [each.about, each.isForAllParts]),
      [
        [about, false],
        [undefined, true],
      ],
    );
  });

  test('the word of a receipt wins if its TLV says otherwise', () => {
    const pdu = decodePdu(capture('receipt-intermediate'));
    const text = 'id:7 stat:DELIVRD err:000 text:';
    const message = { ...NO_MESSAGE, esmClass: 4, message: Buffer.from(text) };
    const read = readReceipt({ ...pdu, message }, configured(), NOW);
    assert.deepEqual([read?.status, read?.isContradictory], ['DELIVERED', true]);
  });

  test('an acknowledgement of the phone has the status ENROUTE', () => {
    for (const esmClass of [0x08, 0x10]) {
      const message = { ...NO_MESSAGE, esmClass, message: Buffer.from('id:7 stat:DELIVRD') };
      const read = readReceipt({ command: COMMAND.deliverSm, status: 0, sequence: 1, message }, configured(), NOW);
      assert.equal(read?.status, 'ENROUTE');
    }
  });

  test('a date near now is read as UTC, and any other date only if the operator names its zone', () => {
    assert.equal(receiptOf('receipt-seconds-in-dates').at, Date.UTC(2026, 10, 18, 1, 43, 1));
    assert.equal(receiptOf('receipt-underscored-dates').at, Date.UTC(2026, 10, 18, 1, 43));
    const later = readReceipt(decodePdu(capture('receipt-usual')), configured(), NOW + 7_200_000);
    assert.equal(later?.at, null);
    const zone = configured({ quirks: { doneDateLocal: 'Africa/Johannesburg' } });
    assert.equal(readReceipt(decodePdu(capture('receipt-usual')), zone, NOW)?.at, Date.UTC(2026, 10, 17, 23, 43));
  });

  test('a receipt is passed on and acknowledged, by deliver_sm and by data_sm', async () => {
    const { smsc, recording } = await openSmpp();
    for (const name of ['receipt-delivrd', 'receipt-by-data_sm']) smsc.last.sendOctets(capture(name));
    await settled();
    assert.deepEqual(
      recording.receipts.map(({ connector, attemptId, gatewayId, status, detail }) => [
        connector,
        attemptId,
        gatewayId,
        status,
        detail,
      ]),
      [
        ['carrier', null, '1a2b13', 'DELIVERED', '000'],
        ['carrier', null, '1a2b1d', 'DELIVERED', null],
      ],
    );
    const [answer] = smsc.of(answerTo(COMMAND.deliverSm));
    assert.deepEqual(
      answer && encodePdu({ ...answer, sequence: 0 }).subarray(0, 12),
      capture('deliver_sm_resp').subarray(0, 12),
    );
    assert.equal(smsc.of(answerTo(COMMAND.dataSm)).length, 1);
  });
});

describe('messages from phones at an SMSC', () => {
  const messages = capturesOf('incoming').filter(({ expect }) => expect !== undefined);
  for (const { name, expect } of messages as (Capture & { expect: Record<string, unknown> })[]) {
    test(`${name}: addresses, text and part are read`, () => {
      const read = messageOf(name);
      for (const field of ['sender', 'destination', 'text'] as const) {
        if (field in expect) assert.equal(read[field], expect[field], field);
      }
      if ('part' in expect) assert.deepEqual(read.part, expect.part);
      if ('binary' in expect) assert.equal(read.text, String(expect.binary).toUpperCase());
    });
  }

  test('a surrogate pair that is cut between two parts is whole in the joined text', () => {
    const parts = [1, 2].map((number) => messageOf(`mo-udh16-ucs2-part${number}-half-pair`).text);
    assert.equal(parts.join(''), 'я😀я');
  });

  test('the text of data_sm is read in GSM 7-bit too', () => {
    assert.equal(messageOf('mo-by-data_sm').text, 'by data§sm');
  });

  test('packed septets are read if the quirk says so', () => {
    assert.equal(messageOf('mo-gsm7-packed', { quirks: { packedSevenBit: true } }).text, 'Hello');
    assert.notEqual(messageOf('mo-gsm7-packed').text, 'Hello');
  });

  test('an empty text, a header that is too long and a header of no part are kept as they are', () => {
    assert.deepEqual([messageOf('mo-empty').text, messageOf('mo-empty').part], ['', null]);
    assert.deepEqual(
      [messageOf('mo-udh-longer-than-message').text, messageOf('mo-udh-longer-than-message').part],
      ['FF0003', null],
    );
    assert.deepEqual([messageOf('mo-udh-total-0').text, messageOf('mo-udh-total-0').part], ['A', null]);
  });

  test('the element of parts is found among others of a header', () => {
    assert.deepEqual(messageOf('mo-udh-port-and-concat').part, { reference: 7, total: 2, number: 1 });
  });

  test('a sender of more than 20 digits is kept', () => {
    assert.match(messageOf('mo-source-21').sender, /^\+\d{21}$/);
  });

  test('data_coding 0 is read in the alphabet of the connector', () => {
    const message = { ...NO_MESSAGE, message: Buffer.from([0x40, 0xe9]) };
    const read = (alphabet: string) =>
      readMessage({ command: COMMAND.deliverSm, status: 0, sequence: 1, message }, configured({ alphabet }))?.text;
    assert.deepEqual([read('gsm7'), read('latin1'), read('ascii')], ['¡é', '@é', '@é']);
  });
});
