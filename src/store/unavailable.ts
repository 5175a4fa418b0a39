import { Problem } from '../base/problem.ts';

/**
 * The database does not answer, for a reason outside of the program, which `operator` explains to
 * the operator.
 */
export const unavailable = (cause: unknown, operator?: string, isLockedOut = false): Problem =>
  new Problem('unavailable', 'The database does not answer. Try again later.', {
    cause,
    operator,
    isLockedOut,
    retryAfterSeconds: 5,
  });
