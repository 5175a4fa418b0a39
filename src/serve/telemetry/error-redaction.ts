import { Problem } from '../../base/problem.ts';
import { withoutPassword } from '../../base/url-password.ts';

/** Redacts errors for the log: what went wrong and where, without any data of accounts. */
export interface ErrorDescription {
  readonly type: string;
  readonly code?: string;
  readonly message: string;
  readonly stack?: string;
  readonly cause?: ErrorDescription;
}

const MESSAGE_LENGTH_MAX = 500;
// A longer message is cut first: some of the patterns take quadratic time.
const REDACTED_LENGTH_MAX = 2_000;
const FRAMES_MAX = 20;
const CAUSES_MAX = 3;

const described = new WeakSet<object>();

/**
 * Copies a few properties only: errors of databases carry values in a dozen others.
 * `values` are the arguments that the client sent.
 */
export function describeError(thrown: unknown, values: readonly string[] = [], causes = CAUSES_MAX): ErrorDescription {
  if (typeof thrown === 'object' && thrown !== null && described.has(thrown)) return thrown as ErrorDescription;
  const error = (thrown instanceof Error ? thrown : {}) as Error & { code?: unknown; errcode?: unknown };
  const code = [error.code, error.errcode].filter((each) => /^[\w.-]{1,40}$/.test(String(each ?? ''))).join(' ');
  const stack = framesOf(error);
  const description: ErrorDescription = {
    type: error.constructor === Object ? typeof thrown : error.constructor.name,
    ...(code && { code }),
    // A text for the operator contains no data of an account.
    message: (error instanceof Problem && error.details.operator) || redact(error.message ?? '', values),
    ...(stack && { stack }),
    ...(error.cause !== undefined && causes > 0 && { cause: describeError(error.cause, values, causes - 1) }),
  };
  described.add(description);
  return description;
}

/**
 * Text that may be a value. Quoted text ends at the last quote, because a value may contain quotes.
 * V8 has one message with an unquoted value. Characters beyond ASCII, phone numbers and keys count
 * too.
 */
const VALUE_PATTERNS: readonly [RegExp, string][] = [
  [/".*"?/gs, '"…"'],
  [/`.*`?/gs, '`…`'],
  [/(?<![A-Za-z])'.*'?/gs, "'…'"],
  [/Cannot convert .* to a BigInt/gs, 'Cannot convert … to a BigInt'],
  [/[^\x20-\x7E]+/g, '…'],
  [/\+?(?=[\da-f-]*\d)[\da-f-]{12,}|\+?\d{6,}/gi, '…'],
];

export function redact(message: string, values: readonly string[]): string {
  let text = message;
  for (const value of [...values].sort((a, b) => b.length - a.length)) {
    if (value.length > 2) text = text.replaceAll(value, '…');
  }
  text = withoutPassword(text.slice(0, REDACTED_LENGTH_MAX));
  for (const [pattern, mark] of VALUE_PATTERNS) text = text.replace(pattern, mark);
  return text.slice(0, MESSAGE_LENGTH_MAX);
}

// `at name (file:line:column)` or `at file:line:column`; some have <anonymous> or native instead.
const FRAME = /^ {4}at (?:.*\((?:.*:\d+:\d+|<anonymous>|native|index \d+)\)|(?:async )?\S+:\d+:\d+)$/;

/** The stack frames without the message before them, which may have several lines. */
function framesOf({ stack = '', message = '' }: Error): string {
  const frames = stack.slice(stack.indexOf(message) + message.length).split('\n');
  return frames
    .filter((line) => FRAME.test(line))
    .slice(0, FRAMES_MAX)
    .join('\n');
}

/** The arguments of a call as texts, with the items of lists. */
export const textsOf = (values: Readonly<Record<string, unknown>> = {}): string[] =>
  Object.values(values)
    .flat()
    .map((value) => String(value ?? ''));
