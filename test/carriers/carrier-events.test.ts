import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createCarrierEvents } from '../../src/carriers/carrier-events.ts';
import { onOneEngine } from '../support/engines.ts';
import { sql } from '../support/opened-database.ts';
import { openSending } from '../support/sending.ts';

const held = sql<Record<string, never>, { gateway_id: string; attempt_id: string }>(
  'select gateway_id, attempt_id from held_receipt order by gateway_id, attempt_id',
);

onOneEngine('receipts and messages of carriers', (engine) => {
  test('a receipt whose id has U+0000, half a surrogate pair or a thousand characters is stored on every engine', async (t) => {
    const { database, now, clock } = await openSending(engine, t);
    const events = createCarrierEvents(database, now);
    const receipt = { connector: 'kannel', status: 'DELIVERED', at: clock.now, detail: 'a\0b' } as const;
    const ids = ['12\u000034', `${'x'.repeat(199)}😀`, 'y'.repeat(5_000), '\ud83d', ''];
    for (const gatewayId of ids) await events.receipt({ ...receipt, attemptId: null, gatewayId });
    for (const attemptId of ids) await events.receipt({ ...receipt, attemptId, gatewayId: null });
    assert.deepEqual(
      (await database.all(held, {})).map(({ gateway_id, attempt_id }) => [gateway_id, attempt_id]),
      [
        ['', ''],
        ['1234', ''],
        ['x'.repeat(199), ''],
        ['y'.repeat(200), ''],
      ],
    );
    const message = { connector: 'kannel', destination: '1\0', text: 'a\0\ud83d', receivedAt: clock.now, part: null };
    for (const gatewayId of ids) await events.incoming({ ...message, gatewayId, sender: gatewayId.slice(0, 50) });
  });
});
