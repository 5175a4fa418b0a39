import type { OldAccount, OldReceived, OldSent } from './accounts.ts';
import type { Ways } from './ways.ts';

/** The reading operations: rows by field, as texts, and how they are written. */
export type Row = Readonly<Record<string, string | undefined>>;
export type Answer =
  | { readonly kind: 'scalar'; readonly type: 'long' | 'boolean'; readonly text: string }
  | { readonly kind: 'record'; readonly type: string; readonly row: Row | null }
  | { readonly kind: 'list'; readonly item: string; readonly rows: readonly Row[] }
  | { readonly kind: 'texts'; readonly texts: readonly string[] }
  | { readonly kind: 'dataSet'; readonly rows: readonly Row[] };

type Args = Record<string, string | string[]>;

export function readFrom(account: OldAccount, operation: string, args: Args, ways: Ways): Answer {
  const text = (name: string): string => String(args[name] ?? '');
  const most = Math.min(Number(args.max ?? args.max_count ?? 1e9), ways.caps[operation] ?? 1e9);
  const date = (at: number): string => formatDate(at, ways.localMinutes);
  const contact = ({ id, name, surname, mobile, groups }: OldAccount['contacts'][number]): Row => {
    const none = { absent: undefined, empty: '', zero: '0' }[ways.noGroup];
    return { name, surname, id: String(id), mobile, groupid: groups[0] === undefined ? none : String(groups[0]) };
  };
  const received = ({ id, sender, message, shortCode, at }: OldReceived): Row => ({
    id: String(id),
    sender,
    message,
    short_code: shortCode,
    timestamp: date(at),
  });
  const ofGroup = () => account.contacts.filter(({ groups }) => groups.includes(Number(text('groupid'))));
  const byMobile = () => account.contacts.find(({ mobile }) => mobile === text('mobile'));
  switch (operation) {
    case 'account.Profile':
      return { kind: 'record', type: 'AccountDetail', row: profile(account, date, ways) };
    case 'account.FetchContacts':
      return { kind: 'list', item: 'Contact', rows: account.contacts.map(contact) };
    case 'account.FetchContactsDS':
      return { kind: 'dataSet', rows: account.contacts.map(contact) };
    case 'account.FetchContactsByGroupId':
      return { kind: 'list', item: 'Contact', rows: ofGroup().map(contact) };
    case 'account.FetchContactsByGroupIdDS':
      return { kind: 'dataSet', rows: ofGroup().map(contact) };
    case 'account.FetchContact':
    case 'account.LookupContact': {
      const found = byMobile();
      return { kind: 'record', type: 'Contact', row: found ? contact(found) : null };
    }
    case 'account.FetchGroups':
      return { kind: 'list', item: 'Group', rows: groupRows(account) };
    case 'account.FetchSavedMessages':
      return { kind: 'texts', texts: account.templates };
    case 'inbox.Read': {
      const [from, to] = [parseDate(text('from'), ways), parseDate(text('to'), ways)];
      const found = account.inbox
        .filter(({ at, read }) => at >= from && at <= to && (read || !ways.readReturnsReadOnly))
        .sort((one, other) => one.at - other.at || one.id - other.id);
      return { kind: 'list', item: 'ReceivedMessage', rows: found.slice(0, most).map(received) };
    }
    case 'inbox.Unread': {
      const found = account.inbox.filter(({ read }) => !read).sort((one, other) => one.at - other.at);
      return { kind: 'list', item: 'ReceivedMessage', rows: found.slice(0, most).map(received) };
    }
    case 'inbox.InboxDS': {
      const found = [...account.inbox].sort((one, other) => other.at - one.at || other.id - one.id).slice(0, most);
      return { kind: 'dataSet', rows: found.map((each) => ({ ...received(each), read: String(each.read) })) };
    }
    case 'inbox.CountRead':
      return count(account.inbox.filter(({ read }) => read).length);
    case 'inbox.CountUnread':
      return count(account.inbox.filter(({ read }) => !read).length);
    default:
      return readOutbox(account, operation, most, date);
  }
}

const count = (number: number): Answer => ({ kind: 'scalar', type: 'long', text: String(number) });

function readOutbox(account: OldAccount, operation: string, most: number, date: (at: number) => string): Answer {
  const unmarked = account.sent.filter(({ marked }) => !marked);
  switch (operation) {
    case 'sent.CountUnMarkedDeliveryStatus':
      return count(unmarked.length);
    case 'sent.FetchUnmarkedDeliveryStatus': {
      const rows = unmarked.sort((one, other) => one.updatedAt - other.updatedAt || one.id - other.id).slice(0, most);
      const row = ({ recipient, reference, status, updatedAt }: OldSent): Row => ({
        recipient,
        user_message_id: reference,
        delivery_status: status,
        timestamp_updated: date(updatedAt),
      });
      return { kind: 'list', item: 'DeliveryStatus', rows: rows.map(row) };
    }
    case 'sent.FetchSentDS': {
      const rows = [...account.sent]
        .sort((one, other) => other.sentAt - one.sentAt || other.id - one.id)
        .slice(0, most);
      return {
        kind: 'dataSet',
        rows: rows.map((each) => ({
          id: String(each.id),
          user_message_id: each.reference,
          recipient: each.recipient,
          message: each.message,
          delivery_status: each.status,
          timestamp_sent: date(each.sentAt),
          timestamp_updated: date(each.updatedAt),
          marked: String(each.marked),
        })),
      };
    }
    case 'compose.FetchScheduledDS': {
      const rows = [...account.scheduled]
        .sort((one, other) => one.dueAt - other.dueAt || one.id - other.id)
        .slice(0, most);
      return {
        kind: 'dataSet',
        rows: rows.map((each) => ({
          id: String(each.id),
          user_message_id: each.reference,
          recipient: each.recipient,
          message: each.message,
          timestamp_scheduled: date(each.dueAt),
          timestamp_created: date(each.createdAt),
        })),
      };
    }
    default:
      throw new Error(`there is no operation ${operation}`);
  }
}

const groupRows = ({ groups, contacts }: OldAccount): Row[] =>
  groups.map(({ id, name }) => ({
    name,
    id: String(id),
    total: String(contacts.filter((contact) => contact.groups.includes(id)).length),
  }));

const profile = (account: OldAccount, date: (at: number) => string, ways: Ways): Row => ({
  datetimeCreated: date(account.createdAt),
  datetimeLastLoggedIn: date(account.createdAt),
  userID: account.userId,
  username: account.username,
  password: ways.showsPassword ? account.password : '',
  contactName: 'Old',
  contactSurname: 'Customer',
  company: account.company,
  email: `${account.username}@example.org`,
  tel: '',
  fax: '',
  mobile: account.mobile,
  address: '1 Main Road',
  credits: String(account.credits),
  usedCredits: String(account.usedCredits),
  transmissionPriority: '3',
  tag: '7',
});

/** A server of local times writes them without a zone, with seven digits of a second. */
export function formatDate(at: number, localMinutes: number | null): string {
  if (localMinutes === null) return new Date(at).toISOString().replace('.000Z', 'Z');
  const local = new Date(at + localMinutes * 60_000).toISOString().slice(0, -1);
  return local.endsWith('.000') ? local.slice(0, -4) : `${local}0000`;
}

function parseDate(text: string, { localMinutes }: Ways): number {
  const hasZone = /Z$|[+-]\d\d:\d\d$/.test(text);
  const at = Date.parse(hasZone ? text : `${text}Z`);
  return hasZone ? at : at - (localMinutes ?? 0) * 60_000;
}
