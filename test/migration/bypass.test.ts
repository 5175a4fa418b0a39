import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readCall } from '../../src/migration/old-server/call-reader.ts';
import { createOldServer } from '../../src/migration/old-server/old-server.ts';
import { sealWrite } from '../../src/migration/proxy/sealed-write.ts';
import { createSeal } from '../../src/migration/proxy/write-seal.ts';
import { createMigrationBypass } from '../../src/migration/stages/bypass.ts';
import { accountIdNamed } from '../../src/migration/stages/migrated-accounts.ts';
import { CLAIM_MS, createMigrationWrites } from '../../src/migration/stages/writes.ts';
import { onOneEngine } from '../support/engines.ts';
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

onOneEngine('clients that call the old server alone', (engine) => {
  test('writes of a pass-through in the stage lead are copied before Columba answers again', async (t) => {
    const move = await startMove(t, engine, DIALECT);
    await move.stage('lead');
    await move.migration.setPassThrough(true);
    await change(move);
    await move.migration.setPassThrough(false);
    await assertShown(move);
  });

  test('writes of a pass-through are copied although the proxy was killed during it', async (t) => {
    const move = await startMove(t, engine, DIALECT);
    await move.stage('lead');
    await move.migration.setPassThrough(true);
    await change(move);
    await move.restart();
    await assertShown(move);
  });

  test('no account is answered by Columba while another proxy is a pass-through, also after a restart of the first one', async (t) => {
    const move = await startMove(t, engine, DIALECT);
    await move.stage('lead');
    const bypass = createMigrationBypass(move.service.app.database, () => move.service.clock.now);
    await bypass.begin('another');
    await move.migration.refreshStages();
    await call(move, 'account', 'FetchSavedMessages');
    await move.restart();
    await call(move, 'account', 'FetchSavedMessages');
    const direct = createOldServer({ url: move.old.url, dialect: DIALECT });
    await change({ ...move, client: direct, alpha: move.alpha });
    direct.close();
    // The other one was killed, and comes back.
    await bypass.recover('another');
    await move.migration.refreshStages();
    await assertShown(move);
  });

  test('the old server answers and accepts writes while it cannot be copied after a pass-through', async (t) => {
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

  test('writes of clients that called the old server directly are copied after an operator has said so', async (t) => {
    const move = await startMove(t, engine, DIALECT);
    await move.stage('lead');
    const direct = createOldServer({ url: move.old.url, dialect: DIALECT });
    await change({ ...move, client: direct, alpha: move.alpha });
    direct.close();
    await createMigrationBypass(move.service.app.database, () => move.service.clock.now).noteAll();
    await move.migration.refreshStages();
    await assertShown(move);
  });

  test('a write of compare without an answer and one of lead after it are both settled after a kill', async (t) => {
    const move = await startMove(t, engine, DIALECT);
    await move.stage('lead');
    const { database } = move.service.app;
    const account = (await accountIdNamed(database, 'alpha')) as bigint;
    const seal = createSeal(Buffer.from('a key for tests'));
    const writes = createMigrationWrites(database, () => move.service.clock.now, seal.keyName);
    for (const [message, state] of [
      ['of compare', 'asked'],
      ['of lead', 'begun'],
    ] as const) {
      const target = `/api/account.asmx/SaveMessageTemplate?user_id=${ALPHA}&message=${encodeURIComponent(message)}`;
      const call = readCall({ method: 'GET', target, headers: {}, body: new Uint8Array() });
      assert(call);
      const request = { method: 'GET', target, rawHeaders: ['Host', 'localhost'], body: new Uint8Array() };
      await writes.begin(
        account,
        'account.SaveMessageTemplate',
        sealWrite(seal, account, call, request, undefined),
        state,
      );
    }
    move.alpha().templates.push('of compare');
    move.service.clock.now += CLAIM_MS + 1;
    for (let tries = 0; tries < 5; tries++) {
      await move.migration.deliver();
      move.service.clock.now += CLAIM_MS + 1;
    }
    assert.deepEqual(await writes.of(account, 10), []);
    assert.deepEqual(move.alpha().templates.slice(-2), ['of compare', 'of lead']);
    assert.deepEqual(await move.check(), []);
  });
});
