import { type Dialect, NO_DIALECT } from '../../asmx/dialect/dialect.ts';
import type { ProtocolName } from '../../asmx/protocols/protocol.ts';
import { backOffMs } from '../../base/back-off.ts';
import { type Clock, systemClock } from '../../base/clock.ts';
import { fieldOf } from '../compare/recording.ts';
import type { RawAnswer } from '../compare/redaction.ts';
import { operationOf, type ReadAnswer, readAnswer } from './answer.ts';
import { FailedAnswer, type Failure, type RowsOperation, readRowsOf } from './answer-rows.ts';
import type { ValueRecord } from './answer-values.ts';
import { type EncodedCall, encodeCall } from './old-call.ts';
import { isCertificate, type OldServerTls, refusedCertificate } from './server-tls.ts';
import { createUpstream, isUnavailableStatus, pairsOf, UpstreamTimeout, type UpstreamWatch } from './upstream.ts';

/**
 * The client of the old server. It calls operations of the contract in any protocol. It keeps to a
 * rate, and stops if the server asks for a pause.
 */
export interface OldServer {
  /**
   * Resolves with the answer, even if it is a fault. Rejects with OldServerBusy at 429 and 503, and
   * with OldServerUnreachable if no complete answer came.
   */
  call(
    group: string,
    operation: string,
    args: Readonly<Record<string, unknown>>,
    options?: CallOptions,
  ): Promise<OldAnswer>;
  /**
   * Calls an operation whose result has rows, and reads them while the answer arrives: see
   * answer-rows.ts. `take` gets them in batches. If the answer is cut and the call is tried again,
   * `take` is called again with all rows. Resolves with the result of `take` when the answer was
   * complete, or with a fault. Rejects as `call` does.
   */
  rows<T>(
    group: string,
    operation: string,
    args: Readonly<Record<string, unknown>>,
    take: (batches: AsyncIterable<readonly ValueRecord[]>) => Promise<T>,
  ): Promise<TakenRows<T>>;
  /** Reads any page below the base, such as `/api/account.asmx?WSDL`. */
  page(path: string, signal?: AbortSignal): Promise<OldPage>;
  /** How many requests were sent. */
  readonly requests: number;
  readonly url: string;
  readonly clock: Clock;
  close(): void;
}
export type TakenRows<T> = { readonly kind: 'value'; readonly value: T } | Failure;
export interface CallOptions {
  readonly protocol?: ProtocolName;
  readonly signal?: AbortSignal;
}
export interface OldPage {
  readonly status: number;
  readonly contentType: string;
  readonly body: Uint8Array;
}
export interface OldAnswer extends OldPage {
  readonly protocol: ProtocolName;
  readonly durationMs: number;
  readonly result: ReadAnswer;
}

export interface OldServerOptions {
  /** The base: operations are at `<base>/api/<group>.asmx`. */
  readonly url: string;
  readonly dialect?: Dialect;
  /** The namespace if neither the dialect nor the call names one. */
  readonly namespace?: string;
  readonly protocol?: ProtocolName;
  /** The zone of dates without one, if the dialect names none. */
  readonly zone?: string;
  /** The most calls in a second; 0 for no limit. */
  readonly rate?: number;
  readonly timeoutMs?: number;
  readonly answerBytesMax?: number;
  readonly tls?: OldServerTls;
  readonly watch?: UpstreamWatch;
  /** How often a read is tried again if the server asks for a pause or does not answer. */
  readonly retriesMax?: number;
  /** Called with every answer of `call` and its request, which has the user_id. */
  readonly observed?: (call: ObservedCall) => void;
  readonly clock?: Clock;
}
export interface ObservedCall {
  readonly group: string;
  readonly operation: string;
  /** The URL with the path of the base. */
  readonly url: string;
  readonly request: EncodedCall;
  readonly answer: OldAnswer;
}

