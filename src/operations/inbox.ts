import type { ReceivedMessage } from '../domain/inbox.ts';
import { cap, idOf } from './arguments.ts';
import type { Handlers, Services } from './services.ts';

export function inboxHandlers({ inbox, listLimit }: Services): Handlers<'inbox'> {
  const wanted = (max_count: number) => cap('max_count', max_count, listLimit);
  return {
    Read: async (account, { from, to, max_count }) =>
      (await inbox.between(account, from, to, wanted(max_count))).map(toReceivedMessage),
    Unread: async (account, { max_count }) => (await inbox.unread(account, wanted(max_count))).map(toReceivedMessage),
    InboxDS: async (account, { max_count }) => (await inbox.newest(account, wanted(max_count))).map(toReceivedMessage),
    CountRead: (account) => inbox.countRead(account),
    CountUnread: (account) => inbox.countUnread(account),

    async MarkMessageAsRead(account, { message_id }) {
      const id = idOf(message_id);
      return id !== null && inbox.markRead(account, id);
    },
    async DeleteMessage(account, { message_id }) {
      const id = idOf(message_id);
      return id !== null && inbox.delete(account, id);
    },
    async DeleteAllMessages(account) {
      await inbox.deleteAll(account);
      return true;
    },
  };
}

/** A record of the lists, and with `read` a row of the DataSet. */
const toReceivedMessage = ({ id, sender, text, shortCode, receivedAt, read }: ReceivedMessage) => ({
  id,
  sender,
  message: text,
  short_code: shortCode,
  timestamp: receivedAt,
  read,
});
