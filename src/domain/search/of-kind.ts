import { createPauses } from '../../base/event-loop.ts';
import type { AccountKey } from '../../store/caller.ts';
import type { Cursor } from '../../store/cursor.ts';
import type { Queries } from '../../store/database.ts';
import { type Contact, contactsAmong } from '../contacts/contacts.ts';
import { type InboxMessage, receivedAmong } from '../messages/received.ts';
import { type ScheduledMessage, scheduledAmong } from '../messages/scheduled.ts';
import { type SentMessage, sentAmong } from '../messages/sent.ts';
import { type Lists, listsOf, numberTest, type Searched, tokensFromAll } from './query.ts';
import * as sql from './search.sql.ts';
import { CONTACT, type Kind, RECEIVED, referenceToken, SCHEDULED, SENT } from './tokens.ts';

/** What a text finds among the items of one kind, for lists that show, count or change them. */
export interface Found<R> {
  /** Whether every item that is looked at is wanted, unless it has just changed. */
  readonly isExact: boolean;
  /** Whether the text begins more words than are looked for, so that some items are not found. */
  readonly isTooShort: boolean;
  /**
   * Looks at no more than `limit` items from a position on, which is included, and returns those
   * that are wanted. `last` is the position of the last one that was looked at; null at the end.
   */
  readonly read: (
    order: 'newest' | 'oldest',
    from: Cursor,
    limit: number,
  ) => Promise<{ readonly rows: R[]; readonly last: Cursor | null }>;
}

/** The last digits of a number may be those of a hundred others, whose lists are read in turn. */
export const PAUSE_AFTER_MS = 5;

interface Source<R> {
  readonly kind: Kind;
  readonly among: (queries: Queries, account: AccountKey, ids: readonly bigint[]) => Promise<R[]>;
  readonly searched: (row: R) => Searched;
}

const received: Source<InboxMessage> = {
  kind: RECEIVED,
  among: receivedAmong,
  searched: ({ id, sender, text }) => ({ id, number: sender, text, reference: null }),
};
const sent: Source<SentMessage> = {
  kind: SENT,
  among: sentAmong,
  searched: ({ id, recipient, text, reference }) => ({ id, number: recipient, text, reference }),
};
const scheduled: Source<ScheduledMessage> = {
  kind: SCHEDULED,
  among: scheduledAmong,
  searched: ({ id, recipient, text, reference }) => ({ id, number: recipient, text, reference }),
};
const contacts: Source<Contact> = {
  kind: CONTACT,
  among: contactsAmong,
  searched: ({ id, name, surname, mobile }) => ({
    id,
    number: mobile,
    text: `${name ?? ''} ${surname ?? ''}`,
    reference: null,
  }),
};

const foundIn =
  <R extends { readonly id: bigint }>(source: Source<R>) =>
  async (queries: Queries, account: AccountKey, text: string, region: string | null): Promise<Found<R>> =>
    pagesOf(source, queries, account, await listsOf(queries, account, text, region, [source.kind, source.kind]));

export const foundReceived = foundIn(received);
export const foundSent = foundIn(sent);
export const foundScheduled = foundIn(scheduled);
export const foundContacts = foundIn(contacts);

export interface WantedSent {
  readonly reference: string | undefined;
  /** A number in any notation. */
  readonly recipient: string | undefined;
}

/** A reference is the same if it is so written; a number, in whatever notation. */
export function isWantedSent({ reference, recipient }: WantedSent, region: string | null) {
  const number = recipient === undefined ? undefined : numberTest(recipient, region);
  return (message: Pick<SentMessage, 'reference' | 'recipient'>): boolean =>
    (reference === undefined || message.reference === reference) &&
    (number === undefined || number.matches(message.recipient));
}

export async function foundSentWith(
  queries: Queries,
  account: AccountKey,
  wanted: WantedSent,
  region: string | null,
): Promise<Found<SentMessage>> {
  const { reference, recipient = '' } = wanted;
  const tokens =
    reference === undefined
      ? await tokensFromAll(queries, account, numberTest(recipient, region).tokens)
      : [referenceToken(reference)];
  const isWanted = isWantedSent(wanted, region);
  return pagesOf(sent, queries, account, {
    tokens,
    isWanted: (message) => isWanted({ reference: message.reference, recipient: message.number }),
    isExact: false,
    isTooShort: false,
  });
}

function pagesOf<R extends { readonly id: bigint }>(
  { kind, among, searched }: Source<R>,
  queries: Queries,
  account: AccountKey,
  lists: Lists | null,
): Found<R> {
  const tokens = new Set(lists?.tokens);
  return {
    isExact: lists?.isExact ?? true,
    isTooShort: lists?.isTooShort ?? false,
    async read(order, from, limit) {
      const statement = order === 'newest' ? sql.entriesDown : sql.entriesUp;
      const entries = new Map<bigint, Cursor>();
      const pause = createPauses(PAUSE_AFTER_MS);
      for (const token of tokens) {
        await pause();
        const rows = await queries.all(statement, { account, token, kind, ...from, limit });
        for (const { at, item_id: id } of rows) entries.set(id, { at: Number(at), id });
      }
      const sign = order === 'newest' ? -1 : 1;
      const shown = [...entries.values()].sort((one, other) => sign * byTime(one, other)).slice(0, limit);
      const ids = shown.map(({ id }) => id);
      const items = ids.length === 0 ? [] : await among(queries, account, ids);
      const byId = new Map(items.map((item) => [item.id, item]));
      const rows = ids.flatMap((id) => byId.get(id) ?? []).filter((item) => lists?.isWanted(searched(item)));
      return { rows, last: shown.length < limit ? null : (shown.at(-1) ?? null) };
    },
  };
}

const byTime = (one: Cursor, other: Cursor): number =>
  one.at - other.at || (one.id < other.id ? -1 : one.id > other.id ? 1 : 0);
