import assert from 'node:assert/strict';
import { createServer as createHttpServer, type IncomingMessage } from 'node:http';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { systemClock } from '../../src/base/clock.ts';
import { ACK, encodeFrame, FrameReader, textOf } from '../../src/carriers/kannel/box-protocol.ts';
import { type ConnectorKind, createConnector, kindNames } from '../../src/carriers/kinds.ts';
import { FrameReader as PduReader } from '../../src/carriers/smpp/frames.ts';
import { answerTo, decodePdu, encodePdu } from '../../src/carriers/smpp/pdu.ts';
import { createOptOuts } from '../../src/domain/sending/opt-out.ts';
import { onOneEngine } from '../support/engines.ts';
import { LOOPBACK, openGateway, until } from '../support/gateway.ts';
import { NEVER, submissionOf } from '../support/kannel-recording.ts';
import { sql } from '../support/opened-database.ts';

/** A carrier that answers nothing before `release`. */
interface SlowCarrier {
  readonly config: Readonly<Record<string, unknown>>;
  /** How many messages reach the carrier before its first answer. */
  readonly places: number;
  /** The recipients of all that reached it. */
  readonly left: string[];
  release(): void;
}
/** Each kind has its carrier, or takes every message at once, so that none waits for a place. */
const carriers: Readonly<Record<ConnectorKind, ((t: TestContext) => Promise<SlowCarrier>) | 'takes all at once'>> = {
  loopback: 'takes all at once',
  callback: async (t) => {
    const { port, ...carrier } = await slowHttp(t, 200, ({ body }) => JSON.parse(body).data.recipient);
    const secret = `whsec_${Buffer.alloc(24, 7).toString('base64')}`;
    return { ...carrier, places: 64, config: { url: `http://127.0.0.1:${port}/sms`, secret, allowPrivate: true } };
  },
  'kannel-sendsms': async (t) => {
    const { port, ...carrier } = await slowHttp(t, 202, ({ request }) => String(request.headers['x-kannel-to']));
    const callback = { callbackUrl: 'http://127.0.0.1:1/carriers/kannel', callbackSecret: 'a-secret-of-kannel' };
    const config = { host: '127.0.0.1', port, username: 'u', password: 'p', defaultSender: '1000', ...callback };
    return { ...carrier, places: 16, config };
  },
  'kannel-box': async (t) => {
    const { port, ...carrier } = await slowBearerbox(t);
    // Its window is one message until bearerbox has answered.
    return { ...carrier, places: 1, config: { host: '127.0.0.1', port, defaultSender: '1000' } };
  },
  http: async (t) => {
    const { port, ...carrier } = await slowHttp(t, 200, ({ body }) => JSON.parse(body).to);
    const provider = {
      receipts: 'none',
      request: { method: 'POST', url: '{setting.baseUrl}/sms', json: { to: '{recipient}', text: '{text}' } },
      settings: ['baseUrl'],
      answer: [{ when: { status: 200 }, result: 'accepted' }],
    };
    return {
      ...carrier,
      places: 10,
      config: { provider, settings: { baseUrl: `http://127.0.0.1:${port}` }, allowPrivate: true },
    };
  },
  smpp: async (t) => {
    const { port, ...carrier } = await slowSmsc(t);
    return { ...carrier, places: 10, config: { host: '127.0.0.1', port, systemId: 'esme', password: 'p', window: 10 } };
  },
};

/** Answers wait until the release, and come at once afterwards. */
function heldBack() {
  const left: string[] = [];
  const waiting: (() => void)[] = [];
  let isReleased = false;
  return {
    left,
    take(recipient: string, answer: () => void): void {
      left.push(recipient);
      if (isReleased) answer();
      else waiting.push(answer);
    },
    release(): void {
      isReleased = true;
      for (const answer of waiting.splice(0)) answer();
    },
  };
}

async function listening(t: TestContext, server: Server): Promise<number> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => sockets.add(socket));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

