import { notFound, Problem } from '../../base/problem.ts';
import type { Contact } from '../../domain/contacts/contacts.ts';
import type { ReceivedMessage } from '../../domain/messages/received.ts';
import type { ScheduledMessage, SentMessage } from '../../domain/messages/sent.ts';
import type { AccountReading, Archive } from '../../transfer/archive.ts';
import {
  CopyProblem,
  type OldAccount,
  read,
  readCounts,
  readScheduled,
  readSent,
  refusedInWords,
} from '../old-server/old-account.ts';
import { CLOCK_MARGIN_MS, FIRST_INSTANT, readUnread } from '../old-server/old-inbox.ts';
import { readProfile } from '../old-server/old-profile.ts';
import { cautiousEffects } from '../old-server/read-effects.ts';
import { accountIdNamed, copyProgress, takenMessages } from '../stages/migrated-accounts.ts';
import type { CopiedAccount } from './account-copy.ts';
import { type CopyDependencies, windowsOf } from './copy-account.ts';
import type { ImportedUser } from './import.ts';
import { receivedCounts, unmarkedCount } from './message-copy.ts';

/** Holds both sides against each other, account by account: counts, and all contents. */
export interface AccountDifference {
  readonly what: string;
  readonly here: number;
  readonly there: number;
  /** Ids that only one side has, and ids whose contents differ: the first ones. */
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
  const received = new Map<bigint, ReceivedMessage>();
  const cap = from.dialect.caps?.['inbox.Read'] ?? Number.POSITIVE_INFINITY;
  for await (const { messages } of windowsOf(from, FIRST_INSTANT, now + CLOCK_MARGIN_MS, cap, () => {})) {
    for (const message of messages) received.set(message.id, message);
  }
  const counts = await readCounts(from);
  const unread = await readUnread(from, counts.unread);
  for (const message of unread.messages) received.set(message.id, message);
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

/** Not the password, and not the last sign-in, which differ by design. */
function profileDifference(here: AccountReading, { copied: { account: there } }: There): AccountDifference | null {
  const names = ['contactName', 'contactSurname', 'company', 'email', 'tel', 'fax', 'mobile', 'address'] as const;
  const numbers = ['credits', 'usedCredits', 'priority', 'tag', 'createdAt'] as const;
  const different = [...names, ...numbers].filter((name) => here.account[name] !== there[name]);
  if (different.length === 0) return null;
  return { what: 'profile', here: 1, there: 1, onlyHere: [], onlyThere: [], different };
}

async function receivedDifference(here: AccountReading, there: There): Promise<AccountDifference | null> {
  const theirs = [...there.received.values()].map((each) => ({ ...each, read: !there.unread.has(each.id) }));
  return listed(
    'received',
    await collected(here.received),
    theirs,
    (each) => String(each.id),
    (each) => [each.sender, each.text, each.shortCode, each.receivedAt, each.read],
  );
}

/** Of a list that ends at a cap, older ones may be here and not there. */
async function sentDifference(here: AccountReading, { sent }: There): Promise<AccountDifference | null> {
  const oldest = sent.messages.reduce((least, { sentAt }) => Math.min(least, sentAt), Number.POSITIVE_INFINITY);
  const ours = (await collected(here.sent)).filter(({ sentAt }) => !sent.isCapped || sentAt > oldest);
  const theirs = sent.isCapped ? sent.messages.filter(({ sentAt }) => sentAt > oldest) : sent.messages;
  return listed('sent', ours, theirs, (each) => String(each.id), sentFields);
}

function counted(what: string, here: number, there: number): AccountDifference | null {
  return here === there ? null : { what, here, there, onlyHere: [], onlyThere: [], different: [] };
}

/** Texts are never shown: a difference has ids, and templates their numbers. */
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
