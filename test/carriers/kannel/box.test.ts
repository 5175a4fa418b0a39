import assert from 'node:assert/strict';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { after, describe, test } from 'node:test';
import type { Connector } from '../../../src/carriers/connector.ts';
import { createKannelBox } from '../../../src/carriers/kannel/box.ts';
import {
  ACK,
  type BoxFrame,
  type BoxSms,
  encodeFrame,
  FrameReader,
  octetsOf,
  SMS_TYPE,
  smsFrame,
  textOf,
} from '../../../src/carriers/kannel/box-protocol.ts';
import { kannelBoxConfig } from '../../../src/carriers/kannel/config.ts';
import { NEVER, type Recording, record, submissionOf } from '../../support/kannel-recording.ts';
import { until } from '../../support/program.ts';
import { readCapture } from './captures.ts';

/** A bearerbox that does nothing by itself. */
interface Bearerbox {
  readonly port: number;
  readonly frames: BoxFrame[];
  connections: number;
  socket: Socket | null;
  onFrame: (frame: BoxFrame) => void;
  send(frame: BoxFrame): void;
}

const closing: (() => Promise<unknown> | undefined)[] = [];
after(async () => {
  for (const close of closing) await close();
});

async function bearerbox(onConnection: (socket: Socket) => void = () => {}): Promise<Bearerbox> {
  const server: Server = createServer((socket) => {
    const reader = new FrameReader();
    self.connections++;
    self.socket = socket;
    socket.on('error', () => {});
    socket.on('data', (chunk) => {
      for (const frame of reader.push(chunk)) {
        self.frames.push(frame);
        self.onFrame(frame);
      }
    });
    onConnection(socket);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const self: Bearerbox = {
    port: (server.address() as AddressInfo).port,
    frames: [],
    connections: 0,
    socket: null,
    onFrame: () => {},
    send: (frame) => void self.socket?.write(encodeFrame(frame)),
  };
  closing.push(async () => {
    self.socket?.destroy();
    server.close();
  });
  return self;
}

async function boxAt(port: number, more: object = {}): Promise<{ recording: Recording; connector: Connector }> {
  const recording = record();
  const config = kannelBoxConfig.parse({ host: '127.0.0.1', port, smscId: 'carrier', ...more });
  const connector = createKannelBox('kannel', config, recording.deps);
  closing.unshift(() => connector.stop());
  await connector.start(recording.events);
  return { recording, connector };
}

const ackOf = (frame: BoxSms, nack: number): BoxFrame => ({ type: 'ack', nack, time: frame.time, id: frame.id });
const smsIn = ({ frames }: Bearerbox): BoxSms[] => frames.filter((frame) => frame.type === 'sms');
const acksIn = ({ frames }: Bearerbox) => frames.filter((frame) => frame.type === 'ack');
const acknowledging = (peer: Bearerbox, nack: number = ACK.success) => {
  peer.onFrame = (frame) => frame.type === 'sms' && peer.send(ackOf(frame, nack));
};
const recorded = (index: number): Buffer =>
  Buffer.from(readCapture('box-session')[index]?.text.split('\n')[0] ?? '', 'hex');

describe('a box at bearerbox', () => {
  test('a box at bearerbox identifies itself first, with the octets that were recorded', async () => {
    const peer = await bearerbox();
    await boxAt(peer.port);
    await until('a frame', () => peer.frames.length === 1);
    assert.deepEqual(encodeFrame(peer.frames[0] ?? assert.fail()), recorded(0));
  });

  test('a box at bearerbox submits the fields of the recorded message, and the attempt as id and as address of receipts', async () => {
    const peer = await bearerbox();
    acknowledging(peer, ACK.buffered);
    const { connector } = await boxAt(peer.port, { validityMinutes: 60 });
    const part = submissionOf('Hello');
    assert.deepEqual(await connector.submit([part], NEVER), [{ kind: 'accepted', gatewayId: null }]);
    const [sent] = smsIn(peer);
    const [like] = new FrameReader().push(recorded(1)) as BoxSms[];
    for (const field of [
      'sender',
      'receiver',
      'body',
      'udh',
      'smscId',
      'smsType',
      'coding',
      'receiptMask',
      'boxId',
    ] as const) {
      assert.deepEqual(sent?.[field], like?.[field], field);
    }
    assert.equal(textOf(sent?.receiptUrl ?? null), part.attemptId);
    assert.equal(textOf(sent?.id ?? null)?.replaceAll('-', ''), part.attemptId);
  });

  test('UCS-2 is sent as UTF-16BE, and a part with its header', async () => {
    const peer = await bearerbox();
    acknowledging(peer);
    const { connector } = await boxAt(peer.port);
    const udh = Buffer.from('0500037f0201', 'hex');
    const part = submissionOf('Привет 😀', { encoding: 'ucs2', udh });
    await connector.submit([part], NEVER);
    const [sent] = smsIn(peer);
    assert.deepEqual([sent?.coding, Buffer.from(sent?.body ?? [])], [2, Buffer.from(part.body)]);
    assert.deepEqual(sent?.udh && Buffer.from(sent.udh), udh);
  });

  test('a full queue refuses a message temporarily, and a refusal without a reason means that there is no route', async () => {
    const peer = await bearerbox();
    acknowledging(peer, ACK.failedTemporarily);
    const { connector } = await boxAt(peer.port);
    const full = { kind: 'temporary', reason: 'the queue of Kannel is full', retryAfterMs: 5_000 };
    assert.deepEqual(await connector.submit([submissionOf('x')], NEVER), [full]);
    acknowledging(peer, ACK.failed);
    const noRoute = { kind: 'temporary', reason: 'no route', retryAfterMs: 30_000, connectorDown: true };
    assert.deepEqual(await connector.submit([submissionOf('x')], NEVER), [noRoute]);
  });

  test('the reason of a refusal comes as a receipt, before or after the refusal, and is reported once', async () => {
    for (const isBefore of [true, false]) {
      const peer = await bearerbox();
      peer.onFrame = (frame) => {
        if (frame.type !== 'sms') return;
        const receipt = smsFrame({
          smsType: SMS_TYPE.receipt,
          id: octetsOf('00000000-0000-4000-8000-000000000001'),
          receiptMask: 16,
          receiptUrl: frame.receiptUrl,
          body: octetsOf('NACK/receiver in black-list'),
        });
        const answers = [receipt, ackOf(frame, ACK.failed)];
        for (const answer of isBefore ? answers : answers.toReversed()) peer.send(answer);
      };
      const { connector, recording } = await boxAt(peer.port);
      const results = await connector.submit([submissionOf('x')], NEVER);
      assert.deepEqual(results, [{ kind: 'permanent', reason: 'receiver in black-list' }]);
      await until('the receipt is acknowledged', () => acksIn(peer).length === 1);
      assert.deepEqual(recording.receipts, []);
    }
  });

  test('when the connection dies, a submission that was written has an unknown outcome, and one that was not is temporary', async () => {
    const peer = await bearerbox();
    acknowledging(peer);
    const { connector } = await boxAt(peer.port, { window: 2 });
    await connector.submit([submissionOf('first')], NEVER);
    peer.onFrame = () => {};
    const submitting = connector.submit(
      Array.from({ length: 4 }, () => submissionOf('x')),
      NEVER,
    );
    await until('two are written', () => smsIn(peer).length === 3);
    peer.socket?.destroy();
    const kinds = (await submitting).map(({ kind }) => kind);
    assert.deepEqual(kinds.slice(0, 2), ['unknown-outcome', 'unknown-outcome']);
    assert.deepEqual(kinds.slice(2), ['temporary', 'temporary']);
  });

  test('without a connection a submission is temporary, and the connector is down', async () => {
    const { connector } = await boxAt(1);
    const reason = 'bearerbox is not connected (ECONNREFUSED)';
    assert.deepEqual(await connector.submit([submissionOf('x')], NEVER), [
      { kind: 'temporary', reason, retryAfterMs: 1_000, connectorDown: true },
    ]);
  });

  test('a bearerbox that closes at once, as it does with an address that it denies, gets no message', async () => {
    const peer = await bearerbox((socket) => socket.destroy());
    const { connector } = await boxAt(peer.port);
    const [result] = await connector.submit([submissionOf('x')], NEVER);
    assert.equal(result?.kind, 'temporary');
    assert.equal(smsIn(peer).length, 0);
  });

  test('a missing acknowledgement ends the connection, and a new connection follows', async () => {
    const peer = await bearerbox();
    const { connector } = await boxAt(peer.port, { answerTimeoutMs: 100 });
    const [result] = await connector.submit([submissionOf('x')], NEVER);
    assert.equal(result?.kind, 'unknown-outcome');
    acknowledging(peer);
    await until('a new connection', () => peer.connections === 2);
    await until(
      'it is accepted',
      async () => (await connector.submit([submissionOf('x')], NEVER))[0]?.kind === 'accepted',
    );
  });

  test('a submission that is aborted has an unknown outcome if it was written, and is temporary otherwise', async () => {
    const peer = await bearerbox();
    const { connector } = await boxAt(peer.port);
    const abort = new AbortController();
    const submitting = connector.submit([submissionOf('x'), submissionOf('y')], abort.signal);
    await until('one is written', () => smsIn(peer).length === 1);
    abort.abort();
    assert.deepEqual(
      (await submitting).map(({ kind }) => kind),
      ['unknown-outcome', 'temporary'],
    );
  });

  test('receipts and messages are passed on as recorded, and acknowledged only when they are stored', async () => {
    const peer = await bearerbox();
    const { recording } = await boxAt(peer.port);
    const stored = Promise.withResolvers<void>();
    const { incoming } = recording.events;
    recording.events.incoming = async (message) => {
      await stored.promise;
      await incoming(message);
    };
    for (const index of [3, 5, 7]) peer.socket?.write(recorded(index));
    await until('both receipts are acknowledged', () => acksIn(peer).length === 2);
    assert.deepEqual(recording.of('m1'), ['ENROUTE', 'DELIVERED']);
    assert.deepEqual(recording.receipts[1], {
      connector: 'kannel',
      attemptId: 'm1',
      gatewayId: '1000',
      status: 'DELIVERED',
      at: 1_794_774_263_000,
      detail: 'DELIVRD 000',
    });
    assert.equal(recording.incoming.length, 0);
    stored.resolve();
    await until('the message is acknowledged', () => acksIn(peer).length === 3);
    assert.deepEqual(recording.incoming[0], {
      connector: 'kannel',
      gatewayId: '453f1862-6930-4798-86cf-85b8a004ec10',
      sender: '+46700000001',
      destination: '12345',
      text: 'hi',
      receivedAt: 1_794_774_263_000,
      part: null,
    });
    assert.deepEqual(
      acksIn(peer)
        .map((ack) => encodeFrame(ack))
        .toSorted(Buffer.compare),
      [recorded(4), recorded(6), recorded(8)].toSorted(Buffer.compare),
    );
  });

  test('a message that cannot be stored is refused temporarily', async () => {
    const peer = await bearerbox();
    const { recording } = await boxAt(peer.port);
    recording.fault = new Error('the database is away');
    peer.socket?.write(recorded(7));
    await until('the refusal', () => acksIn(peer).length === 1);
    assert.equal(acksIn(peer)[0]?.nack, ACK.failedTemporarily);
    assert.equal(recording.incoming.length, 0);
  });

  test('octets that are no frame end the connection, and a new connection follows', async () => {
    const peer = await bearerbox();
    const { recording } = await boxAt(peer.port);
    peer.socket?.write(Buffer.from('GET / HTTP/1.1\r\n\r\n'));
    await until('a new connection', () => peer.connections === 2);
    peer.socket?.write(recorded(7));
    await until('the message', () => recording.incoming.length === 1);
  });

  test('a frame that cannot be used is acknowledged, so that it is not repeated for ever', async () => {
    const peer = await bearerbox();
    const { recording } = await boxAt(peer.port);
    const id = octetsOf('00000000-0000-4000-8000-000000000002');
    peer.send(smsFrame({ id, smsType: SMS_TYPE.receipt, receiptMask: 0, receiptUrl: null }));
    peer.send(smsFrame({ id, smsType: 77 }));
    await until('both acknowledgements', () => acksIn(peer).length === 2);
    assert.deepEqual([recording.incoming, recording.receipts], [[], []]);
    assert.equal(recording.logged.filter((line) => line.includes('not for a box')).length, 2);
  });

  test('a message of a phone that hides its number is passed on with an empty sender', async () => {
    const peer = await bearerbox();
    const { recording } = await boxAt(peer.port);
    const id = octetsOf('00000000-0000-4000-8000-000000000003');
    const long = octetsOf('1'.repeat(100));
    for (const receiver of [octetsOf('1'), long]) {
      peer.send(smsFrame({ id, smsType: SMS_TYPE.incoming, sender: null, receiver, body: octetsOf('hello') }));
    }
    await until('both acknowledgements', () => acksIn(peer).length === 2);
    assert.deepEqual(
      recording.incoming.map(({ sender, destination, text }) => [sender, destination, text]),
      [
        ['', '1', 'hello'],
        ['', '1'.repeat(64), 'hello'],
      ],
    );
  });

  test('a box sends heartbeats to bearerbox', async () => {
    const peer = await bearerbox();
    await boxAt(peer.port, { heartbeatSeconds: 1 });
    await until('a heartbeat', () => peer.frames.some(({ type }) => type === 'heartbeat'));
  });

  test('a bearerbox that announces its shutdown gets no further message', async () => {
    const peer = await bearerbox();
    acknowledging(peer);
    const { connector, recording } = await boxAt(peer.port);
    peer.send({ type: 'admin', command: 0, boxId: null });
    peer.socket?.write(recorded(7));
    await until('the frame behind it', () => recording.incoming.length === 1);
    const [result] = await connector.submit([submissionOf('x')], NEVER);
    assert.deepEqual(result?.kind === 'temporary' && result.reason, 'bearerbox is shutting down');
  });
});
