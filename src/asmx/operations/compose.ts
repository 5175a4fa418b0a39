import type { ScheduledMessage } from '../../domain/messages/scheduled.ts';
import { cap, idOf } from './arguments.ts';
import { paged } from './paging.ts';
import { referenceOf } from './sent.ts';
import type { Handlers, OperationServices } from './services.ts';

export function composeHandlers({ scheduled, orderedLists, lists, listLimit }: OperationServices): Handlers<'compose'> {
  const { scheduledLatest, scheduledById, scheduledByIdDown } = orderedLists;
  const most = lists.caps['compose.FetchScheduledDS'] ?? listLimit;
  const rows = {
    timestamp_scheduled: scheduled.soonest,
    '-timestamp_scheduled': scheduledLatest,
    id: scheduledById,
    '-id': scheduledByIdDown,
  };
  const scheduledRows = rows[lists.orders['compose.FetchScheduledDS']];
  return {
    FetchScheduledDS: async (account, { max }) =>
      paged(
        cap('max', max, most),
        (limit, after) => scheduledRows(account, limit, after),
        (message: ScheduledMessage) => ({
          id: message.id,
          user_message_id: referenceOf(message),
          recipient: message.recipient,
          message: message.text,
          timestamp_scheduled: message.scheduledAt,
          timestamp_created: message.createdAt,
        }),
      ),
    async DeleteScheduledMessage(account, { message_id }) {
      const id = idOf(message_id);
      return id !== null && scheduled.delete(account, id);
    },
    async DeleteAllScheduled(account) {
      await scheduled.deleteAll(account);
      return true;
    },
  };
}
