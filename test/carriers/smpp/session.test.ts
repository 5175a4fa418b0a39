import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { SubmitResult } from '../../../src/carriers/connector.ts';
import { answerTo, COMMAND, encodePdu, type Pdu } from '../../../src/carriers/smpp/pdu.ts';
import { NEVER } from '../../support/kannel-recording.ts';
import { settled } from '../../support/virtual-clock.ts';
import { capture } from './captures.ts';
import { type Connection, type Opened, openSmpp, partOf, partsOf, type ScriptedSmsc } from './scripted-smsc.ts';

const SECOND = 1_000;
const isSubmit = ({ command }: Pdu): boolean => command === COMMAND.submitSm;
const submits = ({ of }: ScriptedSmsc): Pdu[] => of(COMMAND.submitSm);
/** Leaves every submission without an answer. */
const silent = (smsc: ScriptedSmsc): void => {
  smsc.rule = isSubmit;
};
const answerOf = (pdu: Pdu, status = 0, messageId = 'late'): Pdu => ({
  command: answerTo(pdu.command),
  status,
  sequence: pdu.sequence,
  ...(status === 0 && { messageId }),
});
const kindsOf = (results: readonly SubmitResult[]): string[] => results.map(({ kind }) => kind);
const reasonOf = (result: SubmitResult | undefined): string =>
  result !== undefined && 'reason' in result ? result.reason : '';

describe('a session at an SMSC', () => {
  test('a session binds with the octets that were recorded', async () => {
    const { smsc } = await openSmpp({ systemType: 'VMA' });
    assert.deepEqual(encodePdu(smsc.received[0] as Pdu), capture('bind_transceiver'));
  });

  test('transmitter+receiver opens a connection for each direction, and submits on the transmitter', async () => {
    const { smsc, connector } = await openSmpp({ bind: 'transmitter+receiver' });
    assert.deepEqual(
      smsc.connections.map(({ kind }) => kind),
      ['transmitter', 'receiver'],
    );
    assert.deepEqual(kindsOf(await connector.submit([partOf()], NEVER)), ['accepted']);
    assert.deepEqual(
      smsc.connections.map(({ received }) => received.filter(isSubmit).length),
      [1, 0],
    );
  });

  test('a receipt that comes on the receiver is passed on', async () => {
    const { smsc, recording } = await openSmpp({ bind: 'transmitter+receiver' });
    smsc.last.sendOctets(capture('receipt-on-receiver-bind-decimal-id-and-hex-tlv'));
    await settled();
    assert.deepEqual(
      recording.receipts.map(({ gatewayId, otherGatewayIds, status }) => [gatewayId, otherGatewayIds, status]),
      [['3b9aca01', ['1000000001'], 'DELIVERED']],
    );
  });

  test('submissions of one turn are sent in one buffer', async () => {
    const { smsc, connector } = await openSmpp();
    const before = smsc.last.writes;
    await connector.submit(partsOf(50), NEVER);
    assert.deepEqual([submits(smsc).length, smsc.last.writes - before], [50, 1]);
  });

  test('at most a window of submissions is without an answer', async () => {
    const { smsc, connector } = await openSmpp({ window: 10 }, silent);
    const submitting = connector.submit(partsOf(25), NEVER);
    await settled();
    assert.equal(submits(smsc).length, 10);
    for (const pdu of submits(smsc).slice(0, 4)) smsc.last.send(answerOf(pdu));
    await settled();
    assert.equal(submits(smsc).length, 14);
    smsc.last.drop();
    assert.deepEqual(new Set(kindsOf(await submitting)), new Set(['accepted', 'unknown-outcome', 'temporary']));
  });

  test('a submission takes the connection with the fewest open ones', async () => {
    const { smsc, connector } = await openSmpp({ binds: 3 }, silent);
    void connector.submit(partsOf(30), NEVER);
    await settled();
    assert.deepEqual(
      smsc.connections.map(({ received }) => received.filter(isSubmit).length),
      [10, 10, 10],
    );
  });

  test('a silent SMSC gets an enquire_link, and without an answer the connection ends and another is opened', async () => {
    const { smsc, clock } = await openSmpp();
    smsc.rule = ({ command }) => command === COMMAND.enquireLink;
    await clock.advance(29 * SECOND);
    assert.equal(smsc.of(COMMAND.enquireLink).length, 0);
    await clock.advance(1 * SECOND);
    assert.equal(smsc.of(COMMAND.enquireLink).length, 1);
    await clock.advance(29 * SECOND);
    assert.deepEqual([smsc.connections.length, smsc.last.isClosed], [1, false]);
    await clock.advance(2 * SECOND);
    assert.deepEqual([smsc.connections.length, smsc.last.isClosed], [2, false]);
  });

  test('an SMSC that answers enquire_link stays connected through hours of silence', async () => {
    const { smsc, clock } = await openSmpp();
    await clock.advance(2 * 3_600 * SECOND);
    assert.equal(smsc.connections.length, 1);
    assert.ok(smsc.of(COMMAND.enquireLink).length > 200);
  });

  test('the quirk enquireLinkUnanswered keeps a connection on which nothing ever comes', async () => {
    const { smsc, clock } = await openSmpp({ quirks: { enquireLinkUnanswered: true } });
    smsc.rule = ({ command }) => command === COMMAND.enquireLink;
    await clock.advance(3_600 * SECOND);
    assert.equal(smsc.connections.length, 1);
  });

  test('an enquire_link of the SMSC is answered', async () => {
    const { smsc } = await openSmpp();
    smsc.last.send({ command: COMMAND.enquireLink, sequence: 77 });
    await settled();
    assert.deepEqual(
      smsc.of(answerTo(COMMAND.enquireLink)).map(({ sequence }) => sequence),
      [77],
    );
  });

  test('a bind without an answer is given up after bindSeconds', async () => {
    const { smsc, clock, connector } = await openSmpp({}, (own) => {
      own.rule = ({ bind }) => bind !== undefined;
    });
    await clock.advance(10 * SECOND);
    assert.equal(smsc.last.isClosed, true);
    assert.match(reasonOf((await connector.submit([partOf()], NEVER))[0]), /no answer to the bind/);
  });

  test('a stop unbinds, and waits for the answer for 2 seconds', async () => {
    const { smsc, clock, connector } = await openSmpp();
    smsc.rule = ({ command }) => command === COMMAND.unbind;
    let isStopped = false;
    const stopping = connector.stop().then(() => {
      isStopped = true;
    });
    await clock.advance(1_900);
    assert.deepEqual([smsc.of(COMMAND.unbind).length, isStopped], [1, false]);
    await clock.advance(200);
    await stopping;
    assert.deepEqual([smsc.last.isClosed, smsc.connections.length, clock.waiting()], [true, 1, []]);
  });

  test('tracePdus logs headers and lengths, and neither texts nor numbers nor the password', async () => {
    const { connector, recording } = await openSmpp({ tracePdus: true });
    await connector.submit([partOf('my secret text')], NEVER);
    const logged = recording.logged.join('\n');
    assert.match(logged, /"direction":"out","octets":\d+,"command":4/);
    for (const secret of ['my secret text', '27825550201', '"secret"', 'Acme'])
      assert.ok(!logged.includes(secret), secret);
  });
});

