import { z } from 'zod';
import { counted } from '../../../base/counted.ts';
import type { PersonCounts, PersonOfAccount } from '../../../domain/privacy/persons.ts';
import { type Action, action } from '../../action.ts';
import { domainOf } from '../../domain.ts';
import { credits, instant, line, queryFlag, rowId, username } from '../../schemas.ts';
import { contact } from '../contacts/contacts.ts';
import { inboxMessage } from '../messages/inbox.ts';

/**
 * What is known about a person, by phone number: to be handed out, or to be erased. The audit never
 * has the number.
 */

const params = z.strictObject({
  number: line(50).min(1).describe('The phone number, in international form such as +27825550201.'),
});
const only = username.optional().describe('Only in this account; in all accounts if it is not given.');

const person = z.strictObject({
  username,
  contacts: z.array(contact),
  inbox: z.array(inboxMessage),
  sent: z.array(
    z.strictObject({
      id: rowId,
      reference: z.string().nullable(),
      recipient: z.string().nullable(),
      text: z.string().nullable(),
      status: z.string(),
      sentAt: instant,
      updatedAt: instant,
      marked: z.boolean(),
    }),
  ),
  scheduled: z.array(
    z.strictObject({
      id: rowId,
      reference: z.string().nullable(),
      recipient: z.string().nullable(),
      text: z.string().nullable(),
      scheduledAt: instant,
      createdAt: instant,
    }),
  ),
  blacklist: z.array(z.strictObject({ number: z.string(), evidence: z.string().nullable(), blockedAt: instant })),
  erasedFromBlacklist: z
    .boolean()
    .describe('Whether the person was erased and a hash keeps the number on the blacklist.'),
  profile: z.boolean().describe('Whether the profile of the account itself has the number.'),
  leftOut: z.int().describe('Number of rows beyond the first 10,000 of each kind, which are left out.'),
});

const known = z.strictObject({
  accounts: z.array(person),
  unrouted: z
    .array(
      z.strictObject({
        connector: z.string(),
        sender: z.string(),
        destination: z.string(),
        text: z.string(),
        receivedAt: instant,
      }),
    )
    .describe('Incoming messages that belong to no account, because they have no route or lack parts.'),
});

const shownPerson = ({ contacts, inbox, sent, scheduled, blacklist, ...rest }: PersonOfAccount) => ({
  ...rest,
  contacts: [...contacts],
  inbox: [...inbox],
  sent: [...sent],
  scheduled: [...scheduled],
  blacklist: [...blacklist],
});

const counts = z.strictObject({
  dryRun: z.boolean(),
  accounts: z.int().describe('Accounts that knew the person.'),
  contacts: z.int(),
  inbox: z.int(),
  sent: z.int(),
  scheduled: z.int().describe('Scheduled messages, which are cancelled.'),
  creditsReturned: credits.describe('Credits that were held for these messages.'),
  blacklist: z.int().describe('Blacklist entries of which only a hash stays, so that nothing is sent to the number.'),
  movements: z
    .int()
    .describe('Movements of credits whose reason or reference named the number. They stay, without the number.'),
  unrouted: z.int().describe('Incoming messages that belong to no account, because they have no route or lack parts.'),
  profiles: z
    .int()
    .describe('Accounts whose own profile has the number, which is not erased: change or remove the account.'),
});
const COUNTS = {
  dryRun: true,
  accounts: 1,
  contacts: 1,
  inbox: 4,
  sent: 6,
  scheduled: 1,
  creditsReturned: '1',
  blacklist: 1,
  movements: 0,
  unrouted: 0,
  profiles: 0,
};

const shownCounts = (found: PersonCounts, dryRun: boolean): z.output<typeof counts> => ({ dryRun, ...found });

function said({ dryRun, profiles, blacklist, creditsReturned, accounts, ...rows }: z.output<typeof counts>): string {
  const told = Object.entries(rows).map(([kind, count]) => `${kind} ${count}`);
  const heading = dryRun ? 'This would be erased' : 'Erased';
  const lines = [
    `${heading} from ${counted(accounts, 'account')}: ${told.join(', ')}. Credits returned: ${creditsReturned}.`,
  ];
  if (blacklist > 0)
    lines.push(
      `Blacklist: ${counted(blacklist, 'entry', 'entries')}. A hash stays, so that nothing is sent to the number.`,
    );
  if (profiles > 0) lines.push(`Profiles that have this number, and keep it: ${profiles}.`);
  return lines.join('\n');
}

export const personShow = action({
  name: 'person show',
  scope: 'erase',
  auditsReading: true,
  // The audit never has the number.
  target: ({ query }) => query.username ?? 'all accounts',
  needs: {
    says: 'This also needs the scopes contacts and messages:read, because it shows contacts and messages.',
    scopes: () => ['contacts', 'messages:read'],
  },
  method: 'GET',
  path: '/persons/{number}',
  summary: 'Export everything that is known about a person.',
  params,
  formerFields: { account: 'username' },
  query: z.strictObject({ username: only }),
  output: known,
  problems: ['not-found'],
  example: { params: { number: '+27825550201' }, output: { accounts: [], unrouted: [] } },
  command: {
    say: (found) =>
      found.accounts.length + found.unrouted.length === 0
        ? 'No account knows this number.'
        : JSON.stringify(z.encode(known, found), null, 2),
  },
  run: async (services, { params: { number }, query }) => {
    const { persons } = domainOf(services);
    const only = query.username ?? null;
    const found = await persons.export(number, only);
    return { accounts: found.map(shownPerson), unrouted: [...(await persons.exportUnrouted(number, only))] };
  },
});

export const personErase = action({
  name: 'person erase',
  scope: 'erase',
  erases: true,
  method: 'DELETE',
  path: '/persons/{number}',
  summary: 'Erase a person: contacts, messages, evidence on blacklists.',
  description:
    'Messages that have not left yet, scheduled or due, are cancelled, and their credits are free again. A number on a blacklist stays there as a hash. ' +
    'Texts of other people that mention the number stay. A dry run only counts.',
  params,
  formerFields: { account: 'username' },
  query: z.strictObject({ username: only, dry_run: queryFlag.describe('Only counts, and erases nothing.') }),
  output: counts,
  problems: ['not-found'],
  readsOnly: ({ query }) => query.dry_run,
  example: { params: { number: '+27825550201' }, query: { dry_run: 'true' }, output: COUNTS },
  target: ({ query }) => query.username ?? 'all accounts',
  command: { say: said },
  run: async (services, { params: { number }, query: { username: only = null, dry_run: dryRun } }) => {
    const { persons } = domainOf(services);
    return shownCounts(
      dryRun ? await persons.count(number, only) : await persons.erase(number, only, services.progress),
      dryRun,
    );
  },
});

export const personActions: readonly Action[] = [personShow, personErase];
