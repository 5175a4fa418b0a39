import { createHash } from 'node:crypto';
import aws4 from 'aws4';

/** Signs a request to an S3-compatible store with AWS Signature Version 4. */
export interface SignedRequest {
  readonly method: string;
  readonly url: URL;
  readonly body: Buffer;
}
export interface SigningKey {
  readonly region: string;
  readonly accessKey: string;
  readonly secretKey: string;
}

/** The path and the query as they are signed, and the headers with the signature. */
export interface Signed {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
}

export function signed(request: SignedRequest, key: SigningKey, at: number): Signed {
  const { method, url, body } = request;
  const headers = {
    'X-Amz-Date': new Date(at).toISOString().replace(/[:-]|\.\d{3}/g, ''),
    'X-Amz-Content-Sha256': createHash('sha256').update(body).digest('hex'),
  };
  const options = {
    method,
    host: url.host,
    path: url.pathname + url.search,
    headers,
    service: 's3',
    region: key.region,
  };
  const done = aws4.sign(options, { accessKeyId: key.accessKey, secretAccessKey: key.secretKey });
  return { path: done.path as string, headers: done.headers as Record<string, string> };
}
