import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMigrationBypass } from '../../src/domain/migration-bypass.ts';
import { createOldServer } from '../../src/migration/old-server.ts';
import { onEveryEngine } from '../support/engines.ts';
import { ALPHA, DIALECT, type Move, startMove } from './moving.ts';

/** Clients call the old server alone for a while. What they change there is not hidden afterwards. */

const call = async ({ client }: Move, group: string, operation: string, args: Record<string, unknown> = {}) => {
  const { result } = await client.call(group, operation, { user_id: ALPHA, ...args });
  assert(result.kind === 'value', `${group}.${operation} ended with ${result.kind}`);
  return result.value;
};

/** Writes of all kinds, as clients make them. */
async function change(move: Move): Promise<void> {
  const unread = move.alpha().inbox.filter(({ read }) => !read);
  const [marked, deleted] = [unread[0]?.id, unread[1]?.id];
  assert.equal(await call(move, 'account', 'SaveMessageTemplate', { message: 'past the proxy' }), true);
  assert.equal(await call(move, 'account', 'DeleteContactsById', { id: 101 }), true);
  assert.equal(await call(move, 'account', 'MoveContactToNewGroup', { contact_id: ['102'], group_id: '13' }), true);
  assert.equal(await call(move, 'inbox', 'MarkMessageAsRead', { message_id: String(marked) }), true);
  assert.equal(await call(move, 'inbox', 'DeleteMessage', { message_id: String(deleted) }), true);
  assert.equal(await call(move, 'sent', 'MarkMessageAsRead', { id: 7_001n }), true);
}

/** Columba answers, and shows what was changed. */
async function assertShown(move: Move): Promise<void> {
  const templates = await call(move, 'account', 'FetchSavedMessages');
  assert((templates as string[]).includes('past the proxy'), JSON.stringify(templates));
  const contacts = (await call(move, 'account', 'FetchContacts')) as { id: string; groupid: string }[];
  assert(!contacts.some(({ id }) => id === '101'));
  assert.equal(contacts.find(({ id }) => id === '102')?.groupid, '13');
  const unread = (await call(move, 'inbox', 'Unread', { max_count: 100 })) as { id: bigint }[];
  const there = move.alpha().inbox.filter(({ read }) => !read);
  assert.deepEqual(
    unread.map(({ id }) => Number(id)),
    there.map(({ id }) => id),
  );
  assert.deepEqual(await move.check(), []);
  const before = move.old.calls.get('account.FetchSavedMessages');
  await call(move, 'account', 'FetchSavedMessages');
  assert.equal(move.old.calls.get('account.FetchSavedMessages'), before, 'the old server still answers');
}

onEveryEngine('clients that call the old server alone', (engine) => {
  test('writes of a pass-through in the stage lead are here before Columba answers again', async (t) => {
    const move = await startMove(t, engine, DIALECT);
    await move.stage('lead');
    await move.migration.setPassThrough(true);
    await change(move);
    await move.migration.setPassThrough(false);
    await assertShown(move);
  });

  test('writes of a pass-through are here after the proxy was killed in it', async (t) => {
    const move = await startMove(t, engine, DIALECT);
    await move.stage('lead');
    await move.migration.setPassThrough(true);
    await change(move);
    await move.restart();
    await assertShown(move);
  });

  test('while the old server cannot be copied after a pass-through, it answers, and takes writes', async (t) => {
    const move = await startMove(t, engine, DIALECT);
    await move.stage('lead');
    await move.migration.setPassThrough(true);
    await change(move);
    await move.migration.setPassThrough(false);
    move.old.onCall = (operation) => {
      if (operation === 'account.FetchGroups') move.old.cutsFor = 1;
    };
    const templates = (await call(move, 'account', 'FetchSavedMessages')) as string[];
    assert(templates.includes('past the proxy'));
    assert.equal(await call(move, 'account', 'SaveMessageTemplate', { message: 'meanwhile' }), true);
    assert(move.alpha().templates.includes('meanwhile'));
    move.old.onCall = () => {};
    move.service.clock.now += 5_000;
    await assertShown(move);
    assert(((await call(move, 'account', 'FetchSavedMessages')) as string[]).includes('meanwhile'));
  });

  test('writes of a pass-through in the stage compare are copied, too', async (t) => {
    const move = await startMove(t, engine, DIALECT);
    await move.stage('compare');
    await move.migration.setPassThrough(true);
    await change(move);
    await move.migration.setPassThrough(false);
    await call(move, 'account', 'Profile');
    for (let looks = 0; looks < 100 && (await move.check()).length > 0; looks++) await move.migration.settled();
    assert.deepEqual(await move.check(), []);
  });

  test('writes of an address that pointed at the old server are here, after somebody said so', async (t) => {
    const move = await startMove(t, engine, DIALECT);
    await move.stage('lead');
    const direct = createOldServer({ url: move.old.url, dialect: DIALECT });
    await change({ ...move, client: direct, alpha: move.alpha });
    direct.close();
    await createMigrationBypass(move.service.app.database, () => move.service.clock.now).note();
    await move.migration.refreshStages();
    await assertShown(move);
  });
});
