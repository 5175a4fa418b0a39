import { notFound, Problem } from '../../base/problem.ts';
import type { Contact } from '../../domain/contacts/contacts.ts';
import type { ReceivedMessage } from '../../domain/messages/received.ts';
import type { ScheduledMessage } from '../../domain/messages/scheduled.ts';
import type { SentMessage } from '../../domain/messages/sent.ts';
import type { AccountReading, Archive } from '../../transfer/archive.ts';
import {
  CopyProblem,
  type OldAccount,
  read,
  readCounts,
  readScheduled,
  refusedInWords,
} from '../old-server/old-account.ts';
import { CLOCK_MARGIN_MS, FIRST_INSTANT, readUnread } from '../old-server/old-inbox.ts';
import { readProfile } from '../old-server/old-profile.ts';
import { openSent } from '../old-server/old-sent.ts';
import { cautiousEffects } from '../old-server/read-effects.ts';
import { accountIdNamed, copyProgress, takenMessages } from '../stages/migrated-accounts.ts';
import type { CopiedAccount } from './account-copy.ts';
import { type CopyDependencies, windowsOf } from './copy-account.ts';
import { type Digest, Digests } from './digests.ts';
import type { ImportedUser } from './import.ts';
import { receivedCounts, unmarkedCount } from './message-copy.ts';

/** Compares both servers account by account: counts, and all contents. */
export interface AccountDifference {
  readonly what: string;
  readonly here: number;
  readonly there: number;
  /** The first ids that only one side has, and the first ids whose contents differ. */
  readonly onlyHere: readonly string[];
  readonly onlyThere: readonly string[];
  readonly different: readonly string[];
}
export interface CheckedAccount {
  readonly line: number;
  readonly username: string | null;
  readonly isEqual: boolean;
  readonly differences: readonly AccountDifference[];
  readonly problem: string | null;
}

const IDS_MAX = 20;

export async function checkAccounts(
  dependencies: CopyDependencies & { readonly archive: Archive },
  users: readonly ImportedUser[],
  progress: (done: number, username: string | null) => void = () => {},
): Promise<CheckedAccount[]> {
  const checked: CheckedAccount[] = [];
  for (const { line, userId } of users) {
    progress(checked.length, null);
    let username: string | null = null;
    try {
      const { old, dialect, effects } = dependencies;
      const known = { old, userId, dialect, effects };
      const from = { ...known, effects: await cautiousEffects(known) };
      const { copied } = await readProfile(from, dependencies.now());
      username = copied.account.username;
      const there = await readThere(from, copied, dependencies.now());
      const differences = await compared(dependencies, username, there);
      checked.push({ line, username, isEqual: differences.length === 0, differences, problem: null });
    } catch (thrown) {
      const isKnown = thrown instanceof CopyProblem || (thrown instanceof Problem && thrown.kind === 'not-found');
      if (!isKnown) throw thrown;
      checked.push({
        line,
        username,
        isEqual: false,
        differences: [],
        problem: refusedInWords(thrown as Error, username),
      });
    }
  }
  return checked;
}

type There = Awaited<ReturnType<typeof readThere>>;

async function readThere(from: OldAccount, copied: CopiedAccount, now: number) {
  const received = new Digests();
  const add = (each: ReceivedMessage) => received.add(each.id, each.receivedAt, receivedFields(each));
  const cap = from.dialect.caps?.['inbox.Read'] ?? Number.POSITIVE_INFINITY;
  for await (const { messages } of windowsOf(from, FIRST_INSTANT, now + CLOCK_MARGIN_MS, cap, () => {})) {
    messages.forEach(add);
  }
  const counts = await readCounts(from);
  const unread = await readUnread(from, counts.unread);
  unread.messages.forEach(add);
  return {
    copied,
    counts,
    received,
    unread: unread.ids,
    sent: await readSent(from),
    unmarked: Number((await read(from, 'sent.CountUnMarkedDeliveryStatus')).value),
    scheduled: await readScheduled(from),
  };
}

/** A capped list may lack messages of its oldest second, which is left out on both sides. */
async function readSent(from: OldAccount) {
  const list = await openSent(from);
  const { taken, isCapped } = await list.read(async (batches) => {
    const digests = new Digests();
    let oldest = Number.POSITIVE_INFINITY;
    for await (const messages of batches) {
      for (const each of messages) {
        digests.add(each.id, each.sentAt, sentFields(each));
        oldest = Math.min(oldest, each.sentAt);
      }
    }
    return { digests, oldest };
  });
  return { ...taken, isCapped };
}

async function compared(
  { archive, database }: CopyDependencies & { readonly archive: Archive },
  username: string,
  there: There,
): Promise<AccountDifference[]> {
  const account = await accountIdNamed(database, username);
  if (account === null || !(await copyProgress(database, account))) throw notFound(`copy of the account ${username}`);
  const taken = await takenMessages(database, account);
  const found: AccountDifference[] = [];
  const add = (difference: AccountDifference | null) => void (difference && found.push(difference));
  await archive.read(username, async (here) => {
    add(profileDifference(here, there));
    add(
      listed(
        'groups',
        here.groups,
        there.copied.groups,
        (each) => String(each.id),
        (each) => [each.name],
      ),
    );
    add(listed('contacts', here.contacts, there.copied.contacts, (each) => String(each.id), contactFields));
    add(
      listed(
        'templates',
        here.templates,
        there.copied.templates,
        (each) => each,
        (each) => [each],
        true,
      ),
    );
    add(await receivedDifference(here, there));
    add(await sentDifference(here, there));
    const scheduled = (await collected(here.scheduled)).filter(({ id }) => !taken.has(id));
    add(listed('scheduled', scheduled, there.scheduled.messages, (each) => String(each.id), scheduledFields));
  });
  const { read: readHere, unread } = await receivedCounts(database, account);
  add(counted('read messages', readHere, there.counts.read));
  add(counted('unread messages', unread, there.counts.unread));
  if (!there.sent.isCapped) add(counted('unmarked statuses', await unmarkedCount(database, account), there.unmarked));
  return found;
}

