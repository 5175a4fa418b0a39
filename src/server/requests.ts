import type { IncomingMessage } from 'node:http';
import type { Request } from '../exchange.ts';
import { Problem } from '../problem.ts';
import { type AddressRules, createAddresses } from './addresses.ts';
import { unpack } from './compression.ts';
import { traceparentOf } from './correlation.ts';

/** Requests as they come off a socket, as plain data. */
export interface RequestLimits {
  readonly bodyBytesMax: number;
  readonly inflatedBytesMax: number;
  readonly urlLengthMax: number;
}

export type Addresses = ReturnType<typeof createAddresses>;

/** Told when a body is waited for, and when it is there or will not come: the client's time, not ours. */
export interface Receiving {
  began(): void;
  ended(): void;
}

export function createRequests(
  settings: RequestLimits & AddressRules,
  receiving: Receiving,
): { addresses: Addresses; toRequest(incoming: IncomingMessage, id: string): Request } {
  const addresses = createAddresses(settings);
  return {
    addresses,
    toRequest(incoming, id) {
      const place = addresses.of(incoming);
      const { basePath, client } = place;
      const url = incoming.url ?? '/';
      // The absolute form of RFC 9112 §3.2.2, which servers must accept.
      const target = url.startsWith('/') ? url : url.replace(/^https?:\/\/[^/?]*/i, '');
      const mark = target.indexOf('?');
      const path = (mark < 0 ? target : target.slice(0, mark)) || '/';
      return {
        method: incoming.method ?? '',
        path: basePath && `${path}/`.startsWith(`${basePath}/`) ? path.slice(basePath.length) : path,
        query: mark < 0 ? '' : target.slice(mark + 1),
        headers: incoming.headers,
        get base() {
          return place.base;
        },
        client,
        id,
        traceparent: traceparentOf(incoming.headers.traceparent),
        refused: framingProblem(incoming, settings) ?? addresses.hostProblem(incoming),
        body: () => readBody(incoming, settings, receiving),
      };
    },
  };
}

/** What the parser lets through, and others on the way may have read differently. */
function framingProblem({ url = '', headers, httpVersion }: IncomingMessage, { urlLengthMax }: RequestLimits) {
  if (url.length > urlLengthMax) {
    return closing('too-large', `The address of a request has at most ${urlLengthMax} characters.`);
  }
  if (httpVersion !== '1.1' && httpVersion !== '1.0')
    return closing('malformed', 'HTTP/1.1 and HTTP/1.0 are understood.');
  const coding = headers['transfer-encoding'];
  if (coding === undefined || (httpVersion !== '1.0' && coding.trim().toLowerCase() === 'chunked')) return undefined;
  return closing('malformed', 'The Transfer-Encoding of a request is chunked, in HTTP/1.1, or there is none.');
}

const closing = (kind: 'malformed' | 'too-large', message: string): Problem =>
  new Problem(kind, message, { headers: { Connection: 'close' } });

function readBody(
  incoming: IncomingMessage,
  { bodyBytesMax, inflatedBytesMax }: RequestLimits,
  receiving: Receiving,
): Promise<Uint8Array> {
  if (Number(incoming.headers['content-length'] ?? 0) > bodyBytesMax) return Promise.reject(tooLarge(bodyBytesMax));
  const coding = incoming.headers['content-encoding'];
  const received = receive(incoming, bodyBytesMax, receiving);
  return coding === undefined ? received : received.then((bytes) => unpack(bytes, coding, inflatedBytesMax));
}

const tooLarge = (bytesMax: number): Problem => closing('too-large', `A request body has at most ${bytesMax} bytes.`);

/** By events: reading a stream as an async iterator costs as much as the rest of a small call. */
function receive(incoming: IncomingMessage, bytesMax: number, receiving: Receiving): Promise<Buffer> {
  receiving.began();
  return new Promise((resolve, reject) => {
    // Mostly one chunk. Where there are more they are copied together: a chunk of one byte would hold 64 KiB of the socket's.
    let gathered = NOTHING;
    let bytes = 0;
    let settled = false;
    const refuse = (problem: Problem) => {
      if (settled) return;
      settled = true;
      receiving.ended();
      reject(problem);
    };
    incoming.on('data', (chunk: Buffer) => {
      const start = bytes;
      bytes += chunk.length;
      if (bytes > bytesMax) {
        gathered = NOTHING;
        refuse(tooLarge(bytesMax));
      } else if (start === 0) {
        gathered = chunk;
      } else {
        if (bytes > gathered.length) gathered = enlarged(gathered, start, Math.min(2 * bytes, bytesMax));
        chunk.copy(gathered, start);
      }
    });
    incoming.on('end', () => {
      if (settled) return;
      settled = true;
      receiving.ended();
      resolve(gathered.subarray(0, bytes));
    });
    const brokenOff = (cause?: Error) => {
      // Every request is closed in the end, and making an error takes a tenth of a call.
      if (!settled) refuse(new Problem('malformed', 'The request body broke off.', { cause }));
    };
    incoming.on('error', brokenOff);
    incoming.on('close', () => brokenOff());
  });
}

const NOTHING: Buffer = Buffer.alloc(0);

function enlarged(before: Buffer, used: number, bytes: number): Buffer {
  const larger = Buffer.allocUnsafeSlow(bytes);
  before.copy(larger, 0, 0, used);
  return larger;
}
