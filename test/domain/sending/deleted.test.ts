import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hourCountsOf } from '../../../src/domain/messages/hour-counts.ts';
import { createConversations } from '../../../src/domain/search/conversations.ts';
import { createIndexer } from '../../../src/domain/search/indexer.ts';
import { createReceipts } from '../../../src/domain/sending/receipts.ts';
import { onEveryEngine } from '../../support/engines.ts';
import { message, openSending } from '../../support/sending.ts';

const regionOf = async () => 'ZA';

onEveryEngine('a message that the carrier deleted', (engine) => {
  test('a message that a receipt says is DELETED is a failure in the list, the counts and its conversation', async (t) => {
    const one = await openSending(engine, t);
    const account = await one.addAccount();
    await one.accept(account, message({}));
    const claimed = await one.claim();
    await one.settle(claimed, { kind: 'submitted' });
    const [{ id, parts } = { id: 0n, parts: [] }] = claimed;
    await createReceipts(one.database, one.now).receive({
      connector: 'loopback',
      attemptId: parts[0]?.attemptId ?? null,
      gatewayId: null,
      status: 'DELETED',
      at: one.now(),
      detail: 'stat:DELETED err:001',
    });
    await createIndexer(one.database, regionOf).run(async () => {});
    assert.equal((await one.sent.show(account, id)).status, 'DELETED');
    assert.deepEqual(
      (await one.sent.undelivered(account, 9)).map((each) => [each.id, each.isDeletedByCarrier]),
      [[id, true]],
    );
    assert.equal(await one.sent.countUndelivered(account, 0, 9), 1);
    const { conversations } = await createConversations(one.database, regionOf).list(account, 9, undefined, 'failed');
    assert.deepEqual(
      conversations.map(({ last }) => last?.id),
      [id],
    );
    assert.deepEqual(
      (await hourCountsOf(one.database, account, 0)).map(({ failed }) => failed),
      [1],
    );
  });
});
