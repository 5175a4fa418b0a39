import { type DestinationStream, type Logger, pino } from 'pino';

export type Log = Logger;

/** JSON lines on standard error: standard output belongs to commands. */
export function createLog(
  level: string,
  destination: DestinationStream = pino.destination({ fd: 2, sync: true }),
): Log {
  return pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, destination);
}
