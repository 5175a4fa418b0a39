import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { connect, isIP } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { z } from 'zod';
import type { Clock } from '../base/clock.ts';
import { callHttp, checkedLookup, type HttpOutcome, peerOf, Refused, reasonOf } from '../base/http-client.ts';
import { Problem } from '../base/problem.ts';
import { isPublicAddress } from '../base/public-address.ts';
import { createSemaphore } from '../base/semaphore.ts';
import {
  isWebhookSecret,
  refusalOfFields,
  refusalOfSignature,
  signedFields,
} from '../domain/webhooks/standard-webhooks.ts';
import { readCallback } from './callback-incoming.ts';
import type { CarrierEvents, Connector, Submission, SubmitResult } from './connector.ts';
import { submitWithin } from './submit-within.ts';

/**
 * A connector to a carrier that speaks JSON, signed by Standard Webhooks. Each part is one POST to
 * the carrier's URL, and the carrier posts receipts and incoming messages to us. See
 * docs/GATEWAYS.md.
 */
const secret = z.string().max(200).refine(isWebhookSecret, 'expected whsec_ and 16 to 64 bytes in base64');

export const callbackConfig = z.strictObject({
  url: z
    .url({ protocol: /^https?$/, error: 'expected a URL of https or http' })
    .max(2_000)
    .describe('URL to which each part is posted.'),
  secret: secret.describe('Secret that signs requests in both directions.'),
  oldSecret: secret.optional().describe('The previous secret, as long as the carrier still uses it.'),
  timeoutMs: z.int().min(100).max(60_000).default(15_000).describe('Milliseconds to wait for an answer.'),
  allowPrivate: z.boolean().default(false).describe('Allows private and loopback addresses, and plain http.'),
});
export type CallbackConfig = z.output<typeof callbackConfig>;

/** The most unanswered requests at a time, each on a connection of its own. */
const UNANSWERED_MAX = 64;

export function createCallback(name: string, config: CallbackConfig, { clock }: { readonly clock: Clock }): Connector {
  const { now } = clock;
  const secrets = config.oldSecret === undefined ? [config.secret] : [config.secret, config.oldSecret];
  const poster = createPoster(config, clock);
  const unanswered = createSemaphore(() => UNANSWERED_MAX);
  let events: CarrierEvents | undefined;

  async function post(part: Submission, signal: AbortSignal): Promise<SubmitResult> {
    const body = JSON.stringify(submissionBody(part, now()));
    const fields = signedFields(secrets, { id: part.attemptId, at: now(), body });
    const outcome = await poster.post({ ...fields, 'Content-Type': 'application/json' }, body, signal);
    return resultOf(outcome, signal.aborted);
  }

  return {
    name,
    kind: 'callback',
    async start(given) {
      events = given;
    },
    submit: (parts, signal) =>
      Promise.all(parts.map((part) => submitWithin(unanswered, part, signal, () => post(part, signal)))),
    async stop() {
      poster.close();
    },
    async handle(request) {
      const unread = refusalOfFields(request.headers, now());
      if (unread !== null) throw new Problem('denied', unread);
      const body = new Uint8Array(await request.arrayBuffer());
      const refused = refusalOfSignature(secrets, request.headers, body, now());
      if (refused !== null) throw new Problem('denied', refused);
      if (request.method !== 'POST') return refusal(405, 'expected POST', { Allow: 'POST' });
      if (!events) return refusal(503, 'the connector is not started', { 'Retry-After': '5' });
      const read = readCallback(body, { connector: name, id: request.headers.get('webhook-id') ?? '', now: now() });
      if ('errors' in read) return refusal(400, 'the body does not match the documentation', {}, read.errors);
      try {
        const told = [
          ...read.receipts.map((receipt) => events?.receipt(receipt)),
          ...read.messages.map((message) => events?.incoming(message)),
        ];
        await allOf(told);
      } catch (thrown) {
        if (!(thrown instanceof Problem) || thrown.kind !== 'unavailable') throw thrown;
        return refusal(503, 'the database is not available', { 'Retry-After': '5' });
      }
      return new Response(null, { status: 204 });
    },
    async probe() {
      const fault = await poster.reach();
      return fault === null ? [] : [`The address of the connector ${name} cannot be reached: ${fault}.`];
    },
  };
}

/** Waits for all promises, even if one of them rejects. */
async function allOf(told: readonly (Promise<void> | undefined)[]): Promise<void> {
  const results = await Promise.allSettled(told);
  const failed = results.find((each) => each.status === 'rejected');
  if (failed) throw failed.reason;
}

