import { newAccount, type OldAccount, type OldData } from './accounts.ts';

/** Accounts of the old server, with some of everything. Times are before the given one. */
export const USER_IDS = ['old-user-id-alpha', 'old-user-id-beta', 'old-user-id-gamma'] as const;

export function sampleData(now: number, { messages = 60 }: { messages?: number } = {}): OldData {
  const [first, second, third] = USER_IDS;
  const accounts = [
    filled(newAccount(first, 'alpha'), now, messages),
    filled(newAccount(second, 'beta'), now, 5),
    newAccount(third, 'gamma'),
  ];
  return { accounts, writes: [], deliveries: [] };
}

const STATUSES = ['Delivered to handset', 'Sent to network', 'Failed'];

function filled(account: OldAccount, now: number, messages: number): OldAccount {
  account.groups.push({ id: 11, name: 'Friends' }, { id: 12, name: 'Customers & partners' }, { id: 13, name: 'Empty' });
  for (let id = 101; id <= 108; id++) {
    const groups = id % 4 === 0 ? [] : [11 + (id % 2)];
    account.contacts.push({ id, name: `Name ${id}`, surname: 'Öberg', mobile: `+2782000${id}0`, groups });
  }
  account.templates.push('Your order is ready', 'Thank you <b>&amp; goodbye</b>', '  spaces  ');
  for (let index = 0; index < messages; index++) {
    // Several of one second, as a busy short code has them.
    const at = now - (messages - Math.floor(index / 3)) * 3_600_000;
    const sender = `+2783${String(1_000_000 + index)}`;
    const message = `Text ${index} – ünïcode 😀 <&>`;
    account.inbox.push({ id: 5_000 + index, sender, message, shortCode: '31222', at, read: index % 3 !== 0 });
    const status = STATUSES[index % 3] as string;
    const times = { sentAt: at, updatedAt: at + 60_000 };
    const reference = `ref-${index}`;
    account.sent.push({
      id: 7_000 + index,
      reference,
      recipient: sender,
      message,
      status,
      ...times,
      marked: index % 2 === 0,
    });
  }
  for (let index = 0; index < 4; index++) {
    const dueAt = now + (index + 1) * 86_400_000;
    const recipient = `+2784${String(2_000_000 + index)}`;
    const times = { dueAt, createdAt: now - 3_600_000 };
    account.scheduled.push({
      id: 9_000 + index,
      reference: `later-${index}`,
      recipient,
      message: `Later ${index}`,
      ...times,
    });
  }
  return account;
}
