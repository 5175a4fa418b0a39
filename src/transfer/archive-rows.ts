import type { Account } from '../domain/accounts/accounts.ts';
import { reserveIds } from '../domain/accounts/ids.ts';
import type { Credential } from '../domain/accounts/user-ids.ts';
import { type BlockedNumber, withNumberKey } from '../domain/contacts/blacklist.ts';
import { type Contact, withKey } from '../domain/contacts/contacts.ts';
import type { ContactGroup } from '../domain/contacts/groups.ts';
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

export type ArchiveRows = ReturnType<typeof archiveRows>;

/**
 * Converts an archive to rows, before the transaction: other calls may wait for the transaction.
 */
export function archiveRows({ groups, contacts, blocked, received, sent, scheduled }: AccountArchive) {
  const keyOf = (number: string | null) => (number === null ? null : writtenKey(number));
  return {
    groups,
    contacts: contacts.map(withKey),
    blocked: blocked.map(withNumberKey),
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
  const groupIds = rows.groups.map(({ id }) => BigInt(id));
  const messageIds = [...rows.received.map(idOf), ...rows.sent.map(idOf), ...rows.scheduled.map(idOf)];
  await reserveIds(queries, account, 'group', groupIds);
  await reserveIds(queries, account, 'contact', rows.contacts.map(idOf));
  await reserveIds(queries, account, 'message', messageIds);
}
