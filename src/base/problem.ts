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

/** Kinds of errors that the contract does not have. */
export type OperatorProblemKind = 'not-found' | 'conflict' | 'forbidden' | 'key-reused' | 'changed';

/**
 * A wrong field and what is wrong with it: `#/name` in the body, `?name` in the query, `{name}` in
 * the path. It never contains the value.
 */
export interface FieldError {
  readonly pointer: string;
  readonly detail: string;
  /** Of a file: the row as a spreadsheet numbers it, the column, and what was probably meant. */
  readonly row?: number;
  readonly field?: string;
  readonly proposal?: string | null;
}

export interface ProblemDetails {
  /** The bug or failure behind the problem, for the log and never for the client. */
  cause?: unknown;
  /**
   * The cause and the remedy, for the operator and never for the client. It may contain paths and
   * hosts, but no secret.
   */
  operator?: string | undefined;
  /** The connection is closed after the response, because what follows on it cannot be trusted. */
  closes?: boolean;
  /** unavailable: another transaction holds rows for too long. Work on other rows continues. */
  isLockedOut?: boolean;
  /** When the client may try again. */
  retryAfterSeconds?: number;
  /** method: the methods that the address accepts. */
  allowedMethods?: readonly string[];
  /** must-understand: the header blocks that were not understood. */
  blocks?: { uri: string; local: string }[];
  /** bad-argument: every wrong field. */
  errors?: readonly FieldError[];
}

/**
 * `message` is sent to the client. It names the mistake and never contains a secret, a path, SQL or
 * a stack.
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

/**
 * The database answers, but another transaction holds the rows of an account. Other accounts are
 * not affected.
 */
export const isLockedOut = (thrown: unknown): boolean =>
  thrown instanceof Problem && thrown.details.isLockedOut === true;

/** Nothing at all can be done now. */
export const isOutage = (thrown: unknown): boolean => isUnavailable(thrown) && !isLockedOut(thrown);

/**
 * The exit code of every command, and of a process of the service, if the database does not answer.
 */
export const NO_DATABASE_EXIT_CODE = 3;

export const badArgument = (parameter: string, reason: string) =>
  new Problem('bad-argument', `${parameter}: ${reason}`);

/** A Problem about one field of a JSON body. */
export const badField = (field: string, detail: string) =>
  new Problem('bad-argument', `${field}: ${detail}`, { errors: [{ pointer: `#/${field}`, detail }] });

export const notFound = (what: string) => new Problem('not-found', `There is no ${what}.`);

export const conflict = (message: string) => new Problem('conflict', message);

export const methodNotAllowed = (allowedMethods: readonly string[]) =>
  new Problem('method', `This address accepts only ${allowedMethods.join(', ')}.`, { allowedMethods });

export const denied = () => new Problem('denied', 'The user_id is not valid.');

/**
 * Turns anything that was thrown into a Problem. An unknown error is a bug of ours: opaque to the
 * client, complete in the log.
 */
export function toProblem(thrown: unknown, reference: string): Problem {
  if (thrown instanceof Problem) return thrown;
  return new Problem('internal', `Internal error. Reference: ${reference}`, { cause: thrown });
}

/** A sentence for the operator, with the cause and the remedy if they are known. */
export function operatorSentence(thrown: Error): string {
  const { message: reason, code } = (thrown.cause ?? {}) as NodeJS.ErrnoException;
  const sentence = (thrown instanceof Problem && thrown.details.operator) || thrown.message;
  const why = reason || code;
  return why ? `${sentence} (${why})` : sentence;
}
