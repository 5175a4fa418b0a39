import type { Row } from '../../test/support/contract-client.ts';
import type { Random } from '../../test/support/random.ts';
import {
  ALL,
  allDeleted,
  anyId,
  change,
  day,
  IDS,
  idsWhere,
  indexes,
  isThere,
  listed,
  planned,
  reading,
  type Thing,
  tabled,
  yes,
} from './model.ts';

/** Received, sent and scheduled messages. 0: unread or unmarked, or scheduled; 1: read or marked. */
const isNew = (value: string): boolean => value === '0';
const newestFirst = (state: string): string =>
  indexes(state, isThere)
    .map((index) => `${IDS[index]}:${state[index] === '1'}`)
    .reverse()
    .join();
const countOf = (value: string) => reading((state) => String(indexes(state, (each) => each === value).length));

const toOne = (address: `${string}.${string}`, parameter: string, value: string) => (random: Random) => {
  const id = anyId(random);
  return planned(address, { [parameter]: id }, change([id], value));
};

export const inbox: Thing = {
  initial: '010100',
  reads: [
    planned('inbox.CountRead', {}, countOf('1')),
    planned('inbox.CountUnread', {}, countOf('0')),
    planned('inbox.Unread', { max_count: ALL }, reading(idsWhere(isNew)), listed('id')),
    planned('inbox.InboxDS', { max_count: ALL }, reading(newestFirst), tabled('id', 'read')),
  ],
  writes: [
    [6, toOne('inbox.MarkMessageAsRead', 'message_id', '1')],
    [4, toOne('inbox.DeleteMessage', 'message_id', 'x')],
    [1, () => planned('inbox.DeleteAllMessages', {}, allDeleted)],
  ],
};

export const sent: Thing = {
  initial: '000100',
  reads: [
    planned('sent.CountUnMarkedDeliveryStatus', {}, countOf('0')),
    planned('sent.FetchUnmarkedDeliveryStatus', { max: ALL }, reading(idsWhere(isNew)), listed('user_message_id')),
    planned('sent.FetchSentDS', { max: ALL }, reading(newestFirst), tabled('id', 'marked')),
  ],
  writes: [
    [6, toOne('sent.MarkMessageAsRead', 'id', '1')],
    [4, toOne('sent.DeleteSentMessage', 'message_id', 'x')],
  ],
};

const CREDITS = 1_000;
/** Message parts that are held for each: every set of them has another sum. */
const PARTS = [1, 2, 4, 8, 16, 32];
const NUMBERS = ['+27825550201', '+27825550202', '+27825550203'];
const numberOf = (index: number): string => NUMBERS[index % NUMBERS.length] as string;

const creditsOf = (state: string): string =>
  String(indexes(state, (value) => !isThere(value)).reduce((sum, index) => sum + (PARTS[index] as number), CREDITS));

export const scheduled: Thing = {
  initial: '000000',
  reads: [
    planned('compose.FetchScheduledDS', { max: ALL }, reading(idsWhere(isThere)), tabled('id')),
    planned('account.Profile', {}, reading(creditsOf), (value) => (value as Row).credits ?? ''),
  ],
  writes: [
    [6, toOne('compose.DeleteScheduledMessage', 'message_id', 'x')],
    [1, () => planned('compose.DeleteAllScheduled', {}, allDeleted)],
    [
      3,
      (random) => {
        const mobile = random.pick(NUMBERS);
        const cancel = (state: string) =>
          yes([...state].map((old, at) => (numberOf(at) === mobile ? 'x' : old)).join(''));
        return planned('account.BlackListNumber', { mobile, sample_message: 'STOP' }, cancel);
      },
    ],
  ],
};

/** In the import format. */
export const messageFields = {
  credits: CREDITS,
  usedCredits: 0,
  inbox: IDS.map((id, at) => ({ id, message: 'in', timestamp: day(at), read: inbox.initial[at] === '1' })),
  sent: IDS.map((id, at) => ({
    id,
    recipient: numberOf(at),
    message: 'out',
    delivery_status: 'DELIVERED',
    marked: sent.initial[at] === '1',
    timestamp_sent: day(at),
    timestamp_updated: day(at),
  })),
  scheduled: IDS.map((id, at) => ({
    // A message in several parts has 67 characters in each, if they are not of the GSM alphabet.
    id,
    recipient: numberOf(at),
    message: 'я'.repeat((PARTS[at] as number) * 67),
    timestamp_scheduled: `2031-01-0${at + 1}T08:00:00Z`,
    timestamp_created: day(at),
  })),
};