// The most bytes of an answer that is read whole. A list of 100,000 messages has about 40 MB.
const ANSWER_BYTES_MAX = 64 * 1024 * 1024;
const TIMEOUT_MS = 60_000;
// A longer pause ends the command, and a person runs it again later.
const PAUSE_MAX_MS = 120_000;
const FIRST_PAUSE_MS = 1_000;
const SOCKETS_MAX = 4;
// The most bytes of rows that are read as they arrive. The longest requested list has about 400 MB.
const STREAM_BYTES_MAX = 2 * 1024 ** 3;
const BATCH = 1_000;

/** No complete answer came, so it is not known whether the call was done. */
export class OldServerUnreachable extends Error {
  /** Whether the same call may succeed later. */
  readonly isTemporary: boolean;

  constructor(message: string, isTemporary: boolean, cause?: unknown) {
    super(message, { cause });
    this.isTemporary = isTemporary;
  }
}

/** The server asks for a pause, with 429 or 503. */
export class OldServerBusy extends Error {
  readonly status: number;
  readonly retryAfterMs: number | null;

  constructor(status: number, retryAfterMs: number | null) {
    const wait = retryAfterMs === null ? '' : ` It asks to wait ${Math.ceil(retryAfterMs / 1000)} seconds.`;
    super(`The old server answered ${status}.${wait}`);
    this.status = status;
    this.retryAfterMs = retryAfterMs;
  }
}

