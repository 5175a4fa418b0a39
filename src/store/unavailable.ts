import { Problem } from '../problem.ts';

/** The database does not do its part: not our bug, and it may be over in a moment. */
export const unavailable = (cause: unknown): Problem =>
  new Problem('unavailable', 'The database does not answer. Try again later.', {
    cause,
    headers: { 'Retry-After': '5' },
  });
