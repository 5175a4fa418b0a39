import { isTlsFailure } from './server-tls.ts';
import { isRefused, type UpstreamWatch } from './upstream.ts';

/**
 * Reports when a server stops answering and when it answers again: an outage is two lines of the
 * log, however many calls fail meanwhile.
 */
export interface ToldOutage {
  readonly server: string;
  /** Why the first call got no answer. */
  readonly thrown: unknown;
  /** Set at the end of the outage. */
  readonly over?: { readonly ms: number; readonly calls: number };
}

/** A server that fails every other call is reported at most once in this time. */
const TELL_EVERY_MS = 1_000;

export function createOutageWatch(
  server: string,
  now: () => number,
  tell: (outage: ToldOutage) => void,
): UpstreamWatch {
  let outage: { thrown: unknown; since: number; calls: number; isTold: boolean } | undefined;
  let toldAt = Number.NEGATIVE_INFINITY;
  return {
    failed(thrown) {
      if (!isNoAnswer(thrown)) return;
      outage ??= { thrown, since: now(), calls: 0, isTold: false };
      outage.calls += 1;
      if (outage.isTold || now() - toldAt < TELL_EVERY_MS) return;
      outage.isTold = true;
      tell({ server, thrown: outage.thrown });
    },
    answered() {
      if (!outage) return;
      const { thrown, since, calls, isTold } = outage;
      outage = undefined;
      if (!isTold) return;
      toldAt = now();
      tell({ server, thrown, over: { ms: now() - since, calls } });
    },
  };
}

/**
 * Whether the server itself is away. A broken connection does not count, because the client may
 * have broken it, and a server that answers with an error is there.
 */
export function isNoAnswer(thrown: unknown): boolean {
  const { code, cause } = (thrown ?? {}) as { code?: string; cause?: unknown };
  return isRefused(thrown) || code === 'ETIMEDOUT' || isTlsFailure(code) || (cause !== undefined && isNoAnswer(cause));
}
