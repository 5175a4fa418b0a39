import type { InboxMessage, ReceivedMessage } from '../domain/inbox.ts';
import { cap, idOf } from './arguments.ts';
import { paged } from './paging.ts';
import type { Handlers, OperationServices } from './services.ts';

export function inboxHandlers({ inbox, listLimit }: OperationServices): Handlers<'inbox'> {
  const wanted = (max_count: number) => cap('max_count', max_count, listLimit);
  return {
    Read: (account, { from, to, max_count }) =>
      paged(wanted(max_count), (limit, after) => inbox.between(account, from, to, limit, after), toReceivedMessage),
    Unread: (account, { max_count }) =>
      paged(wanted(max_count), (limit, after) => inbox.unread(account, limit, after), toReceivedMessage),
    InboxDS: (account, { max_count }) =>
      paged(wanted(max_count), (limit, after) => inbox.newest(account, limit, after), toInboxRow),
    CountRead: (account) => inbox.countRead(account),
    CountUnread: (account) => inbox.countUnread(account),

    MarkMessageAsRead(account, { message_id }) {
      const id = idOf(message_id);
      return id !== null && inbox.markRead(account, id);
    },
    DeleteMessage(account, { message_id }) {
      const id = idOf(message_id);
      return id !== null && inbox.delete(account, id);
    },
    async DeleteAllMessages(account) {
      await inbox.deleteAll(account);
      return true;
    },
  };
}

const toReceivedMessage = ({ id, sender, text, shortCode, receivedAt }: ReceivedMessage) => ({
  id,
  sender,
  message: text,
  short_code: shortCode,
  timestamp: receivedAt,
});

/** A row of the DataSet. */
const toInboxRow = (message: InboxMessage) => ({ ...toReceivedMessage(message), read: message.read });
