import { detached } from '../../base/detached.ts';
import type { SentMessage } from '../../domain/messages/sent.ts';
import { DELIVERY_STATUSES } from '../../domain/messages/statuses.ts';
import type { ValueRecord } from './answer-values.ts';
import { FIRST_MAX, LAST_MAX, needed, type OldAccount, readRows, takeRows, text, UnknownWords } from './old-account.ts';

/**
 * Reads the sent messages of an account of the old server. FetchSentDS has neither pages nor a
 * count, so a long list comes in one answer. It is read in batches as it arrives, so that an
 * account with a million messages takes no more memory than one with a thousand.
 */
export interface SentList {
  /** The newest messages, at most FIRST_MAX. */
  readonly newest: readonly SentMessage[];
  /**
   * Reads the whole list. If an answer is cut and requested again, `take` is called again from the
   * beginning. After the first unknown status word, `take` gets no more rows; unknown words are
   * counted to the end and thrown as UnknownWords.
   */
  read<T>(take: (batches: AsyncIterable<readonly SentMessage[]>) => Promise<T>): Promise<TakenList<T>>;
}
export interface TakenList<T> {
  readonly taken: T;
  readonly count: number;
  /** Whether the server returned as many rows as it ever does, so that more may exist. */
  readonly isCapped: boolean;
}

const NAME = 'sent.FetchSentDS';

/** Reads the newest messages. Throws UnknownWords if a status word is unknown. */
export async function openSent(from: OldAccount): Promise<SentList> {
  const newest = await newestSent(from, FIRST_MAX);
  const cap = from.dialect.caps?.[NAME];
  const isCapped = cap !== undefined && newest.length >= cap;
  // A server that returns fewer rows than requested returns no more for a larger limit.
  const isAll = isCapped || newest.length < FIRST_MAX;
  return {
    newest,
    async read(take) {
      if (isAll) return { taken: await take(only(newest)), count: newest.length, isCapped };
      const words = new Map<string, number>();
      let count = 0;
      const taken = await takeRows(from, NAME, { max: LAST_MAX }, (batches) => {
        words.clear();
        count = 0;
        return take(known(batches));
      });
      return { taken, count, isCapped: count >= Math.min(LAST_MAX, cap ?? LAST_MAX) };

      async function* known(batches: AsyncIterable<readonly ValueRecord[]>) {
        const marks = createMarks(from);
        for await (const rows of batches) {
          count += rows.length;
          countUnknown(rows, words);
          if (words.size === 0) yield await toSent(rows, marks);
        }
        if (words.size > 0) throw new UnknownWords(words);
      }
    },
  };
}

/** Reads at most `max` of the newest messages in one call. */
export async function newestSent(from: OldAccount, max: number): Promise<SentMessage[]> {
  const rows = await readRows(from, NAME, { max });
  const words = new Map<string, number>();
  countUnknown(rows, words);
  if (words.size > 0) throw new UnknownWords(words);
  return toSent(rows, createMarks(from));
}

async function* only<T>(item: T): AsyncGenerator<T> {
  yield item;
}

// There are 10 statuses. If a server has more words than this, they are no status words.
const WORDS_MAX = 100;

function countUnknown(rows: readonly ValueRecord[], words: Map<string, number>): void {
  for (const row of rows) {
    const word = needed<string>(row, 'delivery_status', NAME);
    if ((DELIVERY_STATUSES as readonly string[]).includes(word)) continue;
    if (words.has(word) || words.size < WORDS_MAX) words.set(detached(word), (words.get(word) ?? 0) + 1);
  }
}

async function toSent(rows: readonly ValueRecord[], isMarked: Marks): Promise<SentMessage[]> {
  const messages: SentMessage[] = [];
  for (const row of rows) {
    const sentAt = needed<number>(row, 'timestamp_sent', NAME);
    const reference = text(row, 'user_message_id');
    messages.push({
      id: needed<bigint>(row, 'id', NAME),
      reference,
      recipient: text(row, 'recipient'),
      text: text(row, 'message'),
      status: needed<string>(row, 'delivery_status', NAME),
      sentAt,
      updatedAt: (row.timestamp_updated as number | null) ?? sentAt,
      marked: (row.marked as boolean | null) ?? (await isMarked(reference)),
    });
  }
  return messages;
}

type Marks = (reference: string | null) => Promise<boolean>;

/**
 * If FetchSentDS does not show marks, the unmarked statuses do, by the reference of the sender.
 * They are requested when the first rows have arrived. A DataSet is complete before its first byte
 * is sent, so they are at least as new as its rows, and no status that a client has still to get
 * counts as marked.
 */
function createMarks(from: OldAccount): Marks {
  let unmarked: Promise<ReadonlySet<string>> | undefined;
  return async (reference) => {
    unmarked ??= unmarkedReferences(from);
    return reference === null || !(await unmarked).has(reference);
  };
}

async function unmarkedReferences(from: OldAccount): Promise<ReadonlySet<string>> {
  const name = 'sent.FetchUnmarkedDeliveryStatus';
  const first = await readRows(from, name, { max: FIRST_MAX });
  const isAll = first.length < Math.min(FIRST_MAX, from.dialect.caps?.[name] ?? FIRST_MAX);
  if (isAll) return new Set(first.flatMap(referenceOf));
  return takeRows(from, name, { max: LAST_MAX }, async (batches) => {
    const references = new Set<string>();
    for await (const rows of batches) for (const each of rows.flatMap(referenceOf)) references.add(each);
    return references;
  });
}

/** Copies the text, because a slice would keep its part of the answer in memory. */
const referenceOf = ({ user_message_id: reference }: ValueRecord): string[] =>
  typeof reference === 'string' ? [detached(reference)] : [];
