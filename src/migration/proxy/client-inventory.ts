import type { IncomingMessage } from 'node:http';
import { BoundedMap } from '../../base/bounded-map.ts';
import { forwardedClient, networkList } from '../../base/networks.ts';
import { hashUserId, USER_ID_LENGTH_MAX } from '../../domain/accounts/credentials.ts';
import type { AccountName } from '../compare/account-names.ts';
import { fieldOf, type RecordedExchange } from '../compare/recording.ts';
import { fieldsOf } from '../compare/redaction.ts';
import { type SeenCall, unknownCall } from '../old-server/call-reader.ts';
import { type CountedCall, clientKey, merged, OTHER_CALL, withoutClient } from '../stages/clients.ts';

/**
 * Counts which client calls what, until the counts are written to the database. A call costs one
 * lookup in a map. Names that a caller makes up cannot fill memory or the database.
 */
export interface ClientInventory {
  readonly addressOf: ClientAddress;
  /**
   * `call` is null if the request is no call. An operation that the contract lacks is noted by its
   * name if the old server has it.
   */
  note(request: IncomingMessage, call: Omit<SeenCall, 'changes' | 'texts'> | null): void;
  /** Writes the counts since the last time. If that fails, they stay for the next time. */
  flush(): Promise<void>;
}

export interface ClientInventorySettings {
  readonly write: (counted: readonly CountedCall[]) => Promise<void>;
  readonly accountName: AccountName;
  readonly addressOf: ClientAddress;
  readonly now: () => number;
}

/** The most different clients between two writes, which are ten seconds apart. */
const KEYS_MAX = 5_000;
const USERS_MAX = 10_000;
const AGENTS_MAX = 1_000;

export function createClientInventory(settings: ClientInventorySettings): ClientInventory {
  const { write, now, addressOf } = settings;
  const accountOf = createAccountOf(settings.accountName);
  const agents = new BoundedMap<string, string>(AGENTS_MAX);
  let counted = new Map<string, CountedCall>();

  const add = (each: CountedCall): void => {
    const own = clientKey(each);
    const shown = counted.has(own) || counted.size < KEYS_MAX ? each : withoutClient(each);
    const key = shown === each ? own : clientKey(shown);
    const found = counted.get(key);
    counted.set(key, found ? merged(found, shown) : shown);
  };

  const agentOf = (text: string, userId: string | null): string => {
    const start = text.slice(0, AGENT_READ_MAX);
    if (userId !== null && start.includes(userId)) return shownAgent(start, userId);
    const shown = agents.get(start) ?? shownAgent(start, null);
    agents.set(start, shown);
    return shown;
  };

  return {
    addressOf,
    note(request, call) {
      const at = now();
      const agent = agentOf(request.headers['user-agent'] ?? '', call?.userId ?? null);
      const who = { ...accountOf(call?.userId), agent, address: addressOf(request) };
      add({ ...namesOf(call), ...who, total: 1, firstAt: at, lastAt: at });
    },
    async flush() {
      if (counted.size === 0) return;
      const taken = counted;
      counted = new Map();
      try {
        await write([...taken.values()]);
      } catch (thrown) {
        for (const each of taken.values()) add(each);
        throw thrown;
      }
    },
  };
}

const namesOf = (call: Pick<SeenCall, 'group' | 'operation' | 'protocol'> | null) => ({
  operation: call ? `${call.group}.${call.operation}` : OTHER_CALL,
  protocol: call?.protocol ?? '',
});

/** Identifies a user_id by its name in recordings and its hash; it is never stored itself. */
function createAccountOf(accountName: AccountName) {
  const users = new BoundedMap<string, Pick<CountedCall, 'accountName' | 'userIdHash'>>(USERS_MAX);
  return (userId: string | null | undefined): Pick<CountedCall, 'accountName' | 'userIdHash'> => {
    if (!userId || userId.length > USER_ID_LENGTH_MAX) return { accountName: '', userIdHash: null };
    const found = users.get(userId) ?? { accountName: accountName(userId), userIdHash: hashUserId(userId) };
    users.set(userId, found);
    return found;
  };
}

export type ClientAddress = (request: IncomingMessage) => string;

/** The address of a client, as trusted proxies report it; empty if the client has gone. */
export function createClientAddress(trustedProxies: readonly string[]): ClientAddress {
  const isTrusted = networkList(trustedProxies);
  return ({ socket, headers }) => {
    const field = headers['x-forwarded-for'];
    const text = Array.isArray(field) ? field.join(',') : field;
    return forwardedClient(socket.remoteAddress ?? '', text, isTrusted);
  };
}

const AGENT_LENGTH_MAX = 160;
/** Longer than AGENT_LENGTH_MAX, so that a secret that is cut off here is not shown either. */
const AGENT_READ_MAX = 640;
// Phone numbers and UUIDs. Version numbers are shorter or have dots.
const PERSONAL = /\+?\d[\d ()-]{5,}\d|[0-9a-f]{8}(?:-?[0-9a-f]{4}){3}-?[0-9a-f]{12}/gi;

/** A User-Agent without what may be a secret or a phone number, and without control characters. */
export function shownAgent(text: string, userId: string | null): string {
  const open = userId === null || userId.length < 4 ? text : text.replaceAll(userId, '…');
  return open
    .slice(0, AGENT_READ_MAX)
    .replaceAll(PERSONAL, '…')
    .replaceAll(/\p{Cc}/gu, ' ')
    .toWellFormed()
    .trim()
    .slice(0, AGENT_LENGTH_MAX);
}

/** A client in recordings. HAR files and earlier versions have no address. */
export interface RecordedClient extends CountedCall {
  readonly days: number;
}

const NOTHING = new Uint8Array();

export async function clientsOfRecordings(recordings: AsyncIterable<RecordedExchange>): Promise<RecordedClient[]> {
  const found = new Map<string, { counted: CountedCall; days: Set<string> }>();
  for await (const { at, account, group, operation, protocol, request, old, client } of recordings) {
    const time = Date.parse(at);
    const call =
      group !== null && operation !== null && protocol !== null
        ? { group, operation, protocol }
        : old && old.status < 300
          ? unknownCall({ ...request, headers: fieldsOf(request.headers.flat()), body: NOTHING })
          : null;
    const each: CountedCall = {
      ...namesOf(call),
      accountName: account ?? '',
      userIdHash: null,
      agent: shownAgent(fieldOf(request.headers, 'user-agent') ?? '', null),
      address: client ?? '',
      total: 1,
      firstAt: time,
      lastAt: time,
    };
    const key = clientKey(each);
    const before = found.get(key);
    if (!before && found.size >= KEYS_MAX * 10) continue;
    const days = before?.days ?? new Set();
    found.set(key, { counted: before ? merged(before.counted, each) : each, days: days.add(at.slice(0, 10)) });
  }
  return [...found.values()].map(({ counted, days }) => ({ ...counted, days: days.size }));
}
