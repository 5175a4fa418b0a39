import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { readXml, type XmlElement } from '../../asmx/xml/reader.ts';
import { backOffMs, spread } from '../../base/back-off.ts';
import type { Clock } from '../../base/clock.ts';
import { callHttp, type HttpCall, type HttpOutcome, peerOf } from '../../base/http-client.ts';
import { problemOf } from './s3-problem.ts';
import { type SigningKey, signed } from './signature-v4.ts';
import { type BackupTarget, KEY, TargetProblem } from './target.ts';

/**
 * A bucket of an S3-compatible store. An object appears when its upload is complete, and the store
 * compares it with the hash in its signature. What it returns later is checked by the hashes of the
 * objects themselves, so ETags and sizes are not relied on.
 */
export interface S3Settings extends SigningKey {
  readonly bucket: string;
  /** Empty, or it ends in a slash. */
  readonly prefix: string;
  /** Empty: Amazon's of the region. */
  readonly endpoint: string;
  /** Whether the bucket is in the path of the URL, and not in its host name. */
  readonly isPathStyle: boolean;
}
export interface S3Dependencies {
  readonly clock: Pick<Clock, 'now' | 'timeout' | 'sleep' | 'random'>;
  /** Ends the requests that are under way when it aborts. */
  readonly signal?: () => AbortSignal | undefined;
}

const TRIES = 4;
/** Of a store that does not answer at all, so that a command says so in about a minute. */
const SILENT_TRIES = 2;
const PAUSE_MS = 250;
const PAUSE_MAX_MS = 4_000;
/** The time for an answer. Every 64 kB of an object add a second: 8 MB may take 2.5 minutes. */
const TIMEOUT_MS = 20_000;
const BYTES_PER_SECOND_MIN = 65_536;
/** More than an object has: a part or a segment has 8 MB before it is compressed. */
const OBJECT_BYTES_MAX = 16 * 1024 * 1024;
const ANSWER_BYTES_MAX = 4 * 1024 * 1024;
/** What they mostly have, for the time of an answer. */
const PART_BYTES = 8 * 1024 * 1024;
const PAGE_BYTES = 1024 * 1024;
/** Two million objects: twelve days of two segments a second. */
const PAGES_MAX = 2_000;
const XML_LIMITS = {
  xmlDepthMax: 8,
  xmlElementsMax: 50_000,
  xmlAttributesMax: 8,
  nameLengthMax: 256,
  textLengthMax: 4_096,
};

type Answer = HttpOutcome & { readonly kind: 'answered' };

