import type { Reply } from '../exchange.ts';

/** For load balancers and supervisors: `/health/live` says that the process runs, `/health/ready` that it can serve. */
export interface Health {
  /** The answer for a path; undefined where it is none of these. */
  answer(path: string): Promise<Reply> | undefined;
  /** From now on it is not ready. */
  stopping(): void;
}

export function createHealth(check: () => Promise<void>): Health {
  let stopping = false;
  async function ready(): Promise<Reply> {
    if (stopping) return line(503, 'stopping');
    return check().then(
      () => line(200, 'ready'),
      () => line(503, 'the database does not answer'),
    );
  }
  return {
    answer(path) {
      if (path === '/health/live') return Promise.resolve(line(200, 'live'));
      return path === '/health/ready' ? ready() : undefined;
    },
    stopping() {
      stopping = true;
    },
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
