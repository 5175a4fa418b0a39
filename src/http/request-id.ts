import { randomBytes } from '../base/random.ts';

/** The request id and the trace context: they join response, log lines and spans of a request. */

// Safe in a header field, a log line and a shell.
const GIVEN = /^[A-Za-z0-9._-]{1,64}$/;
// Our ids: 48 random bits per process, and a counter.
const PROCESS = randomBytes(6).toString('hex');
let count = 0;

type Field = string | string[] | undefined;

/** The client's id if it is valid, else a new one. */
export const requestIdOf = (given: Field): string =>
  typeof given === 'string' && GIVEN.test(given) ? given : `${PROCESS}-${(++count).toString(36)}`;

const IDS = '(?!0{32})[\\da-f]{32}-(?!0{16})[\\da-f]{16}-[\\da-f]{2}';
/** W3C Trace Context §3.2: later versions may append more after a dash. */
const TRACEPARENT = new RegExp(`^(?:00-${IDS}|(?!00|ff)[\\da-f]{2}-${IDS}(?:-.*)?)$`);

/** The field as sent, if it is valid. */
export const traceparentOf = (given: Field): string | undefined =>
  typeof given === 'string' && TRACEPARENT.test(given) ? given : undefined;
