/**
 * One HTTP request as plain data. `path` and `query` are as sent, percent signs not decoded, no question mark; the path is
 * below `base`, and empty for the base itself without its slash.
 */
export interface Request {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The address under which the client reaches us, e.g. `https://sms.example:8443/base`: for WSDL and pages. */
  readonly base: string;
  /** The client's network address. */
  readonly client: string;
  /** Its name in the answer, in logs and in traces: the client's own, or ours. */
  readonly id?: string;
  /** The span of the client that it belongs to, as W3C Trace Context writes it; only a valid one. */
  readonly traceparent?: string | undefined;
  /** A Problem for which it is to be refused before anything in it is looked at: how it is framed, which Host it names. */
  readonly refused?: Error | undefined;
  /** Waits with its answer. Meanwhile it does not count as one that waits, and its connection can be given up. */
  readonly holdBack?: ((wait: () => Promise<void>) => Promise<void>) | undefined;
  /** Whole, at once or when it is decompressed; throws Problem, such as `too-large` past the limit. */
  body(): Uint8Array | Promise<Uint8Array>;
}

export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Whole, or piece by piece as the client takes it. */
  readonly body: string | Uint8Array | AsyncIterable<string | Uint8Array>;
  /** Whose it is, where it comes in pieces: what waits for one to be taken is bounded. */
  readonly owner?: bigint | undefined;
  /** What is answered instead, where its pieces have failed before anything of it was sent. */
  readonly failed?: (thrown: unknown) => Reply;
}

export const isWhole = (body: Reply['body']): body is string | Uint8Array =>
  typeof body === 'string' || body instanceof Uint8Array;

export const header = (request: Request, name: string): string | undefined => {
  const value = request.headers[name];
  return Array.isArray(value) ? value.join(', ') : value;
};
