import { isIP } from 'node:net';
import { z } from 'zod';
import { type Client, createMigrationClients, SILENT_DAYS } from '../../domain/migration-clients.ts';
import { DAY_MS } from '../../domain/migration-figures.ts';
import { badField } from '../../problem.ts';
import { type Action, action, listAction, pageOf } from '../action.ts';
import { instant, queryInteger, username } from '../schemas.ts';

/** The programs that call the old server through a proxy. */

const count = z.int().min(0);
const clientOutput = z.strictObject({
  account: z
    .string()
    .describe('The username; `account-…` as in recordings for a user_id that no account has; or empty.'),
  isKnown: z.boolean().describe('Whether an account of Columba has the user_id.'),
  agent: z.string().describe('User-Agent without what may be a secret or a phone number.'),
  address: z.string().describe('Seen through the proxies of COLUMBA_TRUSTED_PROXIES.'),
  firstSeen: instant,
  lastSeen: instant,
  silentDays: count.describe('Whole days since it was last seen.'),
  callsPerDay: count.describe('On the days on which it was seen.'),
  calls: z.array(
    z.strictObject({ operation: z.string(), protocol: z.string(), callsPerDay: count, lastSeen: instant }),
  ),
});
type ClientOutput = z.output<typeof clientOutput>;

const toOutput = ({ accountName, username: name, firstAt, lastAt, calls, ...client }: Client, at: number) => ({
  agent: client.agent,
  address: client.address,
  account: name ?? accountName,
  isKnown: name !== null,
  firstSeen: firstAt,
  lastSeen: lastAt,
  silentDays: Math.max(0, Math.floor((at - lastAt) / DAY_MS)),
  callsPerDay: client.callsPerDay,
  calls: calls.map(({ lastAt: lastSeen, ...call }) => ({ ...call, lastSeen })),
});

const shownCalls = ({ calls }: ClientOutput): string =>
  calls.map(({ operation, protocol, callsPerDay }) => `${operation} ${protocol} ${callsPerDay}`.trim()).join(', ');

const clients = listAction({
  name: 'migrate clients',
  scope: 'accounts',
  path: '/migration/clients',
  summary: 'List the programs that call the old server: User-Agent, address and account, and what each calls.',
  description:
    `A proxy writes them every ten seconds. With \`silent\` only those are listed that were not seen for so many days, such as ${SILENT_DAYS}. ` +
    'Where callers make up too many, calls without a row of their own are shown as (other clients).',
  query: z.strictObject({
    username: username.optional().describe('Only those of this account.'),
    silent: queryInteger(1, 3_650).optional().describe('Only those that were not seen for so many days.'),
  }),
  item: clientOutput,
  position: z.strictObject({ name: z.string(), agent: z.string(), address: z.string() }),
  example: {
    output: {
      items: [
        {
          account: 'acme',
          isKnown: true,
          agent: 'Mozilla/4.0 (compatible; MSIE 6.0; MS Web Services Client Protocol 4.0.30319.42000)',
          address: '10.0.0.17',
          firstSeen: '2026-11-08T06:00:00.000Z',
          lastSeen: '2026-11-15T11:59:50.000Z',
          silentDays: 0,
          callsPerDay: 2880,
          calls: [
            {
              operation: 'inbox.Unread',
              protocol: 'soap11',
              callsPerDay: 2880,
              lastSeen: '2026-11-15T11:59:50.000Z',
            },
          ],
        },
      ],
      next: null,
    },
  },
  command: {
    columns: ['agent', 'address', 'account', 'callsPerDay', 'lastSeen', 'silentDays', 'calls'],
    row: (item) => [
      item.agent,
      item.address,
      item.account,
      String(item.callsPerDay),
      new Date(item.lastSeen).toISOString().slice(0, 16).replace('T', ' '),
      item.silentDays >= SILENT_DAYS ? `not seen for ${item.silentDays} days` : '',
      shownCalls(item),
    ],
  },
  run: async ({ database, now }, { query, page: { after, limit } }) => {
    const position = after ?? { name: '', agent: '', address: '' };
    const filter = { username: query.username, silentDays: query.silent };
    const rows = await createMigrationClients(database, now).list(position, limit + 1, filter);
    return pageOf(
      rows,
      limit,
      (row) => toOutput(row, now()),
      ({ accountName: name, agent, address }) => ({ name, agent, address }),
    );
  },
});

const forgetClients = action({
  name: 'migrate forget-clients',
  scope: 'erase',
  method: 'POST',
  path: '/migration/clients/forget',
  summary: 'Erase clients from the list: those of an address, of an account, or of user_ids that no account has.',
  body: z.strictObject({
    address: z
      .string()
      .max(45)
      .refine((text) => isIP(text) > 0, 'expected an address such as 10.0.0.17')
      .optional()
      .describe('An address.'),
    username: username.optional().describe('An account.'),
    unknown: z.boolean().default(false).describe('Those of user_ids that no account of Columba has.'),
  }),
  output: z.strictObject({ erased: count.describe('Rows: one for each operation and protocol of a client.') }),
  problems: ['not-found'],
  example: { body: { address: '10.0.0.17' }, output: { erased: 3 } },
  // An address is personal data, and the audit outlives the list.
  target: ({ body }) => body.username ?? (body.unknown ? 'unknown' : 'an address'),
  command: { say: ({ erased }) => `Erased ${erased}.` },
  run: async ({ database, now }, { body }) => {
    const domain = createMigrationClients(database, now);
    if (body.address === undefined && body.username === undefined && !body.unknown) {
      throw badField('address', 'expected an address, an account or unknown: say what to erase');
    }
    let erased = 0;
    if (body.address !== undefined) erased += await domain.forgetAddress(body.address);
    if (body.username !== undefined) erased += await domain.forgetAccount(body.username);
    if (body.unknown) erased += await domain.forgetUnknown();
    return { erased };
  },
});

export const migrationClientActions: readonly Action[] = [clients, forgetClients];
