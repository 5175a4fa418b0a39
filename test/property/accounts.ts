import fc from 'fast-check';
import { unknownOutcomePolicies } from '../../src/domain/accounts/accounts.ts';
import { DELIVERY_STATUSES } from '../../src/domain/messages/statuses.ts';
import { anyText, carried, instant, int, long } from './arbitraries.ts';
import type { Value } from './replies.ts';

/** Any account in the import format, and what the service must then answer. */
const absent = undefined;
const optional = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: absent });
/** Halves of surrogate pairs are refused: no database can hold them. */
const whole = (codePointsMax: number) => anyText(codePointsMax).map((given) => given.toWellFormed());
const text = optional(whole(200));
const number = optional(fc.oneof(whole(30), fc.constantFrom('+27825550201', '082 555 0201', '1'.repeat(5_000))));
const time = instant.map((at) => new Date(at).toISOString());
const digits = long.map(String);
const byId = { selector: ({ id }: { id: unknown }) => id, maxLength: 6 };

const clock = fc
  .tuple(fc.nat({ max: 23 }), fc.nat({ max: 59 }))
  .map((parts) => parts.map((part) => String(part).padStart(2, '0')).join(':'));

const message = { id: digits, message: text };
const ACCOUNT = {
  contactName: text,
  contactSurname: text,
  company: text,
  email: text,
  tel: number,
  fax: text,
  mobile: number,
  address: text,
  credits: digits,
  usedCredits: digits,
  transmissionPriority: int,
  tag: int,
  datetimeCreated: time,
  datetimeLastLoggedIn: optional(time),
  stopWords: optional(fc.constantFrom('STOP', 'STOP,ENDE')),
  startWords: optional(fc.constantFrom('START', 'START,AN')),
  helpWords: optional(fc.constantFrom('HELP', 'HELP,INFO')),
  wordLanguages: optional(fc.constantFrom('en', 'de,fr')),
  stopAnswer: optional(fc.constantFrom('You get no more messages.', 'Ende, é 😀')),
  helpAnswer: optional(fc.constantFrom('Call us.')),
  timeZone: optional(fc.constantFrom('Africa/Johannesburg', 'UTC', 'Asia/Kathmandu')),
  quietHours: optional(fc.tuple(clock, clock).map((times) => times.join('-'))),
  unknownOutcomePolicy: optional(fc.constantFrom(...unknownOutcomePolicies)),
  connector: optional(fc.constantFrom('main', 'the second one', 'é'.repeat(64))),
  lowCredits: optional(fc.bigInt(0n, 2n ** 63n - 1n).map(String)),
  groups: fc.uniqueArray(fc.record({ id: int, name: text }), byId),
  contacts: fc.uniqueArray(
    fc.record({ id: digits, name: text, surname: text, mobile: number, group: optional(fc.nat({ max: 5 })) }),
    byId,
  ),
  templates: fc.uniqueArray(whole(200).filter(Boolean), { maxLength: 6 }),
  inbox: fc.uniqueArray(
    fc.record({ ...message, sender: text, short_code: text, timestamp: time, read: fc.boolean() }),
    byId,
  ),
  sent: fc.uniqueArray(
    fc.record({
      ...{
        ...message,
        user_message_id: text,
        recipient: number,
        delivery_status: fc.constantFrom(...DELIVERY_STATUSES),
      },
      timestamp_sent: time,
      timestamp_updated: time,
      marked: fc.boolean(),
    }),
    byId,
  ),
  scheduled: fc.uniqueArray(
    fc.record({
      ...message,
      user_message_id: text,
      recipient: number,
      timestamp_scheduled: time,
      timestamp_created: time,
    }),
    byId,
  ),
};

/** A contact is in one of the groups that there are, or in none. */
export const anyAccount = fc.record(ACCOUNT).map(({ contacts, ...account }) => ({
  ...account,
  contacts: contacts.map(({ group, ...contact }) => ({
    ...contact,
    groupid: group === absent ? absent : account.groups[group]?.id.toString(),
  })),
}));
export type AnyAccount = typeof anyAccount extends fc.Arbitrary<infer T> ? T : never;

type Question = readonly [group: string, operation: string, args: Record<string, string | number>, answer: Value];
const ALL = 10_000;
const EVER = { from: '0001-01-01T00:00:00Z', to: '9999-12-31T23:59:59.999Z' };

