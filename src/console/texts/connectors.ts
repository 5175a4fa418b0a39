import { grouped } from '../words.ts';

/** `0.4 s`, `12 s`, `3 min`. */
const seconds = (ms: number): string =>
  ms < 10_000
    ? `${(ms / 1_000).toFixed(1)} s`
    : ms < 120_000
      ? `${Math.round(ms / 1_000)} s`
      : `${Math.round(ms / 60_000)} min`;

/** Texts of the connectors. */
export const texts = {
  title: 'Connectors',
  columns: ['Connector', 'State', 'Waiting', 'Rate', 'Accepted', 'Refused', 'Receipts after', 'Last error', ''],
  states: { working: 'works', paused: 'paused', down: 'does not work' } as Readonly<Record<string, string>>,
  since: 'since',
  default: 'default',
  oldest: 'the oldest since',
  last: 'last',
  rate: (lastMinute: number, limit: number | null) =>
    `${lastMinute >= 1_000 ? '1,000+' : grouped(lastMinute)} in the last minute, ${limit === null ? 'no limit' : `at most ${grouped(limit)} in a second`}`,
  refused: (permanent: number, temporary: number, unsure: number) =>
    `${grouped(permanent)} for good, ${grouped(temporary)} for now, ${grouped(unsure)} without an answer`,
  lag: (ms: number | null) => (ms === null ? 'no receipt known' : seconds(ms)),
  pause: 'Pause',
  resume: 'Resume',
  empty: 'There is no connector yet.',
  emptyHint: 'The service makes a loopback at its first start. Add others with columba connector put.',
  notices: { paused: 'The connector is paused.', resumed: 'The connector works again.' },
} as const;
