import { connect } from 'node:net';
import { gunzipSync } from 'node:zlib';
import { type HttpMessage, parseMessage } from './cases.ts';

/** Sends raw bytes and returns all that comes back until the server closes. */
export function exchangeBytes(address: string, bytes: Uint8Array): Promise<Buffer> {
  const { hostname, port } = new URL(address);
  const host = hostname.replace(/^\[|\]$/g, '');
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const socket = connect(Number(port), host, () => socket.write(bytes));
    socket.on('data', (chunk) => chunks.push(chunk));
    socket.on('end', () => resolve(Buffer.concat(chunks)));
    socket.on('error', reject);
    socket.on('timeout', () => socket.destroy(new Error(`no answer for ${ANSWER_TIMEOUT_MS} ms`)));
  });
}

export const exchangeMessage = async (address: string, bytes: Uint8Array): Promise<HttpMessage> =>
  parseMessage((await exchangeBytes(address, bytes)).toString('latin1'));

/** A request as it goes over the wire. `fields` are whole lines; where none says how long the body is, one is added. */
export function requestBytes(start: string, fields: readonly string[], body: string | Uint8Array = ''): Buffer {
  const bytes = Buffer.from(body as Uint8Array);
  const framed = fields.some((field) => /^(content-length|transfer-encoding):/i.test(field));
  const length = framed || bytes.length === 0 ? [] : [`Content-Length: ${bytes.length}`];
  return Buffer.concat([Buffer.from([start, ...fields, ...length, '', ''].join('\r\n')), bytes]);
}

/** A body in chunks of so many bytes, with its end. */
export function chunked(body: string | Uint8Array, chunkBytes: number, extension = ''): Buffer {
  const bytes = Buffer.from(body as Uint8Array);
  const pieces: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += chunkBytes) {
    const piece = bytes.subarray(at, at + chunkBytes);
    pieces.push(Buffer.from(`${piece.length.toString(16)}${extension}\r\n`), piece, Buffer.from('\r\n'));
  }
  return Buffer.concat([...pieces, Buffer.from('0\r\n\r\n')]);
}

/** One connection, held open by the test: what goes over it is in the test's hands, piece by piece. */
export interface Connection {
  /** The server has had its turn to read it, before anything else is sent. */
  send(bytes: string | Uint8Array): Promise<void>;
  /** The next answer; `100 Continue` is one too. */
  receive(): Promise<HttpMessage>;
  /** What came after the last answer until the server closed. */
  ended(): Promise<Buffer>;
  close(): void;
}

// So long that only a lost answer takes it, on a busy machine too.
const ANSWER_TIMEOUT_MS = 60_000;

export async function openConnection(address: string): Promise<Connection> {
  const { hostname, port } = new URL(address);
  const socket = connect({ port: Number(port), host: hostname.replace(/^\[|\]$/g, ''), noDelay: true });
  let received = Buffer.alloc(0);
  let failed: Error | undefined;
  let wake = () => {};
  const change = () => {
    wake();
    wake = () => {};
  };
  socket.on('data', (chunk) => {
    received = Buffer.concat([received, chunk]);
    change();
  });
  socket.on('end', change);
  socket.on('error', (error) => {
    failed = error;
    change();
  });
  socket.on('timeout', () => socket.destroy(new Error(`no answer for ${ANSWER_TIMEOUT_MS} ms`)));

  /** The time-out runs only here: between two requests a test may collect garbage for long. */
  const until = async <T>(look: () => T | undefined): Promise<T> => {
    socket.setTimeout(ANSWER_TIMEOUT_MS);
    try {
      return await waitFor(look);
    } finally {
      socket.setTimeout(0);
    }
  };
  const waitFor = async <T>(look: () => T | undefined): Promise<T> => {
    for (;;) {
      const found = look();
      if (found !== undefined) return found;
      if (failed) throw failed;
      if (socket.readableEnded) throw new Error(`closed after ${JSON.stringify(received.toString('latin1'))}`);
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  };
  return {
    async send(bytes) {
      await new Promise<void>((resolve, reject) => {
        socket.write(bytes, (error) => (error ? reject(error) : resolve()));
      });
      for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    },
    receive: () =>
      until(() => {
        const message = wholeMessage(received);
        if (!message) return undefined;
        received = received.subarray(received.indexOf('\r\n\r\n') + 4 + message.body.length);
        return message;
      }),
    ended: () => until(() => (socket.readableEnded ? received : undefined)),
    close: () => socket.destroy(),
  };
}

function wholeMessage(received: Buffer): HttpMessage | undefined {
  const end = received.indexOf('\r\n\r\n');
  if (end < 0) return undefined;
  const message = parseMessage(received.toString('latin1'));
  if (message.headers['transfer-encoding']) throw new Error('an answer in chunks, which no client asked for');
  return message.body.length === Number(message.headers['content-length'] ?? 0) ? message : undefined;
}

export const statusOf = ({ start }: HttpMessage): number => Number(start.split(' ')[1]);

export const textOf = ({ headers, body }: HttpMessage): string =>
  (headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body).toString('utf8');
