import { userIdOf } from './data.ts';
import { ACCOUNT_ID, FIRST_AT, FIRST_ID, type Filled, type Filling, receivedFrom, unreadFrom } from './fill.ts';
import type { Call } from './requests.ts';

/** The calls whose cost should not grow with the data, and the same data again for those that change it. */
export interface Population {
  readonly filling: Filling;
  /** How many accounts are called: the full ones. */
  readonly users: number;
  /** How many calls of a round change something; each has a message of its own. */
  readonly writes: number;
}

// As many as the smallest inbox has, so that every answer is as long.
const LIST = '10';
const MINUTES_A_DAY = 1_440;

const day = ({ messages }: Filling) => {
  const first = Math.floor(messages / 2 / MINUTES_A_DAY) * MINUTES_A_DAY;
  const at = (minute: number) => new Date(FIRST_AT + minute * 60_000).toISOString();
  return { from: at(first), to: at(first + MINUTES_A_DAY - 1) };
};

/** Every user in turn, and of each the next message: 7,919 and 104,729 are primes that spread them. */
const userOf = (number: number, { users, filling }: Population) => ((number * 7_919) % users) * filling.every;
const messageOf = (number: number, { users, filling }: Population) =>
  (Math.floor(number / users) * 104_729) % filling.messages;

/** By name, the nth call. */
export function growthCalls(population: Population): Record<string, (number: number) => Call> {
  const user = (number: number) => ({ user_id: userIdOf(userOf(number, population)) });
  const message = (number: number) => ({
    ...user(number),
    message_id: String(FIRST_ID + messageOf(number, population)),
  });
  const call = (group: string, operation: string, args: (number: number) => Record<string, string>) => ({
    [operation]: (number: number): Call => ({ group, operation, args: args(number) }),
  });
  return {
    ...call('account', 'Profile', user),
    ...call('inbox', 'CountRead', user),
    ...call('inbox', 'CountUnread', user),
    ...call('sent', 'CountUnMarkedDeliveryStatus', user),
    ...call('inbox', 'Unread', (number) => ({ ...user(number), max_count: LIST })),
    ...call('inbox', 'Read', (number) => ({ ...user(number), ...day(population.filling), max_count: LIST })),
    ...call('inbox', 'InboxDS', (number) => ({ ...user(number), max_count: LIST })),
    ...call('inbox', 'MarkMessageAsRead', message),
    ...call('inbox', 'DeleteMessage', (number) => message(population.writes + number)),
  };
}

/** What the calls of a round have marked is unread again, and what they have deleted is there again. */
export async function restore({ query, dialect }: Filled, population: Population): Promise<void> {
  const { users, writes, filling } = population;
  const touched = (first: number) => `(
    select ${ACCOUNT_ID} as id, number as account, message as number from (
      select (((nth + ${first}) * 7919) % ${users}) * ${filling.every} as number,
        ((nth + ${first}) / ${users} * 104729) % ${filling.messages} as message
      from (select number as nth from ${dialect.numbers(writes)} as numbers) as calls
    ) as places) as touched`;
  const unlessThere = 'where true on conflict do nothing';
  for (const statement of [
    unreadFrom(touched(0), unlessThere),
    ...receivedFrom(touched(writes), dialect, unlessThere),
  ]) {
    await query(statement);
  }
}
