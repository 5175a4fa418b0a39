import { readFileSync } from 'node:fs';
import { SAMPLE } from '../../test/support/engines.ts';
import { ACME, GLOBEX } from '../../test/support/service.ts';

/**
 * What every client must get out of the sample data, whatever its language: calls and answers as JSON. An answer is neutral:
 * a long is its decimal digits, a dateTime is ISO 8601 in UTC with milliseconds, an absent field has no key, a DataSet is
 * the list of its rows. What is expected comes from the sample file itself, and from what the calls before have changed.
 */
export type Neutral = string | number | boolean | null | readonly Neutral[] | { readonly [name: string]: Neutral };
export type Fields = Readonly<Record<string, Neutral>>;

export interface Step {
  readonly group: string;
  readonly operation: string;
  /** A dateTime is ISO 8601, a long decimal digits; a list is an array of texts. */
  readonly arguments: Readonly<Record<string, string | number | readonly string[]>>;
  /** The answer, or the fault: its kind and its text. */
  readonly expected: Neutral | Fault;
}
export class Fault {
  readonly kind: string;
  readonly text: string;

  constructor(kind: string, text: string) {
    this.kind = kind;
    this.text = text;
  }
}
/** Steps in their order, on freshly loaded sample data. */
export interface Story {
  readonly name: string;
  readonly steps: readonly Step[];
}

interface Sample extends Fields {
  readonly groups: readonly Fields[];
  readonly contacts: readonly Fields[];
  readonly templates: readonly string[];
  readonly inbox: readonly Fields[];
  readonly sent: readonly Fields[];
  readonly scheduled: readonly Fields[];
}

const [acme, globex] = (JSON.parse(readFileSync(SAMPLE, 'utf8')) as { accounts: [Sample, Sample] }).accounts;

const instant = (text: Neutral | undefined): string => new Date(text as string).toISOString();
const pick = (record: Fields, ...names: string[]): Record<string, Neutral> =>
  Object.fromEntries(names.filter((name) => record[name] !== undefined).map((name) => [name, record[name] as Neutral]));

function profile(account: Sample): Fields {
  const { groups, contacts, templates, blacklist, inbox, sent, scheduled, ...own } = account;
  const datetimeCreated = instant(own.datetimeCreated);
  return { ...own, password: '', datetimeCreated, datetimeLastLoggedIn: instant(own.datetimeLastLoggedIn) };
}

/** The contacts of acme with some of them in another group: null for none. */
const contacts = (changed: Readonly<Record<string, string | null>> = {}): Fields[] =>
  acme.contacts.map(({ groupid, ...contact }) => {
    const now = changed[contact.id as string] === undefined ? (groupid ?? null) : changed[contact.id as string];
    return now === null || now === undefined ? contact : { ...contact, groupid: now };
  });
const contact = (id: string): Fields => contacts().find((each) => each.id === id) as Fields;
const groups = (totals: readonly number[]): Fields[] =>
  acme.groups.map((group, index) => ({ ...group, total: totals[index] as number }));

const receivedOf = ({ inbox: messages }: Sample): Fields[] =>
  messages.map((message) => ({ ...message, timestamp: instant(message.timestamp) }));
const received = receivedOf(acme);
const asReceived = (message: Fields) => pick(message, 'id', 'sender', 'message', 'short_code', 'timestamp');
const unread = received.filter(({ read }) => read === false).map(asReceived);
const withId = (id: string) => received.filter((message) => message.id === id).map(asReceived);

const sentOf = ({ sent: messages }: Sample): Fields[] =>
  messages.map((message) => ({
    user_message_id: message.id as string, // where the sender gave none of his own
    ...message,
    timestamp_sent: instant(message.timestamp_sent),
    timestamp_updated: instant(message.timestamp_updated),
  }));
const sent = sentOf(acme);
const unmarkedOf = (messages: readonly Fields[]): Fields[] =>
  messages
    .filter(({ marked }) => marked === false)
    .map((message) => pick(message, 'recipient', 'user_message_id', 'delivery_status', 'timestamp_updated'));
const unmarked = unmarkedOf(sent);

const scheduledOf = ({ scheduled: messages }: Sample): Fields[] =>
  messages.map((message) => ({
    ...message,
    timestamp_scheduled: instant(message.timestamp_scheduled),
    timestamp_created: instant(message.timestamp_created),
  }));
const scheduled = scheduledOf(acme);

const on =
  (group: string) =>
  (operation: string, args: Step['arguments'], expected: Step['expected']): Step => ({
    group,
    operation,
    arguments: { user_id: ACME, ...args },
    expected,
  });
const account = on('account');
const inbox = on('inbox');
const outbox = on('sent');
const compose = on('compose');

const AWKWARD = '  Ünïcode 😀 & <b>"quoted"</b> \'it\' ]]> %41+1\n\tsecond line; 100 € ';
const DENIED = new Fault('denied', 'The user_id is not valid.');
const EVER = { from: '2000-01-01T00:00:00Z', to: '2100-01-01T00:00:00Z' };

