import { type DestinationStream, type Logger, pino } from 'pino';
import { describeError } from './error-redaction.ts';

export type Log = Logger;

/** JSON lines on standard error: standard output belongs to commands. */
export function createLog(
  level: string,
  destination: DestinationStream = pino.destination({ fd: 2, sync: true }),
): Log {
  const serializers = { err: (thrown: unknown) => describeError(thrown) };
  return pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime, serializers }, destination);
}
