import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { answerTo, COMMAND, type Pdu } from '../../../src/carriers/smpp/pdu.ts';
import { adopt } from '../../../src/serve/adopt.ts';
import { onOneEngine } from '../../support/engines.ts';
import { LOOPBACK, openGateway, SETTINGS, until } from '../../support/gateway.ts';
import { NEVER } from '../../support/kannel-recording.ts';
import { startSmsc } from '../../support/smsc.ts';
import { settled } from '../../support/virtual-clock.ts';
import { type Connection, openSmpp, partOf, START } from './scripted-smsc.ts';

const SECOND = 1_000;
const body = (text: string) => Buffer.from(text, 'latin1');
/** Answers queries by the id that they name. */
const answering =
  (answers: Record<string, Partial<Pdu>>) =>
  (pdu: Pdu, connection: Connection): boolean => {
    if (pdu.command !== COMMAND.querySm) return false;
    const [id = ''] = (pdu.body ?? Buffer.alloc(0)).toString().split('\0');
    connection.send({
      command: answerTo(COMMAND.querySm),
      sequence: pdu.sequence,
      ...(answers[id] ?? { status: 0x0c }),
    });
    return true;
  };
const idsAsked = (pdus: readonly Pdu[]) => pdus.map((pdu) => String(pdu.body).split('\0')[0]);
const asked = { gatewayId: '1a', sender: '+27825550100' };

describe('query_sm at an SMSC', () => {
  test('a question has the id and the sender of the submission, and the state of the answer is that of a receipt', async () => {
    const { smsc, connector } = await openSmpp({ sourceTon: 2 });
    const states: [number, string, string][] = [
      [2, 'told DELIVERED', 'query_sm, error 3'],
      [3, 'told EXPIRED', 'query_sm, error 3'],
      [5, 'told UNDELIVERABLE', 'query_sm, error 3'],
      [8, 'told REJECTED', 'query_sm, error 3'],
      [1, 'later', 'the message is ENROUTE'],
      [7, 'later', 'the message is UNKNOWN'],
      [99, 'later', 'an answer that cannot be read'],
    ];
    for (const [state, kind, words] of states) {
      smsc.rule = answering({ '1a': { body: Buffer.concat([body('1a\x00261118014032000+\0'), Buffer.of(state, 3)]) } });
      const answer = await connector.query?.(asked, NEVER);
      assert.equal(answer?.kind === 'told' ? `told ${answer.status}` : answer?.kind, kind);
      assert.equal(answer?.kind === 'told' ? answer.detail : answer?.reason, words);
      if (answer?.kind === 'told') assert.equal(answer.at, START - 5 * 60 * SECOND, 'its final_date');
    }
    assert.equal(
      Buffer.from(smsc.of(COMMAND.querySm)[0]?.body ?? []).toString('hex'),
      `3161000201${body('27825550100').toString('hex')}00`,
    );
  });

  test('a final_date with another zone is read, and one that cannot be right is not', async () => {
    const { smsc, connector } = await openSmpp();
    for (const [date, at] of [
      ['261118034032008+', START - 5 * 60 * SECOND],
      ['261117214032016-', START - 5 * 60 * SECOND],
      ['271118034032000+', START],
      ['2611180340', START],
      ['', START],
    ] as const) {
      smsc.rule = answering({ '1a': { body: Buffer.concat([body(`1a\0${date}\0`), Buffer.of(2, 0)]) } });
      const answer = await connector.query?.(asked, NEVER);
      assert.deepEqual(answer, { kind: 'told', status: 'DELIVERED', at, detail: 'query_sm' });
    }
  });

  test('an id that the SMSC does not know is tried in the forms in which SMSCs write them, first in that of the last one', async () => {
    const { smsc, connector } = await openSmpp();
    const delivered = { body: Buffer.concat([body('0000001A\0\0'), Buffer.of(2, 0)]) };
    smsc.rule = answering({ '0000001A': delivered, '0000001B': delivered });
    assert.equal((await connector.query?.(asked, NEVER))?.kind, 'told');
    assert.deepEqual(idsAsked(smsc.of(COMMAND.querySm)), ['1a', '1A', '0000001a', '0000001A']);
    assert.equal((await connector.query?.({ ...asked, gatewayId: '1b' }, NEVER))?.kind, 'told');
    assert.deepEqual(idsAsked(smsc.of(COMMAND.querySm)).slice(4), ['0000001B']);
    smsc.rule = answering({
      '1c': delivered,
      ABCDEFABCDEFABCDEFABCDEFABCDEFAB: delivered,
      '00ABCDEFABCDEFABCDEFABCDEFABCDEF': delivered,
    });
    for (const gatewayId of ['1c', 'abcdefabcdefabcdefabcdefabcdefab', 'abcdefabcdefabcdefabcdefabcdef']) {
      assert.equal((await connector.query?.({ ...asked, gatewayId }, NEVER))?.kind, 'told', gatewayId);
    }
    for (const gatewayId of ['2a', '2b', '2c']) {
      assert.equal((await connector.query?.({ ...asked, gatewayId }, NEVER))?.kind, 'unknown');
    }
    const before = smsc.of(COMMAND.querySm).length;
    assert.equal((await connector.query?.({ ...asked, gatewayId: '2d' }, NEVER))?.kind, 'unknown');
    assert.equal(smsc.of(COMMAND.querySm).length, before + 1, 'three in a row were known in no form');
  });

  test('an SMSC that does not know the command says so in several ways, and the connection stays', async () => {
    const { smsc, connector, recording } = await openSmpp();
    for (const answer of [
      { status: 0x03 },
      { command: COMMAND.genericNack, status: 0x03 },
      { command: COMMAND.genericNack, status: 0x03, sequence: 0 },
    ]) {
      smsc.rule = answering({ '1a': answer });
      assert.equal((await connector.query?.(asked, NEVER))?.kind, 'not-offered');
    }
    assert.equal(smsc.connections.length, 1);
    assert.equal((await connector.submit([partOf()], NEVER))[0]?.kind, 'accepted');
    assert.deepEqual(recording.receipts, []);
  });

  test('no answer, a connection that ends, and a stop leave the question open; a late answer is ignored', async () => {
    const { smsc, connector, clock, oddities } = await openSmpp({ answerSeconds: 5 });
    smsc.rule = ({ command }) => command === COMMAND.querySm;
    const silent = connector.query?.(asked, NEVER);
    await clock.advance(6 * SECOND);
    assert.equal((await silent)?.kind, 'silent');
    const [{ sequence }] = smsc.of(COMMAND.querySm) as [Pdu];
    smsc.last.send({ command: COMMAND.genericNack, status: 0x03, sequence });
    const stopping = new AbortController();
    const stopped = connector.query?.(asked, stopping.signal);
    await settled();
    stopping.abort();
    assert.equal((await stopped)?.kind, 'silent');
    assert.equal(smsc.connections.length, 1);
    const broken = connector.query?.(asked, NEVER);
    await settled();
    smsc.last.drop();
    assert.equal((await broken)?.kind, 'silent');
    assert.equal((await connector.query?.(asked, NEVER))?.kind, 'unsent');
    assert.deepEqual(oddities, []);
  });

  test('a refusal says what it means for the question, in the words of the settings', async () => {
    const { smsc, connector } = await openSmpp({ statusMeanings: { '0x401': 'temporary' } });
    const doubtful = { isDoubtful: true };
    for (const [status, answer] of [
      [0x04, { kind: 'silent', reason: 'query_sm was refused with SMPP 0x00000004' }],
      [0x0d, { kind: 'silent', reason: 'query_sm was refused with SMPP 0x0000000d' }],
      [0x67, { kind: 'unknown', reason: 'SMPP 0x00000067: the query failed', ...doubtful }],
      [0x400, { kind: 'unknown', reason: 'SMPP 0x00000400', ...doubtful }],
      [0x401, { kind: 'later', reason: 'SMPP 0x00000401' }],
    ] as const) {
      smsc.rule = answering({ g: { status } });
      assert.deepEqual(await connector.query?.({ ...asked, gatewayId: 'g' }, NEVER), answer);
    }
  });

  test('an SMSC that is asked too fast is asked after a minute and sent to as before', async () => {
    const { smsc, connector } = await openSmpp();
    smsc.rule = answering({ '1a': { status: 0x58 } });
    const answer = await connector.query?.(asked, NEVER);
    assert.deepEqual(answer, {
      kind: 'unsent',
      reason: 'SMPP 0x00000058: we submit too fast',
      retryAfterMs: 60 * SECOND,
    });
    const results = await Promise.all([1, 2, 3].map(() => connector.submit([partOf()], NEVER)));
    assert.deepEqual(
      results.map(([result]) => result?.kind),
      ['accepted', 'accepted', 'accepted'],
    );
  });

  test('a question takes its place in the window', async () => {
    const { smsc, connector } = await openSmpp({ window: 1 });
    smsc.rule = ({ command }) => command === COMMAND.submitSm;
    void connector.submit([partOf()], NEVER);
    await settled();
    const stopping = new AbortController();
    const waiting = connector.query?.(asked, stopping.signal);
    await settled();
    assert.equal(smsc.of(COMMAND.querySm).length, 0);
    stopping.abort();
    assert.equal((await waiting)?.kind, 'unsent');
  });
});

