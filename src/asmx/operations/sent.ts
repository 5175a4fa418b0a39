import type { SentMessage } from '../../domain/messages/sent.ts';
import { cap, idOf } from './arguments.ts';
import { paged } from './paging.ts';
import type { Handlers, OperationServices } from './services.ts';

export function sentHandlers({ sent, orderedLists, lists, listLimit }: OperationServices): Handlers<'sent'> {
  const { orders, caps } = lists;
  const { unmarkedNewest, sentOldest, sentById, sentByIdDown } = orderedLists;
  const wanted = (max: number, most: number = listLimit) => cap('max', max, most);
  const changes = { timestamp_updated: sent.unmarked, '-timestamp_updated': unmarkedNewest };
  const unmarked = changes[orders['sent.FetchUnmarkedDeliveryStatus']];
  const rows = {
    '-timestamp_sent': sent.newest,
    timestamp_sent: sentOldest,
    id: sentById,
    '-id': sentByIdDown,
  };
  const sentRows = rows[orders['sent.FetchSentDS']];
  return {
    FetchUnmarkedDeliveryStatus: (account, { max }) =>
      paged(
        wanted(max, caps['sent.FetchUnmarkedDeliveryStatus']),
        (limit, after) => unmarked(account, limit, after),
        toSentMessage,
      ),
    CountUnMarkedDeliveryStatus: (account) => sent.countUnmarked(account),
    FetchSentDS: (account, { max }) =>
      paged(wanted(max, caps['sent.FetchSentDS']), (limit, after) => sentRows(account, limit, after), toSentMessage),
    MarkMessageAsRead: (account, { id }) => sent.mark(account, id),
    DeleteSentMessage(account, { message_id }) {
      const id = idOf(message_id);
      return id !== null && sent.delete(account, id);
    },
  };
}

/** A row of the DataSet; a DeliveryStatus is four fields of it. */
const toSentMessage = (message: SentMessage) => ({
  id: message.id,
  user_message_id: referenceOf(message),
  recipient: message.recipient,
  message: message.text,
  delivery_status: message.status,
  timestamp_sent: message.sentAt,
  timestamp_updated: message.updatedAt,
  marked: message.marked,
});

/** The sender's reference, else the id: a client that sees only this can still mark the message. */
export const referenceOf = ({ id, reference }: { id: bigint; reference: string | null }): string =>
  reference ?? String(id);
