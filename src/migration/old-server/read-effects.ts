import type { ReadEffect, ReadEffects } from '../stages/migrated-accounts.ts';
import type { ValueRecord } from './answer-values.ts';
import { type OldAccount, read, readCounts, readRows } from './old-account.ts';

/**
 * Tests whether reading marks messages: an operation is called for one message, with the counts
 * before and after. A server that marks has then marked this one message, so the result is stored
 * and the operation is never called again.
 */
export const TESTED = ['inbox.Unread', 'inbox.InboxDS', 'inbox.Read', 'sent.FetchUnmarkedDeliveryStatus'] as const;

export const isTested = (effects: ReadEffects): boolean =>
  TESTED.every((name) => effects[name] === 'marks' || effects[name] === 'leaves');

/** Tests the operations that are not known yet. It needs an unread message or unmarked status. */
export async function testReadEffects(from: OldAccount): Promise<ReadEffects> {
  const effects: Record<string, ReadEffect> = { ...from.effects };
  const isKnown = (name: string) => effects[name] === 'marks' || effects[name] === 'leaves';
  let unread: ValueRecord | undefined;
  if ((await readCounts(from)).unread > 0 && effects['inbox.Unread'] !== 'marks') {
    const first = () => readRows(from, 'inbox.Unread', { max_count: 1 });
    const { rows, effect } = await around(from, first, async ([row]) => (await first())[0]?.id === row?.id);
    if (!isKnown('inbox.Unread') && effect && rows.length > 0) effects['inbox.Unread'] = effect;
    if (effects['inbox.Unread'] === 'leaves') unread = rows[0];
  }
  const shown = await testInboxDataSet(from, effects);
  unread ??= shown;
  if (!isKnown('inbox.Read') && unread) await testRead(from, effects, unread);
  if (!isKnown('sent.FetchUnmarkedDeliveryStatus')) await testStatuses(from, effects);
  for (const name of TESTED) effects[name] ??= 'untested';
  return effects;
}

// A client that marks at the same moment looks like a read that marks, so the counts are read
// again.
const QUIET_MS = 200;

/**
 * Reads, with the counts before and after. If the counts change by one mark and then stay, the read
 * marks. On a busy account, `isStillUnread` decides. Returns undefined if it cannot be decided.
 */
async function around(
  from: OldAccount,
  work: () => Promise<readonly ValueRecord[]>,
  isStillUnread: (rows: readonly ValueRecord[]) => Promise<boolean>,
): Promise<{ rows: readonly ValueRecord[]; effect: ReadEffect | undefined }> {
  const before = await readCounts(from);
  const rows = await work();
  const after = await readCounts(from);
  if (after.unread >= before.unread && after.read <= before.read) return { rows, effect: 'leaves' };
  await from.old.clock.sleep(QUIET_MS);
  const later = await readCounts(from);
  const isQuiet = later.unread === after.unread && later.read === after.read;
  if (isQuiet && after.unread < before.unread && after.read > before.read) return { rows, effect: 'marks' };
  return { rows, effect: (await isStillUnread(rows)) ? 'leaves' : undefined };
}

/** The newest messages come first, so it requests more until one is unread. Returns that one. */
async function testInboxDataSet(
  from: OldAccount,
  effects: Record<string, ReadEffect>,
): Promise<ValueRecord | undefined> {
  const name = 'inbox.InboxDS';
  if (effects[name] === 'marks') return undefined;
  for (let max = 1; max <= NEWEST_MAX; max *= 2) {
    const fetch = () => readRows(from, name, { max_count: max });
    const unreadOf = (rows: readonly ValueRecord[]) => rows.find((row) => row.read === false);
    const { rows, effect } = await around(from, fetch, async (first) => {
      const id = unreadOf(first)?.id;
      return (await fetch()).some((row) => row.id === id && row.read === false);
    });
    if (effect === 'marks') {
      effects[name] = 'marks';
      return undefined;
    }
    const unread = unreadOf(rows);
    if (unread && effect === 'leaves') effects[name] = 'leaves';
    if (unread) return unread;
    if (rows.length < max || rows.some((row) => row.read === null)) return undefined;
  }
  return undefined;
}

/** Other messages of the same second may come first, so it requests more until this one comes. */
async function testRead(
  from: OldAccount,
  effects: Record<string, ReadEffect>,
  { id, timestamp }: ValueRecord,
): Promise<void> {
  const name = 'inbox.Read';
  const at = Number(timestamp);
  const isUnread = async () => {
    const isByUnread = effects['inbox.Unread'] === 'leaves';
    const [list, max_count] = isByUnread ? ['inbox.Unread', NEWEST_MAX] : ['inbox.InboxDS', NEWEST_MAX];
    const rows = await readRows(from, list, { max_count });
    return rows.some((row) => row.id === id && (isByUnread || row.read === false));
  };
  for (let max = 1; max <= SAME_SECOND_MAX; max *= 4) {
    const fetch = () => readRows(from, name, { from: at - 1_000, to: at + 1_000, max_count: max });
    const { rows, effect } = await around(from, fetch, isUnread);
    if (effect === 'marks') effects[name] = 'marks';
    if (rows.some((row) => row.id === id) && effect) effects[name] = effect;
    if (effects[name] || rows.length < max) return;
  }
}

const SAME_SECOND_MAX = 16;
const NEWEST_MAX = 1_024;

/** For an account with unread messages, operations that could not be tested count as marking. */
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