const contactFields = ({ name, surname, mobile, groupId }: Contact) => [name, surname, mobile, groupId];
const sentFields = (each: SentMessage) => [
  each.reference,
  each.recipient,
  each.text,
  each.status,
  each.sentAt,
  each.updatedAt,
  each.marked,
];
const scheduledFields = (each: ScheduledMessage) => [
  each.reference,
  each.recipient,
  each.text,
  each.scheduledAt,
  each.createdAt,
];

async function collected<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

/** Leaves out the password and the last sign-in, which differ by design. */
function profileDifference(here: AccountReading, { copied: { account: there } }: There): AccountDifference | null {
  const names = ['contactName', 'contactSurname', 'company', 'email', 'tel', 'fax', 'mobile', 'address'] as const;
  const numbers = ['credits', 'usedCredits', 'priority', 'tag', 'createdAt'] as const;
  const different = [...names, ...numbers].filter((name) => here.account[name] !== there[name]);
  if (different.length === 0) return null;
  return { what: 'profile', here: 1, there: 1, onlyHere: [], onlyThere: [], different };
}

const receivedFields = (each: ReceivedMessage) => [each.sender, each.text, each.shortCode, each.receivedAt];

const receivedDifference = (here: AccountReading, { received, unread }: There): Promise<AccountDifference | null> =>
  merged('received', here.received, received.inOrder(), receivedFields, ({ id, read }) => read !== unread.has(id));

/**
 * Columba may have messages that are older than the old server's list, from a file or an earlier
 * copy. A list that ends at a cap may lack some messages of its oldest time.
 */
function sentDifference(here: AccountReading, { sent }: There): Promise<AccountDifference | null> {
  const { digests, isCapped, oldest } = sent;
  const ours = wanted(here.sent, ({ sentAt }) => (isCapped ? sentAt > oldest : sentAt >= oldest));
  const theirs = digests.inOrder().filter(({ at }) => !isCapped || at > oldest);
  return merged('sent', ours, theirs, sentFields);
}

async function* wanted<T>(items: AsyncIterable<T>, isWanted: (item: T) => boolean): AsyncGenerator<T> {
  for await (const item of items) if (isWanted(item)) yield item;
}

/** Compares two lists that are ordered by id, without holding either of them in memory. */
async function merged<T extends { readonly id: bigint }>(
  what: string,
  ours: AsyncIterable<T>,
  theirs: Iterator<Digest>,
  fieldsOf: (item: T) => readonly unknown[],
  isSame: (item: T) => boolean = () => true,
): Promise<AccountDifference | null> {
  const found = { onlyHere: [] as string[], onlyThere: [] as string[], different: [] as string[] };
  const add = (kind: keyof typeof found, id: bigint) =>
    void (found[kind].length < IDS_MAX && found[kind].push(`${id}`));
  let [here, there] = [0, 0];
  let their = theirs.next();
  const passTheirs = () => {
    there += 1;
    their = theirs.next();
  };
  for await (const our of ours) {
    here += 1;
    for (; !their.done && their.value.id < our.id; passTheirs()) add('onlyThere', their.value.id);
    if (their.done || their.value.id !== our.id) {
      add('onlyHere', our.id);
      continue;
    }
    if (!their.value.isEqual(fieldsOf(our)) || !isSame(our)) add('different', our.id);
    passTheirs();
  }
  for (; !their.done; passTheirs()) add('onlyThere', their.value.id);
  const isEqual = Object.values(found).every((ids) => ids.length === 0);
  return isEqual ? null : { what, here, there, ...found };
}

function counted(what: string, here: number, there: number): AccountDifference | null {
  return here === there ? null : { what, here, there, onlyHere: [], onlyThere: [], different: [] };
}

/** Texts are never shown: a difference shows ids, and for templates their numbers. */
function listed<T>(
  what: string,
  here: readonly T[],
  there: readonly T[],
  keyOf: (item: T) => string,
  fieldsOf: (item: T) => readonly unknown[],
  isText = false,
): AccountDifference | null {
  const textOf = (item: T) =>
    JSON.stringify(fieldsOf(item), (_, value) => (typeof value === 'bigint' ? `${value}` : value));
  const theirs = new Map(there.map((each) => [keyOf(each), textOf(each)]));
  const ours = new Map(here.map((each) => [keyOf(each), textOf(each)]));
  const onlyHere = [...ours.keys()].filter((key) => !theirs.has(key));
  const onlyThere = [...theirs.keys()].filter((key) => !ours.has(key));
  const different = [...ours.keys()].filter((key) => theirs.has(key) && theirs.get(key) !== ours.get(key));
  const isOrdered = !isText || here.every((each, index) => keyOf(each) === keyOf(there[index] ?? each));
  if (onlyHere.length + onlyThere.length + different.length === 0 && isOrdered) return null;
  const shown = (keys: readonly string[]) =>
    (isText ? keys.map((_, index) => `no. ${index + 1}`) : keys).slice(0, IDS_MAX);
  return {
    what,
    here: here.length,
    there: there.length,
    onlyHere: shown(onlyHere),
    onlyThere: shown(onlyThere),
    different: shown(different),
  };
}
