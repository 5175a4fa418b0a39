import type { SubmitResult } from '../connector.ts';

/**
 * What an answer of sendsms says. `no route` has two meanings: Kannel's lists refuse the number, or
 * the carrier is away. Only a callback tells which.
 */
export function readAnswer(status: number, body: string): SubmitResult | 'no route' {
  const words = wordsOf(body);
  if (status === 202) return { kind: 'accepted', gatewayId: null };
  if (status === 403 && /^Not routable\b/.test(words)) return 'no route';
  if (status === 503) return { kind: 'temporary', reason: 'the queue of Kannel is full', retryAfterMs: 5_000 };
  // Without a body it is no answer of sendsms: smsbox did not understand the request.
  if (status === 400 && words !== '') return { kind: 'permanent', reason: words };
  // A proxy between us and smsbox does not know whether smsbox took it.
  if (status < 400 || status >= 500) return { kind: 'unknown-outcome', reason: `status ${status}` };
  // Wrong password, user, address or path. That is no verdict on the message.
  return {
    kind: 'temporary',
    reason: words === '' ? `status ${status}` : words,
    retryAfterMs: 60_000,
    connectorDown: true,
  };
}

/** Kannel's words are ASCII. No digits are kept that could be a phone number. */
const wordsOf = (body: string): string =>
  body
    .trim()
    .slice(0, 120)
    .replace(/[^\x20-\x7e]/g, '?')
    .replace(/\d{4,}/g, '…');