onOneEngine('query_sm after a restore', (engine) => {
  test('messages that an SMSC had before the restore get the states that it tells', async (t) => {
    const smsc = await startSmsc();
    t.after(() => smsc.close());
    const config = { host: '127.0.0.1', port: smsc.port, systemId: 'esme', password: 'secret', binds: 2 };
    const ofFile = [{ ...LOOPBACK, name: 'carrier', kind: 'smpp', config }];
    const { addAccount, send, statusOf, database, stop, start } = await openGateway(engine, t, {
      ofFile,
      settings: SETTINGS,
    });
    const account = await addAccount();
    await until('it is bound', () => smsc.isBound());
    smsc.rules = [{ receipts: [] }];
    const numbers = ['+27825550201', '+27825550202', '+27825550203'];
    const ids = await send(account, numbers, 'hello', 'Acme');
    for (const id of ids) await until('it is sent', async () => (await statusOf(account, id)) === 'SUBMITTED');
    await stop();
    const adoption = { actorName: 'root', nothingLost: false, holdScheduled: false, dryRun: false, restored: [] };
    await adopt(database, { path: undefined, clock: { now: Date.now }, ...adoption });
    smsc.states = { '27825550201': 2, '27825550202': 5 };
    const again = start();
    await again.start();
    t.after(() => again.stop());
    await until('it is delivered', async () => (await statusOf(account, ids[0] as bigint)) === 'DELIVERED');
    await until('it is not', async () => (await statusOf(account, ids[1] as bigint)) === 'UNDELIVERABLE');
    await until('all were asked about', () => smsc.queried.length >= 3);
    assert.equal(await statusOf(account, ids[2] as bigint), 'SUBMITTED');
    assert.equal(smsc.submitted.length, 3);
  });
});
