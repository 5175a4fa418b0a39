import { pages } from '../../store/cursor.ts';
import type { Database } from '../../store/database.ts';
import { receivedFrom } from './received.sql.ts';
import { toInboxMessage } from './received.ts';

const PAGE = 1_000;

/** Senders and texts of all received messages of an account, in the order of their ids. */
export async function* receivedTexts(
  database: Database,
  account: bigint,
): AsyncGenerator<{ readonly sender: string; readonly text: string; readonly receivedAt: number }> {
  const page = (from: bigint) => database.all(receivedFrom, { account, from, limit: PAGE });
  for await (const rows of pages(PAGE, page, ({ message_id }) => message_id)) {
    for (const { sender, text, receivedAt } of rows.map(toInboxMessage)) {
      if (sender !== null && text !== null) yield { sender, text, receivedAt };
    }
  }
}
