import type { CompareSettings } from '../compare/compare-values.ts';
import type { ValueRecord } from '../old-server/answer-values.ts';
import type { OldServer } from '../old-server/old-server.ts';

/** When something last arrived in a part of an account: its newest message, status or schedule. */
export function createArrivals(
  server: Pick<OldServer, 'call'>,
  { listLimit }: Pick<CompareSettings, 'listLimit'>,
): (userId: string, area: string) => Promise<number | null> {
  const known = new Map<string, Promise<number | null>>();
  return (userId, area) => {
    const key = `${area} ${userId}`;
    const found = known.get(key) ?? ask(userId, area);
    known.set(key, found);
    return found;
  };

  async function ask(userId: string, area: string): Promise<number | null> {
    const list = LISTS[area];
    if (!list) return null;
    const [group, operation, limit] = list;
    // The whole list is read, because its order is not known.
    const { result } = await server.call(group, operation, { user_id: userId, [limit]: listLimit });
    if (result.kind !== 'value') return null;
    const times = (result.value as readonly ValueRecord[]).flatMap((row) => TIMES.map((name) => row[name]));
    return times.reduce<number | null>(
      (newest, at) => (typeof at === 'number' && at > (newest ?? Number.NEGATIVE_INFINITY) ? at : newest),
      null,
    );
  }
}

const SENT = ['sent', 'FetchSentDS', 'max'] as const;
const LISTS: Readonly<Record<string, readonly [group: string, operation: string, limit: string]>> = {
  inbox: ['inbox', 'InboxDS', 'max_count'],
  sent: SENT,
  // A scheduled message is sent later, and a sent one costs credits.
  compose: SENT,
  profile: SENT,
};
const TIMES = ['timestamp', 'timestamp_sent', 'timestamp_updated', 'timestamp_created'] as const;
