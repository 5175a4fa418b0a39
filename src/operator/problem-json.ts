import type { Problem, ProblemKind } from '../base/problem.ts';

/** Problems as RFC 9457 writes them. */

export const STATUS: Readonly<Record<ProblemKind, number>> = {
  'bad-argument': 400,
  malformed: 400,
  version: 400,
  'must-understand': 400,
  denied: 401,
  forbidden: 403,
  'not-found': 404,
  'unknown-operation': 404,
  method: 405,
  conflict: 409,
  changed: 412,
  'too-large': 413,
  'unsupported-media': 415,
  'key-reused': 422,
  'too-many': 429,
  internal: 500,
  unavailable: 503,
};

/** The kinds that the API answers with, and when. */
export const meanings: readonly (readonly [kind: ProblemKind, title: string, when: string])[] = [
  ['bad-argument', 'A field is wrong', 'A parameter or a field of the body is wrong; `errors` names all of them.'],
  ['malformed', 'The body is malformed', 'The body is not JSON in UTF-8.'],
  ['denied', 'The token is not valid', 'There is no bearer token, or it is unknown, expired or revoked.'],
  [
    'forbidden',
    'The token may not do this',
    'The token lacks a scope, which the answer names, or it expires and what it would create does not.',
  ],
  ['not-found', 'Not found', 'The object does not exist, or belongs to another account.'],
  ['method', 'The method is not allowed', 'The path takes other methods; Allow names them.'],
  [
    'conflict',
    'Conflict',
    'A name is taken, the state of the object forbids the action, or a request with this key is in progress, or is done and its answer is no longer stored.',
  ],
  [
    'changed',
    'The object has changed',
    'The object is no longer the one that If-Match names: somebody else has changed it.',
  ],
  ['too-large', 'The body is too large', 'The body is larger than allowed.'],
  ['unsupported-media', 'The media type is not supported', 'The body is not of the documented media type.'],
  ['key-reused', 'The Idempotency-Key was used before', 'The key was used with another body.'],
  ['too-many', 'Too many requests', 'Retry-After says when to try again.'],
  ['internal', 'Internal error', 'A bug in Columba. The log has the cause under the id of the request.'],
  ['unavailable', 'Unavailable', 'The database does not answer. Retry-After says when to try again.'],
];
const titles = new Map(meanings.map(([kind, title]) => [kind, title]));

export interface ProblemJson {
  readonly status: number;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

export function problemJson(problem: Problem): ProblemJson {
  const { kind, message, details } = problem;
  const status = STATUS[kind];
  const body = {
    type: `/operator/#problem-${kind}`,
    title: titles.get(kind) ?? kind,
    status,
    detail: message,
    ...(details.errors && { errors: details.errors }),
  };
  return {
    status,
    body: JSON.stringify(body),
    headers: {
      'Content-Type': 'application/problem+json',
      ...(kind === 'denied' && { 'WWW-Authenticate': 'Bearer' }),
      ...(details.retryAfterSeconds !== undefined && { 'Retry-After': String(details.retryAfterSeconds) }),
      ...(details.allowedMethods && { Allow: details.allowedMethods.join(', ') }),
    },
  };
}
