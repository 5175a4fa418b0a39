import { hashUserId } from '../../src/domain/accounts/credentials.ts';
import { createMigrationClients } from '../../src/migration/stages/clients.ts';
import { createMigrationCounts } from '../../src/migration/stages/counts.ts';
import type { OperatorApi } from './operator-api.ts';
import { ACME } from './service.ts';

/** What a proxy would have counted: one operation is right, the other differs twice. */
export async function addFigures({ services: { database, now } }: OperatorApi): Promise<void> {
  const migrationCounts = createMigrationCounts(database, now);
  const ofUnread = { operation: 'inbox.Unread', protocol: 'soap11' };
  const ofSent = { operation: 'sent.FetchSentDS', protocol: 'get' };
  await migrationCounts.add(
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

const DAY_MS = 86_400_000;
const DOTNET = 'Mozilla/4.0 (compatible; MSIE 6.0; MS Web Services Client Protocol 4.0.30319.42000)';

/** What a proxy would have seen: two programs of acme, one of them silent, and one of nobody. */
export async function addClients({ services: { database, now } }: OperatorApi): Promise<void> {
  const [acme, stranger] = ['account-00000000000000aa', 'account-00000000000000bb'];
  const call = (agent: string, accountName: string, userIdHash: string, operation: string, days: number) => ({
    accountName,
    userIdHash,
    agent,
    address: '10.0.0.17',
    operation,
    protocol: 'soap11',
    total: 2_880,
    firstAt: now() - 20 * DAY_MS,
    lastAt: now() - days * DAY_MS,
  });
  await createMigrationClients(database, now).add([
    call(DOTNET, acme, hashUserId(ACME), 'inbox.Unread', 0),
    call(DOTNET, acme, hashUserId(ACME), 'inbox.MarkMessageAsRead', 0),
    call('Invoices/1.0', acme, hashUserId(ACME), 'compose.SendMessage', 9),
    call('PHP-SOAP/8.2', stranger, 'nobody', 'sent.FetchSentDS', 1),
  ]);
}
