import { z } from 'zod';
import type { Clock } from '../../base/clock.ts';
import type { HttpOutcome } from '../../base/http-client.ts';
import { Problem } from '../../base/problem.ts';
import { createSemaphore } from '../../base/semaphore.ts';
import {
  isWebhookSecret,
  refusalOfFields,
  refusalOfSignature,
  signedFields,
} from '../../domain/webhooks/standard-webhooks.ts';
import { createCarrierRequests, meaningOfStatus, retryAfterMsOf, unansweredResult } from '../carrier-requests.ts';
import type { CarrierEvents, Connector, Submission, SubmitResult } from '../connector.ts';
import { submitWithin } from '../submit-within.ts';
import { readCallback } from './incoming.ts';

/**
 * A connector to a carrier that speaks JSON, signed by Standard Webhooks. Each part is one POST to
 * the carrier's URL, and the carrier posts receipts and incoming messages to us. See
 * docs/CONNECTORS.md.
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
const ANSWER_BYTES_MAX = 16_384;

export function createCallback(name: string, config: CallbackConfig, { clock }: { readonly clock: Clock }): Connector {
  const { now } = clock;
  const secrets = config.oldSecret === undefined ? [config.secret] : [config.secret, config.oldSecret];
  const requests = createCarrierRequests({ ...config, answerBytesMax: ANSWER_BYTES_MAX }, clock);
  const url = new URL(config.url);
  const unanswered = createSemaphore(() => UNANSWERED_MAX);
  let events: CarrierEvents | undefined;

  async function post(part: Submission, signal: AbortSignal): Promise<SubmitResult> {
    const body = JSON.stringify(submissionBody(part, now()));
    const fields = signedFields(secrets, { id: part.attemptId, at: now(), body });
    const headers = { ...fields, 'Content-Type': 'application/json' };
    const outcome = await requests.send(url, { method: 'POST', headers, body }, signal);
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
      requests.close();
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
      const fault = await requests.reach(url);
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

const CODE = /^[\w.:-]{1,64}$/;
const GATEWAY_ID_LENGTH_MAX = 200;

function resultOf(outcome: HttpOutcome, isStopped: boolean): SubmitResult {
  if (outcome.kind !== 'answered') return unansweredResult(outcome, isStopped);
  const { status, headers, body } = outcome;
  const answer = objectOf(body.toString('utf8'));
  const code = typeof answer.code === 'string' && CODE.test(answer.code) ? ` ${answer.code}` : '';
  const reason = `HTTP ${status}${code}`;
  const meaning = meaningOfStatus(status);
  if (meaning === 'accepted') {
    const id = answer.gatewayId;
    const isId = typeof id === 'string' && id !== '' && id.length <= GATEWAY_ID_LENGTH_MAX;
    return { kind: 'accepted', gatewayId: isId ? id : null };
  }
  if (meaning === 'unknown') return { kind: 'unknown-outcome', reason };
  if (meaning === 'permanent') return { kind: 'permanent', reason };
  if (meaning === 'down') return { kind: 'temporary', reason, connectorDown: true };
  const retryAfterMs = retryAfterMsOf(headers['retry-after']);
  return { kind: 'temporary', reason, ...(retryAfterMs !== undefined && { retryAfterMs }) };
}

function objectOf(body: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(body);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