export function s3Target(settings: S3Settings, { clock, signal }: S3Dependencies): BackupTarget {
  const { bucket, prefix, isPathStyle, region } = settings;
  const endpoint = new URL(settings.endpoint || `https://s3.${region}.amazonaws.com`);
  const root = new URL(endpoint);
  if (isPathStyle) root.pathname = `${endpoint.pathname.replace(/\/$/, '')}/${bucket}/`;
  else root.host = `${bucket}.${endpoint.host}`;
  const agent = new (endpoint.protocol === 'https:' ? HttpsAgent : HttpAgent)({ keepAlive: true, timeout: 60_000 });
  const name = `the bucket ${bucket}${prefix && ` (${prefix})`} at ${endpoint.host}`;
  const urlOf = (key: string): URL => new URL(prefix + key, root);
  const told = (what: string, outcome: HttpOutcome) => problemOf(`${what} in ${name}`, outcome, settings, clock.now());

  function send(method: HttpCall['method'], url: URL, body: Buffer, answerBytesMax: number): Promise<HttpOutcome> {
    const usual = answerBytesMax === OBJECT_BYTES_MAX ? PART_BYTES : PAGE_BYTES;
    const bytes = Math.max(body.length, method === 'GET' ? usual : 0);
    const stop = signal?.();
    return callHttp(clock, peerOf(url), {
      method,
      ...signed({ method, url, body }, settings, clock.now()),
      body,
      agent,
      timeoutMs: TIMEOUT_MS + Math.ceil(bytes / BYTES_PER_SECOND_MIN) * 1_000,
      answerBytesMax,
      ...(stop && { signal: stop }),
    });
  }

  /** Repeats what may work the next time. The same bytes are sent again, so twice does no harm. */
  async function request(
    what: string,
    method: HttpCall['method'],
    url: URL,
    { body = EMPTY, answerBytesMax = ANSWER_BYTES_MAX } = {},
  ): Promise<Answer> {
    for (let attempt = 1; ; attempt++) {
      const outcome = await send(method, url, body, answerBytesMax);
      if (outcome.kind === 'answered' && outcome.status >= 200 && outcome.status < 300) return outcome;
      const isSilent = outcome.kind !== 'answered' && outcome.reason === 'no answer in time';
      const isFinal =
        attempt >= (isSilent ? SILENT_TRIES : TRIES) || signal?.()?.aborted === true || !mayWorkLater(outcome);
      if (isFinal) throw told(what, outcome);
      await clock.sleep(spread(backOffMs(attempt, PAUSE_MS, PAUSE_MAX_MS), clock.random), signal?.());
    }
  }

  async function listPage(from: string, after: string, token: string | null) {
    const url = new URL(root);
    url.searchParams.set('list-type', '2');
    url.searchParams.set('prefix', prefix + from);
    if (token !== null) url.searchParams.set('continuation-token', token);
    else if (after !== '') url.searchParams.set('start-after', prefix + after);
    const { body } = await request('Listing', 'GET', url);
    try {
      return pageOf(readXml(body.toString('utf8').replace(/^\uFEFF/, ''), XML_LIMITS));
    } catch (cause) {
      throw new TargetProblem(`Listing in ${name} failed: its answer is not a list of objects.`, { cause });
    }
  }

  return {
    name,
    async put(key, content) {
      await request('Writing', 'PUT', urlOf(key), { body: content });
    },
    async get(key) {
      const { body } = await request(`Reading ${key}`, 'GET', urlOf(key), { answerBytesMax: OBJECT_BYTES_MAX });
      return body;
    },
    async list(from, after = '') {
      const keys: string[] = [];
      let token: string | null = null;
      for (let page = 1; page <= PAGES_MAX; page++) {
        const found: Page = await listPage(from, after, token);
        for (const key of found.keys) {
          const own = key.startsWith(prefix) ? key.slice(prefix.length) : '';
          if (own.startsWith(from) && own > after && KEY.test(own)) keys.push(own);
        }
        if (found.next === null) return keys.sort();
        if (found.next === token) break; // it would never end
        token = found.next;
      }
      throw new TargetProblem(`Listing in ${name} failed: the list of objects does not end.`);
    },
    async remove(key) {
      await request(`Deleting ${key}`, 'DELETE', urlOf(key));
    },
  };
}

const EMPTY: Buffer = Buffer.alloc(0);

const mayWorkLater = (outcome: HttpOutcome): boolean =>
  outcome.kind !== 'answered'
    ? outcome.reason !== 'ANSWER_TOO_LARGE'
    : outcome.status >= 500 || outcome.status === 429 || outcome.status === 408;

interface Page {
  readonly keys: string[];
  readonly next: string | null;
}

function pageOf(root: XmlElement): Page {
  if (root.local !== 'ListBucketResult') throw new Error(`it begins with ${root.local}`);
  const textOf = ({ children }: XmlElement, local: string) => children.find((each) => each.local === local)?.text;
  const keys = root.children.flatMap((each) => (each.local === 'Contents' ? [textOf(each, 'Key') ?? ''] : []));
  const isCut = textOf(root, 'IsTruncated')?.trim() === 'true';
  const next = textOf(root, 'NextContinuationToken');
  if (isCut && !next) throw new Error('it is cut and does not say how to continue');
  return { keys, next: isCut && next ? next : null };
}
