import { isIP } from 'node:net';
import { z } from 'zod';
import { counted } from '../../base/counted.ts';
import { badField, notFound } from '../../base/problem.ts';
import { type Action, action, listAction, pageOf } from '../../operator/action.ts';
import { instant, line, queryInteger, username } from '../../operator/schemas.ts';
import { RULE_STAGES } from '../stages/client-rules.ts';
import { type Client, createMigrationClients, SILENT_DAYS } from '../stages/clients.ts';
import { DAY_MS } from '../stages/counts.ts';
import { createMigrationStages } from '../stages/stages.ts';

/** The programs that call the old server through a proxy. */

const count = z.int().min(0);
const clientOutput = z.strictObject({
  account: z
    .string()
    .describe('The username; `account-…` as in recordings for a user_id that no account has; or empty.'),
  isKnown: z.boolean().describe('Whether an account of Columba has the user_id.'),
  agent: z.string().describe('User-Agent without what may be a secret or a phone number.'),
  address: z.string().describe('The address of the client, behind the proxies of COLUMBA_TRUSTED_PROXIES.'),
  firstSeen: instant,
  lastSeen: instant,
  silentDays: count.describe('Whole days since the client was last seen.'),
  callsPerDay: count.describe('Calls per day, on the days on which the client was seen.'),
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

/** With this limit, a line with all columns has at most some 190 characters. */
const CELL_LENGTH_MAX = 40;
const bounded = (text: string): string =>
  text.length > CELL_LENGTH_MAX ? `${text.slice(0, CELL_LENGTH_MAX - 1)}…` : text;

/** The lines of a client, one for each operation and protocol. */
const clientLines = ({ agent, address, account, silentDays, calls }: ClientOutput): string[][] =>
  calls.map(({ operation, protocol, callsPerDay, lastSeen }) => [
    bounded(agent),
    address,
    bounded(account),
    bounded(operation),
    protocol,
    String(callsPerDay),
    new Date(lastSeen).toISOString().slice(0, 16).replace('T', ' '),
    silentDays >= SILENT_DAYS ? `not seen for ${counted(silentDays, 'day')}` : '',
  ]);

export const migrateClients = listAction({
  name: 'migrate clients',
  scope: 'accounts',
  path: '/migration/clients',
  summary: 'List the programs that call the old server: User-Agent, address and account, and what each calls.',
  description:
    `A proxy writes them every ten seconds. With \`silent\` only clients are listed that were not seen for that many days, such as ${SILENT_DAYS}. ` +
    'If callers invent too many clients, calls without a row of their own are shown as (other clients).',
  query: z.strictObject({
    username: username.optional().describe('Only clients of this account.'),
    silent: queryInteger(1, 3_650).optional().describe('Only clients that were not seen for this many days.'),
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
    columns: ['program', 'address', 'account', 'operation', 'protocol', 'calls a day', 'last seen', 'silent'],
    rows: clientLines,
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

export const migrateForgetClients = action({
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
    unknown: z.boolean().default(false).describe('Clients whose user_id no account of Columba has.'),
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

const ruleName = line(64).min(1).describe('A name that you choose for the rule.');
const rule = z.strictObject({
  name: z.string(),
  stage: z.enum(RULE_STAGES),
  address: z.string().nullable(),
  header: z.string().nullable(),
  username: z.string().nullable(),
  changedAt: instant,
});
const RULE_EXAMPLE = {
  name: 'invoices',
  stage: 'lead',
  address: '10.0.0.17',
  header: null,
  username: null,
  changedAt: '2026-11-15T12:00:00.000Z',
};
const HEADER = /^([^:\s]+):\s*(\S.*)$/;

const shownRule = ({ name, stage: reads, address, header, username: customer }: z.output<typeof rule>): string =>
  `${name}: ${reads} for ${[address, header, customer].filter((each) => each !== null).join(', ')}`;

export const migrateClientRules = action({
  name: 'migrate client-rules',
  scope: 'accounts',
  method: 'GET',
  path: '/migration/client-rules',
  summary: 'List the rules that choose which server answers the reads of a client.',
  output: z.strictObject({ rules: z.array(rule) }),
  example: { output: { rules: [RULE_EXAMPLE] } },
  command: {
    say: ({ rules }) =>
      rules.length === 0 ? 'There are no rules: the stage of each account decides.' : rules.map(shownRule).join('\n'),
  },
  run: async ({ database, now }) => {
    const rules = await createMigrationStages(database, now).rules();
    return {
      rules: rules.map(({ name, stage, network, header, username: customer, changedAt }) => ({
        name,
        stage,
        address: network,
        header: header && `${header.name}: ${header.value}`,
        username: customer,
        changedAt,
      })),
    };
  },
});

export const migrateClientRule = action({
  name: 'migrate client-rule',
  scope: 'accounts',
  method: 'PUT',
  path: '/migration/client-rules/{name}',
  summary: 'Choose which server answers the reads of a client, by its address or a header field.',
  description:
    'lead: Columba answers. compare: the old server answers, and Columba is compared with it. Rules do not apply to writes: ' +
    'they follow the stage of the account, so that they have one order. A rule applies to accounts in the stages compare ' +
    'and lead, because there both servers have all data; elsewhere it does nothing. If several rules match, one with ' +
    'an account wins over one without, then one with a header field, then the longer prefix. Every proxy follows within a second.',
  params: z.strictObject({ name: ruleName }),
  body: z.strictObject({
    stage: z.enum(RULE_STAGES).describe('Who answers its reads.'),
    address: line(64).optional().describe('An address or a network, such as 10.0.0.17 or 10.0.0.0/24.'),
    header: line(300)
      .regex(HEADER, 'expected a field such as X-Client: invoices')
      .optional()
      .describe('A header field and its whole value, such as X-Client: invoices.'),
    username: username.optional().describe('Only for this account.'),
  }),
  output: z.strictObject({ name: z.string(), stage: z.enum(RULE_STAGES) }),
  problems: ['not-found', 'conflict'],
  example: {
    params: { name: 'invoices' },
    body: { stage: 'lead', address: '10.0.0.17' },
    output: { name: 'invoices', stage: 'lead' },
  },
  target: ({ params, body }) => `${params.name}/${body.stage}`,
  command: { say: ({ name, stage }) => `${name}: reads are answered as in the stage ${stage}` },
  run: async ({ database, now }, { params: { name }, body }) => {
    const [, field = '', value = ''] = HEADER.exec(body.header ?? '') ?? [];
    await createMigrationStages(database, now).putRule({
      name,
      stage: body.stage,
      network: body.address ?? null,
      header: body.header === undefined ? null : { name: field, value: value.trim() },
      username: body.username ?? null,
    });
    return { name, stage: body.stage };
  },
});

export const migrateRemoveClientRule = action({
  name: 'migrate remove-client-rule',
  scope: 'accounts',
  method: 'DELETE',
  path: '/migration/client-rules/{name}',
  summary: 'Remove a rule of a client. The stage of the account decides again, within a second.',
  params: z.strictObject({ name: ruleName }),
  output: z.strictObject({ name: z.string() }),
  problems: ['not-found'],
  example: { params: { name: 'invoices' }, output: { name: 'invoices' } },
  command: { say: ({ name }) => `${name} is removed.` },
  run: async ({ database, now }, { params: { name } }) => {
    if (!(await createMigrationStages(database, now).removeRule(name))) throw notFound(`rule with the name ${name}`);
    return { name };
  },
});

export const migrationClientActions: readonly Action[] = [
  migrateClients,
  migrateForgetClients,
  migrateClientRules,
  migrateClientRule,
  migrateRemoveClientRule,
];
