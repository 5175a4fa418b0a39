import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, beforeEach, describe } from 'node:test';
import { getRequestListener } from '@hono/node-server';
import { Problem } from '../../src/base/problem.ts';
import type { Connector } from '../../src/carriers/connector.ts';
import { kannelSendsmsConfig } from '../../src/carriers/kannel/config.ts';
import { createKannelSendsms } from '../../src/carriers/kannel/sendsms.ts';
import { createKannel, type Kannel, kannel, PASSWORDS } from '../../test/support/kannel.ts';
import { NEVER, type Recording, record, submissionOf } from '../../test/support/kannel-recording.ts';
import { testWith } from '../../test/support/peers.ts';
import { until } from '../../test/support/program.ts';
import { type Smsc, startSmsc } from '../../test/support/smsc.ts';
import { submitBy, testBothWays } from './both-ways.ts';

const peer = kannel();
const SECRET = 'secret-of-the-callbacks';
const BLOCKED = '+46700000666';

describe('sendsms of a real smsbox, with callbacks', () => {
  let smsc: Smsc;
  let gateway: Kannel;
  let connector: Connector;
  let recording: Recording;
  let web: Server;

  const configured = (more: object = {}) =>
    kannelSendsmsConfig.parse({
      host: '127.0.0.1',
      port: gateway.ports.sendsms,
      username: 'columba',
      password: PASSWORDS.sendsms,
      smscId: 'carrier',
      callbackUrl: `http://127.0.0.1:${(web.address() as AddressInfo).port}/carriers/kannel`,
      callbackSecret: SECRET,
      adminPort: gateway.ports.admin,
      adminPassword: PASSWORDS.status,
      ...more,
    });

  before(async () => {
    if (peer.command === null) return;
    recording = record();
    web = createServer(
      getRequestListener(async (request) => {
        try {
          return (await connector.handle?.(request)) ?? new Response('', { status: 404 });
        } catch (thrown) {
          // As the service answers whoever proves nothing: src/carriers/callback-router.ts.
          if (thrown instanceof Problem && thrown.kind === 'denied') return new Response('', { status: 401 });
          throw thrown;
        }
      }),
    );
    await new Promise<void>((done) => web.listen(0, '127.0.0.1', done));
    smsc = await startSmsc();
    gateway = await createKannel({
      way: 'sendsms',
      smscPort: smsc.port,
      callbackUrl: `http://127.0.0.1:${(web.address() as AddressInfo).port}/carriers/kannel`,
      callbackSecret: SECRET,
      change: (text) =>
        text
          .replace('host = 127.0.0.1\nport', 'denied-prefix = "+47"\nhost = 127.0.0.1\nport')
          .replace('sms-resend-freq', `black-list-receiver-regex = ^.*666$\nsms-resend-freq`),
    });
    await gateway.start();
    await until('Kannel is bound', () => smsc.isBound());
    connector = createKannelSendsms('kannel', configured(), recording.deps);
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
    web?.closeAllConnections();
    web?.close();
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
      await until('both receipts', () => recording.of(attemptId).length === 2);
      assert.deepEqual(recording.of(attemptId).toSorted(), ['DELIVERED', 'ENROUTE']);
      const [pdu] = smsc.submitted;
      assert.equal(pdu?.body, '48656c6c6f200f7b7c201b651b3c1b3e');
      assert.deepEqual([pdu?.from, pdu?.to, pdu?.dataCoding, pdu?.priority], ['1000', '46700000001', 0, 2]);
      assert.notEqual(pdu?.validity, '');
    },
  );

  testWith(peer, 'the words of receipts are told apart, though Kannel has one kind for all failures', async () => {
    const words = { UNDELIV: 'UNDELIVERABLE', EXPIRED: 'EXPIRED', REJECTD: 'REJECTED', DELETED: 'DELETED' };
    for (const [word, status] of Object.entries(words)) {
      smsc.rules = [{ receipts: [word] }];
      const { submissions } = await submit(['x']);
      const { attemptId } = submissions[0] ?? assert.fail();
      await until('both receipts', () => recording.of(attemptId).length === 2);
      assert.ok(recording.of(attemptId).includes(status as 'EXPIRED'), word);
    }
  });

  testWith(peer, 'a callback that could not be stored is repeated, and then stored', async () => {
    const from = recording.incoming.length;
    recording.fault = new Error('the database is away');
    smsc.send({ from: '46700000001', to: '12345', text: 'keep me' });
    await until('the refusal', () => recording.logged.some((line) => line.includes('a callback failed')));
    recording.fault = null;
    await until('the repetition', () => recording.incoming.length === from + 1);
    assert.equal(recording.incoming.at(-1)?.text, 'keep me');
  });

  testWith(
    peer,
    'a number on the blacklist of Kannel is refused permanently, and no receipt is reported besides',
    async () => {
      const { submissions, results } = await submit(['x', { recipient: BLOCKED }]);
      assert.deepEqual(results, [{ kind: 'permanent', reason: 'receiver in black-list' }]);
      assert.deepEqual(recording.of(submissions[0]?.attemptId ?? ''), []);
    },
  );

  testWith(
    peer,
    'a message to a number without a route is refused temporarily, and the connector is not down while its carrier is online',
    async () => {
      const { submissions, results } = await submit(['x', { recipient: '+4712345678' }]);
      const noRoute = { kind: 'temporary', reason: 'no route', retryAfterMs: 30_000 };
      assert.deepEqual(results, [{ ...noRoute, connectorDown: false }]);
      assert.deepEqual(recording.of(submissions[0]?.attemptId ?? ''), []);
    },
  );

  testWith(
    peer,
    'a stopped carrier or a wrong password takes the connector down, and the message is not refused permanently',
    async () => {
      await gateway.admin('stop-smsc?smsc=carrier');
      const { results } = await submit(['x']);
      assert.deepEqual(results, [{ kind: 'temporary', reason: 'no route', retryAfterMs: 30_000, connectorDown: true }]);
      await gateway.admin('start-smsc?smsc=carrier');
      await until('Kannel is bound', () => smsc.isBound());
      const other = createKannelSendsms('other', configured({ password: 'wrong' }), recording.deps);
      const [result] = await other.submit([submissionOf('x')], NEVER);
      await other.stop();
      const refused = { kind: 'temporary', reason: 'Authorization failed for sendsms', retryAfterMs: 60_000 };
      assert.deepEqual(result, { ...refused, connectorDown: true });
    },
  );

  testWith(peer, 'a full queue of Kannel refuses a message temporarily', async () => {
    smsc.rules = [{ answers: false }];
    const small = await createKannel({
      way: 'sendsms',
      smscPort: 1,
      change: (text) => text.replace('queue-limit = 1000', 'queue-limit = 2'),
    });
    try {
      await small.start();
      const full = createKannelSendsms('full', configured({ port: small.ports.sendsms }), recording.deps);
      const results = await full.submit(
        Array.from({ length: 6 }, () => submissionOf('x')),
        NEVER,
      );
      await full.stop();
      const refused = results.find(({ kind }) => kind === 'temporary');
      const reason = 'the queue of Kannel is full';
      assert.deepEqual(refused, { kind: 'temporary', reason, retryAfterMs: 5_000 });
      assert.equal(results[0]?.kind, 'accepted');
    } finally {
      await small.close();
    }
  });

  testWith(peer, 'the check of a right configuration finds no fault and sends nothing to the carrier', async () => {
    assert.deepEqual(await connector.probe?.(), []);
    assert.equal(smsc.submitted.length, 0);
    assert.equal(
      recording.receipts.some(({ attemptId }) => attemptId?.startsWith('probe')),
      false,
    );
  });

  testWith(
    peer,
    'the check names a closed port, wrong passwords, a wrong path, an unknown smsc-id, a wrong callback address',
    async () => {
      const faultsOf = async (more: object) =>
        (await createKannelSendsms('kannel', configured(more), recording.deps).probe?.())?.join('\n') ?? '';
      assert.match(await faultsOf({ port: 1 }), /^smsbox at 127\.0\.0\.1:1 does not answer \(ECONNREFUSED\)\.$/);
      assert.match(await faultsOf({ password: 'wrong' }), /^smsbox at .* refuses the username, the password, or/);
      assert.match(await faultsOf({ path: '/other' }), /^smsbox at .* has no sendsms at \/other\.$/);
      assert.match(await faultsOf({ smscId: 'nowhere' }), /^Kannel has no carrier with the smsc-id nowhere\.$/);
      assert.match(
        await faultsOf({ callbackUrl: 'http://127.0.0.1:1/x' }),
        /^The callback address .* \(ECONNREFUSED\)/,
      );
      assert.match(
        await faultsOf({ callbackSecret: 'another-secret-of-ours' }),
        /\(status 401\): its secret is another one, or the service there has no connector of this name$/,
      );
    },
  );

  testWith(peer, 'no accepted message is lost when both boxes are killed and started again', async () => {
    const sent: string[] = [];
    const kinds = new Set<string>();
    let isOver = false;
    const sending = (async () => {
      while (!isOver) {
        const parts = Array.from({ length: 5 }, () => submissionOf('again'));
        const results = await connector.submit(parts, NEVER);
        for (const [index, { kind }] of results.entries()) {
          kinds.add(kind);
          if (kind === 'accepted') sent.push(parts[index]?.attemptId ?? '');
        }
        await recording.deps.sleep(20);
      }
    })();
    await until('some are accepted', () => sent.length > 20);
    await gateway.kill();
    await until('smsbox is missed', () => kinds.has('temporary'));
    await gateway.start();
    const from = sent.length;
    await until('some are accepted again', () => sent.length > from + 5);
    isOver = true;
    await sending;
    // A receipt that smsbox had begun to call back is lost with smsbox; the carrier has each message.
    await until('the carrier has every message', () => smsc.submitted.length >= sent.length);
    const later = sent.slice(from);
    await until('all later receipts', () => later.every((id) => recording.of(id).includes('DELIVERED')));
  });
});
