import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { answerTo, COMMAND, encodePdu, NO_MESSAGE, type Pdu, TLV } from '../../../src/carriers/smpp/pdu.ts';
import { NEVER } from '../../support/kannel-recording.ts';
import { settled } from '../../support/virtual-clock.ts';
import { capture, capturesOf } from './captures.ts';
import { openSmpp, partOf } from './scripted-smsc.ts';

const nacks = (pdus: readonly Pdu[]) =>
  pdus.filter(({ command }) => command === COMMAND.genericNack).map(({ status, sequence }) => [status, sequence]);
const deliverSm = (sequence: number, text = `text ${sequence}`): Pdu => ({
  command: COMMAND.deliverSm,
  status: 0,
  sequence,
  message: { ...NO_MESSAGE, source: { ton: 1, npi: 1, address: '27825550101' }, message: Buffer.from(text) },
});

describe('an SMSC that is broken or hostile', () => {
  for (const name of ['length-0', 'length-4', 'length-15', 'length-2-gibibytes', 'http-answer']) {
    test(`${name}: octets that are no PDU end the connection, and another one is opened`, async () => {
      const { smsc, clock } = await openSmpp();
      smsc.last.sendOctets(capture(`hostile-${name}`));
      await settled();
      assert.equal(smsc.last.isClosed, true);
      await clock.advance(1_000);
      assert.equal(smsc.connections.length, 2);
    });
  }

  test('a port that speaks HTTP is named in the reason', async () => {
    const { connector } = await openSmpp({}, (smsc) => {
      smsc.rule = (_, connection) => {
        connection.sendOctets(capture('hostile-http-answer'));
        return true;
      };
    });
    const [result] = await connector.submit([partOf()], NEVER);
    assert.match(JSON.stringify(result), /not an SMPP port: an HTTP server answers there/);
  });

  test('a malformed PDU is answered with generic_nack 0x02, and the connection stays', async () => {
    const { smsc, recording } = await openSmpp();
    for (const name of ['sm_length-beyond-pdu', 'address-without-nul'])
      smsc.last.sendOctets(capture(`hostile-${name}`));
    await settled();
    assert.deepEqual(nacks(smsc.received), [
      [2, 9],
      [2, 9],
    ]);
    assert.deepEqual([smsc.last.isClosed, recording.incoming.length], [false, 0]);
  });

  test('more than 10 malformed PDUs in a minute end the connection', async () => {
    const { smsc, clock } = await openSmpp();
    const { last } = smsc;
    const send = (count: number) => {
      for (let each = 0; each < count; each++) last.sendOctets(capture('hostile-address-without-nul'));
    };
    send(10);
    await clock.advance(61_000);
    assert.equal(last.isClosed, false);
    send(11);
    await settled();
    assert.equal(last.isClosed, true);
  });

  test('an unknown command is answered with generic_nack 0x03; more than 100 in a minute end the connection', async () => {
    const { smsc } = await openSmpp();
    const { last } = smsc;
    for (let count = 0; count < 100; count++) last.sendOctets(capture('unknown-command'));
    await settled();
    assert.equal(nacks(smsc.received).length, 100);
    assert.deepEqual([nacks(smsc.received)[0]?.[0], last.isClosed], [3, false]);
    last.sendOctets(capture('unknown-command'));
    await settled();
    assert.equal(last.isClosed, true);
  });

  test('what an SMSC sends against expectation is counted by what it was', async () => {
    const { smsc, oddities } = await openSmpp();
    for (const name of ['hostile-sm_length-beyond-pdu', 'unknown-command', 'submit_sm_resp-unknown-sequence'])
      smsc.last.sendOctets(capture(name));
    const text = Buffer.from('id:7 stat:UNDELIV err:000 text:');
    const tlvs = new Map([
      [TLV.messageState, Uint8Array.of(2)],
      [0x1500, Uint8Array.of(1)],
    ]);
    const message = { ...NO_MESSAGE, esmClass: 4, message: text };
    smsc.last.send({ command: COMMAND.deliverSm, sequence: 77, message, tlvs });
    await settled();
    const all = ['malformed-pdu', 'unknown-command', 'answer-to-nothing', 'unknown-tlv', 'contradictory-receipt'];
    assert.deepEqual(oddities, all);
  });

  test('outbind, alert_notification and answers that nobody waits for are ignored', async () => {
    const { smsc } = await openSmpp();
    const before = smsc.received.length;
    for (const name of ['outbind', 'alert_notification', 'submit_sm_resp-unknown-sequence']) {
      smsc.last.sendOctets(capture(name));
    }
    await settled();
    assert.deepEqual([smsc.received.length - before, smsc.last.isClosed], [0, false]);
  });

  test('a PDU with a TLV past its end is accepted without the TLV, and acknowledged', async () => {
    const { smsc, recording } = await openSmpp();
    smsc.last.sendOctets(capture('hostile-tlv-longer-than-pdu'));
    await settled();
    assert.deepEqual(
      smsc.of(answerTo(COMMAND.deliverSm)).map(({ status, sequence }) => [status, sequence]),
      [[0, 9]],
    );
    assert.equal(recording.receipts.length, 1);
  });

  test('reading pauses while 200 messages are not on disk yet, and resumes at 100', async () => {
    const waiting: (() => void)[] = [];
    const incoming = () => new Promise<void>((resolve) => waiting.push(resolve));
    const { smsc } = await openSmpp({}, () => {}, { incoming });
    for (let count = 1; count < 200; count++) smsc.last.send(deliverSm(count));
    await settled();
    assert.equal(smsc.last.isHeld, false);
    smsc.last.send(deliverSm(200));
    await settled();
    assert.equal(smsc.last.isHeld, true);
    assert.deepEqual(smsc.of(answerTo(COMMAND.deliverSm)), [], 'none is acknowledged before it is on disk');
    for (const store of waiting.splice(0, 99)) store();
    await settled();
    assert.equal(smsc.last.isHeld, true);
    for (const store of waiting.splice(0, 1)) store();
    await settled();
    assert.deepEqual([smsc.last.isHeld, smsc.of(answerTo(COMMAND.deliverSm)).length], [false, 100]);
  });

  test('an SMSC that does not read gets no submissions, and is not read itself, beyond 1 MiB', async () => {
    const { smsc, connector } = await openSmpp({ window: 1_000 });
    smsc.last.isDeaf = true;
    const whole = { isWhole: true, text: 'x'.repeat(30_000), body: Buffer.alloc(30_000, 0x78) };
    void connector.submit(
      Array.from({ length: 40 }, () => partOf('x', whole)),
      NEVER,
    );
    await settled();
    assert.equal(smsc.last.isHeld, true);
    const { writes } = smsc.last;
    void connector.submit([partOf()], NEVER);
    await settled();
    assert.equal(smsc.last.writes, writes);
  });

  test('a connection that is silent only because reading pauses is not ended', async () => {
    const incoming = () => new Promise<void>(() => {});
    const { smsc, clock } = await openSmpp({}, () => {}, { incoming });
    for (let count = 1; count <= 200; count++) smsc.last.send(deliverSm(count));
    await clock.advance(600_000);
    assert.deepEqual([smsc.last.isHeld, smsc.last.isClosed], [true, false]);
  });

  test('a message that cannot be stored is refused temporarily, a second later', async () => {
    const { smsc, clock, recording } = await openSmpp();
    recording.fault = new Error('the database is away');
    smsc.last.send(deliverSm(5));
    await clock.advance(900);
    assert.equal(smsc.of(answerTo(COMMAND.deliverSm)).length, 0);
    await clock.advance(200);
    assert.deepEqual(
      smsc.of(answerTo(COMMAND.deliverSm)).map(({ status, sequence }) => [status, sequence]),
      [[0x64, 5]],
    );
  });

  test('equal texts on one connection are two messages, and a text that is repeated after a refusal is one', async () => {
    const { smsc, clock, recording } = await openSmpp();
    const repeats = () => recording.incoming.map(({ repeat }) => repeat);
    for (const sequence of [1, 2]) smsc.last.send(deliverSm(sequence, 'yes'));
    await settled();
    assert.deepEqual(repeats(), [0, 1]);
    recording.fault = new Error('the database is away');
    smsc.last.send(deliverSm(3, 'no'));
    await clock.advance(1_000);
    recording.fault = null;
    smsc.last.send(deliverSm(4, 'no'));
    await settled();
    assert.deepEqual(repeats(), [0, 1, 0]);
    smsc.last.drop();
    await clock.advance(1_000);
    smsc.last.send(deliverSm(1, 'yes'));
    await settled();
    assert.deepEqual(repeats(), [0, 1, 0, 0], 'what an SMSC repeats on another connection is the same message');
  });

  test('a malformed answer still settles its submission', async () => {
    const { smsc, connector } = await openSmpp();
    smsc.rule = (pdu, connection) => {
      if (pdu.command !== COMMAND.submitSm) return false;
      connection.send({ command: answerTo(pdu.command), sequence: pdu.sequence, messageId: 'x'.repeat(300) });
      return true;
    };
    assert.deepEqual(await connector.submit([partOf()], NEVER), [{ kind: 'accepted', gatewayId: null }]);
  });

  test('every answer to submit_sm that was captured settles its submission', async () => {
    const wanted = new Map([
      ['submit_sm_resp-ok-hex-id', '1a2b01'],
      ['submit_sm_resp-empty-id', null],
      ['submit_sm_resp-no-nul', '1a2b3c'],
    ]);
    for (const { name, hex, decoded } of capturesOf('answers')) {
      if (name === 'generic_nack-sequence-0' || name === 'submit_sm_resp-unknown-sequence') continue;
      const { smsc, connector } = await openSmpp();
      smsc.rule = ({ command, sequence }, connection) => {
        if (command !== COMMAND.submitSm) return false;
        const octets = Buffer.from(hex, 'hex');
        octets.writeUInt32BE(sequence, 12);
        connection.sendOctets(octets);
        return true;
      };
      const [result] = await connector.submit([partOf()], NEVER);
      assert.equal(result?.kind === 'accepted', decoded?.command_status === 0, name);
      if (result?.kind === 'accepted' && wanted.has(name)) assert.equal(result.gatewayId, wanted.get(name), name);
    }
  });

  test('a payload of 60,000 octets is read, and its text is cut to the length of a message', async () => {
    const { smsc, recording } = await openSmpp();
    const tlvs = new Map([[TLV.messagePayload, Buffer.alloc(60_000, 0x61)]]);
    const octets = encodePdu({ ...deliverSm(1, ''), tlvs });
    for (let at = 0; at < octets.length; at += 1_400) smsc.last.sendOctets(octets.subarray(at, at + 1_400));
    await settled();
    assert.equal(recording.incoming[0]?.text.length, 39_015);
  });
});
