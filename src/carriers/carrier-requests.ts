import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { connect, isIP } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { Clock } from '../base/clock.ts';
import {
  callHttp,
  checkedLookup,
  type HttpCall,
  type HttpOutcome,
  peerOf,
  Refused,
  reasonOf,
} from '../base/http-client.ts';
import { isPublicAddress } from '../base/public-address.ts';
import type { SubmitResult } from './connector.ts';

/**
 * Requests of a connector to a carrier that speaks HTTP. If anything was sent, the carrier may have
 * the message even if no answer came.
 */
export interface CarrierRequests {
  /** Never rejects. Redirects are not followed. */
  send(url: URL, request: CarrierRequest, signal?: AbortSignal): Promise<HttpOutcome>;
  /** Connects, with TLS if the URL has it, and sends nothing. Returns null, or why it failed. */
  reach(url: URL): Promise<string | null>;
  close(): void;
}

export type CarrierRequest = Pick<HttpCall, 'method' | 'headers' | 'body'>;

export interface CarrierRequestParts {
  readonly timeoutMs: number;
  /** Allows private and loopback addresses, and plain http. */
  readonly allowPrivate: boolean;
  readonly answerBytesMax: number;
}

// If the carrier closes a connection at the moment of a request, the outcome of that request is
// unknown. So idle connections are closed before servers usually do it, after 2 to 75 seconds.
const IDLE_MS = 1_000;

export function createCarrierRequests(
  { timeoutMs, allowPrivate, answerBytesMax }: CarrierRequestParts,
  clock: Pick<Clock, 'timeout'>,
): CarrierRequests {
  const agentOptions = { keepAlive: true, timeout: IDLE_MS };
  const agents = { plain: new HttpAgent(agentOptions), tls: new HttpsAgent(agentOptions) };

  /** The address is checked at connect time, because a name may resolve to another each time. */
  const checkOf = (tls: boolean) => (address: string) => {
    const fault = allowPrivate ? null : faultOf(address, tls);
    if (fault !== null) throw new Refused(fault);
  };

  return {
    send(url, request, signal) {
      const { path, ...peer } = peerOf(url);
      return callHttp(clock, peer, {
        path,
        agent: peer.tls ? agents.tls : agents.plain,
        timeoutMs,
        answerBytesMax,
        beyond: 'cut', // the status says enough
        check: checkOf(peer.tls),
        ...request,
        ...(signal && { signal }),
      });
    },
    reach: (url) => connects(url, checkOf(url.protocol === 'https:'), timeoutMs),
    close() {
      agents.plain.destroy();
      agents.tls.destroy();
    },
  };
}

/** Why an address must not be used without permission; null if it may. */
function faultOf(address: string, tls: boolean): string | null {
  if (!isPublicAddress(address)) return 'the address is not public, and allowPrivate is off';
  return tls ? null : 'plain http is refused, because allowPrivate is off';
}

/** What can be said of a URL before its name is resolved. */
export function urlFault(url: URL): string | null {
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  const tls = url.protocol === 'https:';
  if (isIP(host) > 0) return faultOf(host, tls);
  if (/(?:^|\.)localhost\.?$/i.test(host)) return 'the address is not public, and allowPrivate is off';
  return tls ? null : 'plain http is refused, because allowPrivate is off';
}

/** Only connects: an unsigned request could alarm the gateway, and a signed one be a message. */
function connects(target: URL, check: (address: string) => void, timeoutMs: number): Promise<string | null> {
  const isEncrypted = target.protocol === 'https:';
  return new Promise((resolve) => {
    try {
      const { host, port } = peerOf(target);
      if (isIP(host) > 0) check(host);
      const where = { host, port, lookup: checkedLookup(check), timeout: timeoutMs };
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

/** The result of a request without an answer. */
export function unansweredResult(
  outcome: Exclude<HttpOutcome, { kind: 'answered' }>,
  isStopped: boolean,
): SubmitResult {
  const reason = isStopped ? 'stopped' : outcome.reason;
  return outcome.kind === 'unsent'
    ? { kind: 'temporary', reason, connectorDown: !isStopped }
    : { kind: 'unknown-outcome', reason };
}

export type StatusMeaning = 'accepted' | 'permanent' | 'temporary' | 'throttled' | 'down' | 'unknown';

/** Statuses that concern the connector, not the message: a wrong secret or a wrong address. */
const NOT_CONFIGURED = new Set([401, 403, 404, 405, 407, 410, 415]);

/**
 * What a status means by itself. 2xx: the carrier has the part. 408, 425, 429 and 503: it does not
 * take the part now. Other 5xx: a proxy may have lost the answer, so the outcome is unknown. Other
 * 4xx: it never takes the part.
 */
export function meaningOfStatus(status: number): StatusMeaning {
  if (status >= 200 && status < 300) return 'accepted';
  if (status === 429) return 'throttled';
  if (status === 503 || status === 408 || status === 425) return 'temporary';
  if (status >= 500 || status < 200) return 'unknown';
  return status < 400 || NOT_CONFIGURED.has(status) ? 'down' : 'permanent';
}

const RETRY_MS_MAX = 3_600_000;

/** Reads a Retry-After in seconds; undefined for any other text. */
export const retryAfterMsOf = (seconds: string | undefined): number | undefined =>
  /^\d{1,6}$/.test(seconds ?? '') ? Math.min(Number(seconds) * 1_000, RETRY_MS_MAX) : undefined;
