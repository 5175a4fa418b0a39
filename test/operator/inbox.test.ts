import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createReceived } from '../../src/domain/messages/received.ts';
import { type ActionBench, type Output, openActions, pointers } from '../support/actions.ts';
import { onEveryEngine } from '../support/engines.ts';

const acme = { username: 'acme' };

/** What the contract counts: read and unread messages. */
async function countsOf({ database }: ActionBench, account: bigint): Promise<bigint[]> {
  const inbox = createReceived(database, () => 0, { wake() {} });
  return [await inbox.countRead(account), await inbox.countUnread(account)];
}
const idsOf = (page: Output): string[] => page.items.map(({ id }: { id: string }) => id);

onEveryEngine('inbox of the operator', (engine) => {
  test('a repeated gatewayId answers the first message with 200, also after a deletion', async (t) => {
    const bench = await openActions(engine, t);
    const account = await bench.account('acme');
    await bench.account('globex');
    const body = { gatewayId: 'g-1', sender: '+27825550201', text: 'first', receivedAt: '2026-11-15T11:00:00.000Z' };
    const first = await bench.of('acme', 'inbox receive', { body });
    assert.deepEqual(first.message, {
      id: first.id,
      sender: '+27825550201',
      text: 'first',
      shortCode: null,
      receivedAt: '2026-11-15T11:00:00.000Z',
      read: false,
    });
    const again = { params: acme, body: { ...body, text: 'second' } };
    assert.equal(await bench.status('inbox receive', again), 200);
    assert.deepEqual(await bench.run('inbox receive', again), first);
    assert.deepEqual(await countsOf(bench, account), [0n, 1n]);
    await bench.of('acme', 'inbox remove', { params: { id: first.id } });
    assert.equal(await bench.status('inbox receive', again), 200);
    assert.deepEqual(await bench.run('inbox receive', again), { id: first.id, message: null });
    assert.deepEqual(await countsOf(bench, account), [0n, 0n]);
    assert.equal(
      await bench.status('inbox receive', { params: { username: 'globex' }, body }),
      201,
      'of another account',
    );
  });

  test('received messages are listed from a time on, of one sender, in both orders', async (t) => {
    const bench = await openActions(engine, t);
    await bench.account('acme', { region: 'ZA' });
    for (const [index, sender] of ['0825550201', 'Bank', '+27825550201'].entries()) {
      const body = { sender, text: `${index}`, receivedAt: `2026-11-15T11:00:0${index}Z` };
      await bench.of('acme', 'inbox receive', { body });
    }
    const found = async (query: Record<string, string>) =>
      (await bench.of('acme', 'inbox list', { query })).items.map(({ text }: { text: string }) => text);
    assert.deepEqual(await found({ since: '2026-11-15T11:00:01Z' }), ['2', '1']);
    assert.deepEqual(await found({ since: '2026-11-15T11:00:01Z', unread: 'true' }), ['1', '2']);
    assert.deepEqual(await found({ until: '2026-11-15T11:00:02Z', unread: 'true', order: 'newest' }), ['1', '0']);
    assert.deepEqual(await found({ sender: '+27 82 555 0201' }), ['2', '0']);
    assert.deepEqual(await found({ sender: 'Bank', order: 'oldest' }), ['1']);
  });

  test('one gatewayId 20 times at once is one message', async (t) => {
    const bench = await openActions(engine, t);
    const account = await bench.account('acme');
    const body = { gatewayId: 'g-1', sender: '0825550201', text: 'hi' };
    const all = await Promise.all(Array.from({ length: 20 }, () => bench.of('acme', 'inbox receive', { body })));
    assert.equal(new Set(all.map(({ id }) => id)).size, 1);
    assert.deepEqual(await countsOf(bench, account), [0n, 1n]);
  });

  test('messages without a gatewayId are each stored', async (t) => {
    const { of, account } = await openActions(engine, t);
    await account('acme');
    for (const text of ['same', 'same']) await of('acme', 'inbox receive', { body: { text } });
    assert.equal((await of('acme', 'inbox list')).items.length, 2);
  });

  test('a message is marked as read and as unread, and marking it twice changes nothing', async (t) => {
    const bench = await openActions(engine, t);
    const { of } = bench;
    const account = await bench.account('acme');
    const { id } = await of('acme', 'inbox receive', { body: { sender: '0825550201', text: 'hi' } });
    for (const [read, counts] of [
      [true, [1n, 0n]],
      [true, [1n, 0n]],
      [false, [0n, 1n]],
      [false, [0n, 1n]],
    ] as const) {
      assert.equal((await of('acme', 'inbox mark', { params: { id }, body: { read } })).read, read);
      assert.equal((await of('acme', 'inbox show', { params: { id } })).read, read);
      assert.deepEqual(await countsOf(bench, account), counts);
      assert.deepEqual(idsOf(await of('acme', 'inbox list', { query: { unread: 'true' } })), read ? [] : [id]);
    }
  });

  test("a deleted message is gone, and another account's message does not exist", async (t) => {
    const bench = await openActions(engine, t);
    const account = await bench.account('acme');
    await bench.account('globex');
    const { id } = await bench.of('acme', 'inbox receive', { body: { text: 'ours' } });
    const theirs = { params: { username: 'globex', id } };
    assert.equal((await bench.refusal('inbox show', theirs)).kind, 'not-found');
    assert.equal((await bench.refusal('inbox remove', theirs)).kind, 'not-found');
    assert.equal((await bench.refusal('inbox mark', { ...theirs, body: { read: true } })).kind, 'not-found');
    assert.deepEqual(await countsOf(bench, account), [0n, 1n]);
    assert.deepEqual(await bench.of('acme', 'inbox remove', { params: { id } }), { id });
    assert.deepEqual(await countsOf(bench, account), [0n, 0n]);
    const ours = { params: { ...acme, id } };
    for (const name of ['inbox show', 'inbox remove']) {
      assert.equal((await bench.refusal(name, ours)).kind, 'not-found', name);
    }
    assert.equal((await bench.refusal('inbox mark', { ...ours, body: { read: false } })).kind, 'not-found');
  });

  test('wrong fields are named all at once', async (t) => {
    const { account, refusal } = await openActions(engine, t);
    await account('acme');
    const body = { gatewayId: '', sender: 'a\nb', text: 'x'.repeat(10_001), receivedAt: 'now', other: 1 };
    const named = pointers(await refusal('inbox receive', { params: acme, body }));
    assert.deepEqual(named.sort(), ['#/gatewayId', '#/other', '#/receivedAt', '#/sender', '#/text']);
  });
});
