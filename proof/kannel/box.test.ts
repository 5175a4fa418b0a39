import assert from 'node:assert/strict';
import { after, before, beforeEach, describe } from 'node:test';
import type { Connector, Submission } from '../../src/carriers/connector.ts';
import { createKannelBox } from '../../src/carriers/kannel/box.ts';
import { kannelBoxConfig } from '../../src/carriers/kannel/config.ts';
import { createKannel, type Kannel, kannel, PASSWORDS } from '../../test/support/kannel.ts';
import { NEVER, type Recording, record, submissionOf } from '../../test/support/kannel-recording.ts';
import { testWith } from '../../test/support/peers.ts';
import { until } from '../../test/support/program.ts';
import { type Smsc, startSmsc } from '../../test/support/smsc.ts';
import { submitBy, testBothWays } from './both-ways.ts';

const peer = kannel();

describe('the connector for bearerbox with a real Kannel', () => {
  let smsc: Smsc;
  let gateway: Kannel;
  let connector: Connector;
  let recording: Recording;

  const configured = (more: object = {}) =>
    kannelBoxConfig.parse({
      host: '127.0.0.1',
      port: gateway.ports.box,
      smscId: 'carrier',
      adminPort: gateway.ports.admin,
      adminPassword: PASSWORDS.status,
      ...more,
    });

  before(async () => {
    if (peer.command === null) return;
    smsc = await startSmsc();
    gateway = await createKannel({ way: 'box', smscPort: smsc.port });
    await gateway.start();
    await until('Kannel is bound', () => smsc.isBound());
    recording = record();
    connector = createKannelBox('kannel', configured(), recording.deps);
    await connector.start(recording.events);
  });
  beforeEach(() => {
    if (peer.command === null) return;
    smsc.rules = [];
    smsc.submitted.length = 0;
  });
  after(async () => {
    await connector?.stop();
    await gateway?.close();
    await smsc?.close();
  });
  const way = () => ({ smsc, connector, recording });
  const submit = submitBy(way);
  testBothWays(way);

  testWith(
    peer,
    'a GSM 7-bit text with extension characters reaches the carrier, and its receipts come back',
    async () => {
      const { submissions, results } = await submit(['Hello åäö €[]', { priority: 2 }]);
      assert.deepEqual(results, [{ kind: 'accepted', gatewayId: null }]);
      const { attemptId } = submissions[0] ?? assert.fail();
      await until('the last receipt', () => recording.of(attemptId).length === 2);
      assert.deepEqual(recording.of(attemptId), ['ENROUTE', 'DELIVERED']);
      const [pdu] = smsc.submitted;
      assert.equal(pdu?.body, '48656c6c6f200f7b7c201b651b3c1b3e');
      assert.deepEqual([pdu?.from, pdu?.to, pdu?.dataCoding, pdu?.priority], ['1000', '46700000001', 0, 2]);
      assert.notEqual(pdu?.validity, '');
      assert.equal(recording.receipts.at(-1)?.detail, 'DELIVRD 007');
    },
  );

  const WORDS = {
    UNDELIV: 'UNDELIVERABLE',
    EXPIRED: 'EXPIRED',
    REJECTD: 'REJECTED',
    DELETED: 'DELETED',
    UNKNOWN: 'UNKNOWN',
  };
  for (const [word, status] of Object.entries(WORDS)) {
    testWith(peer, `the carrier's word ${word} is ${status}`, async () => {
      smsc.rules = [{ receipts: ['ACCEPTD', word] }];
      const { submissions } = await submit(['x']);
      const { attemptId } = submissions[0] ?? assert.fail();
      await until('all receipts', () => recording.of(attemptId).length === 3);
      assert.deepEqual(recording.of(attemptId).toSorted(), ['ACCEPTED', 'ENROUTE', status].toSorted());
    });
  }

  testWith(peer, "the carrier's refusal of a number is REJECTED, with its code", async () => {
    smsc.rules = [{ status: 0x0b }];
    const { submissions, results } = await submit(['x']);
    assert.equal(results[0]?.kind, 'accepted');
    const { attemptId } = submissions[0] ?? assert.fail();
    await until('the receipt', () => recording.of(attemptId).length === 1);
    const [receipt] = recording.receipts.filter((each) => each.attemptId === attemptId);
    assert.deepEqual([receipt?.status, receipt?.detail], ['REJECTED', '0x0000000b']);
  });

  testWith(peer, 'a throttled message is sent again by Kannel', async () => {
    smsc.rules = [{ status: 0x58, times: 1 }];
    const { submissions } = await submit(['x']);
    await until('the last receipt', () => recording.of(submissions[0]?.attemptId ?? '').includes('DELIVERED'));
    assert.equal(smsc.submitted.length, 2);
  });

  testWith(peer, 'a message that cannot be stored stays with Kannel, and comes again', async () => {
    const from = recording.incoming.length;
    recording.fault = new Error('the database is away');
    smsc.send({ from: '46700000001', to: '12345', text: 'keep me' });
    await until('the refusal', () => recording.logged.some((line) => line.includes('could not be stored')));
    assert.equal(recording.incoming.length, from);
    recording.fault = null;
    await until('the repetition', () => recording.incoming.length === from + 1);
    assert.equal(recording.incoming.at(-1)?.text, 'keep me');
  });

  testWith(
    peer,
    'a message for a carrier that Kannel does not have is refused temporarily, and the connector is down',
    async () => {
      const other = createKannelBox('other', configured({ smscId: 'nowhere', boxId: 'other' }), recording.deps);
      await other.start(recording.events);
      try {
        const part = submissionOf('x');
        const results = await other.submit([part], NEVER);
        assert.deepEqual(results, [
          { kind: 'temporary', reason: 'no route', retryAfterMs: 30_000, connectorDown: true },
        ]);
        assert.deepEqual(recording.of(part.attemptId), []);
      } finally {
        await other.stop();
      }
      assert.equal(smsc.submitted.length, 0);
    },
  );

  testWith(peer, 'the check of a right configuration finds no fault and sends nothing', async () => {
    assert.deepEqual(await connector.probe?.(), []);
    assert.equal(smsc.submitted.length, 0);
  });

  testWith(
    peer,
    'the check names a closed port, a wrong password, an unknown smsc-id and a box that does not run',
    async () => {
      const faultsOf = async (more: object) =>
        (await createKannelBox('kannel', configured(more), recording.deps).probe?.())?.join('\n') ?? '';
      assert.match(await faultsOf({ port: 1 }), /^bearerbox at 127\.0\.0\.1:1 cannot be used: ECONNREFUSED\.$/);
      assert.match(
        await faultsOf({ port: gateway.ports.admin }),
        /^bearerbox at .* (?:ends the connection|does not answer as|cannot be used)/,
      );
      assert.match(await faultsOf({ adminPassword: 'wrong' }), /refuses the password\.$/);
      assert.match(await faultsOf({ smscId: 'nowhere' }), /^Kannel has no carrier with the smsc-id nowhere\.$/);
      assert.match(await faultsOf({ boxId: 'nobody' }), /^No box with the id nobody is connected/);
    },
  );

  testWith(peer, 'bearerbox ends when it is told to, although we are connected', async () => {
    await gateway.terminate();
    await gateway.start();
    await until('a message is accepted again', async () => {
      const { results } = await submit(['after the restart']);
      if (results[0]?.kind === 'accepted') return true;
      await recording.deps.sleep(100);
      return false;
    });
    await until('Kannel is bound again', () => smsc.isBound());
  });

  testWith(peer, 'no message that bearerbox acknowledged is lost when it is killed and started again', async () => {
    const KILLS = 2;
    const sent: Submission[] = [];
    const kinds = new Set<string>();
    let isOver = false;
    let count = 0;
    const sending = (async () => {
      while (!isOver) {
        const parts = Array.from({ length: 5 }, () => submissionOf(`again ${count++}`));
        const results = await connector.submit(parts, NEVER);
        for (const [index, { kind }] of results.entries()) {
          kinds.add(kind);
          if (kind === 'accepted') sent.push(parts[index] ?? assert.fail());
        }
        await recording.deps.sleep(20);
      }
    })();
    for (let kill = 0; kill < KILLS; kill++) {
      const from = sent.length;
      await until('some are accepted', () => sent.length > from + 20);
      await gateway.kill();
      smsc.send({ from: '46700000001', to: '12345', text: `while away ${kill}` });
      await gateway.start();
    }
    const from = sent.length;
    await until('some are accepted again', () => sent.length > from + 5);
    isOver = true;
    await sending;
    const atTheCarrier = () => new Set(smsc.submitted.map(({ body }) => body));
    await until('the carrier has every message', () => {
      const bodies = atTheCarrier();
      return sent.every(({ body }) => bodies.has(Buffer.from(body).toString('hex')));
    });
    // bearerbox deletes its dlr entry before it stores the receipt. So each kill may take one.
    const withoutEnd = () => sent.filter(({ attemptId }) => !recording.of(attemptId).includes('DELIVERED'));
    await until('the final receipts', () => withoutEnd().length <= KILLS);
    assert.ok(kinds.has('temporary'));
    for (let kill = 0; kill < KILLS; kill++) {
      await until('the message from the phone', () =>
        recording.incoming.some(({ text }) => text === `while away ${kill}`),
      );
    }
  });
});
