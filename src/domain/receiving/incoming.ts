import { createHash } from 'node:crypto';
import { randomId } from '../../base/random.ts';
import { numberFault, numberKey } from '../../sms/numbers.ts';
import type { PartPlace } from '../../sms/user-data.ts';
import type { Database, Queries, TransactionQueries } from '../../store/database.ts';
import { joined } from '../../store/transactions.ts';
import { effectiveRegion, lockAccount } from '../accounts/accounts.ts';
import { addAuditEntry } from '../accounts/audit.ts';
import { type BlacklistEntry, createBlacklist } from '../contacts/blacklist.ts';
import { putIntoInbox } from '../messages/received.ts';
import { answerThrough } from '../outbound/senders.ts';
import { createOptOuts } from '../sending/opt-out.ts';
import { sendAnswer } from './answer.ts';
import * as sql from './incoming.sql.ts';
import { type FoundRoute, findRoute } from './routes.ts';
import { type ReplyWord, replyWordOf } from './stop-words.ts';

/** A message as a carrier brings it. */
export interface ArrivedMessage {
  readonly connector: string;
  /** The carrier's own id of the message, if it has one. */
  readonly gatewayId: string | null;
  readonly sender: string;
  readonly destination: string;
  /** A part may begin or end with half a surrogate pair, whose other half is in another part. */
  readonly text: string;
  readonly receivedAt: number;
  /** Set if the gateway did not join the parts of a long message. */
  readonly part: PartPlace | null;
  /**
   * Of a carrier without ids: how many equal messages the same connection has brought shortly
   * before. It tells them from one that comes again.
   */
  readonly repeat?: number;
}
export type WholeMessage = Omit<ArrivedMessage, 'gatewayId' | 'part' | 'repeat'>;

/** Two equal messages without ids of the gateway are the same one if they are this near in time. */
const SAME_WITHIN_MS = 10_000;
/** How long parts wait for the other parts. */
export const PARTS_WAIT_MS = 72 * 3_600_000;
/** If more messages than this are incomplete, the oldest are stored as they are. */
export const INCOMPLETE_MAX = 100_000;
/** How long a repeated id of a gateway is recognized. */
const ID_KEPT_MS = 30 * 24 * 3_600_000;
/** How long a hash of number and text is stored; it is needed only for SAME_WITHIN_MS. */
const TEXT_KEPT_MS = 3_600_000;
/** A user data header has one octet for the number of parts. */
const PARTS_MAX = 255;

export type Incoming = ReturnType<typeof createIncoming>;

export function createIncoming(database: Database, now: () => number, defaultRegion: string | null) {
  const storing = { database, now, defaultRegion };

  async function receiveWhole(message: ArrivedMessage): Promise<void> {
    // The route is found before the transaction, which belongs to the account of the route.
    const route = await findRoute(database, message.destination, message.text, defaultRegion);
    const accounts = route ? await concernedBy(database, route, message.text) : [];
    await database.transaction(accounts[0] ?? null, async (queries) => {
      for (const account of accounts.slice(1)) await lockAccount(queries, account);
      if (await isRepeated(queries, message, now())) return;
      if (route) await storeFor(storing, queries, route.account, message, route.keyword, accounts);
      else await keepUnrouted(queries, message);
    });
  }

  const receivePart = (message: ArrivedMessage, part: Part): Promise<void> =>
    database.transaction(null, async (queries) => {
      if (await isRepeated(queries, message, now())) return;
      for (const whole of await addPart(queries, message, part, now())) await routeNow(storing, queries, whole);
    });

  return {
    /**
     * Stores the message once, for its account or for the operator. Resolves when it is on disk.
     */
    receive: (message: ArrivedMessage): Promise<void> =>
      message.part && isPart(message.part)
        ? receivePart(message, message.part)
        : receiveWhole({ ...message, text: message.text.toWellFormed() }),

    /**
     * Gives up waiting for parts: the parts that came are stored, with a mark in place of a missing
     * one. Returns how many messages were stored.
     */
    async storeIncomplete(limit: number, keep = INCOMPLETE_MAX): Promise<number> {
      const late = await database.all(sql.oldGroups, { before: now() - PARTS_WAIT_MS, limit });
      const old = late.length > 0 ? late : await database.all(sql.groupsBeyond, { newer: keep - 1, limit });
      for (const { group_hash: hash } of old) {
        await database.transaction(null, async (queries) => {
          const group = await queries.first(sql.takeGroup, { hash });
          if (group) await routeNow(storing, queries, joinParts(group));
        });
      }
      return old.length;
    },

    /** Deletes keys of old messages. Returns how many were deleted. */
    forgetOld: (limit: number): Promise<number> => database.run(sql.forgetOnce, { now: now(), limit }),
  };
}

interface Storing {
  readonly database: Database;
  readonly now: () => number;
  readonly defaultRegion: string | null;
}
type Part = NonNullable<ArrivedMessage['part']>;

