import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { BoundedMap } from '../../bounded-map.ts';
import type { CarrierEvents, Connector, Submission, SubmitResult } from '../connector.ts';
import { createCallbacks } from './callbacks.ts';
import type { KannelDependencies, KannelSendsmsConfig } from './config.ts';
import { callHttp, type HttpOutcome } from './http-call.ts';
import { RECEIPT_MASK, type ReadReceipt } from './receipts.ts';
import { readAnswer } from './sendsms-answer.ts';
import { probeSendsms } from './sendsms-probe.ts';
import { askStatus, isOnline } from './status.ts';
import { isRefusal, minutesUntil, type Prepared, prepare } from './submission.ts';
import { createWindow } from './window.ts';

/** The documented way to Kannel: requests to smsbox's sendsms, and callbacks from smsbox. */

/** smsbox closes idle connections after 60 s. A request on a closed one would be unsure. */
const IDLE_CONNECTION_MS = 30_000;
const ANSWER_BYTES_MAX = 64 * 1024;
/** smsbox may crash where a request comes while it starts. So a refused port is left alone. */
const AWAY_MS = 1_000;
/** The callback that says why there is no route comes within milliseconds of the answer 403. */
const REASON_WAIT_MS = 1_000;
const REFUSED_MAX = 10_000;

/** A submission without an answer, and what its callbacks already said. */
interface InFlight {
  readonly answered: Promise<boolean>;
  readonly refusal: Promise<ReadReceipt>;
  refuse(receipt: ReadReceipt): void;
  /** True where Kannel did not take it. */
  answer(isRefused: boolean): void;
}

export function createKannelSendsms(name: string, config: KannelSendsmsConfig, deps: KannelDependencies): Connector {
  const agentOptions = { keepAlive: true, timeout: IDLE_CONNECTION_MS };
  const agent = config.tls ? new HttpsAgent(agentOptions) : new HttpAgent(agentOptions);
  const window = createWindow(() => config.window);
  const inFlight = new Map<string, InFlight>();
  const refused = new BoundedMap<string, true>(REFUSED_MAX);
  const stopping = new AbortController();
  let events: CarrierEvents | null = null;
  let away: 'no' | 'resting' | 'to be looked at' = 'no';

  /** True where the receipt says why sendsms refused. The submission itself was told so. */
  async function isReasonOfRefusal(attemptId: string, receipt: ReadReceipt): Promise<boolean> {
    if (!receipt.isRefusal) return false;
    const submission = inFlight.get(attemptId);
    if (submission === undefined) return refused.has(attemptId);
    submission.refuse(receipt);
    // It outran the answer. Only the answer tells whether Kannel took the submission.
    return submission.answered;
  }

  async function submitOne(part: Submission, signal: AbortSignal): Promise<SubmitResult> {
    const prepared = prepare(part, config, deps.now());
    if (isRefusal(prepared)) return prepared;
    const leave = await window.enter(signal);
    if (leave === null) return { kind: 'temporary', reason: 'aborted before it was sent' };
    const submission = createInFlight();
    inFlight.set(part.attemptId, submission);
    try {
      if (!(await smsboxMayBeAsked())) return awayResult('smsbox does not answer');
      const outcome = await callHttp(config, { ...requestOf(part, prepared), agent, signal });
      if (outcome.kind === 'unsent') rest();
      const result = await judged(outcome, submission, signal);
      if (result.kind === 'temporary' || result.kind === 'permanent') refused.set(part.attemptId, true);
      return result;
    } finally {
      submission.answer(refused.has(part.attemptId));
      inFlight.delete(part.attemptId);
      leave();
    }
  }

  async function judged(outcome: HttpOutcome, { refusal }: InFlight, signal: AbortSignal): Promise<SubmitResult> {
    if (outcome.kind === 'unsent') return awayResult(outcome.reason);
    if (outcome.kind === 'unanswered') return { kind: 'unsure', reason: outcome.reason };
    const answer = readAnswer(outcome.status, outcome.body.toString('utf8'));
    if (answer !== 'no route') return answer;
    const reason = await Promise.race([refusal, deps.sleep(REASON_WAIT_MS, signal)]);
    if (reason && !reason.noRoute) return { kind: 'permanent', reason: reason.detail ?? 'refused by Kannel' };
    return { kind: 'temporary', reason: 'no route', retryAfterMs: 30_000, connectorDown: !(await isCarrierOnline()) };
  }

  /** With a carrier online only this number has no route. Without an admin port nobody knows. */
  async function isCarrierOnline(): Promise<boolean> {
    if (!config.admin) return false;
    const status = await askStatus(config.admin);
    return typeof status !== 'string' && isOnline(status, config.smscId);
  }

  async function smsboxMayBeAsked(): Promise<boolean> {
    if (away === 'no') return true;
    if (away === 'resting') return false;
    if (config.admin) {
      const status = await askStatus(config.admin);
      if (typeof status === 'string' || status.boxes.length === 0) {
        rest();
        return false;
      }
    }
    away = 'no';
    return true;
  }

  function rest(): void {
    if (away === 'resting') return;
    away = 'resting';
    deps.sleep(AWAY_MS, stopping.signal).then(() => {
      away = 'to be looked at';
    });
  }

  function requestOf(part: Submission, { sender, coding, validUntil }: Prepared) {
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
        'X-Kannel-Validity': String(minutesUntil(validUntil, deps.now())),
        ...(part.udh && { 'X-Kannel-UDH': Buffer.from(part.udh).toString('hex').toUpperCase() }),
      },
      body: Buffer.from(part.text, 'utf8'),
      timeoutMs: config.answerTimeoutMs,
      answerBytesMax: ANSWER_BYTES_MAX,
    };
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
      isRefusal: isReasonOfRefusal,
    }),
    probe: () => probeSendsms(config, deps),
  };
}

const awayResult = (reason: string): SubmitResult => ({
  kind: 'temporary',
  reason,
  retryAfterMs: AWAY_MS,
  connectorDown: true,
});

/** Kannel replaces each % and its letter. What we put in has no percent sign. */
export const receiptUrl = (config: KannelSendsmsConfig, id: string): string =>
  `${config.callbackUrl.replace(/\/$/, '')}/${config.callbackSecret}/dlr?id=${id}&d=%d&a=%A&f=%F&e=%I&t=%T&s=%i`;

function createInFlight(): InFlight {
  const answered = Promise.withResolvers<boolean>();
  const refusal = Promise.withResolvers<ReadReceipt>();
  return { answered: answered.promise, refusal: refusal.promise, refuse: refusal.resolve, answer: answered.resolve };
}
