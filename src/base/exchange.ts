/**
 * One HTTP request as plain data. `path` and `query` are as sent: percent-encoded, without the
 * question mark. The path is relative to `base`; it is empty for the base without its slash.
 */
export interface Request {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The URL by which the client reaches us, e.g. `https://sms.example:8443/base`. */
  readonly base: string;
  /** The client's IP address. */
  readonly client: string;
  /** The request id in the response, in logs and in traces: the client's X-Request-Id, or ours. */
  readonly id?: string;
  /** A valid W3C Trace Context `traceparent` of the client. */
  readonly traceparent?: string | undefined;
  /**
   * The poll batch. All of its requests had begun to arrive before the first one is handled, so one
   * read of the database version is recent enough for all. Undefined if the request is not part of
   * a batch.
   */
  readonly pollId?: number | undefined;
  /** A Problem that rejects the request before any handler reads it, e.g. for its Host. */
  readonly refused?: Error | undefined;
  /**
   * Delays the response. Meanwhile load shedding does not count the request, and its connection
   * may be closed to make room for another one.
   */
  readonly holdBack?: ((wait: () => Promise<void>) => Promise<void>) | undefined;
  /** The whole body, decompressed. Throws Problem, e.g. `too-large` beyond the limit. */
  body(): Uint8Array | Promise<Uint8Array>;
}

export interface Reply {
  readonly status: number;
  /** A list is written as one field line per item, as Set-Cookie needs it (RFC 6265 §3). */
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  /**
   * The whole body, or an iterable of pieces. A piece is requested when the client has read the
   * previous one.
   */
  readonly body: string | Uint8Array | AsyncIterable<string | Uint8Array>;
  /** The connection is closed after this response, with `Connection: close`. */
  readonly closes?: boolean | undefined;
  /** The account that receives a streamed body, whose unsent bytes are limited. */
  readonly receiver?: bigint | undefined;
  /** The response to send instead if the first piece fails. */
  readonly failed?: (thrown: unknown) => Reply;
}

/** Answers a request, synchronously if it has to wait for nothing. */
export type Handler = (request: Request) => Reply | Promise<Reply>;

export const isWhole = (body: Reply['body']): body is string | Uint8Array =>
  typeof body === 'string' || body instanceof Uint8Array;

/** The value of a request's header field, with repeated field lines joined by commas. */
export const header = (request: Request, name: string): string | undefined => {
  const value = request.headers[name];
  return Array.isArray(value) ? value.join(', ') : value;
};

/** The value of a reply's header field; undefined for a field that is absent or a list. */
export const replyHeader = ({ headers }: Reply, name: string): string | undefined => {
  const value = headers[name];
  return typeof value === 'string' ? value : undefined;
};

/** Counters of an HTTP server, which the metrics publish. */
export interface Traffic {
  readonly connectionsOpen: number;
  readonly bytesSent: number;
  /** Requests that got 503 for overload. */
  readonly refused: number;
  /** Bytes of long responses that clients have not read yet. */
  readonly unsentBytes: number;
  /** Long responses that got 429 because there were too many unsent bytes. */
  readonly unsentRefused: number;
}