describe('a submission that gets no answer', () => {
  test('a submission has an unknown outcome after answerSeconds, and the connection stays', async () => {
    const { smsc, clock, connector } = await openSmpp({ answerSeconds: 60 }, silent);
    const submitting = connector.submit([partOf()], NEVER);
    await clock.advance(61 * SECOND);
    const [result] = await submitting;
    assert.deepEqual(result, { kind: 'unknown-outcome', reason: 'no answer in 60 seconds' });
    assert.deepEqual([smsc.connections.length, smsc.last.isClosed], [1, false]);
  });

  const lateAfter = async (afterMs: number, answer: (pdu: Pdu) => Pdu): Promise<Opened> => {
    const opened = await openSmpp({ answerSeconds: 60 }, silent);
    const submitting = opened.connector.submit([partOf('x', { attemptId: 'a'.repeat(32) })], NEVER);
    await opened.clock.advance(61 * SECOND);
    await submitting;
    await opened.clock.advance(afterMs);
    opened.smsc.last.send(answer(submits(opened.smsc)[0] as Pdu));
    await settled();
    return opened;
  };

  test('a late answer settles its attempt, accepted or refused', async () => {
    const connector = 'carrier';
    const attemptId = 'a'.repeat(32);
    const taken = await lateAfter(5 * SECOND, (pdu) => answerOf(pdu, 0, '00AB'));
    assert.deepEqual(taken.recording.late, [{ connector, attemptId, result: { kind: 'accepted', gatewayId: 'ab' } }]);
    const refused = await lateAfter(5 * SECOND, (pdu) => answerOf(pdu, 0x0b));
    const reason = 'SMPP 0x0000000b: the recipient is not valid';
    assert.deepEqual(refused.recording.late, [{ connector, attemptId, result: { kind: 'permanent', reason } }]);
  });

  test('an answer that comes more than 10 minutes late is ignored', async () => {
    const { recording } = await lateAfter(601 * SECOND, (pdu) => answerOf(pdu));
    assert.deepEqual(recording.late, []);
  });

  test('a late answer that cannot be stored is stored when the database is back', async () => {
    const { smsc, clock, connector, recording } = await openSmpp({}, silent);
    const submitting = connector.submit([partOf()], NEVER);
    await clock.advance(61 * SECOND);
    await submitting;
    recording.fault = new Error('the database is away');
    smsc.last.send(answerOf(submits(smsc)[0] as Pdu));
    await clock.advance(5 * SECOND);
    assert.equal(recording.late.length, 0);
    recording.fault = null;
    await clock.advance(1 * SECOND);
    assert.equal(recording.late.length, 1);
  });

  test('20 submissions in a row without an answer end the connection', async () => {
    const { smsc, clock, connector } = await openSmpp({}, silent);
    const submitting = connector.submit(partsOf(20), NEVER);
    await clock.advance(61 * SECOND);
    assert.deepEqual(new Set(kindsOf(await submitting)), new Set(['unknown-outcome']));
    assert.equal(smsc.connections[0]?.isClosed, true);
  });

  test('when a connection is cut, every submission that was sent has an unknown outcome and is not sent again', async () => {
    const { smsc, clock, connector } = await openSmpp({ window: 10 });
    smsc.rule = (pdu, connection) => {
      if (!isSubmit(pdu)) return false;
      if (submits(smsc).length <= 4) return false;
      if (submits(smsc).length === 10) queueMicrotask(() => connection.drop('ECONNRESET'));
      return true;
    };
    const results = await connector.submit(partsOf(10), NEVER);
    assert.deepEqual(kindsOf(results), [...Array(4).fill('accepted'), ...Array(6).fill('unknown-outcome')]);
    assert.equal(reasonOf(results[9]), 'the connection ended (ECONNRESET)');
    smsc.rule = () => false;
    await clock.advance(600 * SECOND);
    assert.deepEqual([smsc.connections.length, submits(smsc).length], [2, 10]);
  });

  test('a submission that was not sent because the SMSC does not read is temporary', async () => {
    const { smsc, clock, connector } = await openSmpp({ window: 1_000 });
    smsc.last.isDeaf = true;
    const long = partsOf(600, { isWhole: true, text: 'x'.repeat(3_000), body: Buffer.alloc(3_000, 0x78) });
    const first = connector.submit(long, NEVER);
    await settled();
    const second = connector.submit(partsOf(3), NEVER);
    await settled();
    smsc.last.drop('ECONNRESET');
    await clock.advance(0);
    assert.deepEqual(new Set(kindsOf(await first)), new Set(['unknown-outcome']));
    assert.deepEqual(kindsOf(await second), ['temporary', 'temporary', 'temporary']);
  });

  test('a submission that was not written when the connection ended is temporary', async () => {
    const { smsc, connector } = await openSmpp({}, silent);
    const sent = connector.submit(partsOf(1), NEVER);
    await settled();
    const waiting = connector.submit(partsOf(3), NEVER);
    for (let ticks = 0; ticks < 50; ticks++) await null; // they are in the buffer, which leaves after the poll
    smsc.last.drop('ECONNRESET');
    assert.deepEqual(kindsOf(await sent), ['unknown-outcome']);
    assert.deepEqual(kindsOf(await waiting), ['temporary', 'temporary', 'temporary']);
    assert.equal(submits(smsc).length, 1);
  });

  test('after an abort, submissions that were sent have an unknown outcome, and those that waited are temporary', async () => {
    const { smsc, connector } = await openSmpp({ window: 1 }, silent);
    const abort = new AbortController();
    const submitting = connector.submit(partsOf(2), abort.signal);
    await settled();
    abort.abort();
    assert.deepEqual(kindsOf(await submitting), ['unknown-outcome', 'temporary']);
    assert.equal(submits(smsc).length, 1);
  });

  test('a generic_nack of no known submission ends the connection, and open submissions have an unknown outcome', async () => {
    const { smsc, connector } = await openSmpp({}, silent);
    const submitting = connector.submit(partsOf(2), NEVER);
    await settled();
    smsc.last.sendOctets(capture('generic_nack-sequence-0'));
    assert.deepEqual(kindsOf(await submitting), ['unknown-outcome', 'unknown-outcome']);
    assert.equal(smsc.last.isClosed, true);
  });
});

