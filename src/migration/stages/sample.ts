import type { Database } from '../../store/database.ts';
import { createMigrationCounts, KNOWN_DIFFERENCE_PREFIX, latencyStep } from './counts.ts';

/** What the demo shows of a migration, as a proxy would have counted it. */
export async function addSample(database: Database, now: () => number): Promise<void> {
  const examples = MIGRATION_EXAMPLES.map((each) => ({ ...each, at: now() }));
  await createMigrationCounts(database, now).add(MIGRATION_COUNTS, examples);
}

const PROTOCOL = { protocol: 'SOAP 1.1' };
const DIFFERENT = { ...PROTOCOL, operation: 'inbox.Unread', name: 'different' };
const KNOWN_DATE = { ...PROTOCOL, operation: 'inbox.Unread', name: `${KNOWN_DIFFERENCE_PREFIX}header-date` };

/** Counts of calls as a proxy makes them for an account that is compared. */
const MIGRATION_COUNTS = [
  ...[
    { operation: 'inbox.Unread', equal: 812, oldMs: 40, ourMs: 3 },
    { operation: 'inbox.MarkMessageAsRead', equal: 96, oldMs: 55, ourMs: 5 },
  ].flatMap(({ operation, equal, oldMs, ourMs }) => [
    { ...PROTOCOL, operation, name: 'equal', total: equal },
    { ...PROTOCOL, operation, name: `old ms ${latencyStep(oldMs)}`, total: equal },
    { ...PROTOCOL, operation, name: `our ms ${latencyStep(ourMs)}`, total: equal },
  ]),
  { ...DIFFERENT, total: 1 },
  { ...KNOWN_DATE, total: 812 },
];
const MIGRATION_EXAMPLES = [
  { ...DIFFERENT, example: 'rows: old 3 rows, ours 2' },
  { ...KNOWN_DATE, example: 'date: old present, ours present, other value' },
];