const refusal = (
  status: number,
  detail: string,
  fields: Readonly<Record<string, string>> = {},
  errors: readonly string[] = [],
): Response =>
  new Response(JSON.stringify({ status, detail, ...(errors.length > 0 && { errors }) }), {
    status,
    headers: { 'Content-Type': 'application/problem+json', ...fields },
  });

const instantOf = (at: number): string => new Date(at).toISOString();

const submissionBody = (part: Submission, now: number) => ({
  type: 'message.submit',
  timestamp: instantOf(now),
  data: {
    attemptId: part.attemptId,
    sender: part.sender,
    recipient: part.recipient,
    text: part.text,
    encoding: part.encoding,
    udh: part.udh === null ? null : Buffer.from(part.udh).toString('hex'),
    priority: part.priority,
    validUntil: part.validUntil === null ? null : instantOf(part.validUntil),
  },
});

const RETRY_MS_MAX = 3_600_000;
const CODE = /^[\w.:-]{1,64}$/;
const GATEWAY_ID_LENGTH_MAX = 200;
/** Statuses that concern the connector, not the message: a wrong secret or a wrong address. */
const NOT_CONFIGURED = new Set([401, 403, 404, 405, 407, 410, 415]);

/**
 * 2xx: the carrier has the part. 408, 425, 429 and 503: it does not take the part now. Other 5xx: a
 * proxy may have lost the answer, so the outcome is unknown. Other 4xx: it never takes the part.
 */
function resultOf(outcome: HttpOutcome, isStopped: boolean): SubmitResult {
  if (outcome.kind !== 'answered') {
    const reason = isStopped ? 'stopped' : outcome.reason;
    return outcome.kind === 'unsent'
      ? { kind: 'temporary', reason, connectorDown: !isStopped }
      : { kind: 'unknown-outcome', reason };
  }
  const { status, headers, body } = outcome;
  const answer = objectOf(body.toString('utf8'));
  const code = typeof answer.code === 'string' && CODE.test(answer.code) ? ` ${answer.code}` : '';
  const reason = `HTTP ${status}${code}`;
  if (status >= 200 && status < 300) {
    const id = answer.gatewayId;
    const isId = typeof id === 'string' && id !== '' && id.length <= GATEWAY_ID_LENGTH_MAX;
    return { kind: 'accepted', gatewayId: isId ? id : null };
  }
  if (status === 429 || status === 503 || status === 408 || status === 425) {
    const seconds = headers['retry-after'] ?? '';
    const wait = /^\d{1,6}$/.test(seconds) ? { retryAfterMs: Math.min(Number(seconds) * 1_000, RETRY_MS_MAX) } : {};
    return { kind: 'temporary', reason, ...wait };
  }
  if (status >= 500) return { kind: 'unknown-outcome', reason };
  if (status < 400 || NOT_CONFIGURED.has(status)) return { kind: 'temporary', reason, connectorDown: true };
  return { kind: 'permanent', reason };
}

function objectOf(body: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(body);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

/**
 * The requests of one connector to its carrier. If anything was sent, the carrier may have the
 * message even if no answer came.
 */
interface Poster {
  /** Never rejects. Redirects are not followed. */
  post(fields: Readonly<Record<string, string>>, body: string, signal: AbortSignal): Promise<HttpOutcome>;
  /** Connects, with TLS if the URL has it, and sends nothing. Returns null, or why it failed. */
  reach(): Promise<string | null>;
  close(): void;
}

const ANSWER_BYTES_MAX = 16_384;
// If the carrier closes a connection at the moment of a request, the outcome of that request is
// unknown. So idle connections are closed before servers usually do it, after 2 to 75 seconds.
const IDLE_MS = 1_000;

function createPoster({ url, timeoutMs, allowPrivate }: CallbackConfig, clock: Pick<Clock, 'timeout'>): Poster {
  const target = new URL(url);
  const { path, ...peer } = peerOf(target);
  const agentOptions = { keepAlive: true, timeout: IDLE_MS };
  const agent = peer.tls ? new HttpsAgent(agentOptions) : new HttpAgent(agentOptions);

  /** The address is checked at connect time, because a name may resolve to another each time. */
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
        beyond: 'cut', // the status says enough
        check,
      }),
    reach: () => connects(target, check, timeoutMs),
    close: () => agent.destroy(),
  };
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
