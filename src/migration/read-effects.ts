import type { ReadEffect, ReadEffects } from '../domain/migrated-accounts.ts';
import type { ValueRecord } from './answer-values.ts';
import { type OldAccount, read, readCounts, readRows } from './old-account.ts';

/**
 * Whether reading marks: an operation is called for one message, with the counts before and after.
 * A server that marks has marked this one message then. So the result is kept, and the operation
 * is never called again.
 */
export const TESTED = ['inbox.Unread', 'inbox.InboxDS', 'inbox.Read', 'sent.FetchUnmarkedDeliveryStatus'] as const;

export const isTested = (effects: ReadEffects): boolean =>
  TESTED.every((name) => effects[name] === 'marks' || effects[name] === 'leaves');

/** Tests what is not known yet. It needs an unread message, or a status that is not marked. */
export async function testReadEffects(from: OldAccount): Promise<ReadEffects> {
  const effects: Record<string, ReadEffect> = { ...from.effects };
  const isKnown = (name: string) => effects[name] === 'marks' || effects[name] === 'leaves';
  const around = async (name: string, args: Readonly<Record<string, unknown>>): Promise<readonly ValueRecord[]> => {
    const before = await readCounts(from);
    const rows = await readRows(from, name, args);
    const after = await readCounts(from);
    // A message that arrives in between raises one count; a mark lowers it and raises the other.
    if (rows.length > 0) effects[name] = after.unread < before.unread || after.read > before.read ? 'marks' : 'leaves';
    return rows;
  };
  let unread: ValueRecord | undefined;
  if ((await readCounts(from)).unread > 0) {
    if (!isKnown('inbox.Unread')) unread = (await around('inbox.Unread', { max_count: 1 }))[0];
    else if (effects['inbox.Unread'] === 'leaves') unread = (await readRows(from, 'inbox.Unread', { max_count: 1 }))[0];
  }
  if (effects['inbox.Unread'] === 'marks') unread = undefined; // it is read by now
  const shown = await testInboxDataSet(effects, around);
  unread ??= shown;
  if (!isKnown('inbox.Read') && typeof unread?.timestamp === 'number') {
    const at = unread.timestamp;
    await around('inbox.Read', { from: at - 1_000, to: at + 1_000, max_count: 1 });
  }
  if (!isKnown('sent.FetchUnmarkedDeliveryStatus')) await testStatuses(from, effects);
  for (const name of TESTED) effects[name] ??= 'untested';
  return effects;
}

type Around = (name: string, args: Readonly<Record<string, unknown>>) => Promise<readonly ValueRecord[]>;

/** The newest come back, so it asks for more until one is unread. Returns that one. */
async function testInboxDataSet(effects: Record<string, ReadEffect>, around: Around): Promise<ValueRecord | undefined> {
  const name = 'inbox.InboxDS';
  const known = effects[name];
  if (known === 'marks') return undefined;
  for (let max = 1; max <= NEWEST_MAX; max *= 2) {
    const rows = await around(name, { max_count: max });
    if ((effects[name] as ReadEffect | undefined) === 'marks') return undefined;
    const unread = rows.find((row) => row.read === false);
    if (unread) return unread;
    if (rows.length < max || rows.some((row) => row.read === null)) break;
  }
  effects[name] = known ?? 'untested'; // no unread message was among them
  return undefined;
}

const NEWEST_MAX = 1_024;

/**
 * For an account: what could not be tested counts as marking where there is an unread message.
 */
export async function cautiousEffects(from: OldAccount): Promise<ReadEffects> {
  if (isTested(from.effects) || (await readCounts(from)).unread === 0) return from.effects;
  const cautious = TESTED.map((name) => [name, from.effects[name] === 'leaves' ? 'leaves' : 'marks'] as const);
  return { ...from.effects, ...Object.fromEntries(cautious) };
}

async function testStatuses(from: OldAccount, effects: Record<string, ReadEffect>): Promise<void> {
  const name = 'sent.FetchUnmarkedDeliveryStatus';
  const count = async () => (await read(from, 'sent.CountUnMarkedDeliveryStatus')).value as bigint;
  const before = await count();
  if (before === 0n) return;
  await readRows(from, name, { max: 1 });
  effects[name] = (await count()) < before ? 'marks' : 'leaves';
}
