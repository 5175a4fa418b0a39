import type { Reply } from '../../exchange.ts';
import type { State } from './health-port.ts';

/** For load balancers and supervisors: `/health/live` says that the process runs, `/health/ready` that it can serve. */
export interface Health {
  /** The answer for a path; undefined where it is none of these. */
  answer(path: string): Promise<Reply> | undefined;
  /** As of now, for the port of its own. */
  state(): Promise<State>;
  /** From now on it is not ready. */
  stopping(): void;
}

/** `holdBack` waits without the request being counted as one that waits for its answer. */
export function createHealth(
  check: () => Promise<void>,
  holdBack: (wait: () => Promise<void>) => Promise<void> = (wait) => wait(),
): Health {
  let stopping = false;
  const shared = createShared(check);
  async function state(): Promise<State> {
    if (stopping) return 'stopping';
    return holdBack(shared).then(
      () => 'ready',
      () => 'the database does not answer',
    );
  }
  const ready = async (): Promise<Reply> => {
    const found = await state();
    return line(found === 'ready' ? 200 : 503, found);
  };
  return {
    state,
    answer(path) {
      if (path === '/health/live') return Promise.resolve(line(200, 'live'));
      return path === '/health/ready' ? ready() : undefined;
    },
    stopping() {
      stopping = true;
    },
  };
}

/**
 * However many ask, one check is under way, and so at most one connection of PostgreSQL is taken. Nobody gets the result of
 * a check that began before: who comes during one shares the next with all others who came meanwhile.
 */
function createShared(check: () => Promise<void>): () => Promise<void> {
  let current: Promise<void> | undefined;
  let next: Promise<void> | undefined;
  function begin(): Promise<void> {
    next = undefined;
    const begun = check().finally(() => {
      if (current === begun) current = undefined;
    });
    current = begun;
    return begun;
  }
  return () => {
    if (next) return next;
    if (!current) return begin();
    next = current.then(begin, begin);
    return next;
  };
}

const line = (status: number, text: string): Reply => ({
  status,
  headers: {
    'Content-Type': 'text/plain; charset=utf-8',
    'Cache-Control': 'no-store',
    ...(status === 503 && { 'Retry-After': '5' }),
  },
  body: `${text}\n`,
});
