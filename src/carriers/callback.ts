import { z } from 'zod';
import type { Clock } from '../base/clock.ts';
import type { HttpOutcome } from '../base/http-client.ts';
import { Problem } from '../base/problem.ts';
import { createSemaphore } from '../base/semaphore.ts';
import {
  isWebhookSecret,
  refusalOfFields,
  refusalOfSignature,
  signedFields,
} from '../domain/webhooks/standard-webhooks.ts';
import { readCallback } from './callback-incoming.ts';
import { createPoster } from './callback-request.ts';
import type { CarrierEvents, Connector, Submission, SubmitResult } from './connector.ts';
import { submitWithin } from './submit-within.ts';

/**
 * A carrier behind signed JSON, by Standard Webhooks. Each part is one POST to its URL. It posts
 * receipts and incoming messages to us. See docs/GATEWAYS.md.
 */
const secret = z.string().max(200).refine(isWebhookSecret, 'expected whsec_ and 16 to 64 bytes in base64');

export const callbackConfig = z.strictObject({
  url: z
    .url({ protocol: /^https?$/, error: 'expected a URL of https or http' })
    .max(2_000)
    .describe('Where each part is posted.'),
  secret: secret.describe('Signs requests in both directions.'),
  oldSecret: secret.optional().describe('The secret before, while the carrier still uses it.'),
  timeoutMs: z.int().min(100).max(60_000).default(15_000).describe('How long an answer may take.'),
  allowPrivate: z.boolean().default(false).describe('Allows private and loopback addresses, and plain http.'),
});
export type CallbackConfig = z.output<typeof callbackConfig>;

/** Requests without an answer at a time, each on a connection of its own. */
const WINDOW = 64;

export function createCallback(name: string, config: CallbackConfig, { clock }: { readonly clock: Clock }): Connector {
  const { now } = clock;
  const secrets = config.oldSecret === undefined ? [config.secret] : [config.secret, config.oldSecret];
  const poster = createPoster(config, clock);
  const window = createSemaphore(() => WINDOW);
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
      Promise.all(parts.map((part) => submitWithin(window, part, signal, () => post(part, signal)))),
    async stop() {
      poster.close();
    },
    async handle(request) {
      const unread = refusalOfFields(request.headers, now());
      if (unread !== null) throw new Problem('denied', unread);
      const body = new Uint8Array(await request.arrayBuffer());
      const refused = refusalOfSignature(secrets, request.headers, body, now());
      if (refused !== null) throw new Problem('denied', refused);
      if (request.method !== 'POST') return refusal(405, 'POST is expected', { Allow: 'POST' });
      if (!events) return refusal(503, 'the connector is not started', { 'Retry-After': '5' });
      const read = readCallback(body, { connector: name, id: request.headers.get('webhook-id') ?? '', now: now() });
      if ('errors' in read) return refusal(400, 'the body is not as documented', {}, read.errors);
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

/** Waits for all of them, also where one fails. */
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
/** Answers about the connector, not about the message: wrong secret, wrong address. */
const NOT_CONFIGURED = new Set([401, 403, 404, 405, 407, 410, 415]);

/**
 * 2xx: taken. 429 and 503: not taken now. Another 5xx: a proxy may have lost the answer, so nobody
 * knows. Other 4xx: never taken.
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
