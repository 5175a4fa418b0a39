import { z } from 'zod';
import { counted } from '../../../base/counted.ts';
import { DAYS_MAX, RETENTION_KINDS } from '../../../domain/privacy/retention.ts';
import { type Action, action } from '../../action.ts';
import { domainOf } from '../../domain.ts';
import { queryFlag } from '../../schemas.ts';

/** For how long data is kept. */

const days = z.int().min(1).max(DAYS_MAX).nullable();
const ofEachKind = <T extends z.ZodType>(schema: T) =>
  z.strictObject({ inbox: schema, sent: schema, unrouted: schema, audit: schema, ledger: schema, clients: schema });

const output = z.strictObject({
  days: ofEachKind(days).describe('Days for which each kind is kept; null keeps it for ever.'),
  older: ofEachKind(z.int()).describe('What is too old now, and will be deleted within an hour.'),
});
const EXAMPLE = {
  days: { inbox: 365, sent: 365, unrouted: null, audit: null, ledger: null, clients: 90 },
  older: { inbox: 12, sent: 80, unrouted: 0, audit: 0, ledger: 0, clients: 0 },
};

type Kept = z.output<typeof output>;

/** A line for each kind. */
const said = ({ days: kept, older }: Kept): string =>
  RETENTION_KINDS.map((kind) =>
    kept[kind] === null
      ? `${kind}: kept for ever`
      : `${kind}: kept for ${counted(kept[kind] ?? 0, 'day')}, older now: ${older[kind]}`,
  ).join('\n');

export const retentionShow = action({
  name: 'retention show',
  scope: 'erase',
  method: 'GET',
  path: '/retention',
  countedFields: ['older'],
  summary: 'Show for how many days each kind of data is kept.',
  description: `Kinds: ${RETENTION_KINDS.join(', ')}. Old movements of the ledger are replaced by one sum for each balance.`,
  output,
  example: { output: EXAMPLE },
  command: { say: said },
  run: async (services) => {
    const { retention } = domainOf(services);
    const kept = await retention.days();
    return { days: kept, older: await retention.preview(kept) };
  },
});

export const retentionSet = action({
  name: 'retention set',
  scope: 'erase',
  method: 'PUT',
  path: '/retention',
  summary: 'Set for how many days data is kept.',
  description:
    'A kind that is not given stays as it is. A running service deletes what is older within an hour, a few rows at a time. ' +
    'A dry run counts what would be deleted.',
  query: z.strictObject({ dry_run: queryFlag.describe('Counts what would be deleted, and sets nothing.') }),
  body: z.strictObject({
    inbox: days.optional().describe('Received messages: days, or null to keep them.'),
    sent: days.optional().describe('Sent messages with their history: days, or null to keep them.'),
    unrouted: days.optional().describe('Incoming messages without a route: days, or null to keep them.'),
    audit: days.optional().describe('The audit: days, or null to keep it.'),
    ledger: days.optional().describe('Single movements of credits: days, or null to keep them.'),
    clients: days
      .optional()
      .describe('Programs that called the old server, with their addresses: days since they were seen, or null.'),
  }),
  output,
  readsOnly: ({ query }) => query.dry_run,
  example: { body: { inbox: 365, sent: 365 }, output: EXAMPLE },
  target: () => 'retention',
  command: {
    say: (done, { query }) => (query.dry_run ? `A dry run: nothing is set.\n${said(done)}` : said(done)),
  },
  run: async (services, { query, body }) => {
    const { retention } = domainOf(services);
    const given = Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined));
    const kept = { ...(await retention.days()), ...given };
    if (!query.dry_run) await retention.set(kept);
    return { days: kept, older: await retention.preview(kept) };
  },
});

export const retentionActions: readonly Action[] = [retentionShow, retentionSet];
