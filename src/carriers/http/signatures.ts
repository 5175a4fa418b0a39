import { createHash, createHmac, createPublicKey, timingSafeEqual, verify } from 'node:crypto';
import type { Check } from './form.ts';
import { basicOf } from './request.ts';
import { fieldsOf } from './sources.ts';

/** Whether a callback comes from the provider. Each function returns null, or why it does not. */
export interface Signed {
  readonly header: (name: string) => string | undefined;
  /** As the provider calls it, with its query. */
  readonly url: string;
  readonly body: Buffer;
  /** Milliseconds since 1970. */
  readonly now: number;
}

export interface Keys {
  readonly settings: Readonly<Record<string, string>>;
  readonly secrets: Readonly<Record<string, string>>;
}

/** The secret of `secretPath`. */
export const PATH_SECRET = 'callbackSecret';

const TOLERANCE_SECONDS = 300;

/** What can be said before the body is read, so that strangers send none. */
export function refusalBeforeBody(
  check: Check,
  given: Omit<Signed, 'body'>,
  keys: Keys,
  pathSecret: string,
): string | null {
  switch (check.kind) {
    case 'secretPath':
      return isEqual(pathSecret, keys.secrets[PATH_SECRET] ?? '') ? null : 'the secret in the path is wrong';
    case 'basic': {
      const wanted = basicOf(keys.settings[check.user] ?? '', keys.secrets[check.password] ?? '');
      return isEqual(given.header('authorization') ?? '', wanted) ? null : 'the name or the password is wrong';
    }
    case 'header':
      return isEqual(given.header(check.name) ?? '', keys.secrets[check.secret] ?? '')
        ? null
        : `the header field ${check.name} is wrong`;
    default:
      if (!given.header(check.header)) return `there is no header field ${check.header}`;
      return check.kind === 'jwt-hs256' ? null : refusalOfTime(check, given);
  }
}

function refusalOfTime(
  { timestamp, toleranceSeconds = TOLERANCE_SECONDS }: Extract<Check, { kind: 'hmac' | 'ed25519' }>,
  { header, now }: Omit<Signed, 'body'>,
): string | null {
  if (timestamp === undefined) return null;
  const seconds = header(timestamp) ?? '';
  if (!/^\d{1,12}$/.test(seconds)) return `the header field ${timestamp} is no time`;
  return Math.abs(Number(seconds) * 1_000 - now) <= toleranceSeconds * 1_000
    ? null
    : 'the time of the signature is too far from now';
}

export function refusalOfSignature(check: Check, signed: Signed, keys: Keys): string | null {
  if (check.kind === 'hmac') return refusalOfHmac(check, signed, keys);
  if (check.kind === 'ed25519') return refusalOfEd25519(check, signed, keys);
  return check.kind === 'jwt-hs256' ? refusalOfJwt(check, signed, keys) : null;
}

const WRONG = 'the signature is wrong';

function refusalOfHmac(check: Extract<Check, { kind: 'hmac' }>, signed: Signed, { secrets }: Keys): string | null {
  const hmac = createHmac(check.algorithm, secrets[check.key] ?? '');
  for (const piece of check.over) hmac.update(pieceOf(piece, signed));
  const { prefix = '' } = check;
  const given = signed.header(check.header) ?? '';
  if (!given.startsWith(prefix)) return WRONG;
  const bare = given.slice(prefix.length);
  const wanted = hmac.digest(check.encoding);
  return isEqual(check.encoding === 'hex' ? bare.toLowerCase() : bare, wanted) ? null : WRONG;
}

function pieceOf(piece: string, { header, url, body }: Signed): string | Buffer {
  if (piece === 'url') return url;
  if (piece === 'urlWithoutQuery') return withoutQuery(url);
  if (piece === 'body') return body;
  if (piece === 'sortedForm') return sortedForm(body);
  const name = piece.slice(piece.indexOf(':') + 1);
  return piece.startsWith('literal:') ? name : (header(name) ?? '');
}

