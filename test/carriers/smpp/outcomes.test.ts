import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createAdaptiveRate } from '../../../src/carriers/adaptive-rate.ts';
import type { SubmitResult } from '../../../src/carriers/connector.ts';
import { answerTo, COMMAND } from '../../../src/carriers/smpp/pdu.ts';
import { meaningOf, statusWords } from '../../../src/carriers/smpp/status.ts';
import { NEVER } from '../../support/kannel-recording.ts';
import { createVirtualClock, settled } from '../../support/virtual-clock.ts';
import { statusClasses } from './captures.ts';
import { openSmpp, partOf, partsOf, type ScriptedSmsc } from './scripted-smsc.ts';

/** Every submission is answered with the next of these; the last one stays. */
const answering =
  (...statuses: number[]) =>
  (smsc: ScriptedSmsc): void => {
    smsc.rule = ({ command, sequence }, connection) => {
      if (command !== COMMAND.submitSm) return false;
      const status = statuses.length > 1 ? (statuses.shift() as number) : (statuses[0] as number);
      connection.send({ command: answerTo(command), status, sequence, ...(status === 0 && { messageId: 'a' }) });
      return true;
    };
  };
const resultOf = async (status: number, more: object = {}): Promise<SubmitResult> => {
  const { connector } = await openSmpp(more, answering(status));
  return (await connector.submit([partOf()], NEVER))[0] as SubmitResult;
};

describe('the outcome of a command_status', () => {
  const CLASSES: Readonly<Record<string, string>> = { temporary3: 'doubtful' };

  test('every command_status of the list has the class that the list gives it', () => {
    for (const { status, hex, class: given, settings, credentials } of statusClasses()) {
      if (status === 0) continue;
      const wanted = settings ? 'settings' : credentials ? 'credentials' : (CLASSES[given] ?? given);
      assert.equal(meaningOf(status), wanted, hex);
      if (status < 0x105) assert.match(statusWords(status), /^SMPP 0x[0-9a-f]{8}: \S/, hex);
    }
    for (const status of [0x400, 0x4ff, 0x09, 0xffff_ffff]) assert.equal(meaningOf(status), 'doubtful');
  });

  test('a submission gets the result of its class: permanent, temporary, throttled, or about the connector', async () => {
    assert.deepEqual(await resultOf(0x0b), {
      kind: 'permanent',
      reason: 'SMPP 0x0000000b: the recipient is not valid',
    });
    assert.deepEqual(await resultOf(0x0a), { kind: 'permanent', reason: 'SMPP 0x0000000a: the sender is not allowed' });
    assert.deepEqual(await resultOf(0x08), { kind: 'temporary', reason: 'SMPP 0x00000008: system error' });
    assert.deepEqual(await resultOf(0x58), {
      kind: 'temporary',
      reason: 'SMPP 0x00000058: we submit too fast',
      retryAfterMs: 1_000,
    });
    const down = await resultOf(0x0e);
    assert.equal(down.kind === 'temporary' && down.connectorDown, true);
  });

  test('statusMeanings and the quirk throttleIsFinal give a command_status another class', async () => {
    assert.equal((await resultOf(0x45, { statusMeanings: { '0x45': 'permanent' } })).kind, 'permanent');
    assert.equal((await resultOf(0x58, { quirks: { throttleIsFinal: true } })).kind, 'permanent');
  });

  test('a doubtful refusal is temporary twice and permanent the third time, counted for each message', async () => {
    const { connector } = await openSmpp({}, answering(0x45));
    const submit = async (partKey: string) => (await connector.submit([partOf('x', { partKey })], NEVER))[0]?.kind;
    assert.deepEqual(
      [await submit('a'), await submit('b'), await submit('a')],
      ['temporary', 'temporary', 'temporary'],
    );
    assert.deepEqual(
      [await submit('a'), await submit('b'), await submit('b')],
      ['permanent', 'temporary', 'permanent'],
    );
  });

  test('0x04 ends the connection, and another bind follows', async () => {
    const { smsc, clock, connector } = await openSmpp({}, answering(0x04));
    const [result] = await connector.submit([partOf()], NEVER);
    assert.equal(result?.kind === 'temporary' && result.connectorDown, true);
    await clock.advance(1_000);
    assert.equal(smsc.connections.length, 2);
  });

  test('after 20 refusals because of a wrong setting the connector is down, until a message is accepted', async () => {
    const { connector, smsc } = await openSmpp({}, answering(0x48));
    const kinds = (await connector.submit(partsOf(25), NEVER)).map(({ kind }) => kind);
    assert.deepEqual(kinds, [...Array(20).fill('permanent'), ...Array(5).fill('temporary')]);
    const [late] = await connector.submit([partOf()], NEVER);
    assert.match(JSON.stringify(late), /configuration is wrong: SMPP 0x00000048.*"connectorDown":true/);
    answering(0, 0x48)(smsc);
    const after = (await connector.submit(partsOf(3), NEVER)).map(({ kind }) => kind);
    assert.deepEqual(after, ['accepted', 'permanent', 'permanent']);
  });

  test('a message is not sent in part if one of its parts cannot be sent', async () => {
    const { connector, smsc } = await openSmpp({ alphabet: 'latin1' });
    const parts = [partOf('a'.repeat(150)), partOf('Ω'.repeat(150))];
    assert.deepEqual(
      (await connector.submit(parts, NEVER)).map(({ kind }) => kind),
      ['permanent', 'permanent'],
    );
    assert.equal(smsc.of(COMMAND.submitSm).length, 0);
  });
});

