import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { connect, isIP, type LookupFunction } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { Clock } from '../base/clock.ts';
import { callHttp, checkedLookup, type HttpOutcome, peerOf, Refused, reasonOf } from '../base/http-client.ts';
import { isPublicAddress } from '../base/public-address.ts';

/**
 * The requests of one connector to its carrier. What decides is whether anything was sent: then the
 * carrier may have it, even where no answer came.
 */
export interface PosterSettings {
  readonly url: string;
  readonly timeoutMs: number;
  readonly allowPrivate: boolean;
}
export interface Poster {
  /** Never rejects. Redirects are not followed. */
  post(fields: Readonly<Record<string, string>>, body: string, signal: AbortSignal): Promise<HttpOutcome>;
  /** Connects, with TLS where the URL has it, and sends nothing. Null, or why it failed. */
  reach(): Promise<string | null>;
  close(): void;
}

const ANSWER_BYTES_MAX = 16_384;
// A connection that the carrier closes at the moment of a request gives it an unknown
// outcome. So idle ones are closed before servers usually do it, after 2 to 75 seconds.
const IDLE_MS = 1_000;

export function createPoster({ url, timeoutMs, allowPrivate }: PosterSettings, clock: Pick<Clock, 'timeout'>): Poster {
  const target = new URL(url);
  const { path, ...peer } = peerOf(target);
  const agentOptions = { keepAlive: true, timeout: IDLE_MS };
  const agent = peer.tls ? new HttpsAgent(agentOptions) : new HttpAgent(agentOptions);

  /** Checked at connect time, after the name was resolved: it may lead elsewhere the next time. */
  function check(address: string): void {
    if (allowPrivate) return;
    if (!isPublicAddress(address)) throw new Refused('the address is not public, and allowPrivate is off');
    if (!peer.tls) throw new Refused('plain http is refused, because allowPrivate is off');
  }

  return {
    post: (headers, body, signal) =>
      callHttp(clock, peer, {
        method: 'POST',
        path,
        headers,
        body,
        agent,
        timeoutMs,
        signal,
        answerBytesMax: ANSWER_BYTES_MAX,
        beyond: 'cut', // the status says what is needed
        check,
      }),
    reach: () => connects(target, { check, lookup: checkedLookup(check), timeoutMs }),
    close: () => agent.destroy(),
  };
}

interface Connecting {
  readonly check: (address: string) => void;
  readonly lookup: LookupFunction;
  readonly timeoutMs: number;
}

/** An unsigned request could be an alarm at the gateway, and a signed one a message. */
function connects(target: URL, { check, lookup: lookupChecked, timeoutMs }: Connecting): Promise<string | null> {
  const isEncrypted = target.protocol === 'https:';
  return new Promise((resolve) => {
    try {
      const { host, port } = peerOf(target);
      if (isIP(host) > 0) check(host);
      const where = { host, port, lookup: lookupChecked, timeout: timeoutMs };
      const named = isIP(host) === 0 ? { servername: host } : {};
      const socket = isEncrypted ? connectTls({ ...where, ...named }) : connect(where);
      const end = (fault: string | null) => {
        socket.destroy();
        resolve(fault);
      };
      socket.once(isEncrypted ? 'secureConnect' : 'connect', () => end(null));
      socket.once('timeout', () => end('no answer in time'));
      socket.once('error', (thrown) => end(reasonOf(thrown)));
    } catch (thrown) {
      resolve(reasonOf(thrown));
    }
  });
}
