/**
 * Everything that can go wrong with a call, as a closed set. Each protocol maps every kind once.
 */
export type ProblemKind =
  | 'version'
  | 'must-understand'
  | 'unknown-operation'
  | 'bad-argument'
  | 'denied'
  | 'internal'
  | 'malformed'
  | 'method'
  | 'too-large'
  | 'unsupported-media'
  | 'too-many'
  | 'unavailable'
  | OperatorProblemKind;

/** Those that the contract does not have. */
export type OperatorProblemKind = 'not-found' | 'conflict' | 'forbidden' | 'key-reused';

/**
 * One wrong field and why: `#/name` in the body, `?name` in the query, `{name}` in the path. Never
 * the value.
 */
export interface FieldError {
  readonly pointer: string;
  readonly detail: string;
}

export interface ProblemDetails {
  /** The bug or failure behind it: for the log, never for the client. */
  cause?: unknown;
  /**
   * The cause and the remedy for the operator, never for the client. It has paths and hosts but no
   * secret.
   */
  operator?: string | undefined;
  /** The connection is closed after the response: what follows on it cannot be trusted. */
  closes?: boolean;
  /** unavailable: another transaction holds rows for too long. Work on other rows goes on. */
  isLockedOut?: boolean;
  /** When the client may try again. */
  retryAfterSeconds?: number;
  /** method: the methods that the address takes. */
  allowedMethods?: readonly string[];
  /** must-understand: the header blocks that were not understood. */
  blocks?: { uri: string; local: string }[];
  /** bad-argument: every wrong field. */
  errors?: readonly FieldError[];
}

/**
 * `message` is sent to the client. It names the mistake and never holds a secret, a path, SQL or a
 * stack.
 */
export class Problem extends Error {
  readonly kind: ProblemKind;
  readonly details: ProblemDetails;

  constructor(kind: ProblemKind, message: string, details: ProblemDetails = {}) {
    super(message, { cause: details.cause });
    this.name = 'Problem';
    this.kind = kind;
    this.details = details;
  }
}

/** The database does not answer now. The same call may succeed later. */
export const isUnavailable = (thrown: unknown): boolean => thrown instanceof Problem && thrown.kind === 'unavailable';

/** It does answer, but another transaction holds the rows of an account. Other accounts go on. */
export const isLockedOut = (thrown: unknown): boolean =>
  thrown instanceof Problem && thrown.details.isLockedOut === true;

/** Nothing at all can be done now. */
export const isOutage = (thrown: unknown): boolean => isUnavailable(thrown) && !isLockedOut(thrown);

/** How every command ends where the database does not answer, and a process of a service too. */
export const NO_DATABASE_EXIT_CODE = 3;

export const badArgument = (parameter: string, reason: string) =>
  new Problem('bad-argument', `${parameter}: ${reason}`);

/** A refusal of one field of a JSON body, by its name there. */
export const badField = (field: string, detail: string) =>
  new Problem('bad-argument', `${field}: ${detail}`, { errors: [{ pointer: `#/${field}`, detail }] });

export const notFound = (what: string) => new Problem('not-found', `There is no ${what}.`);

export const conflict = (message: string) => new Problem('conflict', message);

export const methodNotAllowed = (allowedMethods: readonly string[]) =>
  new Problem('method', `This address accepts only ${allowedMethods.join(', ')}.`, { allowedMethods });

export const denied = () => new Problem('denied', 'The user_id is not valid.');

/**
 * Whatever was thrown, as a Problem. What we do not know is our bug: opaque to the client, whole in
 * the log.
 */
export function toProblem(thrown: unknown, reference: string): Problem {
  if (thrown instanceof Problem) return thrown;
  return new Problem('internal', `Internal error. Reference: ${reference}`, { cause: thrown });
}

/** For an operator, who can do something about it: with the reason of what does not answer. */
export function operatorSentence(thrown: Error): string {
  const { message: reason, code } = (thrown.cause ?? {}) as NodeJS.ErrnoException;
  const sentence = (thrown instanceof Problem && thrown.details.operator) || thrown.message;
  const why = reason || code;
  return why ? `${sentence} (${why})` : sentence;
}
