import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { callHttp } from '../../base/http-client.ts';
import { createSemaphore } from '../../base/semaphore.ts';
import type { CarrierEvents, Connector, Submission, SubmitResult } from '../connector.ts';
import { submitWithin } from '../submit-within.ts';
import { createCallbacks } from './callbacks.ts';
import { adminOf, type KannelDependencies, type KannelSendsmsConfig } from './config.ts';
import { RECEIPT_MASK } from './receipts.ts';
import { createRefusals } from './refusals.ts';
import { probeSendsms } from './sendsms-probe.ts';
import { askStatus } from './status.ts';
import { isRefusal, minutesUntil, type Prepared, prepare } from './submission.ts';

/** The documented interface of Kannel: requests to smsbox's sendsms, and callbacks from smsbox. */

/**
 * smsbox closes idle connections after 60 s. A request on a connection that is just closed would
 * have an unknown outcome, so they are closed earlier.
 */
const IDLE_CONNECTION_MS = 30_000;
const ANSWER_BYTES_MAX = 64 * 1024;
/** A port that refused is left alone this long, because a request may crash a starting smsbox. */
const AWAY_MS = 1_000;

export function createKannelSendsms(name: string, config: KannelSendsmsConfig, deps: KannelDependencies): Connector {
  const agentOptions = { keepAlive: true, timeout: IDLE_CONNECTION_MS };
  const agent = config.tls ? new HttpsAgent(agentOptions) : new HttpAgent(agentOptions);
  const unanswered = createSemaphore(() => config.window);
  const refusals = createRefusals(config, deps);
  const stopping = new AbortController();
  const smsbox = createAvailability(config, deps, stopping.signal);
  let events: CarrierEvents | null = null;

  async function submitOne(part: Submission, signal: AbortSignal): Promise<SubmitResult> {
    const prepared = prepare(part, config, deps.now());
    if (isRefusal(prepared)) return prepared;
    const send = () => refusals.during(part.attemptId, signal, () => posted(part, prepared, signal));
    return submitWithin(unanswered, part, signal, send, async () =>
      (await smsbox.mayBeAsked()) ? null : awayResult('smsbox does not answer'),
    );
  }

  async function posted(part: Submission, prepared: Prepared, signal: AbortSignal): Promise<SubmitResult | 'no route'> {
    const outcome = await callHttp(deps, config, { ...requestOf(config, part, prepared, deps.now()), agent, signal });
    if (outcome.kind === 'answered') return readAnswer(outcome.status, outcome.body.toString('utf8'));
    if (outcome.kind === 'unanswered') return { kind: 'unknown-outcome', reason: outcome.reason };
    smsbox.pause();
    return awayResult(outcome.reason);
  }

  return {
    name,
    kind: 'kannel-sendsms',
    async start(receiver) {
      events = receiver;
    },
    submit: (parts, signal) =>
      Promise.all(parts.map((part) => submitOne(part, AbortSignal.any([signal, stopping.signal])))),
    async stop() {
      stopping.abort();
      agent.destroy();
      events = null;
    },
    handle: createCallbacks({
      ...deps,
      name,
      secret: config.callbackSecret,
      events: () => events,
      explainsRefusal: refusals.explains,
    }),
    probe: () => probeSendsms(config, deps),
  };
}

/** After a refused connection, smsbox is left alone for AWAY_MS; then the admin port is asked. */
function createAvailability(config: KannelSendsmsConfig, deps: KannelDependencies, stopping: AbortSignal) {
  const admin = adminOf(config);
  let away: 'no' | 'paused' | 'to be looked at' = 'no';

  function pause(): void {
    if (away === 'paused') return;
    away = 'paused';
    deps.sleep(AWAY_MS, stopping).then(() => {
      away = 'to be looked at';
    });
  }

  return {
    pause,
    async mayBeAsked(): Promise<boolean> {
      if (away === 'no') return true;
      if (away === 'paused') return false;
      if (admin) {
        const status = await askStatus(deps, admin);
        if (typeof status === 'string' || status.boxes.length === 0) {
          pause();
          return false;
        }
      }
      away = 'no';
      return true;
    },
  };
}

function requestOf(
  config: KannelSendsmsConfig,
  part: Submission,
  { sender, coding, validUntil }: Prepared,
  now: number,
) {
  return {
    method: 'POST' as const,
    path: config.path,
    headers: {
      'Content-Type': 'text/plain; charset=UTF-8',
      'X-Kannel-Username': config.username,
      'X-Kannel-Password': config.password,
      ...(config.smscId !== undefined && { 'X-Kannel-SMSC': config.smscId }),
      'X-Kannel-From': sender,
      'X-Kannel-To': part.recipient,
      'X-Kannel-Coding': String(coding),
      'X-Kannel-DLR-Mask': String(RECEIPT_MASK),
      'X-Kannel-DLR-URL': receiptUrl(config, part.attemptId),
      'X-Kannel-Priority': String(part.priority),
      'X-Kannel-Validity': String(part.validUntil === null ? config.validityMinutes : minutesUntil(validUntil, now)),
      ...(part.udh && { 'X-Kannel-UDH': Buffer.from(part.udh).toString('hex').toUpperCase() }),
    },
    body: Buffer.from(part.text, 'utf8'),
    timeoutMs: config.answerTimeoutMs,
    answerBytesMax: ANSWER_BYTES_MAX,
  };
}

const awayResult = (reason: string): SubmitResult => ({
  kind: 'temporary',
  reason,
  retryAfterMs: AWAY_MS,
  connectorDown: true,
});

/** Kannel replaces each % and its letter. The texts that we insert have no percent sign. */
export const receiptUrl = (config: KannelSendsmsConfig, id: string): string =>
  `${config.callbackUrl.replace(/\/$/, '')}/${config.callbackSecret}/dlr?id=${id}&d=%d&a=%A&f=%F&e=%I&t=%T&s=%i`;

/**
 * Reads an answer of sendsms. `no route` has two meanings: Kannel's lists refuse the number, or the
 * carrier is away. Only a callback tells which of them applies.
 */
export function readAnswer(status: number, body: string): SubmitResult | 'no route' {
  const words = wordsOf(body);
  if (status === 202) return { kind: 'accepted', gatewayId: null };
  if (status === 403 && /^Not routable\b/.test(words)) return 'no route';
  if (status === 503) return { kind: 'temporary', reason: 'the queue of Kannel is full', retryAfterMs: 5_000 };
  // An answer without a body is not from sendsms: smsbox did not understand the request.
  if (status === 400 && words !== '') return { kind: 'permanent', reason: words };
  // A proxy between us and smsbox does not know whether smsbox took the part.
  if (status < 400 || status >= 500) return { kind: 'unknown-outcome', reason: `status ${status}` };
  // The password, the user, the address or the path is wrong, which says nothing about the message.
  return {
    kind: 'temporary',
    reason: words === '' ? `status ${status}` : words,
    retryAfterMs: 60_000,
    connectorDown: true,
  };
}

/** Kannel's words are ASCII. Digits that could be a phone number are replaced. */
const wordsOf = (body: string): string =>
  body
    .trim()
    .slice(0, 120)
    .replace(/[^\x20-\x7e]/g, '?')
    .replace(/\d{4,}/g, '…');
