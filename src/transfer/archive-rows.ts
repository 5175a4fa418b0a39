import type { Account } from '../domain/accounts/accounts.ts';
import { reserveIds } from '../domain/accounts/ids.ts';
import type { Credential } from '../domain/accounts/user-ids.ts';
import type { Contact, ContactGroup } from '../domain/contacts/contacts.ts';
import type { InboxMessage } from '../domain/messages/received.ts';
import type { ScheduledMessage } from '../domain/messages/scheduled.ts';
import type { SentMessage } from '../domain/messages/sent.ts';
import { writtenKey } from '../sms/numbers.ts';
import { partsOf } from '../sms/parts.ts';
import type { Queries } from '../store/database.ts';

/** A whole account, for moving it to another installation. */
export interface AccountArchive {
  readonly account: Account;
  readonly credentials: Credential[];
  readonly groups: Omit<ContactGroup, 'total'>[];
  readonly contacts: Contact[];
  readonly templates: string[];
  readonly blocked: BlockedNumber[];
  readonly received: InboxMessage[];
  readonly sent: SentMessage[];
  readonly scheduled: ScheduledMessage[];
}
export interface BlockedNumber {
  readonly number: string;
  readonly sample: string | null;
  readonly blockedAt: number;
}

export type ArchiveRows = ReturnType<typeof archiveRows>;

/**
 * Converts an archive to rows, before the transaction: other calls may wait for the transaction.
 */
export function archiveRows({ groups, contacts, blocked, received, sent, scheduled }: AccountArchive) {
  const keyOf = (number: string | null) => (number === null ? null : writtenKey(number));
  return {
    groups: groups.map(({ id, name }) => ({ group: BigInt(id), name })),
    contacts: contacts.map((contact) => ({ ...contact, key: keyOf(contact.mobile), group: contact.groupId })),
    blocked: blocked.map((each) => ({ ...each, key: writtenKey(each.number) })),
    received,
    sent,
    scheduled: scheduled.map((message) => ({
      ...message,
      key: keyOf(message.recipient),
      heldParts: partsOf(message.text ?? ''),
    })),
  };
}

/** Moves the id counters above the ids of the archive. */
export async function reserveArchiveIds(queries: Queries, account: bigint, rows: ArchiveRows): Promise<void> {
  const idOf = ({ id }: { id: bigint }) => id;
  const groupIds = rows.groups.map(({ group }) => group);
  const messageIds = [...rows.received.map(idOf), ...rows.sent.map(idOf), ...rows.scheduled.map(idOf)];
  await reserveIds(queries, account, 'group', groupIds);
  await reserveIds(queries, account, 'contact', rows.contacts.map(idOf));
  await reserveIds(queries, account, 'message', messageIds);
}

/** Adds the account to each row. */
export const withAccount = <T>(account: bigint, rows: readonly T[]): (T & { account: bigint })[] =>
  rows.map((row) => ({ account, ...row }));
