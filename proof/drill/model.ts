import assert from 'node:assert/strict';
import type { OldAccount, OldData } from '../../test/support/old-server/accounts.ts';
import type { OldServerProcess } from '../../test/support/old-server/server.ts';
import { type ClientNotes, randomOf } from './clients.ts';
import type { Installation } from './installation.ts';

/**
 * What must be at the end: every arrival and every acknowledged write, on both sides. A write that
 * was asked for and not acknowledged may be done or not, and then both sides agree.
 */
export interface Arrivals {
  /** By username, the ids of messages that arrived. */
  readonly ids: ReadonlyMap<string, readonly number[]>;
  stop(): void;
}

interface Side {
  readonly name: string;
  /** Received messages, and whether each is read. */
  readonly received: ReadonlyMap<string, boolean>;
  readonly marked: ReadonlyMap<string, boolean>;
  readonly templates: ReadonlySet<string>;
  readonly blacklist: ReadonlySet<string>;
}

const oldSide = (account: OldAccount): Side => ({
  name: 'the old server',
  received: new Map(account.inbox.map(({ id, read }) => [String(id), read])),
  marked: new Map(account.sent.map(({ id, marked }) => [String(id), marked])),
  templates: new Set(account.templates),
  blacklist: new Set(account.blacklist),
});

async function columbaSide({ archive }: Installation, username: string): Promise<Side> {
  const [received, marked] = [new Map<string, boolean>(), new Map<string, boolean>()];
  let lists: Pick<Side, 'templates' | 'blacklist'> = { templates: new Set(), blacklist: new Set() };
  await archive.read(username, async (here) => {
    for await (const { id, read } of here.received) received.set(String(id), read);
    for await (const each of here.sent) marked.set(String(each.id), each.marked);
    lists = { templates: new Set(here.templates), blacklist: new Set(here.blocked.map(({ number }) => number)) };
  });
  return { name: 'Columba', received, marked, ...lists };
}

/** Fails with everything that is not as the model says. */
export async function asTheModelSays(
  site: Installation,
  data: OldData,
  notes: readonly ClientNotes[],
  arrivals: Arrivals,
): Promise<void> {
  const wrong: string[] = [];
  for (const [index, each] of notes.entries()) {
    const account = data.accounts[index] as OldAccount;
    const arrived = (arrivals.ids.get(account.username) ?? []).map(String);
    for (const side of [oldSide(account), await columbaSide(site, account.username)]) {
      const tell = (what: string) => void wrong.push(`${account.username} at ${side.name}: ${what}`);
      checkReceived(side, each, arrived, tell);
      checkWrites(side, each, tell);
    }
  }
  assert.deepEqual(wrong, []);
}

function checkReceived(side: Side, { asked, acknowledged }: ClientNotes, arrived: readonly string[], tell: Tell): void {
  for (const id of arrived) {
    const read = side.received.get(id);
    const [marking, deleting] = [`inbox.MarkMessageAsRead ${id}`, `inbox.DeleteMessage ${id}`];
    if (acknowledged.has(deleting)) {
      if (read !== undefined) tell(`${id} was deleted, and is there`);
    } else if (read === undefined) {
      if (!asked.has(deleting)) tell(`${id} arrived, and is gone`);
    } else if (acknowledged.has(marking) && !read) tell(`${id} was marked, and is unread`);
    else if (read && !asked.has(marking)) tell(`${id} is read, and nobody marked it`);
  }
}

function checkWrites(side: Side, { asked, acknowledged, blacklisted }: ClientNotes, tell: Tell): void {
  for (const write of acknowledged) {
    const [, operation = '', target = ''] = /^(\S+) (.*)$/.exec(write) ?? [];
    const isThere = side.templates.has(target);
    // A write whose client got no answer may take effect later, also after a later write of the same client.
    const isSaved = acknowledged.has(`account.SaveMessageTemplate ${target}`);
    if (operation === 'account.DeleteMessageTemplate' && isThere && isSaved) tell(`the template ${target} was deleted`);
    const isDeleted = asked.has(`account.DeleteMessageTemplate ${target}`);
    if (operation === 'account.SaveMessageTemplate' && !isThere && !isDeleted) tell(`the template ${target} is lost`);
    if (operation === 'sent.MarkMessageAsRead' && side.marked.get(target) === false) tell(`${target} is not marked`);
  }
  for (const number of blacklisted) if (!side.blacklist.has(number)) tell(`${number} is not on the blacklist`);
}
type Tell = (what: string) => void;

/** Sizes that only a copy asks for: clients ask for fewer. */
const ASKED_BY_COPIES: Readonly<Record<string, (size: number) => boolean>> = {
  'inbox.Read': (size) => size >= 20,
  'inbox.Unread': (size) => size >= 1_000,
  'sent.FetchSentDS': (size) => size >= 200,
  'compose.FetchScheduledDS': (size) => size >= 1_000,
  'inbox.CountRead': () => true,
  'sent.CountUnMarkedDeliveryStatus': () => true,
  'account.FetchGroups': () => true,
  'account.FetchSavedMessages': () => true,
  'account.FetchContactsByGroupId': () => true,
};

/** Cuts connections between any two calls of a sync or an import, while it is on. */
export function createCuts(seed: number, share: number) {
  const random = randomOf(seed + 991);
  const cuts = {
    isOn: false,
    count: 0,
    apply(old: OldServerProcess): void {
      old.onCall = (operation, args) => {
        const size = Number(args.max_count ?? args.max ?? 0);
        if (!cuts.isOn || !ASKED_BY_COPIES[operation]?.(size) || random() >= share) return undefined;
        cuts.count += 1;
        return 'cut';
      };
    },
  };
  return cuts;
}
