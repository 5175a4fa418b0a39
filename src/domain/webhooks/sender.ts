import type { Clock } from '../../base/clock.ts';
import { callHttp, peerOf, Refused, type Resolve } from '../../base/http-client.ts';
import { networkList } from '../../base/networks.ts';
import { isPublicAddress } from '../../base/public-address.ts';

/**
 * Sends one POST to an address that somebody else has chosen. The address is checked after its name
 * was resolved, and the connection goes to the checked address. Redirects are not followed.
 */
export interface SentEvent {
  /** The status of the answer; null without one. */
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
  /** Replaced by tests. */
  readonly resolve?: Resolve;
}

export type SendEvent = (
  url: string,
  fields: Readonly<Record<string, string>>,
  body: string,
  signal: AbortSignal,
) => Promise<SentEvent>;

/** The answer is ignored. This much of it is read, so that the connection ends in order. */
const ANSWER_BYTES_MAX = 65_536;

export function createEventSender({ allowedNetworks, timeoutMs, clock, resolve }: SenderSettings): SendEvent {
  const isAllowed = networkList(allowedNetworks);

  function check(address: string, isEncrypted: boolean): void {
    if (isAllowed(address)) return;
    if (!isPublicAddress(address))
      throw new Refused('the address is not public; COLUMBA_WEBHOOK_NETWORKS can allow it');
    if (!isEncrypted) throw new Refused('plain http is refused for a public address');
  }

  return async (url, fields, body, signal) => {
    const target = URL.parse(url);
    if (!target) return { status: null, error: 'ERR_INVALID_URL', retryAfter: null };
    const { path, ...peer } = peerOf(target);
    const outcome = await callHttp(clock, peer, {
      method: 'POST',
      path,
      headers: fields,
      body,
      agent: false,
      timeoutMs,
      signal,
      answerBytesMax: ANSWER_BYTES_MAX,
      beyond: 'ignore',
      check: (address) => check(address, peer.tls),
      ...(resolve && { resolve }),
    });
    if (outcome.kind !== 'answered') return { status: null, error: outcome.reason, retryAfter: null };
    return { status: outcome.status, error: null, retryAfter: outcome.headers['retry-after'] ?? null };
  };
}
