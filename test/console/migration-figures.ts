import { createMigrationFigures } from '../../src/domain/migration-figures.ts';
import type { OperatorApi } from '../operator/operator-api.ts';

/** What a proxy would have counted: one operation is right, the other differs twice. */
export async function addFigures({ services: { database, now } }: OperatorApi): Promise<void> {
  const figures = createMigrationFigures(database, now);
  const ofUnread = { operation: 'inbox.Unread', protocol: 'soap11' };
  const ofSent = { operation: 'sent.FetchSentDS', protocol: 'get' };
  await figures.add(
    [
      { ...ofUnread, name: 'equal', total: 1_234 },
      { ...ofUnread, name: 'lag', total: 3 },
      { ...ofUnread, name: 'old ms 20', total: 1_234 },
      { ...ofUnread, name: 'our ms 4', total: 1_234 },
      { ...ofSent, name: 'equal', total: 100 },
      { ...ofSent, name: 'different', total: 2 },
      { ...ofSent, name: 'mask header-date', total: 102 },
    ],
    [
      { ...ofSent, name: 'different', example: 'column status: old DELIVRD, ours DELIVERED', at: now() },
      { ...ofSent, name: 'mask header-date', example: 'date: other value', at: now() },
    ],
  );
}
