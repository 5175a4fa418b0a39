import type { Reply, Request } from '../../base/exchange.ts';
import { badArgument, type Problem, type ProblemKind } from '../../base/problem.ts';
import type { DateContext } from '../contract/dates.ts';
import { scalarText } from '../contract/scalars.ts';
import type { Group, Scalar } from '../contract/types.ts';
import type { Dialect } from '../dialect/dialect.ts';
import type { XmlLimits } from '../xml/limits.ts';

export type ProtocolName = 'soap11' | 'soap12' | 'get' | 'post';

/** A call of one operation. The arguments have the types that the contract declares. */
export interface Call {
  readonly group: string;
  readonly operation: string;
  readonly arguments: Readonly<Record<string, unknown>>;
}

/** A request that a protocol could parse: decodes its call, encodes its response. */
export interface Message {
  readonly protocol: ProtocolName;
  decode(): Call;
  encode(call: Call, value: unknown): Reply;
  encodeProblem(problem: Problem): Reply;
}

/** A protocol, compiled for one group of operations. */
export interface Protocol {
  receive(request: Request, operation: string, body: Uint8Array): Message;
  /** For a problem before there is a message. */
  encodeProblem(problem: Problem, request: Request): Reply;
}

export interface ProtocolSettings {
  readonly groupName: string;
  readonly group: Group;
  readonly namespace: string;
  readonly dates: () => DateContext;
  readonly limits: WireLimits;
  readonly dialect: Dialect;
}

export interface WireLimits extends XmlLimits {
  /** The most name=value pairs of a request. */
  readonly parametersMax: number;
}

/** The status of each kind in a plain response. */
export const STATUS: Readonly<Record<ProblemKind, number>> = {
  version: 400,
  'must-understand': 400,
  'unknown-operation': 404,
  'bad-argument': 400,
  denied: 403,
  internal: 500,
  malformed: 400,
  method: 405,
  'too-large': 413,
  'unsupported-media': 415,
  'too-many': 429,
  unavailable: 503,
  // No operation of the contract has these problems.
  'not-found': 404,
  conflict: 409,
  forbidden: 403,
  'key-reused': 422,
  changed: 412,
};

/**
 * The statuses of ASMX: 500 for whatever is wrong with a call. A refusal by the HTTP server and a
 * refusal with Retry-After keep their status.
 */
const ASMX_STATUS: Readonly<Record<ProblemKind, number>> = {
  ...STATUS,
  'unknown-operation': 500,
  'bad-argument': 500,
  denied: 500,
  malformed: 500,
  'unsupported-media': 500,
};

/** The status of each kind in GET and POST. */
export const statusesOf = ({ errorStatus }: Dialect): Readonly<Record<ProblemKind, number>> =>
  errorStatus === 'asmx' ? ASMX_STATUS : STATUS;

/** A problem as one line of text, with its HTTP status. */
export function plainProblem(problem: Problem, statuses = STATUS): Reply {
  return {
    status: statuses[problem.kind],
    headers: { 'Content-Type': 'text/plain; charset=utf-8', 'Cache-Control': 'private', ...fieldsOf(problem) },
    body: `${problem.message.replaceAll(/[\r\n]+/g, ' ')}\n`,
    closes: problem.details.closes,
  };
}

/** The header fields that RFC 9110 requires or recommends with the status. */
function fieldsOf({ details: { allowedMethods, retryAfterSeconds } }: Problem): Record<string, string> {
  const fields: Record<string, string> = {};
  if (allowedMethods) fields.Allow = allowedMethods.join(', ');
  if (retryAfterSeconds !== undefined) fields['Retry-After'] = String(retryAfterSeconds);
  return fields;
}

export const xmlReply = (contentType: string, body: Reply['body']): Reply => ({
  status: 200,
  headers: { 'Content-Type': contentType, 'Cache-Control': 'private, max-age=0' },
  body,
});

/** Parses a scalar argument. A missing string is null; another missing scalar is an error. */
export function readArgument(
  name: string,
  type: Scalar,
  text: string | undefined,
  parse: 'parseSchema' | 'parseGeneral',
  context: DateContext,
): unknown {
  if (text === undefined) {
    if (type.name === 'string') return null;
    throw badArgument(name, 'missing');
  }
  const { [parse]: parseText, expected } = scalarText[type.name];
  const value = parseText(text, context);
  if (value === null) throw badArgument(name, `expected ${expected}`);
  return value;
}
