import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import {
  type BoxFrame,
  BoxProtocolError,
  decodeFrame,
  encodeFrame,
  FRAME_BYTES_MAX,
  FrameReader,
  octetsOf,
  smsFrame,
  textOf,
} from '../../../src/carriers/kannel/box-protocol.ts';
import { runsOf } from '../../support/proof.ts';
import { readCapture } from './captures.ts';

const frames = readCapture('box-session').map(({ name, text }) => {
  const [hex = '', json = ''] = text.trim().split('\n');
  return { name, octets: Buffer.from(hex, 'hex'), fields: JSON.parse(json) as Record<string, unknown> };
});

/** Kannel's names of the fields in the capture, and ours. */
const NAMES: Record<string, string> = {
  boxc_id: 'boxId',
  msgdata: 'body',
  smsc_id: 'smscId',
  foreign_id: 'foreignId',
  sms_type: 'smsType',
  dlr_mask: 'receiptMask',
  dlr_url: 'receiptUrl',
  meta_data: 'metaData',
  pid: 'protocolId',
  alt_dcs: 'alternativeCoding',
};

describe('the recorded session with bearerbox', () => {
  test('every frame has the fields that were recorded with it, and no others', () => {
    assert.equal(frames.length, 9);
    for (const { octets, fields } of frames) {
      const frame = decodeFrame(octets.subarray(4)) ?? assert.fail();
      const present = Object.entries(frame).filter(([, value]) => value !== null);
      const read = present.map(([name, value]) => [name, value instanceof Uint8Array ? textOf(value) : value]);
      const { kind, ...rest } = fields;
      const expected = Object.entries(rest).map(([name, value]) => [NAMES[name] ?? name, value]);
      assert.deepEqual(Object.fromEntries(read), { type: kind, ...Object.fromEntries(expected) });
    }
  });

  test('every frame is encoded to the same octets', () => {
    for (const { octets } of frames) {
      const frame = decodeFrame(octets.subarray(4)) ?? assert.fail();
      assert.equal(encodeFrame(frame).toString('hex'), octets.toString('hex'));
    }
  });

  test('the recorded stream gives the same frames, wherever it is cut', () => {
    const stream = Buffer.concat(frames.map(({ octets }) => octets));
    const whole = new FrameReader().push(stream);
    assert.equal(whole.length, frames.length);
    fc.assert(
      fc.property(fc.array(fc.nat(stream.length), { maxLength: 40 }), (cuts) => {
        const places = [0, ...cuts.toSorted((a, b) => a - b), stream.length];
        const reader = new FrameReader();
        const read = places.flatMap((place, index) => reader.push(stream.subarray(place, places[index + 1] ?? place)));
        assert.deepEqual(read, whole);
      }),
    );
    const reader = new FrameReader();
    assert.deepEqual(
      [...stream].flatMap((octet) => reader.push(Buffer.from([octet]))),
      whole,
    );
  });
});

const octets = fc.option(fc.uint8Array({ maxLength: 300 }));
// -1 is how the wire says that there is none.
const integer = fc.option(fc.integer().filter((value) => value !== -1));

describe('frames of any content', () => {
  test('frames of any content are read as they were written', () => {
    const sms = fc.record({
      sender: octets,
      receiver: octets,
      udh: octets,
      body: octets,
      time: integer,
      coding: integer,
    });
    fc.assert(
      fc.property(sms, (fields) => {
        const [frame] = new FrameReader().push(encodeFrame(smsFrame(fields)));
        const plain = Object.fromEntries(
          Object.entries(frame ?? {}).map(([name, value]) => [name, value instanceof Uint8Array ? [...value] : value]),
        );
        for (const [name, value] of Object.entries(fields)) {
          assert.deepEqual(plain[name], value instanceof Uint8Array ? [...value] : value, name);
        }
      }),
    );
  });

  test('damaged octets are read or refused as a protocol error, and never fail otherwise', () => {
    const stream = Buffer.concat(frames.map((each) => each.octets));
    const damage = fc.array(fc.tuple(fc.nat(stream.length - 1), fc.nat(255)), { minLength: 1, maxLength: 6 });
    fc.assert(
      fc.property(damage, fc.nat(stream.length), (changes, length) => {
        const damaged = Buffer.from(stream.subarray(0, length));
        for (const [place, value] of changes) if (place < length) damaged[place] = value;
        readOrRefuse(damaged);
      }),
      { numRuns: runsOf(2_000) },
    );
    fc.assert(fc.property(fc.uint8Array({ maxLength: 200 }), (noise) => readOrRefuse(Buffer.from(noise))));
  });

  test('a length that is negative, too small or too large is refused before anything is kept', () => {
    for (const length of [-1, 0, 3, FRAME_BYTES_MAX + 1, 0x7fff_ffff]) {
      const head = Buffer.alloc(4);
      head.writeInt32BE(length);
      assert.throws(() => new FrameReader().push(head), BoxProtocolError, String(length));
    }
  });

  test('a field that claims more octets than its frame has is refused', () => {
    const frame = encodeFrame({ type: 'admin', command: 3, boxId: octetsOf('columba') });
    frame.writeInt32BE(8, 12);
    assert.throws(() => new FrameReader().push(frame), BoxProtocolError);
    frame.writeInt32BE(-2, 12);
    assert.throws(() => new FrameReader().push(frame), BoxProtocolError);
  });

  test('a frame of a type that is not for boxes is ignored, and so are octets behind the last field', () => {
    const other = Buffer.from('0000000400000009', 'hex');
    const longer = Buffer.concat([encodeFrame({ type: 'heartbeat', load: 5 }), Buffer.from('abcd')]);
    longer.writeInt32BE(12, 0);
    const read = new FrameReader().push(Buffer.concat([other, longer]));
    assert.deepEqual(read, [{ type: 'heartbeat', load: 5 }] satisfies BoxFrame[]);
  });

  test('an integer that does not fit is not written', () => {
    assert.throws(() => encodeFrame({ type: 'heartbeat', load: 2 ** 31 }), BoxProtocolError);
    assert.throws(() => encodeFrame({ type: 'heartbeat', load: 0.5 }), BoxProtocolError);
  });
});

function readOrRefuse(stream: Buffer): void {
  const reader = new FrameReader();
  try {
    for (let at = 0; at < stream.length; at += 7) reader.push(stream.subarray(at, at + 7));
  } catch (error) {
    assert.ok(error instanceof BoxProtocolError, String(error));
  }
}
