import { createHmac, timingSafeEqual } from 'node:crypto';

/**
 * Signatures by Standard Webhooks 1.0: HMAC-SHA256 over `{id}.{timestamp}.{body}`, where the
 * timestamp counts seconds since 1970.
 */

/** A receiver refuses other timestamps, so that a recorded request cannot be sent again later. */
export const TOLERANCE_SECONDS = 300;

const PREFIX = 'whsec_';
/** The specification recommends 24 to 64 bytes, but a published vector has 18. */
const KEY_BYTES_MIN = 16;
const KEY_BYTES_MAX = 64;
/** More signatures than any rotation needs; each one costs a comparison. */
const SIGNATURES_MAX = 10;
const ID_LENGTH_MAX = 256;

/** What is signed, besides the body. */
export interface WebhookMessage {
  /** The id, which is the same for every attempt to deliver the message. It has no full stop. */
  readonly id: string;
  /** Milliseconds; the signature carries whole seconds. */
  readonly at: number;
  readonly body: string | Uint8Array;
}

/** Where the three header fields are read from, such as a `Headers`. */
export interface HeaderFields {
  get(name: string): string | null | undefined;
}

/** The key of a secret `whsec_…`; null if the text is no such secret. */
function webhookKey(secret: string): Buffer | null {
  const text = secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : '';
  if (text.length > 2 * KEY_BYTES_MAX || !/^[A-Za-z0-9+/]+={0,2}$/.test(text)) return null;
  const key = Buffer.from(text, 'base64');
  return key.length >= KEY_BYTES_MIN && key.length <= KEY_BYTES_MAX ? key : null;
}

export const isWebhookSecret = (secret: string): boolean => webhookKey(secret) !== null;

/**
 * The header fields of a signed request. It has one signature for each secret, so that two secrets
 * are valid during a rotation. Throws a TypeError for a malformed secret.
 */
export function signedFields(secrets: readonly string[], { id, at, body }: WebhookMessage): Record<string, string> {
  const timestamp = String(Math.floor(at / 1_000));
  return {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': secrets
      .map((secret) => `v1,${digest(keyOf(secret), id, timestamp, body).toString('base64')}`)
      .join(' '),
  };
}

/** Why a request is refused whatever its body is; null if its body is worth receiving. */
export function refusalOfFields(fields: HeaderFields, now: number): string | null {
  const { id, timestamp, signatures } = signedWith(fields);
  if (!id || !timestamp || !signatures) {
    return 'webhook-id, webhook-timestamp and webhook-signature are required';
  }
  if (id.length > ID_LENGTH_MAX || id.includes('.')) return 'the webhook-id is not valid';
  if (!/^\d{1,12}$/.test(timestamp)) return 'the webhook-timestamp is not a number of seconds';
  const ahead = Number(timestamp) - Math.floor(now / 1_000);
  if (ahead < -TOLERANCE_SECONDS) return 'the webhook-timestamp is too old';
  if (ahead > TOLERANCE_SECONDS) return 'the webhook-timestamp is in the future';
  const given = signatures.split(' ', SIGNATURES_MAX + 1);
  if (given.length > SIGNATURES_MAX) return 'there are too many signatures';
  return given.some((signature) => signature.startsWith('v1,')) ? null : 'no signature is valid';
}

/**
 * Why a request is refused; null if one of its signatures is valid for one of the secrets. The
 * reason never holds a secret.
 */
export function refusalOfSignature(
  secrets: readonly string[],
  fields: HeaderFields,
  body: string | Uint8Array,
  now: number,
): string | null {
  const refused = refusalOfFields(fields, now);
  if (refused !== null) return refused;
  const { id, timestamp, signatures } = signedWith(fields);
  const expected = secrets.map((secret) => digest(keyOf(secret), id, timestamp, body));
  const matches = signatures.split(' ').some((signature) => {
    const bytes = signature.startsWith('v1,') ? Buffer.from(signature.slice(3), 'base64') : null;
    return bytes !== null && expected.some((each) => each.length === bytes.length && timingSafeEqual(each, bytes));
  });
  return matches ? null : 'no signature is valid';
}

const signedWith = (fields: HeaderFields) => ({
  id: fields.get('webhook-id') ?? '',
  timestamp: fields.get('webhook-timestamp') ?? '',
  signatures: fields.get('webhook-signature') ?? '',
});

function keyOf(secret: string): Buffer {
  const key = webhookKey(secret);
  if (!key) throw new TypeError('a webhook secret is whsec_ and 16 to 64 bytes in base64');
  return key;
}

const digest = (key: Buffer, id: string, timestamp: string, body: string | Uint8Array): Buffer =>
  createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest();