export function createOldServer(options: OldServerOptions): OldServer {
  const { dialect = NO_DIALECT, retriesMax = 0, zone = 'UTC', tls = {} } = options;
  const { timeoutMs = TIMEOUT_MS, answerBytesMax = ANSWER_BYTES_MAX } = options;
  const { clock = systemClock } = options;
  const { now } = clock;
  const base = baseOf(options.url);
  const namespace = dialect.namespace ?? options.namespace ?? DEFAULT_NAMESPACE;
  const { watch } = options;
  const watched = watch ? { watch } : {};
  const upstream = createUpstream({
    name: 'the old server',
    url: base,
    tls,
    timeoutMs,
    socketsMax: SOCKETS_MAX,
    clock,
    ...watched,
  });
  const throttle = createThrottle(options.rate ?? 0, clock);
  let requests = 0;

  const prepare = async ({ method, target, headers, body }: EncodedCall, signal?: AbortSignal) => {
    await throttle(signal);
    requests += 1;
    const fields = { Host: new URL(base).host, Accept: '*/*', 'Accept-Encoding': 'identity', ...headers };
    return [{ method, target, rawHeaders: Object.entries(fields).flat() }, Buffer.from(body ?? '')] as const;
  };
  const once = async (call: EncodedCall, signal?: AbortSignal) => {
    const [request, body] = await prepare(call, signal);
    const deadline = clock.timeout(timeoutMs);
    const limits = {
      bytesMax: answerBytesMax,
      isCut: true,
      signal: AbortSignal.any([deadline, ...(signal ? [signal] : [])]),
    };
    const answer = await upstream.exchange(request, body, limits).catch(async (thrown: Error) => {
      if (signal?.aborted) throw signal.reason;
      throw await noAnswer(thrown, deadline.aborted);
    });
    return pageOf(answer, answerBytesMax, now());
  };
  const noAnswer = async (thrown: Error, isLate = false): Promise<OldServerUnreachable> =>
    isLate || thrown instanceof UpstreamTimeout
      ? new OldServerUnreachable(`No answer in ${timeoutMs / 1_000} seconds.`, true)
      : unreachable(base, thrown);
  /** Yields the rows of one answer in batches. */
  async function* rowsOnce(call: EncodedCall, reading: RowsOperation): AsyncGenerator<readonly ValueRecord[]> {
    const [request, requestBody] = await prepare(call);
    const { status, rawHeaders, body } = await upstream.stream(request, requestBody).catch(async (thrown: Error) => {
      throw await noAnswer(thrown);
    });
    const fields = headOf({ status, rawHeaders }, now());
    const contentType = fieldOf(fields, 'content-type') ?? '';
    const bytes = bounded(body, status === 200 ? STREAM_BYTES_MAX : answerBytesMax, noAnswer);
    if (status === 200) return yield* batchesOf(readRowsOf(reading, { contentType, body: bytes }), BATCH);
    const { group, operation, protocol } = reading;
    const chunks: Uint8Array[] = [];
    for await (const chunk of bytes) chunks.push(chunk);
    const whole = { status, contentType, body: Buffer.concat(chunks) };
    const result = readAnswer(group, operation, protocol, whole, dialect, zone);
    if (result.kind !== 'value') throw new FailedAnswer(result);
    yield result.value as readonly ValueRecord[];
  }
  /** Tries only reads again, because nobody knows whether a write without an answer was done. */
  const patiently = async <T>(isRead: boolean, signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> => {
    for (let tried = 0; ; tried++) {
      try {
        return await work();
      } catch (thrown) {
        const pause = pauseAfter(thrown, tried);
        if (!isRead || tried >= retriesMax || pause === null) throw thrown;
        await clock.sleep(pause, signal);
        signal?.throwIfAborted();
      }
    }
  };
  return {
    url: base,
    clock,
    get requests() {
      return requests;
    },
    async call(group, operation, args, { protocol = options.protocol ?? 'soap11', signal } = {}) {
      const request = encodeCall({ namespace, dialect, zone }, group, operation, protocol, args);
      return patiently(isReading(group, operation), signal, async () => {
        const startedAt = clock.monotonic();
        const { status, contentType, body } = await once(request, signal);
        const durationMs = clock.monotonic() - startedAt;
        const result = readAnswer(group, operation, protocol, { status, contentType, body }, dialect, zone);
        const safe = withoutSecret(result, args.user_id);
        const answer = { protocol, status, contentType, body, durationMs, result: safe };
        options.observed?.({ group, operation, url: base + request.target, request, answer });
        return answer;
      });
    },
    async rows(group, operation, args, take) {
      const protocol = options.protocol ?? 'soap11';
      const request = encodeCall({ namespace, dialect, zone }, group, operation, protocol, args);
      const reading = { group, operation, protocol, dialect, zone };
      try {
        const isRead = isReading(group, operation);
        const value = await patiently(isRead, undefined, () => take(rowsOnce(request, reading)));
        return { kind: 'value', value };
      } catch (thrown) {
        if (thrown instanceof FailedAnswer) return withoutSecret(thrown.result, args.user_id);
        throw thrown;
      }
    },
    page: (target, signal) =>
      patiently(true, signal, () => once({ target, method: 'GET', headers: {}, body: null }, signal)),
    close: () => upstream.close(),
  };
}

/** Shows only the error code, because the message may have an address. */
async function unreachable(base: string, thrown: NodeJS.ErrnoException): Promise<OldServerUnreachable> {
  if (isCertificate(thrown)) return new OldServerUnreachable(await refusedCertificate(base, thrown), false, thrown);
  return new OldServerUnreachable(`The old server does not answer (${thrown.code ?? thrown.name}).`, true, thrown);
}

/** Throws if the answer was too long. */
function pageOf({ status, rawHeaders, body }: RawAnswer, bytesMax: number, now: number): OldPage {
  if (!body) throw tooLong(bytesMax);
  const fields = headOf({ status, rawHeaders }, now);
  return { status, contentType: fieldOf(fields, 'content-type') ?? '', body };
}

const tooLong = (bytesMax: number): OldServerUnreachable =>
  new OldServerUnreachable(`The answer has more than ${bytesMax} bytes.`, false);

/** Reads the fields of an answer. Throws if a gateway answered or the server asks for a pause. */
function headOf({ status, rawHeaders }: Pick<RawAnswer, 'status' | 'rawHeaders'>, now: number): [string, string][] {
  const fields = pairsOf(rawHeaders);
  const coding = fieldOf(fields, 'content-encoding') ?? 'identity';
  if (coding !== 'identity')
    throw new OldServerUnreachable(`The answer has the content coding ${coding}, which was not asked for.`, false);
  if (status === 429 || status === 503)
    throw new OldServerBusy(status, retryAfter(fieldOf(fields, 'retry-after'), now));
  if (isUnavailableStatus(status)) throw new OldServerUnreachable(`A gateway answered ${status}.`, true);
  return fields;
}

/** `failed` makes the error for a body that ends too early. */
async function* bounded(
  body: AsyncIterable<Uint8Array>,
  bytesMax: number,
  failed: (thrown: Error) => Promise<Error>,
): AsyncGenerator<Uint8Array> {
  let length = 0;
  const chunks = body[Symbol.asyncIterator]();
  try {
    for (;;) {
      const { done, value } = await chunks.next().catch(async (thrown: Error) => {
        throw await failed(thrown);
      });
      if (done) return;
      length += value.length;
      if (length > bytesMax) throw tooLong(bytesMax);
      yield value;
    }
  } finally {
    await chunks.return?.();
  }
}

/** Yields batches of `size` rows, and then the rest. */
async function* batchesOf(rows: AsyncIterable<readonly ValueRecord[]>, size: number) {
  let batch: ValueRecord[] = [];
  for await (const some of rows) {
    for (const row of some) {
      batch.push(row);
      if (batch.length < size) continue;
      yield batch;
      batch = [];
    }
  }
  if (batch.length > 0) yield batch;
}

const DEFAULT_NAMESPACE = 'http://tempuri.org';

/** Removes the user_id from a fault, whose text is shown and logged. */
const withoutSecret = <T extends ReadAnswer>(result: T, userId: unknown): T =>
  result.kind === 'fault' && typeof userId === 'string' && userId !== ''
    ? { ...result, text: result.text.replaceAll(userId, '…') }
    : result;

export const isReading = (group: string, operation: string): boolean =>
  operationOf(group, operation)?.changes === false;

/** Removes the path of a service, because people copy the address of one. */
export function baseOf(url: string): string {
  const { protocol, origin, pathname } = new URL(url);
  if (protocol !== 'http:' && protocol !== 'https:') throw new TypeError('expected an address with http or https');
  return origin + pathname.replace(/\/api(\/[^/]*\.asmx)?\/?$/i, '').replace(/\/+$/, '');
}

function pauseAfter(thrown: unknown, tried: number): number | null {
  const backoff = backOffMs(tried + 1, FIRST_PAUSE_MS, Number.POSITIVE_INFINITY);
  if (thrown instanceof OldServerUnreachable) return thrown.isTemporary ? backoff : null;
  if (!(thrown instanceof OldServerBusy)) return null;
  const pause = thrown.retryAfterMs ?? backoff;
  return pause > PAUSE_MAX_MS ? null : pause;
}

/** Seconds or a date (RFC 9110 §10.2.3). */
export function retryAfter(field: string | undefined, now: number): number | null {
  if (field === undefined) return null;
  if (/^\d{1,9}$/.test(field.trim())) return Number(field) * 1_000;
  const at = Date.parse(field);
  return Number.isNaN(at) ? null : Math.max(0, at - now);
}

/** Calls leave one after the other, at most `rate` in a second. */
function createThrottle(rate: number, { now, sleep }: Clock) {
  if (rate <= 0) return async () => {};
  const intervalMs = 1_000 / rate;
  let nextAt = 0;
  return async (signal?: AbortSignal): Promise<void> => {
    const at = Math.max(nextAt, now());
    nextAt = at + intervalMs;
    if (at > now()) await sleep(at - now(), signal);
    signal?.throwIfAborted();
  };
}
