import type { HttpOutcome } from '../../base/http-client.ts';
import { TargetProblem } from './target.ts';

/** What an S3-compatible store refused, as a sentence that says what to do. */
interface Asked {
  readonly bucket: string;
  readonly region: string;
}

/** The code of an error, such as NoSuchBucket. Stores are free in the rest of the document. */
const CODE = /<Code>\s*([A-Za-z][A-Za-z0-9.]{0,63})\s*<\/Code>/;

export function problemOf(what: string, outcome: HttpOutcome, asked: Asked, now: number): TargetProblem {
  if (outcome.kind !== 'answered') return new TargetProblem(`${what} failed: ${reasonOf(outcome.reason)}.`);
  const { status, headers, body } = outcome;
  const code = CODE.exec(body.toString('latin1', 0, 16_384))?.[1] ?? '';
  const isMissing = code === 'NoSuchKey' || (status === 404 && code === '');
  const reason = isMissing ? 'the object is missing' : (REASONS[code]?.(asked, headers, now) ?? byStatus(status, code));
  return new TargetProblem(`${what} failed: ${reason}.`, { isMissing });
}

type Headers = (HttpOutcome & { readonly kind: 'answered' })['headers'];
type Reason = (asked: Asked, headers: Headers, now: number) => string;

const unknownKey: Reason = () =>
  'the store does not know this access key. Check COLUMBA_BACKUP_S3_ACCESS_KEY and the endpoint';
const wrongRegion: Reason = ({ region }, headers) => {
  const right = String(headers['x-amz-bucket-region'] ?? '');
  const named = /^[a-z0-9-]{1,64}$/.test(right) ? `, ${right}` : '';
  return `the bucket is not in the region ${region} but in another one${named}. Set COLUMBA_BACKUP_S3_REGION`;
};

const REASONS: Readonly<Record<string, Reason>> = {
  SignatureDoesNotMatch: () =>
    'the store computes another signature. COLUMBA_BACKUP_S3_SECRET_KEY is probably wrong, or a proxy changes requests',
  InvalidAccessKeyId: unknownKey,
  InvalidAccessKey: unknownKey,
  AccessDenied: () =>
    'access is denied. The access key must be allowed to list the bucket, and to read, write and delete its objects',
  NoSuchBucket: ({ bucket }) => `there is no bucket ${bucket}. Create it, or correct COLUMBA_BACKUP`,
  RequestTimeTooSkewed: (_, headers, now) => {
    const theirs = Date.parse(String(headers.date ?? ''));
    const apart = Number.isNaN(theirs) ? '' : ` by ${Math.round(Math.abs(theirs - now) / 60_000)} minutes`;
    return `the clock of this machine and that of the store differ${apart}. Set the clock, best by NTP`;
  },
  PermanentRedirect: wrongRegion,
  AuthorizationHeaderMalformed: wrongRegion,
  SlowDown: () => 'the store is overloaded (SlowDown)',
  QuotaExceeded: () => 'the store has no room left',
  EntityTooLarge: () => 'the store takes no objects of this size',
};

function byStatus(status: number, code: string): string {
  const named = code && ` (${code})`;
  if (status >= 300 && status < 400)
    return `the store answers with a redirect, ${status}${named}. Correct the endpoint and the region`;
  if (status === 401 || status === 403) return `the store refuses access with ${status}${named}`;
  return `the store answers ${status}${named}`;
}

const FAILURES: Readonly<Record<string, string>> = {
  ENOTFOUND: 'the name of the store is not known',
  EAI_AGAIN: 'the name of the store cannot be looked up now',
  ECONNREFUSED: 'nothing listens at the address of the store',
  ECONNRESET: 'the store closed the connection in the middle',
  ANSWER_TOO_LARGE: 'the answer has more bytes than an object of a backup',
  'no answer in time': 'the store did not answer in time',
  aborted: 'it was given up',
};
const reasonOf = (reason: string): string => FAILURES[reason] ?? `the store cannot be reached (${reason})`;
