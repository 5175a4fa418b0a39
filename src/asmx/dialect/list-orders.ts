/**
 * The orders that the list of an operation can have: a field, with "-" for descending. The first
 * is Columba's own. Every order is read from an index, so a page of a list of a million rows costs
 * as much as a page of a list of ten.
 */
export const LIST_ORDERS = {
  'account.FetchContacts': ['id', '-id'],
  'account.FetchContactsDS': ['id', '-id'],
  'account.FetchContactsByGroupId': ['id', '-id'],
  'account.FetchContactsByGroupIdDS': ['id', '-id'],
  'account.FetchGroups': ['id', '-id'],
  'account.FetchSavedMessages': ['saved', '-saved'],
  'inbox.Read': ['timestamp', '-timestamp'],
  'inbox.Unread': ['timestamp', '-timestamp'],
  'inbox.InboxDS': ['-timestamp', 'timestamp', 'id', '-id'],
  'sent.FetchUnmarkedDeliveryStatus': ['timestamp_updated', '-timestamp_updated'],
  'sent.FetchSentDS': ['-timestamp_sent', 'timestamp_sent', 'id', '-id'],
  'compose.FetchScheduledDS': ['timestamp_scheduled', '-timestamp_scheduled', 'id', '-id'],
} as const;

export type ListOperation = keyof typeof LIST_ORDERS;
export type ListOrder<O extends ListOperation = ListOperation> = (typeof LIST_ORDERS)[O][number];

/** What a dialect says about lists, for every operation that returns one. Plain data. */
export interface ListRules {
  readonly orders: { readonly [O in ListOperation]: ListOrder<O> };
  /** The most rows of an answer; undefined for the limit of the settings. */
  readonly caps: { readonly [O in ListOperation]?: number };
  /** Whether Read returns only messages that are marked as read. */
  readonly readReturnsReadOnly: boolean;
  /** The milliseconds that share one written date: 1,000 where no fraction is written. */
  readonly dateUnitMs: number;
}

/** The rules of a dialect that was checked. */
export function listRules(dialect: {
  readonly orders?: { readonly [operation: string]: string };
  readonly caps?: { readonly [operation: string]: number };
  readonly readReturnsReadOnly?: boolean;
  readonly dates?: { readonly fractionDigits?: number | 'trimmed' };
}): ListRules {
  const digits = dialect.dates?.fractionDigits ?? 'trimmed';
  const own = Object.entries(LIST_ORDERS).map(([operation, [first]]) => [operation, first]);
  return {
    orders: { ...Object.fromEntries(own), ...dialect.orders },
    caps: dialect.caps ?? {},
    readReturnsReadOnly: dialect.readReturnsReadOnly ?? false,
    dateUnitMs: digits === 'trimmed' ? 1 : 10 ** Math.max(0, 3 - digits),
  };
}
