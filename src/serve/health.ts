import type { Handler, Reply } from '../base/exchange.ts';
import type { State } from './health-port.ts';

/** Health checks of load balancers and supervisors. */
export interface Health {
  /** Handlers by path. `/health/live`: the process runs. `/health/ready`: it can serve. */
  readonly paths: Readonly<Record<'/health/live' | '/health/ready', Handler>>;
  /** The present state, for the health port. */
  state(): Promise<State>;
  /** Makes `/health/ready` answer 503 from now on. */
  stopping(): void;
}

/** `holdBack` runs a wait during which load shedding does not count the request. */
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
    paths: { '/health/live': () => line(200, 'live'), '/health/ready': ready },
    stopping() {
      stopping = true;
    },
  };
}

/**
 * At most one check runs at a time, so it uses at most one connection of PostgreSQL. A probe never
 * gets the result of a check that began before it arrived; probes that arrive during a check share
 * the next one.
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
