import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { FIRST_MAX, LAST_MAX, type OldAccount, readGrowing } from '../../src/migration/old-server/old-account.ts';
import type { OldServer } from '../../src/migration/old-server/old-server.ts';

/** An account whose old server has `rows` messages and returns at most `cap` of them, and the limits that it was asked with. */
function accountWith(rows: number, cap: number, caps: Readonly<Record<string, number>> = {}) {
  const asked: unknown[] = [];
  const old: Pick<OldServer, 'call'> = {
    async call(_group, _operation, args) {
      asked.push(args.max);
      const value = Array.from({ length: Math.min(rows, cap, Number(args.max)) }, (_, id) => ({ id }));
      return { result: { kind: 'value', value, raw: value } } as unknown as Awaited<ReturnType<OldServer['call']>>;
    },
  };
  const account: OldAccount = { old: old as OldServer, userId: 'x', dialect: { caps }, effects: {} };
  return { account, asked };
}

describe('readGrowing', () => {
  const grown = async (account: OldAccount, expected?: number) => {
    const { rows, isCapped } = await readGrowing(account, 'sent.Sent', 'max', expected);
    return [rows.length, isCapped];
  };

  test('a list as long as the cap that the dialect names may have more rows, and is not requested again', async () => {
    const { account, asked } = accountWith(80, 50, { 'sent.Sent': 50 });
    assert.deepEqual(await grown(account), [50, true]);
    assert.deepEqual(asked, [FIRST_MAX]);
  });

  test('a list that is shorter than the cap and the limit is whole', async () => {
    assert.deepEqual(await grown(accountWith(49, 50, { 'sent.Sent': 50 }).account), [49, false]);
  });

  test('a list as long as the limit is requested again with the largest limit', async () => {
    const { account, asked } = accountWith(1_200, Number.POSITIVE_INFINITY);
    assert.deepEqual(await grown(account), [1_200, false]);
    assert.deepEqual(asked, [FIRST_MAX, LAST_MAX]);
  });

  test('a list as long as the count of its rows is whole, also at the cap', async () => {
    assert.deepEqual(await grown(accountWith(50, 50, { 'sent.Sent': 50 }).account, 50), [50, false]);
  });
});
