import { Problem } from '../../problem.ts';
import { withoutPassword } from '../../url-password.ts';

/** Errors as the log gets them: what went wrong and where, and of nobody's data anything. */
export interface Described {
  readonly type: string;
  readonly code?: string;
  readonly message: string;
  readonly stack?: string;
  readonly cause?: Described;
}

const MESSAGE_LENGTH_MAX = 500;
// Of a longer one the end is not looked at: some of the patterns take the square of the length.
const LOOKED_AT_MAX = 2_000;
const FRAMES_MAX = 20;
const CAUSES_MAX = 3;

const described = new WeakSet<object>();

/**
 * Errors of databases carry the values that they are about in a dozen properties, so that only these few are taken over.
 * `values` are what the client sent.
 */
export function describeError(thrown: unknown, values: readonly string[] = [], causes = CAUSES_MAX): Described {
  if (typeof thrown === 'object' && thrown !== null && described.has(thrown)) return thrown as Described;
  const error = (thrown instanceof Error ? thrown : {}) as Error & { code?: unknown; errcode?: unknown };
  const code = [error.code, error.errcode].filter((each) => /^[\w.-]{1,40}$/.test(String(each ?? ''))).join(' ');
  const stack = framesOf(error);
  const description: Described = {
    type: error.constructor === Object ? typeof thrown : error.constructor.name,
    ...(code && { code }),
    // What is for the operator holds no value of anybody's.
    message: (error instanceof Problem && error.details.operator) || withoutValues(error.message ?? '', values),
    ...(stack && { stack }),
    ...(error.cause !== undefined && causes > 0 && { cause: describeError(error.cause, values, causes - 1) }),
  };
  described.add(description);
  return description;
}

/**
 * What is quoted, up to the last quote of its sort: a value may hold quotes itself. The one message of V8 that repeats a
 * value without any. What looks like a number of somebody or a key, and what is not plain text.
 */
const VALUES: readonly [RegExp, string][] = [
  [/".*"?/gs, '"…"'],
  [/`.*`?/gs, '`…`'],
  [/(?<![A-Za-z])'.*'?/gs, "'…'"],
  [/Cannot convert .* to a BigInt/gs, 'Cannot convert … to a BigInt'],
  [/[^\x20-\x7E]+/g, '…'],
  [/\+?(?=[\da-f-]*\d)[\da-f-]{12,}|\+?\d{6,}/gi, '…'],
];

export function withoutValues(message: string, values: readonly string[]): string {
  let text = message;
  for (const value of [...values].sort((a, b) => b.length - a.length)) {
    if (value.length > 2) text = text.replaceAll(value, '…');
  }
  text = withoutPassword(text.slice(0, LOOKED_AT_MAX));
  for (const [pattern, mark] of VALUES) text = text.replace(pattern, mark);
  return text.slice(0, MESSAGE_LENGTH_MAX);
}

// at name (place:line:column), or at place:line:column; some places are none: <anonymous>, native.
const FRAME = /^ {4}at (?:.*\((?:.*:\d+:\d+|<anonymous>|native|index \d+)\)|(?:async )?\S+:\d+:\d+)$/;

/** Without the message, which stands before them, in however many lines. */
function framesOf({ stack = '', message = '' }: Error): string {
  const frames = stack.slice(stack.indexOf(message) + message.length).split('\n');
  return frames
    .filter((line) => FRAME.test(line))
    .slice(0, FRAMES_MAX)
    .join('\n');
}

/** The texts among what a call was given, lists included. */
export const textsOf = (values: Readonly<Record<string, unknown>> = {}): string[] =>
  Object.values(values)
    .flat()
    .map((value) => String(value ?? ''));
