import { Problem } from '../problem.ts';

/** The database does not do its part: not our bug, and it may be over in a moment. `operator` says what keeps it. */
export const unavailable = (cause: unknown, operator?: string): Problem =>
  new Problem('unavailable', 'The database does not answer. Try again later.', {
    cause,
    operator,
    retryAfterSeconds: 5,
  });
