import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dateFormat } from '../../../src/asmx/dialect/date-form.ts';
import { listRules } from '../../../src/asmx/dialect/list-orders.ts';
import { inboxHandlers } from '../../../src/asmx/operations/inbox.ts';
import type { OperationServices } from '../../../src/asmx/operations/services.ts';
import { accountId } from '../../../src/domain/accounts/accounts.ts';
import { createReceived } from '../../../src/domain/messages/received.ts';
import { openActions } from '../../support/actions.ts';
import { onEveryEngine } from '../../support/engines.ts';

onEveryEngine('Read with the dates of a dialect', (engine) => {
  test('Read returns the message whose shown time is `to`, however many digits are shown', async (t) => {
    const { database, of, account } = await openActions(engine, t);
    await account('acme');
    const receivedAt = '2026-10-02T10:45:30.567Z';
    await of('acme', 'inbox receive', { body: { text: 'hello', receivedAt } });
    const id = await accountId(database, 'acme');
    for (const fractionDigits of [0, 1, 2, 3, 7, 'trimmed'] as const) {
      const dates = { zone: 'Z', fractionDigits } as const;
      const services = {
        received: createReceived(database, () => 0, { wake() {} }),
        orderedLists: {},
        lists: listRules({ dates }),
        listLimit: 100,
      };
      const { Read } = inboxHandlers(services as unknown as OperationServices);
      const read = async (to: number) =>
        ((await Read(id, { user_id: null, from: 0, to, max_count: 10 })) as readonly unknown[]).length;
      const shown = Date.parse(dateFormat(dates)(Date.parse(receivedAt)));
      assert.deepEqual([await read(shown), await read(shown - 1)], [1, 0], String(fractionDigits));
    }
  });
});