async function slowHttp(
  t: TestContext,
  status: number,
  recipientOf: (posted: { request: IncomingMessage; body: string }) => string,
) {
  const { left, take, release } = heldBack();
  const server = createHttpServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const posted = { request, body: Buffer.concat(chunks).toString('utf8') };
    take(recipientOf(posted), () => response.writeHead(status).end());
  });
  return { left, release, port: await listening(t, server) };
}

async function slowBearerbox(t: TestContext) {
  const { left, take, release } = heldBack();
  const server = createServer((socket) => {
    const reader = new FrameReader();
    socket.on('error', () => {});
    socket.on('data', (chunk) => {
      for (const frame of reader.push(chunk)) {
        if (frame.type !== 'sms') continue;
        const { time, id } = frame;
        const answer = () => socket.write(encodeFrame({ type: 'ack', nack: ACK.success, time, id }));
        take(textOf(frame.receiver) ?? '', answer);
      }
    });
  });
  return { left, release, port: await listening(t, server) };
}

async function slowSmsc(t: TestContext) {
  const { left, take, release } = heldBack();
  const server = createServer((socket) => {
    const reader = new PduReader();
    socket.on('error', () => {});
    socket.on('data', (chunk) => {
      for (const { command, sequence, message } of reader.push(chunk).map(decodePdu)) {
        const answer = () => {
          socket.write(encodePdu({ command: answerTo(command), status: 0, sequence, messageId: String(sequence) }));
        };
        if (message) take(`+${message.destination.address}`, answer);
        else answer();
      }
    });
  });
  return { left, release, port: await listening(t, server) };
}

const MESSAGES = 100;
const NUMBERS = Array.from({ length: MESSAGES }, (_, index) => `+2782555${String(1_000 + index)}`);
const submitting = sql<object, { total: bigint }>(`select count(*) as total from dispatch where state = 'submitting'`);

onOneEngine('a message that waits for its turn at the connector', (engine) => {
  for (const kind of kindNames) {
    const carrier = carriers[kind];
    if (carrier === 'takes all at once') {
      test(`${kind}: no message waits, because the connector has all results at once`, async () => {
        const connector = createConnector('one', kind, {}, { clock: systemClock });
        const all = connector.submit(
          NUMBERS.map((recipient) => submissionOf('x', { recipient })),
          NEVER,
        );
        const first = await Promise.race([all, new Promise<null>((resolve) => setImmediate(resolve, null))]);
        assert.equal(first?.length, MESSAGES);
      });
      continue;
    }

    test(`${kind}: a message that waits for its turn when an opt-out is acknowledged is never submitted`, async (t) => {
      const { config, places, left, release } = await carrier(t);
      const ofFile = [{ ...LOOPBACK, kind, config }];
      // On a slow machine the carrier is silent for longer than a submission may take.
      const clock = { ...systemClock, random: () => 0, timeout: () => NEVER };
      const { database, addAccount, send, statusOf, ledger } = await openGateway(engine, t, { ofFile, clock });
      const account = await addAccount();
      const ids = await send(account, NUMBERS);
      await until('the places are taken', () => left.length === places);
      await until('all are claimed', async () => {
        return Number((await database.first(submitting, {}))?.total) === MESSAGES;
      });
      const victim = NUMBERS.findLast((number) => !left.includes(number)) as string;
      const { isNew, cancelled } = await createOptOuts(database, Date.now, async () => 'ZA').add(account, victim, null);
      assert.deepEqual({ isNew, cancelled }, { isNew: true, cancelled: 0 });
      await new Promise((resolve) => setTimeout(resolve, 100)); // longer than the look of the claim counts
      release();
      const wanted = (number: string) => (number === victim ? 'DELETED' : 'SUBMITTED');
      await until('all have ended', async () => {
        assert.ok(!left.includes(victim), 'it left after the opt-out was acknowledged');
        const statuses = await Promise.all(ids.map((id) => statusOf(account, id)));
        return statuses.every((status, index) => status === wanted(NUMBERS[index] as string));
      });
      assert.deepEqual(
        left.toSorted(),
        NUMBERS.filter((number) => number !== victim),
      );
      assert.deepEqual(await ledger.balances(account), { free: 901n, held: 0n, used: 99n });
    });
  }
});
