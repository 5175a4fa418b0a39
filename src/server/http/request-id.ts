import { randomBytes } from 'node:crypto';

/** What joins the answer, the log lines and the spans of one request: its id, and the trace that it is part of. */

// Nothing that could be more than a name in a header field, a log line or a shell.
const GIVEN = /^[A-Za-z0-9._-]{1,64}$/;
// Ours are told apart by the process: 48 random bits, and a counter.
const PROCESS = randomBytes(6).toString('hex');
let count = 0;

type Field = string | string[] | undefined;

/** The client's own, where it is one; else a new one. */
export const requestIdOf = (given: Field): string =>
  typeof given === 'string' && GIVEN.test(given) ? given : `${PROCESS}-${(++count).toString(36)}`;

const IDS = '(?!0{32})[\\da-f]{32}-(?!0{16})[\\da-f]{16}-[\\da-f]{2}';
/** W3C Trace Context §3.2: later versions may go on behind a dash. */
const TRACEPARENT = new RegExp(`^(?:00-${IDS}|(?!00|ff)[\\da-f]{2}-${IDS}(?:-.*)?)$`);

/** The field as it came, where it is valid. */
export const traceparentOf = (given: Field): string | undefined =>
  typeof given === 'string' && TRACEPARENT.test(given) ? given : undefined;
