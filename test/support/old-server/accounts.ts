/** The data of the old server, and what its operations do with it. */
export interface OldAccount {
  userId: string;
  username: string;
  password: string;
  company: string;
  mobile: string;
  credits: number;
  usedCredits: number;
  createdAt: number;
  groups: { id: number; name: string }[];
  contacts: { id: number; name: string; surname: string; mobile: string; groups: number[] }[];
  templates: string[];
  inbox: OldReceived[];
  sent: OldSent[];
  scheduled: OldScheduled[];
  blacklist: string[];
}
export interface OldReceived {
  id: number;
  sender: string;
  message: string;
  shortCode: string;
  at: number;
  read: boolean;
}
export interface OldSent {
  id: number;
  reference: string;
  recipient: string;
  message: string;
  status: string;
  sentAt: number;
  updatedAt: number;
  marked: boolean;
}
export interface OldScheduled {
  id: number;
  reference: string;
  recipient: string;
  message: string;
  dueAt: number;
  createdAt: number;
}

/** A change of data: by a client, by reading (marks), or by the server's own schedule. */
export interface Write {
  readonly at: number;
  readonly by: 'client' | 'reading' | 'schedule';
  readonly operation: string;
  readonly username: string;
  readonly target: string;
}

export interface OldData {
  accounts: OldAccount[];
  writes: Write[];
  /** What it gave to its carrier: recipient and text. */
  deliveries: { at: number; username: string; id: number; recipient: string; message: string }[];
}

export const newAccount = (userId: string, username: string): OldAccount => ({
  userId,
  username,
  password: `secret of ${username}`,
  company: `${username} Ltd`,
  mobile: '+27821234567',
  credits: 1_000,
  usedCredits: 50,
  createdAt: Date.parse('2019-03-01T08:00:00Z'),
  groups: [],
  contacts: [],
  templates: [],
  inbox: [],
  sent: [],
  scheduled: [],
  blacklist: [],
});

/** The writing operations: whether they did it. */
export function writeTo(account: OldAccount, operation: string, args: Record<string, string | string[]>): boolean {
  const text = (name: string): string => String(args[name] ?? '');
  const ids = ([args.contact_id ?? []].flat() as string[]).map(Number);
  const contacts = account.contacts.filter(({ id }) => ids.includes(id));
  const isWhole = ids.length > 0 && contacts.length === new Set(ids).size;
  switch (operation) {
    case 'account.RemoveContactFromGroup': {
      const group = Number(text('group_id'));
      if (!isWhole || contacts.some(({ groups }) => !groups.includes(group))) return false;
      for (const contact of contacts) contact.groups = contact.groups.filter((each) => each !== group);
      return true;
    }
    case 'account.MoveContactToNewGroup': {
      const group = Number(text('group_id'));
      if (!isWhole || !account.groups.some(({ id }) => id === group)) return false;
      for (const contact of contacts) contact.groups = [group];
      return true;
    }
    case 'account.DeleteContact':
      return isWhole && remove(account.contacts, ({ id }) => ids.includes(id));
    case 'account.DeleteContactsById':
      return remove(account.contacts, ({ id }) => id === Number(text('id')));
    case 'account.SaveMessageTemplate':
      if (text('message') === '') return false;
      if (!account.templates.includes(text('message'))) account.templates.push(text('message'));
      return true;
    case 'account.DeleteMessageTemplate':
      return remove(account.templates, (each) => each === text('message'));
    case 'account.BlackListNumber':
      if (text('mobile') === '') return false;
      account.blacklist.push(text('mobile'));
      return true;
    case 'inbox.MarkMessageAsRead': {
      const found = account.inbox.find(({ id }) => id === Number(text('message_id')));
      if (found) found.read = true;
      return found !== undefined;
    }
    case 'inbox.DeleteMessage':
      return remove(account.inbox, ({ id }) => id === Number(text('message_id')));
    case 'inbox.DeleteAllMessages':
      account.inbox = [];
      return true;
    case 'sent.MarkMessageAsRead': {
      const found = account.sent.find(({ id }) => id === Number(text('id')));
      if (found) found.marked = true;
      return found !== undefined;
    }
    case 'sent.DeleteSentMessage':
      return remove(account.sent, ({ id }) => id === Number(text('message_id')));
    case 'compose.DeleteScheduledMessage':
      return remove(account.scheduled, ({ id }) => id === Number(text('message_id')));
    case 'compose.DeleteAllScheduled':
      account.scheduled = [];
      return true;
    default:
      throw new Error(`there is no operation ${operation}`);
  }
}

function remove<T>(list: T[], isGone: (item: T) => boolean): boolean {
  const before = list.length;
  list.splice(0, before, ...list.filter((item) => !isGone(item)));
  return list.length < before;
}

/** The server's own schedule: what is due is sent, once. */
export function runSchedule(data: OldData, now: number): void {
  for (const account of data.accounts) {
    for (const message of account.scheduled.filter(({ dueAt }) => dueAt <= now)) {
      remove(account.scheduled, ({ id }) => id === message.id);
      const { id, reference, recipient, message: text } = message;
      data.deliveries.push({ at: now, username: account.username, id, recipient, message: text });
      data.writes.push({ at: now, by: 'schedule', operation: 'send', username: account.username, target: String(id) });
      const times = { sentAt: now, updatedAt: now };
      account.sent.push({
        id,
        reference,
        recipient,
        message: text,
        status: 'Sent to network',
        ...times,
        marked: false,
      });
    }
  }
}
