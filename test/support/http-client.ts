import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import type { Config } from '../../src/config/settings.ts';
import { type HttpMessage, parseMessage } from './cases.ts';
import type { Engine } from './engines.ts';
import { ACME, type Service, startService } from './service.ts';
import { type Connection, openConnection, requestBytes, statusOf, textOf } from './socket.ts';

/** Conversations with a server by clients that do not behave, and by one that does. */

export const portOf = (address: string): number => Number(new URL(address).port);

/** A connection of a client that says what it likes, and of which all is kept that it is told. */
export interface Stranger {
  readonly socket: Socket;
  /** All answers, when the server has closed; it may do so while it is still being talked to. */
  readonly told: Promise<HttpMessage[]>;
}

export function stranger(address: string, bytes: string | Uint8Array = '', localAddress = '127.0.0.1'): Stranger {
  const socket = connect({ port: portOf(address), host: '127.0.0.1', localAddress });
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  socket.on('error', () => {}); // the end is told by what came before it
  socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes);
  const told = new Promise<HttpMessage[]>((resolve) => {
    socket.once('close', () => resolve(answersIn(Buffer.concat(chunks).toString('latin1'))));
  });
  socket.once('end', () => socket.destroy());
  return { socket, told };
}

export const said = (address: string, bytes: string | Uint8Array): Promise<HttpMessage[]> =>
  stranger(address, bytes).told;

function answersIn(text: string): HttpMessage[] {
  const answers: HttpMessage[] = [];
  for (let at = 0; at < text.length; ) {
    const answer = parseMessage(text.slice(at));
    answers.push(answer);
    at = text.indexOf('\r\n\r\n', at) + 4 + answer.body.length;
  }
  return answers;
}

/** A refusal as every client can read it: one line of text, without a stack or anything else of ours. */
export function assertRefusal(answer: HttpMessage | undefined, status: number, message: string | RegExp): void {
  assert.ok(answer, 'no answer');
  const text = textOf(answer);
  assert.equal(statusOf(answer), status, text);
  if (typeof message === 'string') assert.equal(text, `${message}\n`);
  else assert.match(text, message);
  assert.match(text, /^[^\r\n]+\n$/);
  assert.equal(answer.headers['content-type'], 'text/plain; charset=utf-8');
  assert.doesNotMatch(text, /\bat \S+ \(|node:|HPE_|ERR_|\.ts\b|select |0x[0-9a-f]{6}/i);
}

/** Who behaves, on a connection of its own that stays open. */
export interface Neighbour {
  /** Is served. */
  call(): Promise<void>;
  close(): void;
}

const COUNT = requestBytes(`GET /api/inbox.asmx/CountUnread?user_id=${ACME} HTTP/1.1`, ['Host: sms.example']);

async function neighbour(address: string): Promise<Neighbour> {
  let connection: Connection = await openConnection(address);
  let calledAt = Date.now();
  return {
    async call() {
      // Our own end gives up a connection that was silent for 10 s.
      const answer = await ask(connection).catch(async (thrown) => {
        if (Date.now() - calledAt < 9_000) throw thrown;
        connection = await openConnection(address);
        return ask(connection);
      });
      calledAt = Date.now();
      assert.equal(statusOf(answer), 200, textOf(answer));
      assert.match(textOf(answer), />4<\/long>/);
    },
    close: () => connection.close(),
  };
}

async function ask(connection: Connection): Promise<HttpMessage> {
  await connection.send(COUNT);
  return connection.receive();
}

/** A service and a neighbour who is served from the beginning to the end. */
export interface Scene {
  readonly service: Service;
  readonly address: string;
  readonly neighbour: Neighbour;
  /** Also sees to it that no error was logged. */
  close(): Promise<void>;
}

export async function openScene(engine: Engine, settings: Partial<Config> = {}): Promise<Scene> {
  const service = await startService(engine, 'sample', settings);
  const address = await service.app.start();
  const near = await neighbour(address);
  await near.call();
  return {
    service,
    address,
    neighbour: near,
    async close() {
      try {
        await near.call();
        near.close();
        assert.deepEqual(
          service.logged.filter((line) => JSON.parse(line).level >= 50),
          [],
        );
      } finally {
        await service.stop();
      }
    },
  };
}

export async function scene(
  engine: Engine,
  settings: Partial<Config>,
  work: (scene: Scene) => Promise<void>,
): Promise<void> {
  const present = await openScene(engine, settings);
  try {
    await work(present);
  } catch (thrown) {
    present.neighbour.close();
    await present.service.stop();
    throw thrown;
  }
  await present.close();
}
