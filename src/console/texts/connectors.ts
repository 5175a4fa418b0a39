import { grouped } from '../words.ts';

/** Texts of the connectors. */
export const texts = {
  title: 'Connectors',
  columns: ['Connector', 'State', 'Accepted', 'Refused for now', 'Refused', 'No answer', 'Last accepted', 'Limit', ''],
  states: { working: 'works', paused: 'paused', down: 'does not work' } as Readonly<Record<string, string>>,
  since: 'since',
  default: 'default',
  rate: (perSecond: number | null) => (perSecond === null ? 'no limit' : `${grouped(perSecond)} parts in a second`),
  pause: 'Pause',
  resume: 'Resume',
  empty: 'There is no connector yet.',
  emptyHint: 'The service makes a loopback at its first start. Add others with columba connector put.',
  notices: { paused: 'The connector is paused.', resumed: 'The connector works again.' },
} as const;
