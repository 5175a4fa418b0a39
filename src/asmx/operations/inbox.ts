import type { InboxMessage, ReceivedMessage } from '../../domain/messages/received.ts';
import { cap, idOf } from './arguments.ts';
import { paged } from './paging.ts';
import type { Handlers, OperationServices } from './services.ts';

export function inboxHandlers({ received, orderedLists, lists, listLimit }: OperationServices): Handlers<'inbox'> {
  const { orders, caps, readReturnsReadOnly, dateUnitMs } = lists;
  const { receivedNewest, readOldest, readNewest, inboxOldest, inboxById, inboxByIdDown, unreadNewest } = orderedLists;
  const wanted = (max_count: number, most: number = listLimit) => cap('max_count', max_count, most);
  const between = readReturnsReadOnly
    ? { timestamp: readOldest, '-timestamp': readNewest }[orders['inbox.Read']]
    : { timestamp: received.between, '-timestamp': receivedNewest }[orders['inbox.Read']];
  const unread = { timestamp: received.unread, '-timestamp': unreadNewest }[orders['inbox.Unread']];
  const rows = { '-timestamp': received.newest, timestamp: inboxOldest, id: inboxById, '-id': inboxByIdDown };
  const inboxRows = rows[orders['inbox.InboxDS']];
  // Answers cut dates to the digits that they write, so the range includes every message that is
  // shown with the time `to`.
  const lastShownAs = (to: number) => Math.floor(to / dateUnitMs) * dateUnitMs + dateUnitMs - 1;
  return {
    Read: (account, { from, to, max_count }) =>
      paged(
        wanted(max_count, caps['inbox.Read']),
        (limit, after) => between(account, { from, to: lastShownAs(to) }, limit, after),
        toReceivedMessage,
      ),
    Unread: (account, { max_count }) =>
      paged(
        wanted(max_count, caps['inbox.Unread']),
        (limit, after) => unread(account, limit, after),
        toReceivedMessage,
      ),
    InboxDS: (account, { max_count }) =>
      paged(
        wanted(max_count, caps['inbox.InboxDS']),
        (limit, after?: InboxMessage) => inboxRows(account, limit, after),
        toInboxRow,
      ),
    CountRead: (account) => received.countRead(account),
    CountUnread: (account) => received.countUnread(account),

    MarkMessageAsRead(account, { message_id }) {
      const id = idOf(message_id);
      return id !== null && received.markRead(account, id);
    },
    DeleteMessage(account, { message_id }) {
      const id = idOf(message_id);
      return id !== null && received.delete(account, id);
    },
    async DeleteAllMessages(account) {
      await received.deleteAll(account);
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
