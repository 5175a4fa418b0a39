import { createHash, createHmac } from 'node:crypto';

/**
 * Signs a request to an S3-compatible store with AWS Signature Version 4.
 * https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html
 */
export interface SignedRequest {
  readonly method: string;
  readonly url: URL;
  /** Every one of these is signed. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}
export interface SigningKey {
  readonly region: string;
  readonly accessKey: string;
  readonly secretKey: string;
}

const sha256 = (content: Uint8Array | string): string => createHash('sha256').update(content).digest('hex');
const hmac = (key: Buffer | string, text: string): Buffer => createHmac('sha256', key).update(text).digest();

/** The headers of the request, with its date, the hash of its body and the signature. */
export function signedHeaders(request: SignedRequest, key: SigningKey, at: number): Record<string, string> {
  const { method, url, headers = {}, body } = request;
  const time = new Date(at).toISOString().replace(/[:-]|\.\d{3}/g, '');
  const hash = sha256(body);
  const sent = { ...lowerCase(headers), 'x-amz-content-sha256': hash, 'x-amz-date': time };
  const signed: [string, string][] = Object.entries({ ...sent, host: url.host });
  signed.sort(([one], [other]) => (one < other ? -1 : 1));
  const names = signed.map(([name]) => name).join(';');
  const lines = signed.map(([name, value]) => `${name}:${value.trim().replace(/ +/g, ' ')}\n`).join('');
  const canonical = [method, pathOf(url), queryOf(url), lines, names, hash].join('\n');
  const scope = `${time.slice(0, 8)}/${key.region}/s3/aws4_request`;
  const text = ['AWS4-HMAC-SHA256', time, scope, sha256(canonical)].join('\n');
  const secret = scope.split('/').reduce<Buffer | string>((from, part) => hmac(from, part), `AWS4${key.secretKey}`);
  const signature = hmac(secret, text).toString('hex');
  const authorization = `AWS4-HMAC-SHA256 Credential=${key.accessKey}/${scope}, SignedHeaders=${names}, Signature=${signature}`;
  return { ...sent, authorization };
}

const lowerCase = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));

/** Everything but letters, digits and - . _ ~ is escaped (RFC 3986), and nothing twice. */
const escaped = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (each) => `%${each.charCodeAt(0).toString(16).toUpperCase()}`);
const pathOf = (url: URL): string =>
  url.pathname
    .split('/')
    .map((part) => escaped(decodeURIComponent(part)))
    .join('/');
const queryOf = (url: URL): string =>
  [...url.searchParams]
    .map(([name, value]) => `${escaped(name)}=${escaped(value)}`)
    .sort()
    .join('&');

/** The path and the query as they are signed, so that they are sent in the same way. */
export const requestTarget = (url: URL): string => pathOf(url) + (url.search && `?${queryOf(url)}`);