/** A message with impossible numbers is no part, and is stored as it is. */
const isPart = ({ reference, total, number }: Part): boolean =>
  [reference, total, number].every(Number.isSafeInteger) &&
  total > 1 &&
  total <= PARTS_MAX &&
  number >= 1 &&
  number <= total;

/** Hashes each field with its length, so that no two lists of fields give the same text. */
const hashOf = (fields: readonly string[]): string =>
  createHash('sha256')
    .update(fields.map((field) => `${field.length}:${field}`).join(), 'utf8')
    .digest('hex');

/** Whether the message has come before. Remembers that it has come now. */
async function isRepeated(queries: TransactionQueries, message: ArrivedMessage, now: number): Promise<boolean> {
  const { connector, gatewayId, sender, destination, text, receivedAt, part, repeat = 0 } = message;
  const position = part ? [part.reference, part.total, part.number].map(String) : [];
  if (gatewayId !== null) {
    // A gateway may give all parts of a message the same id.
    const hash = hashOf(['id', connector, gatewayId, ...position]);
    return (await queries.run(sql.addOnce, { hash, receivedAt, forgetAt: now + ID_KEPT_MS })) === 0;
  }
  const exactText = text.isWellFormed() ? text : JSON.stringify(text); // UTF-8 has no halves of a surrogate pair
  const again = repeat > 0 ? [`repeat ${repeat}`] : [];
  const hash = hashOf(['text', connector, sender, destination, exactText, ...position, ...again]);
  const key = { hash, receivedAt, forgetAt: now + TEXT_KEPT_MS, withinMs: SAME_WITHIN_MS };
  return (await queries.run(sql.addOnceWithin, key)) === 0;
}

/**
 * Holds a part. Returns the messages that are ready now: mostly none, or the one that this part
 * completes. If a different part with the same number is held already, the sender has reused its
 * reference: the parts held so far are then ready as they are, and this part begins a new message.
 */
async function addPart(
  queries: TransactionQueries,
  message: ArrivedMessage,
  part: Part,
  now: number,
): Promise<WholeMessage[]> {
  const { connector, sender, destination, text, receivedAt } = message;
  const { reference, total, number } = part;
  const hash = hashOf([connector, sender, destination, String(reference), String(total)]);
  const given = { hash, connector, sender, destination, total, parts: '{}', receivedAt, heldAt: now };
  const held = await queries.first(sql.holdGroup, given);
  if (!held) throw new Error('storing a part returned no row');
  const parts = textsOf(held);
  const ready: WholeMessage[] = [];
  if (parts.get(number) === text) return []; // the same part again, with another id of the gateway
  const isTaken = parts.has(number);
  if (isTaken) {
    ready.push(joinParts(held));
    parts.clear();
  }
  parts.set(number, text);
  const first = isTaken ? receivedAt : Math.min(Number(held.received_at), receivedAt);
  const content = JSON.stringify(Object.fromEntries(parts)); // it escapes halves of surrogate pairs
  if (parts.size < total) {
    const heldAt = isTaken ? now : Number(held.held_at);
    await queries.run(sql.setParts, { hash, parts: content, receivedAt: first, heldAt });
    return ready;
  }
  await queries.first(sql.takeGroup, { hash });
  return [...ready, joinParts({ ...held, parts: content, received_at: BigInt(first) })];
}

const textsOf = ({ parts }: sql.HeldIncomingRow): Map<number, string> =>
  new Map(Object.entries(JSON.parse(parts) as Record<string, string>).map(([number, text]) => [Number(number), text]));

/**
 * Joins parts. A sentence replaces a part that never came, so that nobody takes the rest for the
 * whole message. Only the joined text is made well-formed, because a phone may cut a surrogate pair
 * between two parts.
 */
export function joinParts(held: sql.HeldIncomingRow): WholeMessage {
  const parts = textsOf(held);
  const total = Number(held.total);
  const pieces = Array.from(
    { length: total },
    (_, index) => parts.get(index + 1) ?? `[part ${index + 1} of ${total} is missing]`,
  );
  const { connector, sender, destination } = held;
  return { connector, sender, destination, text: pieces.join('').toWellFormed(), receivedAt: Number(held.received_at) };
}

/** Runs inside a transaction of no account, so it locks the account of the route first. */
async function routeNow(storing: Storing, queries: TransactionQueries, message: WholeMessage): Promise<void> {
  const route = await findRoute(queries, message.destination, message.text, storing.defaultRegion);
  if (!route) return keepUnrouted(queries, message);
  const accounts = await concernedBy(queries, route, message.text);
  for (const account of accounts) await lockAccount(queries, account);
  await storeFor(storing, queries, route.account, message, route.keyword, accounts);
}

