import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AUDIT_READ_MAX, type AuditFilter, addAuditEntry, auditEntries } from '../../../src/domain/accounts/audit.ts';
import { onEveryEngine } from '../../support/engines.ts';
import { openStore, sql } from '../../support/opened-database.ts';

const ALL: AuditFilter = { account: null, actor: null, action: null, from: null, to: null };
const fill = sql<{ count: number }>(
  `insert into audit (audit_id, at, actor_kind, actor_name, token_id, address, action, account, target, fields)
   select n, 1000 + n, 'command', 'root', null, null, 'message send', null, 'x', ''
   from (with recursive numbers(n) as (select 1 union all select n + 1 from numbers where n < :count)
     select n from numbers) as made`,
  { affects: 'none' },
);

onEveryEngine('the audit', (engine) => {
  const opened = async (t: { after(work: () => unknown): void }) => {
    const database = await openStore(await engine.fresh('empty'));
    t.after(() => database.close());
    const add = (at: number, actorName: string, action: string, account: string | null = null) => {
      const rest = { actorKind: 'operator', tokenId: null, address: null, target: 'x', fields: [] };
      return addAuditEntry(database, { at, actorName, action, account, ...rest });
    };
    const find = async (filter: Partial<AuditFilter>, limit = 10, after: readonly [number, bigint] | null = null) => {
      const { entries, next } = await auditEntries(database, { ...ALL, ...filter }, limit, after);
      return { times: entries.map(({ at }) => at), next };
    };
    return { database, add, find };
  };

  test('entries are found by account, actor, action and time, and by all of them together', async (t) => {
    const { add, find } = await opened(t);
    await add(1, 'ann', 'account add', 'acme');
    await add(2, 'ben', 'account change', 'acme');
    await add(3, 'Ann', 'account change', 'globex');
    await add(4, 'ann', 'inbox delete', 'acme');
    assert.deepEqual((await find({})).times, [4, 3, 2, 1]);
    assert.deepEqual((await find({ account: 'acme' })).times, [4, 2, 1]);
    assert.deepEqual((await find({ actor: 'ann' })).times, [4, 3, 1]);
    assert.deepEqual((await find({ action: 'Change' })).times, [3, 2]);
    assert.deepEqual((await find({ from: 2, to: 4 })).times, [3, 2]);
    assert.deepEqual((await find({ account: 'acme', actor: 'ann', action: 'delete', from: 4 })).times, [4]);
    assert.deepEqual((await find({ actor: 'nobody' })).times, []);
  });

  test('pages follow each other without a gap, also where a filter leaves entries out', async (t) => {
    const { add, find } = await opened(t);
    for (let at = 1; at <= 9; at++) await add(at, at % 2 === 0 ? 'even' : 'odd', 'account add');
    const first = await find({ actor: 'odd', to: 9 }, 3);
    assert.deepEqual(first.times, [7, 5, 3]);
    const second = await find({ actor: 'odd', to: 9 }, 3, first.next);
    assert.deepEqual([second.times, second.next], [[1], null]);
    assert.equal((await find({}, 9)).next, null);
  });

  test('a page of a search reads 20,000 entries, and the next one reads on', async (t) => {
    const { database, add, find } = await opened(t);
    await add(1, 'ann', 'account add');
    await database.run(fill, { count: AUDIT_READ_MAX + 5 });
    const first = await find({ actor: 'ann' });
    assert.deepEqual(first.times, []);
    assert.deepEqual((await find({ actor: 'ann' }, 10, first.next)).times, [1]);
  });
});
