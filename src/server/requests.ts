import type { IncomingMessage } from 'node:http';
import type { Request } from '../exchange.ts';
import { Problem } from '../problem.ts';
import { type AddressRules, createAddresses } from './addresses.ts';
import { type BodyLimits, createBodies, type Receiving } from './bodies.ts';
import { traceparentOf } from './correlation.ts';

/** Requests as they come off a socket, as plain data. */
export interface RequestLimits extends BodyLimits {
  readonly urlLengthMax: number;
}

export type Addresses = ReturnType<typeof createAddresses>;

export function createRequests(
  settings: RequestLimits & AddressRules,
  receiving: Receiving,
): { addresses: Addresses; toRequest(incoming: IncomingMessage, id: string): Request } {
  const addresses = createAddresses(settings);
  const readBody = createBodies(settings, receiving);
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
        body: () => readBody(incoming),
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
