import type { PageRequest, View } from './page-request.ts';
import { get } from './page-request.ts';

/**
 * Tells a visible page that something of its account has changed, so that the script asks for its
 * fragments at once. Without this stream, the script polls. A stream says nothing but that.
 */

/** Browsers allow about six connections to a host over HTTP/1.1, and pages need some of them. */
const STREAMS_MAX = 3;
const LOOK_EVERY_MS = 1_000;
/**
 * A stream ends after so many looks, and the browser opens another one, which checks the session
 * again: it ends within 20 s of a sign-out, and never holds up a stop of the server for long.
 */
const LOOKS_MAX = 20;

/** The streams of each session, the oldest first. */
const streams = new Map<bigint, Set<{ isOver: boolean }>>();

const show = async (request: PageRequest): Promise<View> => ({ kind: 'events', events: changesOf(request) });

async function* changesOf({ session, account, services, signal }: PageRequest): AsyncGenerator<string> {
  const own = { isOver: false };
  const all = streams.get(session.id) ?? new Set();
  streams.set(session.id, all);
  const [oldest] = all;
  if (all.size >= STREAMS_MAX && oldest) {
    oldest.isOver = true;
    all.delete(oldest);
  }
  all.add(own);
  try {
    let known = await services.database.version(account.id, true);
    yield 'retry: 1000\n\n';
    for (let looks = 0; looks < LOOKS_MAX && !signal.aborted && !own.isOver; looks += 1) {
      await services.sleep(LOOK_EVERY_MS);
      if (signal.aborted || own.isOver) break; // the database may be closed by now
      const version = await services.database.version(account.id, true);
      if (version === undefined) return;
      if (version !== known) yield 'data: changed\n\n';
      known = version;
    }
    // A page whose stream made room for another one polls from now on.
    if (own.isOver) yield 'event: full\ndata: full\n\n';
  } finally {
    all.delete(own);
    if (all.size === 0) streams.delete(session.id);
  }
}

export const eventRoutes = [get('/events.stream', show)];