export const stories: readonly Story[] = [
  {
    name: 'the profile, contacts, groups and templates of an account are read',
    steps: [
      account('Profile', {}, profile(acme)),
      account('Profile', { user_id: GLOBEX }, profile(globex)),
      account('FetchContacts', {}, contacts()),
      account('FetchContacts', { user_id: GLOBEX }, globex.contacts),
      account('FetchContactsDS', {}, contacts()),
      account('FetchContactsDS', { user_id: GLOBEX }, globex.contacts),
      account('FetchContactsByGroupId', { groupid: 2 }, [contact('104'), contact('105')]),
      account('FetchContactsByGroupId', { groupid: 3 }, []),
      account('FetchContactsByGroupId', { groupid: -2147483648 }, []),
      account('FetchContactsByGroupIdDS', { groupid: 2 }, [contact('104'), contact('105')]),
      account('FetchContactsByGroupIdDS', { groupid: 3 }, []),
      account('FetchContact', { mobile: '+27825550204' }, contact('104')),
      account('FetchContact', { mobile: '+27825550206' }, contact('106')),
      account('FetchContact', { mobile: '082 555 0204' }, null),
      account('FetchContact', { mobile: '+27825550999' }, null),
      account('LookupContact', { mobile: '082 555 0203' }, contact('103')),
      account('LookupContact', { mobile: '0027 82 555 0206' }, contact('106')),
      account('LookupContact', { mobile: '+27825550999' }, null),
      account('FetchGroups', {}, groups([3, 2, 0])),
      account('FetchGroups', { user_id: GLOBEX }, [{ ...(globex.groups[0] as Fields), total: 1 }]),
      account('FetchSavedMessages', {}, acme.templates),
      account('FetchSavedMessages', { user_id: GLOBEX }, []),
    ],
  },
  {
    name: 'contacts change their group and are deleted, one and several at a time',
    steps: [
      account('RemoveContactFromGroup', { contact_id: ['101'], group_id: '1' }, true),
      account('RemoveContactFromGroup', { contact_id: ['101'], group_id: '1' }, false),
      account('RemoveContactFromGroup', { contact_id: ['102', '103'], group_id: '1' }, true),
      account('MoveContactToNewGroup', { contact_id: ['106'], group_id: '3' }, true),
      account('MoveContactToNewGroup', { contact_id: ['101', '104', '105'], group_id: '1' }, true),
      account('MoveContactToNewGroup', { contact_id: ['102', '999'], group_id: '2' }, false),
      account('MoveContactToNewGroup', { contact_id: ['102'], group_id: '10' }, false),
      account('FetchContacts', {}, contacts({ 101: '1', 102: null, 103: null, 104: '1', 105: '1', 106: '3' })),
      account('FetchGroups', {}, groups([3, 0, 1])),
      account('DeleteContact', { contact_id: ['101'] }, true),
      account('DeleteContact', { contact_id: ['102', '101'] }, false),
      account('DeleteContact', { contact_id: ['201'] }, false),
      account('DeleteContact', { contact_id: ['102', '103'] }, true),
      account('DeleteContactsById', { id: 104 }, true),
      account('DeleteContactsById', { id: 104 }, false),
      account('FetchContacts', {}, contacts({ 105: '1', 106: '3' }).slice(4)),
      account('DeleteContact', { contact_id: ['105', '106'] }, true),
      account('FetchContacts', {}, []),
    ],
  },
  {
    name: 'templates are saved and deleted by their exact text, a number is blacklisted',
    steps: [
      account('SaveMessageTemplate', { message: AWKWARD }, true),
      account('SaveMessageTemplate', { message: AWKWARD }, true),
      account('FetchSavedMessages', {}, [...acme.templates, AWKWARD]),
      account('DeleteMessageTemplate', { message: acme.templates[1] as string }, true),
      account('DeleteMessageTemplate', { message: acme.templates[1] as string }, false),
      account('DeleteMessageTemplate', { message: acme.templates[2] as string }, true),
      account('DeleteMessageTemplate', { message: acme.templates[0] as string }, true),
      account('FetchSavedMessages', {}, [AWKWARD]),
      account('DeleteMessageTemplate', { message: AWKWARD }, true),
      account('FetchSavedMessages', {}, []),
      account('BlackListNumber', { mobile: '082 555 0201', sample_message: AWKWARD }, true),
      account('BlackListNumber', { mobile: '+27825550201', sample_message: 'again' }, true),
      compose('FetchScheduledDS', { max: 10 }, scheduled.slice(1)),
    ],
  },
  {
    name: 'received messages are listed, counted, marked and deleted',
    steps: [
      inbox('Read', { ...EVER, max_count: 100 }, received.map(asReceived)),
      inbox(
        'Read',
        { from: '2026-10-01T09:30:00.250Z', to: '2026-10-02T10:45:30Z', max_count: 100 },
        received.slice(1, 3).map(asReceived),
      ),
      inbox('Read', { ...EVER, max_count: 1 }, withId('1001')),
      inbox('Read', { user_id: GLOBEX, ...EVER, max_count: 100 }, receivedOf(globex).map(asReceived)),
      inbox('Read', { from: '2030-01-01T00:00:00Z', to: '2031-01-01T00:00:00Z', max_count: 100 }, []),
      inbox('Unread', { max_count: 100 }, unread),
      inbox('Unread', { max_count: 0 }, []),
      inbox('InboxDS', { max_count: 100 }, received.toReversed()),
      inbox('InboxDS', { max_count: 0 }, []),
      inbox('InboxDS', { user_id: GLOBEX, max_count: 100 }, receivedOf(globex)),
      inbox('CountRead', {}, '2'),
      inbox('CountUnread', {}, '4'),
      inbox('MarkMessageAsRead', { message_id: '9007199254740993' }, true),
      inbox('MarkMessageAsRead', { message_id: '9007199254740992' }, false),
      inbox('MarkMessageAsRead', { message_id: 'none' }, false),
      inbox('CountRead', {}, '3'),
      inbox('Unread', { max_count: 100 }, unread.slice(0, -1)),
      inbox('DeleteMessage', { message_id: '1500' }, false),
      inbox('DeleteMessage', { message_id: '1001' }, true),
      inbox('DeleteMessage', { message_id: '1001' }, false),
      inbox('Read', { ...EVER, max_count: 100 }, received.slice(1).map(asReceived)),
      inbox('DeleteAllMessages', {}, true),
      inbox('DeleteAllMessages', {}, true),
      inbox('CountUnread', {}, '0'),
      inbox('Unread', { max_count: 100 }, []),
      inbox('InboxDS', { max_count: 100 }, []),
      inbox('CountUnread', { user_id: GLOBEX }, '1'),
    ],
  },
  {
    name: 'sent messages and their delivery statuses are listed, counted, marked and deleted',
    steps: [
      outbox('FetchUnmarkedDeliveryStatus', { max: 10 }, unmarked),
      outbox('FetchUnmarkedDeliveryStatus', { max: 1 }, unmarked.slice(0, 1)),
      outbox('FetchUnmarkedDeliveryStatus', { user_id: GLOBEX, max: 10 }, unmarkedOf(sentOf(globex))),
      outbox('CountUnMarkedDeliveryStatus', {}, '3'),
      outbox('FetchSentDS', { max: 10 }, sent.toReversed()),
      outbox('FetchSentDS', { max: 1 }, sent.slice(-1)),
      outbox('FetchSentDS', { user_id: GLOBEX, max: 10 }, sentOf(globex)),
      outbox('FetchSentDS', { max: 0 }, []),
      outbox('MarkMessageAsRead', { id: '2002' }, true),
      outbox('MarkMessageAsRead', { id: '2500' }, false),
      outbox('MarkMessageAsRead', { id: '-9223372036854775808' }, false),
      outbox('CountUnMarkedDeliveryStatus', {}, '2'),
      outbox('FetchUnmarkedDeliveryStatus', { max: 10 }, unmarked.slice(1)),
      outbox('DeleteSentMessage', { message_id: '2003' }, true),
      outbox('DeleteSentMessage', { message_id: '2003' }, false),
      outbox('MarkMessageAsRead', { id: '2004' }, true),
      outbox('FetchUnmarkedDeliveryStatus', { max: 10 }, []),
    ],
  },
  {
    name: 'scheduled messages are listed and deleted',
    steps: [
      compose('FetchScheduledDS', { max: 10 }, scheduled),
      compose('FetchScheduledDS', { max: 1 }, scheduled.slice(0, 1)),
      compose('FetchScheduledDS', { user_id: GLOBEX, max: 10 }, scheduledOf(globex)),
      compose('DeleteScheduledMessage', { message_id: '3001' }, true),
      compose('DeleteScheduledMessage', { message_id: '3001' }, false),
      compose('FetchScheduledDS', { max: 10 }, scheduled.slice(1)),
      compose('DeleteAllScheduled', {}, true),
      compose('DeleteAllScheduled', {}, true),
      compose('FetchScheduledDS', { max: 10 }, []),
    ],
  },
  {
    name: 'errors are faults with a code, a text and a detail',
    steps: [
      account('Profile', { user_id: 'nobody' }, DENIED),
      account('FetchContactsDS', { user_id: '' }, DENIED),
      inbox('DeleteAllMessages', { user_id: ACME.toUpperCase() }, DENIED),
      inbox('Unread', { max_count: -1 }, new Fault('bad-argument', 'max_count: must not be negative')),
      inbox('Unread', {}, new Fault('bad-argument', 'max_count: missing')),
      account('SaveMessageTemplate', { message: '' }, new Fault('bad-argument', 'message: a template cannot be empty')),
      account('DeleteContact', {}, new Fault('bad-argument', 'contact_id: the list is missing or empty')),
      inbox('CountUnread', {}, '4'),
    ],
  },
];