/**
 * The accounts that a message changes, in the order in which they are locked: by id, so that two
 * messages never wait for each other. A STOP or START to a shared number changes several accounts.
 */
export async function concernedBy(queries: Queries, route: FoundRoute, text: string): Promise<bigint[]> {
  const { account, keyword, optOutAccounts } = route;
  if (optOutAccounts.length === 1) return [account];
  const receiver = await queries.first(sql.receiver, { account });
  const word = receiver && replyWordOf(text, keyword, receiver);
  if (word !== 'stop' && word !== 'start') return [account];
  return inOrder(optOutAccounts);
}

/** The order in which a transaction locks accounts, each once. */
export const inOrder = (accounts: readonly bigint[]): bigint[] =>
  [...new Set(accounts)].sort((one, other) => (one < other ? -1 : 1));

async function keepUnrouted(queries: TransactionQueries, message: WholeMessage): Promise<void> {
  const { connector, sender, destination, text, receivedAt } = message;
  // The id is random, so that several processes need no common counter.
  const id = randomId();
  await queries.run(sql.addUnrouted, { id, connector, sender, destination, text, receivedAt });
}

/**
 * Puts a message into the inbox of an account, unread, and returns its id. A STOP word puts the
 * sender on the blacklists of `optOutAccounts`. A START word removes the entries that the sender
 * asked for: those of a STOP, and imported ones whose evidence is a STOP word. An entry that an
 * account made stays until the account removes it. STOP and HELP may be answered. The transaction
 * has locked these accounts.
 */
export async function storeFor(
  { database, now, defaultRegion }: Storing,
  queries: TransactionQueries,
  account: bigint,
  message: WholeMessage,
  keyword: string | null,
  optOutAccounts: readonly bigint[] = [account],
): Promise<bigint> {
  const { destination, text, receivedAt } = message;
  const receiver = await queries.first(sql.receiver, { account });
  if (!receiver) throw new Error('the account of a route does not exist');
  const region = effectiveRegion(receiver, defaultRegion);
  const sender = normalisedSender(message.sender, region);
  const received = { sender, text, shortCode: destination, receivedAt };
  const id = await putIntoInbox({ queries, account, at: now() }, received);
  if (sender.startsWith('+')) {
    await answerThrough({ queries, account, at: now() }, { person: sender, destination, region });
  }
  const word = isNumber(sender) ? replyWordOf(text, keyword, receiver) : null;
  const isOwnStop = ({ origin, evidence }: Pick<BlacklistEntry, 'origin' | 'evidence'>) =>
    origin === 'STOP' ||
    (origin === 'import' && evidence !== null && replyWordOf(evidence, keyword, receiver) === 'stop');
  for (const each of word === 'stop' || word === 'start' ? optOutAccounts : []) {
    const within = joined(database, queries);
    const isChanged =
      word === 'stop'
        ? (await createOptOuts(within, now, async () => region).add(each, sender, text, 'STOP')).isNew
        : (await createBlacklist(within, async () => region).remove(each, sender, isOwnStop)) > 0;
    const target = each === account ? `message ${id}` : `a message to ${destination}`;
    if (isChanged) await noteWord(within, each, message.connector, word, target, now());
  }
  const answers = { stop: receiver.stop_answer, start: null, help: receiver.help_answer };
  const answer = word === null || receiver.disabled_at !== null ? null : answers[word];
  if (answer !== null && word !== null && word !== 'start') {
    const settings = { region, timeZone: receiver.time_zone, quietHours: receiver.quiet_hours };
    const reply = { word, sender, destination, text: answer };
    await sendAnswer(database, { queries, account, at: now() }, settings, reply);
  }
  return id;
}

/** Writes to the audit, because after a START nothing else tells who removed an entry and when. */
async function noteWord(
  database: Database,
  account: bigint,
  connector: string,
  word: ReplyWord | null,
  target: string,
  at: number,
): Promise<void> {
  const username = (await database.first(sql.receiver, { account }))?.username ?? '';
  await addAuditEntry(database, {
    at,
    actorKind: 'message',
    actorName: connector,
    tokenId: null,
    address: null,
    action: word === 'stop' ? 'blacklist add by STOP' : 'blacklist remove by START',
    account: username,
    target,
    fields: [],
  });
}

/** Senders that are names, such as those of banks, have letters. */
const isNumber = (sender: string): boolean => /\p{Nd}/u.test(sender) && !/\p{L}/u.test(sender);

/** The sender in E.164 if it is a number, as seen from the account; else unchanged. */
export function normalisedSender(sender: string, region: string | null): string {
  if (!isNumber(sender)) return sender;
  const isShortCode = /^\s*\d{1,6}\s*$/.test(sender); // some countries have local numbers that are as short
  const key = isShortCode || numberFault(sender, region) !== null ? '' : numberKey(sender, region);
  return key.startsWith('+') ? key : sender.trim();
}
