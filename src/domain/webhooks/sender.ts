import { type LookupAddress, lookup as lookupName } from 'node:dns';
import { type ClientRequest, type RequestOptions, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import type { Clock } from '../../base/clock.ts';
import { networkList } from '../../base/networks.ts';
import { isPublicAddress } from '../../base/public-address.ts';

/**
 * One POST to an address that somebody else has chosen. The address is checked after its name was
 * resolved, and the connection goes to the address that was checked. Redirects are not followed.
 */
export interface SentEvent {
  /** Null where no answer came. */
  readonly status: number | null;
  /** Why there is no answer; never a secret. */
  readonly error: string | null;
  readonly retryAfter: string | null;
}

export interface SenderSettings {
  /** Networks that are allowed although they are not public. Plain http is allowed only there. */
  readonly allowedNetworks: readonly string[];
  readonly timeoutMs: number;
  readonly clock: Pick<Clock, 'timeout'>;
  /** Tests bring their own. */
  readonly resolve?: (host: string) => Promise<readonly LookupAddress[]>;
}

export type SendEvent = (
  url: string,
  fields: Readonly<Record<string, string>>,
  body: string,
  signal: AbortSignal,
) => Promise<SentEvent>;

/** The answer is of no interest. Some of it is read, so that the connection ends in order. */
const ANSWER_BYTES_MAX = 65_536;

class Refused extends Error {}

export function createEventSender({
  allowedNetworks,
  timeoutMs,
  clock,
  resolve = resolveName,
}: SenderSettings): SendEvent {
  const isAllowed = networkList(allowedNetworks);

  function check(address: string, isEncrypted: boolean): void {
    if (isAllowed(address)) return;
    if (!isPublicAddress(address))
      throw new Refused('the address is not public; COLUMBA_WEBHOOK_NETWORKS can allow it');
    if (!isEncrypted) throw new Refused('plain http is refused for a public address');
  }

  const lookupFor =
    (isEncrypted: boolean): LookupFunction =>
    (host, options, done) => {
      resolve(host).then(
        (found) => {
          try {
            for (const { address } of found) check(address, isEncrypted);
          } catch (thrown) {
            return done(thrown as Error, '', 0);
          }
          const [first] = found;
          if (!first) return done(new Refused('the name has no address'), '', 0);
          if (options.all) return done(null, [...found]);
          done(null, first.address, first.family);
        },
        (thrown) => done(thrown, '', 0),
      );
    };

  return (url, fields, body, signal) =>
    new Promise((answer) => {
      const failed = (thrown: unknown) => answer({ status: null, error: reasonOf(thrown), retryAfter: null });
      try {
        const { protocol, hostname } = new URL(url);
        const isEncrypted = protocol === 'https:';
        const host = hostname.replace(/^\[|\]$/g, '');
        if (isIP(host) > 0) check(host, isEncrypted); // a literal address is not looked up
        const options: RequestOptions = {
          method: 'POST',
          lookup: lookupFor(isEncrypted),
          agent: false,
          signal: AbortSignal.any([signal, clock.timeout(timeoutMs)]),
          headers: { ...fields, 'Content-Length': Buffer.byteLength(body) },
        };
        const request = isEncrypted ? requestHttps(url, options) : requestHttp(url, options);
        finish(request, answer, failed);
        request.end(body);
      } catch (thrown) {
        failed(thrown);
      }
    });
}

function finish(request: ClientRequest, answer: (sent: SentEvent) => void, failed: (thrown: unknown) => void): void {
  request.on('error', failed);
  request.on('response', (response) => {
    let bytes = 0;
    response.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > ANSWER_BYTES_MAX) request.destroy();
    });
    response.on('error', () => {});
    answer({ status: response.statusCode ?? null, error: null, retryAfter: response.headers['retry-after'] ?? null });
  });
}

const resolveName = (host: string): Promise<LookupAddress[]> =>
  new Promise((found, failed) => {
    lookupName(host, { all: true, verbatim: true }, (thrown, addresses) =>
      thrown ? failed(thrown) : found(addresses),
    );
  });

/** In words that name no secret: a URL may hold one. */
function reasonOf(thrown: unknown): string {
  const { name, code, message } = thrown as NodeJS.ErrnoException;
  if (thrown instanceof Refused) return message;
  if (name === 'TimeoutError' || name === 'AbortError') return 'no answer in time';
  return code ?? 'the request failed';
}