/** Every call that only reads, with what it must answer. */
export function questions(account: AnyAccount, userId: string, username: string): Question[] {
  const contacts = sorted(account.contacts.map(contact), ({ id }) => [BigInt(id as string)]);
  const inGroup = (id: number) => contacts.filter(({ groupid }) => groupid === String(id));
  const inbox = sorted(account.inbox.map(received), ({ timestamp, id }) => [timestamp, id]);
  const sent = sorted(account.sent.map(sentMessage), ({ timestamp_sent, id }) => [timestamp_sent, id]);
  const changed = sorted(sent, ({ timestamp_updated, id }) => [timestamp_updated, id]);
  const unmarked = changed.filter(({ marked }) => !marked);
  const scheduled = sorted(account.scheduled.map(scheduledMessage), ({ timestamp_scheduled, id }) => [
    timestamp_scheduled,
    id,
  ]);
  const unread = inbox.filter(({ read }) => !read);
  return [
    ['account', 'Profile', {}, profile(account, userId, username)],
    ['account', 'FetchContacts', {}, contacts],
    ['account', 'FetchContactsDS', {}, contacts],
    ...account.groups.flatMap(({ id }): Question[] => [
      ['account', 'FetchContactsByGroupId', { groupid: id }, inGroup(id)],
      ['account', 'FetchContactsByGroupIdDS', { groupid: id }, inGroup(id)],
    ]),
    [
      ...(['account', 'FetchGroups', {}] as const),
      sorted(account.groups, ({ id }) => [id]).map(({ id, name }) => ({
        id,
        name: leaving(name),
        total: inGroup(id).length,
      })),
    ],
    ['account', 'FetchSavedMessages', {}, account.templates.map(carried)],
    ['inbox', 'Read', { ...EVER, max_count: ALL }, inbox.map(withoutRead)],
    ['inbox', 'Unread', { max_count: ALL }, unread.map(withoutRead)],
    ['inbox', 'InboxDS', { max_count: ALL }, inbox.toReversed()],
    ['inbox', 'CountRead', {}, BigInt(inbox.length - unread.length)],
    ['inbox', 'CountUnread', {}, BigInt(unread.length)],
    ['sent', 'FetchUnmarkedDeliveryStatus', { max: ALL }, unmarked.map(status)],
    ['sent', 'CountUnMarkedDeliveryStatus', {}, BigInt(unmarked.length)],
    ['sent', 'FetchSentDS', { max: ALL }, sent.toReversed()],
    ['compose', 'FetchScheduledDS', { max: ALL }, scheduled],
  ];
}

const leaving = (given: string | undefined): string | null => (given === absent ? null : carried(given));

function profile(account: AnyAccount, userID: string, username: string) {
  const { datetimeCreated, datetimeLastLoggedIn, transmissionPriority, tag } = account;
  return {
    userID,
    username,
    password: '',
    transmissionPriority,
    tag,
    contactName: leaving(account.contactName),
    contactSurname: leaving(account.contactSurname),
    company: leaving(account.company),
    email: leaving(account.email),
    tel: leaving(account.tel),
    fax: leaving(account.fax),
    mobile: leaving(account.mobile),
    address: leaving(account.address),
    credits: BigInt(account.credits),
    usedCredits: BigInt(account.usedCredits),
    datetimeCreated: Date.parse(datetimeCreated),
    datetimeLastLoggedIn: Date.parse(datetimeLastLoggedIn ?? datetimeCreated),
  };
}

const contact = ({ id, name, surname, mobile, groupid }: AnyAccount['contacts'][number]) => ({
  id,
  name: leaving(name),
  surname: leaving(surname),
  mobile: leaving(mobile),
  groupid: leaving(groupid),
});

const received = ({ id, sender, message: given, short_code, timestamp, read }: AnyAccount['inbox'][number]) => ({
  id: BigInt(id),
  sender: leaving(sender),
  message: leaving(given),
  short_code: leaving(short_code),
  timestamp: Date.parse(timestamp),
  read,
});
const withoutRead = ({ read, ...fields }: ReturnType<typeof received>) => fields;

const sentMessage = (given: AnyAccount['sent'][number]) => ({
  id: BigInt(given.id),
  recipient: leaving(given.recipient),
  message: leaving(given.message),
  user_message_id: leaving(given.user_message_id) ?? given.id,
  delivery_status: given.delivery_status,
  timestamp_sent: Date.parse(given.timestamp_sent),
  timestamp_updated: Date.parse(given.timestamp_updated),
  marked: given.marked,
});
const status = ({
  recipient,
  user_message_id,
  delivery_status,
  timestamp_updated,
}: ReturnType<typeof sentMessage>) => ({
  recipient,
  user_message_id,
  delivery_status,
  timestamp_updated,
});

const scheduledMessage = (given: AnyAccount['scheduled'][number]) => ({
  id: BigInt(given.id),
  recipient: leaving(given.recipient),
  message: leaving(given.message),
  user_message_id: leaving(given.user_message_id) ?? given.id,
  timestamp_scheduled: Date.parse(given.timestamp_scheduled),
  timestamp_created: Date.parse(given.timestamp_created),
});

/** By several keys, the first first. */
function sorted<T>(items: readonly T[], keys: (item: T) => readonly (number | bigint)[]): T[] {
  return items.toSorted((a, b) => {
    const [ofA, ofB] = [keys(a), keys(b)];
    const at = ofA.findIndex((key, index) => key !== ofB[index]);
    return at < 0 ? 0 : (ofA[at] as number) < (ofB[at] as number) ? -1 : 1;
  });
}