const withoutQuery = (url: string): string => url.split('?', 1)[0] as string;

/** Names and values one after the other, by the order of the names. */
const sortedForm = (body: Buffer): string =>
  [...(fieldsOf(body.toString('latin1')) ?? [])]
    .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
    .map(([name, value]) => name + value)
    .join('');

/** The beginning of a public key in DER (RFC 8410), before its 32 octets. */
const ED25519_PREFIX = Buffer.from('302a300506032b6570032100', 'hex');
const ED25519_KEY_LENGTH = 32;

export const isEd25519Key = (base64: string): boolean => Buffer.from(base64, 'base64').length === ED25519_KEY_LENGTH;

function refusalOfEd25519(
  check: Extract<Check, { kind: 'ed25519' }>,
  signed: Signed,
  { settings }: Keys,
): string | null {
  const raw = Buffer.from(settings[check.publicKey] ?? '', 'base64');
  if (raw.length !== ED25519_KEY_LENGTH) return 'the public key is not one of Ed25519';
  const key = createPublicKey({ key: Buffer.concat([ED25519_PREFIX, raw]), format: 'der', type: 'spki' });
  const content = Buffer.concat(check.over.map((piece) => Buffer.from(pieceOf(piece, signed))));
  const signature = Buffer.from(signed.header(check.header) ?? '', 'base64');
  return verify(null, content, key, signature) ? null : WRONG;
}

/** The clocks of two machines differ. */
const JWT_LEEWAY_SECONDS = 60;

function refusalOfJwt(check: Extract<Check, { kind: 'jwt-hs256' }>, signed: Signed, { secrets }: Keys): string | null {
  const scheme = check.scheme === undefined ? '' : `${check.scheme} `;
  const field = signed.header(check.header) ?? '';
  if (!field.toLowerCase().startsWith(scheme.toLowerCase())) return WRONG;
  const [head = '', claimText = '', signature = '', ...more] = field.slice(scheme.length).split('.');
  if (more.length > 0 || objectOf(head).alg !== 'HS256') return 'the token is not one of HS256';
  const wanted = createHmac('sha256', secrets[check.key] ?? '')
    .update(`${head}.${claimText}`)
    .digest('base64url');
  if (!isEqual(signature, wanted)) return WRONG;
  const claims = objectOf(claimText);
  const seconds = signed.now / 1_000;
  if (typeof claims.exp !== 'number' || claims.exp < seconds - JWT_LEEWAY_SECONDS) return 'the token has expired';
  if (typeof claims.nbf === 'number' && claims.nbf > seconds + JWT_LEEWAY_SECONDS) return 'the token is not valid yet';
  return refusalOfClaims(check, signed, claims);
}

function refusalOfClaims(
  { audience, urlHash, payloadHash }: Extract<Check, { kind: 'jwt-hs256' }>,
  { url, body }: Signed,
  claims: Readonly<Record<string, unknown>>,
): string | null {
  if (audience === 'url') {
    const named = Array.isArray(claims.aud) ? claims.aud : [claims.aud];
    if (!named.includes(url) && !named.includes(withoutQuery(url))) return 'the token is for another address';
  }
  if (urlHash !== undefined) {
    // Clients of one provider differ in whether the query is hashed.
    const hashes = [url, withoutQuery(url)].map((each) => sha256(Buffer.from(each)));
    if (!hashes.includes(String(claims[urlHash]))) return 'the token is for another address';
  }
  if (payloadHash === undefined || (body.length === 0 && claims[payloadHash] === undefined)) return null;
  return claims[payloadHash] === sha256(body) ? null : 'the token is for another body';
}

const sha256 = (octets: Uint8Array): string => createHash('sha256').update(octets).digest('hex');

function objectOf(base64url: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(Buffer.from(base64url, 'base64url').toString('utf8'));
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

/** Compares in the same time for every wrong value. An absent secret equals nothing. */
function isEqual(given: string, wanted: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text, 'utf8').digest();
  return timingSafeEqual(digest(given), digest(wanted)) && wanted !== '';
}
