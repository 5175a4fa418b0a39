import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { BadFrame, FrameReader } from '../../../src/carriers/smpp/frames.ts';
import {
  COMMAND,
  decodePdu,
  encodePdu,
  MalformedPdu,
  type MessageFields,
  PDU_OCTETS_MAX,
  type Pdu,
  TLV,
} from '../../../src/carriers/smpp/pdu.ts';
import { runsOf } from '../../support/proof.ts';
import { allCaptures, type Capture, capturesOf, cutConnection } from './captures.ts';

const octetsOf = ({ hex }: { hex: string }): Buffer => Buffer.from(hex, 'hex');
const hexOf = (octets: Uint8Array): string => Buffer.from(octets).toString('hex');

/** The fields as the recordings name them; only those that the recording has. */
function fieldsOf(pdu: Pdu): Record<string, unknown> {
  const { bind, message } = pdu;
  return {
    command_status: pdu.status,
    sequence_number: pdu.sequence,
    system_id: bind?.systemId ?? pdu.systemId,
    password: bind?.password,
    system_type: bind?.systemType,
    interface_version: bind?.interfaceVersion,
    addr_ton: bind?.range.ton,
    addr_npi: bind?.range.npi,
    address_range: bind?.range.address,
    message_id: pdu.messageId,
    service_type: message?.serviceType,
    source_addr_ton: message?.source.ton,
    source_addr_npi: message?.source.npi,
    source_addr: message?.source.address,
    dest_addr_ton: message?.destination.ton,
    dest_addr_npi: message?.destination.npi,
    destination_addr: message?.destination.address,
    esm_class: message?.esmClass,
    protocol_id: message?.protocolId,
    priority_flag: message?.priority,
    schedule_delivery_time: message?.schedule,
    validity_period: message?.validity,
    registered_delivery: message?.registeredDelivery,
    replace_if_present_flag: message?.replaceIfPresent,
    data_coding: message?.dataCoding,
    sm_default_msg_id: message?.defaultMessageId,
    sm_length: message?.message.length,
    short_message: message && hexOf(message.message),
  };
}

/** fast-check makes records without a prototype. */
const structuredPdu = (pdu: Pdu): Pdu => {
  const { message, tlvs } = pdu;
  const { source, destination, ...others } = message as MessageFields;
  return {
    ...pdu,
    message: { ...others, source: { ...source }, destination: { ...destination } },
    ...(tlvs && { tlvs }),
  };
};

/** PDUs of commands that Columba has no use for, whose bodies stay octets. */
const UNREAD = ['alert_notification', 'outbind', 'query_sm', 'unknown-command'];
const withoutNul = ({ name }: Capture): boolean => name === 'submit_sm_resp-no-nul';

describe('PDUs of SMPP', () => {
  for (const each of allCaptures().filter(({ decoded }) => decoded !== null)) {
    test(`the PDU ${each.name} is read as recorded, and written with the same octets`, () => {
      const pdu = decodePdu(octetsOf(each));
      const { command_id, tlvs = [], ...wanted } = each.decoded as Record<string, unknown> & { tlvs?: object[] };
      assert.equal(pdu.command, Number(command_id));
      if (!UNREAD.some((name) => each.name.startsWith(name))) {
        const read = fieldsOf(pdu);
        for (const [field, value] of Object.entries(wanted)) {
          if (field in read) assert.equal(read[field], value, field);
        }
        assert.deepEqual(
          [...(pdu.tlvs ?? [])].map(([tag, value]) => [tag, hexOf(value)]),
          (tlvs as { tag: string; value: string }[]).map(({ tag, value }) => [Number(tag), value]),
        );
      }
      const again = hexOf(encodePdu(pdu));
      if (!withoutNul(each)) assert.equal(again, each.hex);
      else assert.equal(again.slice(8), `${each.hex}00`.slice(8), 'with its NUL');
    });
  }

  test('every PDU of the conversation with the cut connection is written with the same octets', () => {
    for (const each of cutConnection().pdus) assert.equal(hexOf(encodePdu(decodePdu(octetsOf(each)))), each.hex);
  });

  test('a TLV that runs past the end is left out, and the rest of the PDU is read', () => {
    const found = capturesOf('hostile').find(({ name }) => name === 'hostile-tlv-longer-than-pdu') as Capture;
    const pdu = decodePdu(octetsOf(found));
    assert.deepEqual([pdu.message?.source.address, pdu.tlvs?.has(TLV.messageState)], ['27825550201', false]);
  });

  for (const name of ['hostile-sm_length-beyond-pdu', 'hostile-address-without-nul']) {
    test(`the PDU ${name} is refused as malformed`, () => {
      const found = capturesOf('hostile').find((each) => each.name === name) as Capture;
      assert.throws(() => decodePdu(octetsOf(found)), MalformedPdu);
    });
  }

  test('a text of more than 255 octets makes a PDU malformed', () => {
    const answer = { command: 0x8000_0004, status: 0, sequence: 1 };
    assert.equal(decodePdu(encodePdu({ ...answer, messageId: 'x'.repeat(255) })).messageId?.length, 255);
    assert.throws(() => decodePdu(encodePdu({ ...answer, messageId: 'x'.repeat(256) })), MalformedPdu);
  });

  test('any PDU is read as it was written', () => {
    const text = fc.string({
      maxLength: 40,
      unit: fc.integer({ min: 1, max: 255 }).map((c) => String.fromCharCode(c)),
    });
    const octet = fc.integer({ min: 0, max: 255 });
    const octets = (maxLength: number) => fc.uint8Array({ maxLength }).map((each) => Buffer.from(each));
    const address = fc.record({ ton: octet, npi: octet, address: text });
    const message = fc.record({
      serviceType: text,
      source: address,
      destination: address,
      esmClass: octet,
      protocolId: octet,
      priority: octet,
      schedule: text,
      validity: text,
      registeredDelivery: octet,
      replaceIfPresent: octet,
      dataCoding: octet,
      defaultMessageId: octet,
      message: octets(255),
    });
    const tlvs = fc
      .uniqueArray(fc.tuple(fc.integer({ min: 0, max: 0xffff }), octets(300)), {
        minLength: 1,
        selector: ([tag]) => tag,
      })
      .map((pairs) => new Map(pairs));
    const pdu = fc.record({
      command: fc.constantFrom(COMMAND.submitSm, COMMAND.deliverSm),
      status: fc.integer({ min: 0, max: 0xffff_ffff }),
      sequence: fc.integer({ min: 0, max: 0xffff_ffff }),
      message,
      tlvs,
    });
    fc.assert(fc.property(pdu, (each) => assert.deepEqual(decodePdu(encodePdu(each)), structuredPdu(each))));
  });

  test('damaged PDUs are read or refused as malformed, and never with another error', () => {
    const frames = allCaptures()
      .filter(({ decoded }) => decoded !== null)
      .map(octetsOf);
    const change = fc.tuple(fc.nat(), fc.integer({ min: 0, max: 255 }));
    const damaged = fc.tuple(fc.constantFrom(...frames), fc.array(change, { maxLength: 6 }), fc.nat());
    const read = ([frame, changes, cut]: [Buffer, [number, number][], number]) => {
      const octets = Buffer.from(frame.subarray(0, Math.max(16, frame.length - (cut % 8))));
      for (const [at, value] of changes) octets[4 + (at % (octets.length - 4))] = value;
      try {
        decodePdu(octets);
      } catch (thrown) {
        assert.ok(thrown instanceof MalformedPdu, String(thrown));
      }
    };
    fc.assert(fc.property(damaged, read), { numRuns: runsOf(2_000) });
  });
});