describe('the end of a connection', () => {
  test('an unbind of the SMSC is answered, open submissions may be answered for 5 seconds, and a new bind follows', async () => {
    const { smsc, clock, connector } = await openSmpp({}, silent);
    const submitting = connector.submit(partsOf(2), NEVER);
    await settled();
    const [one] = submits(smsc) as [Pdu];
    const { last } = smsc;
    last.send({ command: COMMAND.unbind, sequence: 9 });
    await settled();
    assert.deepEqual(
      smsc.of(answerTo(COMMAND.unbind)).map(({ sequence }) => sequence),
      [9],
    );
    assert.equal((await connector.submit([partOf()], NEVER))[0]?.kind, 'temporary', 'nothing new leaves');
    last.send(answerOf(one));
    await clock.advance(6 * SECOND);
    assert.deepEqual(kindsOf(await submitting), ['accepted', 'unknown-outcome']);
    await clock.advance(2 * SECOND);
    assert.deepEqual([smsc.connections.length, smsc.last.isClosed], [2, false]);
  });

  const opensAfter = async (opened: Opened, seconds: number): Promise<number> => {
    const before = opened.smsc.connections.length;
    await opened.clock.advance(seconds * SECOND);
    return opened.smsc.connections.length - before;
  };

  test('the pauses between connections are 1, 2, 4 … 60 seconds, and start again after a bind of a minute', async () => {
    const opened = await openSmpp();
    const dropAtOnce = (smsc: ScriptedSmsc): void => {
      smsc.rule = (pdu, connection: Connection) => {
        if (pdu.bind) queueMicrotask(() => connection.drop());
        return pdu.bind !== undefined;
      };
    };
    dropAtOnce(opened.smsc);
    opened.smsc.last.drop();
    for (const pause of [1, 2, 4, 8, 16, 32, 60, 60]) {
      assert.equal(await opensAfter(opened, pause - 0.1), 0, `${pause}`);
      if (pause === 60) opened.smsc.rule = () => false;
      assert.equal(await opensAfter(opened, 0.1), 1, `${pause}`);
      if (pause === 60) break;
    }
    await opened.clock.advance(61 * SECOND);
    opened.smsc.last.drop();
    assert.equal(await opensAfter(opened, 1), 1);
  });

  for (const name of ['invalid-password', 'invalid-system-id', 'invalid-system-type']) {
    test(`${name}: wrong credentials are tried again every 5 minutes, and the operator is told in words`, async () => {
      const refusal = capture(`bind_transceiver_resp-${name}`);
      const opened = await openSmpp({}, (smsc) => {
        smsc.rule = ({ bind, sequence }, connection) => {
          refusal.writeUInt32BE(sequence, 12);
          if (bind) connection.sendOctets(refusal);
          return bind !== undefined;
        };
      });
      assert.equal(await opensAfter(opened, 299), 0);
      assert.equal(await opensAfter(opened, 1), 1);
      const [result] = await opened.connector.submit([partOf()], NEVER);
      assert.match(
        reasonOf(result),
        /the bind was refused \(SMPP 0x000000(0e|0f|53): the (password|system id|system type) is wrong\)/,
      );
      assert.equal(result?.kind === 'temporary' && result.connectorDown, true);
    });
  }

  for (const name of ['already-bound', 'bind-failed', 'throttled', 'system-error']) {
    test(`${name}: a bind that is refused leaves the session unbound, and is tried again soon`, async () => {
      const refusal = capture(`bind_transceiver_resp-${name}`);
      const opened = await openSmpp({}, (smsc) => {
        smsc.rule = ({ bind, sequence }, connection) => {
          refusal.writeUInt32BE(sequence, 12);
          if (bind) connection.sendOctets(refusal);
          return bind !== undefined;
        };
      });
      assert.equal((await opened.connector.submit([partOf()], NEVER))[0]?.kind, 'temporary');
      assert.equal(submits(opened.smsc).length, 0);
      assert.equal(await opensAfter(opened, 1), 1);
    });
  }

  test('an SMSC that cannot be reached makes submissions temporary and the connector down', async () => {
    const { connector } = await openSmpp({}, (smsc) => {
      smsc.unreachable = 'ECONNREFUSED';
    });
    const reason = 'the SMSC smsc.example:2775 is not bound (ECONNREFUSED)';
    assert.deepEqual(await connector.submit([partOf()], NEVER), [
      { kind: 'temporary', reason, retryAfterMs: 1_000, connectorDown: true },
    ]);
  });

  test('the quirk unbindOnIdle binds again at once', async () => {
    const opened = await openSmpp({ quirks: { unbindOnIdle: true } });
    opened.smsc.last.send({ command: COMMAND.unbind });
    assert.equal(await opensAfter(opened, 0), 1);
  });
});
