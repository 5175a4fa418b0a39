/** The span of the client: the fields of a valid `traceparent` (W3C Trace Context §3.2). */
export interface RemoteSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly flags: number;
}

export const remoteSpan = (traceparent: string): RemoteSpan => ({
  traceId: traceparent.slice(3, 35),
  spanId: traceparent.slice(36, 52),
  flags: Number.parseInt(traceparent.slice(53, 55), 16),
});