describe('throttling', () => {
  test('the rate is halved, not below 1 per second, and grows by a tenth every 10 seconds', async () => {
    const clock = createVirtualClock();
    const rate = createAdaptiveRate(clock);
    for (let count = 0; count < 100; count++) assert.equal(rate.wait(NEVER), undefined);
    rate.slow();
    assert.equal(rate.perSecond, 50);
    rate.slow();
    assert.equal(rate.perSecond, 50, 'answers to submissions that left together count once');
    await clock.advance(1_000);
    rate.slow();
    assert.equal(rate.perSecond, 25);
    await clock.advance(10_000);
    assert.ok(Math.abs((rate.perSecond ?? 0) - 27.5) < 1e-9);
    for (let count = 0; count < 10; count++) {
      await clock.advance(1_000);
      rate.slow();
    }
    assert.equal(rate.perSecond, 1);
    await clock.advance(3_600_000);
    assert.equal(rate.perSecond, null, 'in the end there is no limit any more');
  });

  test('after 0x58 no message is sent at full speed', async () => {
    const { smsc, clock, connector } = await openSmpp({}, answering(...Array(19).fill(0), 0x58, 0));
    await connector.submit(partsOf(20), NEVER);
    const before = smsc.of(COMMAND.submitSm).length;
    void connector.submit(partsOf(40), NEVER);
    await settled();
    assert.equal(smsc.of(COMMAND.submitSm).length, before);
    await clock.advance(1_050);
    assert.equal(smsc.of(COMMAND.submitSm).length - before, 10, 'half of 20 in a second');
  });

  test('only the fifth full queue in a row slows the connector down', async () => {
    const { clock, connector, smsc } = await openSmpp(
      {},
      answering(0x14, 0x14, 0x14, 0x14, 0, 0x14, 0x14, 0x14, 0x14, 0x14, 0),
    );
    for (let count = 0; count < 9; count++) await connector.submit([partOf()], NEVER);
    assert.equal(smsc.of(COMMAND.submitSm).length, 9, 'nothing waited so far');
    await connector.submit([partOf()], NEVER);
    void connector.submit(partsOf(2), NEVER);
    await settled();
    assert.equal(smsc.of(COMMAND.submitSm).length, 10);
    await clock.advance(2_000);
    assert.equal(smsc.of(COMMAND.submitSm).length, 12);
  });
});