describe('frames of a connection', () => {
  const frames = allCaptures()
    .filter(({ decoded }) => decoded !== null)
    .map(octetsOf);

  test('PDUs that come in pieces of any size are the same PDUs', () => {
    const whole = Buffer.concat(frames);
    const sizes = fc.array(fc.integer({ min: 1, max: 900 }), { minLength: 1, maxLength: 40 });
    const read = (given: number[]) => {
      const reader = new FrameReader();
      const got: Buffer[] = [];
      for (let at = 0, turn = 0; at < whole.length; turn++) {
        const size = given[turn % given.length] as number;
        got.push(...reader.push(whole.subarray(at, at + size)).map((each) => Buffer.from(each)));
        at += size;
      }
      assert.deepEqual(got.map(hexOf), frames.map(hexOf));
    };
    fc.assert(fc.property(sizes, read), { numRuns: 50 });
  });

  for (const name of ['length-0', 'length-4', 'length-15', 'length-2-gibibytes', 'http-answer']) {
    test(`the octets hostile-${name} are no PDU, which is known from their length alone`, () => {
      const found = capturesOf('hostile').find((each) => each.name === `hostile-${name}`) as Capture;
      const reader = new FrameReader();
      assert.throws(() => reader.push(octetsOf(found).subarray(0, 4)), BadFrame);
    });
  }

  test('octets of HTTP and of TLS are recognised and named', () => {
    const fault = (octets: Buffer) => {
      try {
        new FrameReader().push(octets);
      } catch (thrown) {
        return (thrown as Error).message;
      }
      return '';
    };
    assert.match(fault(Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n')), /not an SMPP port: an HTTP server/);
    assert.match(fault(Buffer.from('15030100020228', 'hex')), /expects TLS/);
  });

  test('a PDU that claims 70,000 octets and brings few holds no more memory than what came', () => {
    const reader = new FrameReader();
    const begin = Buffer.alloc(20);
    begin.writeUInt32BE(PDU_OCTETS_MAX, 0);
    const before = process.memoryUsage().arrayBuffers;
    const readers = Array.from({ length: 1_000 }, () => new FrameReader());
    for (const each of [reader, ...readers]) each.push(Buffer.from(begin));
    assert.ok(process.memoryUsage().arrayBuffers - before < 10_000_000);
  });

  test('octets that come one by one are copied a bounded number of times', () => {
    const copied = { octets: 0 };
    const reader = new FrameReader();
    const whole = encodePdu({
      command: COMMAND.deliverSm,
      status: 0,
      sequence: 1,
      tlvs: new Map([[TLV.messagePayload, Buffer.alloc(60_000)]]),
    });
    const { copy } = Buffer.prototype;
    Buffer.prototype.copy = function counted(this: Buffer, ...args: Parameters<typeof copy>) {
      const count = copy.apply(this, args);
      copied.octets += count;
      return count;
    };
    let frames = 0;
    try {
      for (let at = 0; at < whole.length; at++) frames += reader.push(whole.subarray(at, at + 1)).length;
    } finally {
      Buffer.prototype.copy = copy;
    }
    assert.equal(frames, 1);
    assert.ok(copied.octets < 4 * whole.length, `${copied.octets} octets were copied`);
  });
});
