import type { DateContext } from '../../contract/dates.ts';
import { scalarText } from '../../contract/scalars.ts';
import type { Group, Scalar } from '../../contract/types.ts';
import type { Reply, Request } from '../../exchange.ts';
import { badArgument, type Problem, type ProblemKind } from '../../problem.ts';
import type { XmlLimits } from '../xml/limits.ts';

export type ProtocolName = 'soap11' | 'soap12' | 'get' | 'post';

/** A call of one operation, its arguments typed as the table says. */
export interface Call {
  readonly group: string;
  readonly operation: string;
  readonly arguments: Readonly<Record<string, unknown>>;
}

/** A request that a form has received: what it calls, and how its answer looks. */
export interface Message {
  readonly protocol: ProtocolName;
  decode(): Call;
  encode(call: Call, value: unknown): Reply;
  encodeProblem(problem: Problem): Reply;
}

/** A protocol form of one group of operations. */
export interface Protocol {
  receive(request: Request, operation: string, body: Uint8Array): Message;
  /** For what goes wrong before there is a message. */
  encodeProblem(problem: Problem, request: Request): Reply;
}

/** What a form is compiled from. */
export interface ProtocolSettings {
  readonly groupName: string;
  readonly group: Group;
  readonly namespace: string;
  readonly dates: () => DateContext;
  readonly limits: WireLimits;
}

export interface WireLimits extends XmlLimits {
  /** name=value pairs. */
  readonly parametersMax: number;
}

/** Of an answer by one line of text. */
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
  // The contract has none of these.
  'not-found': 404,
  conflict: 409,
  forbidden: 403,
  'key-reused': 422,
};

/** A problem as one line of text, under the status that HTTP has for it. */
export function plainProblem(problem: Problem): Reply {
  return {
    status: STATUS[problem.kind],
    headers: { 'Content-Type': 'text/plain; charset=utf-8', 'Cache-Control': 'private', ...fieldsOf(problem) },
    body: `${problem.message.replaceAll(/[\r\n]+/g, ' ')}\n`,
    closes: problem.details.closes,
  };
}

/** The header fields that RFC 9110 wants with the status. */
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

/** The text of a scalar argument as its value. A missing string is null; a missing number or dateTime is an error. */
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
