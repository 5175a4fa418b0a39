import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { describe, type TestContext, test } from 'node:test';
import { engines } from '../support/engines.ts';
import { sql } from '../support/opened-database.ts';
import { type OperatorApi, startOperatorApi } from '../support/operator-api.ts';

/** What is left of an erased person in the files of SQLite: pages, free pages and the write-ahead log. */

const NUMBER = '+27825550477';
const WORDS = ['Zwackelmann', 'Quibberdotz', 'Flimmerbrux', 'Knurrspatz', 'Wobbelhein', 'Trallafitti'] as const;
const [SURNAME, RECEIVED, SENT, SCHEDULED, EVIDENCE, UNROUTED] = WORDS;

const left = (api: OperatorApi): string[] => {
  const path = api.database.replace('sqlite:', '');
  const files = [path, `${path}-wal`].filter(existsSync).map((file) => readFileSync(file, 'latin1'));
  return [...WORDS, '825550477'].filter((word) => files.some((bytes) => bytes.includes(word)));
};

/** Others write before, between and after, so that pages are split, joined and written again. */
async function crowd(api: OperatorApi, from: number, count: number): Promise<void> {
  const { database } = api.services;
  await database.run(
    sql<{ first: number; last: number }>(
      `insert into received (account_id, message_id, sender, text, received_at, generation)
       with recursive n(i) as (select :first union all select i + 1 from n where i < :last)
       select account_id, 5000000 + i, '+2782555' || i, 'text ' || i || hex(zeroblob(i % 90)), 1000 * i, 0
       from n, account where username = 'acme'`,
      { affects: 'all' },
    ),
    { first: from, last: from + count - 1 },
  );
}

describe('bytes of an erased person', () => {
  const [engine] = engines.filter(({ name }) => name === 'sqlite');

  async function planted(t: TestContext): Promise<OperatorApi> {
    assert.ok(engine);
    const api = await startOperatorApi(engine);
    t.after(() => api.stop());
    const of = (method: string, path: string, body: object) => api.call(method, `/accounts/acme${path}`, { body });
    await api.call('POST', '/accounts/acme/credits/movements', { body: { amount: '500', reason: 'test' } });
    await crowd(api, 0, 1_500);
    for (let round = 0; round < 12; round++) {
      await of('POST', '/contacts', { mobile: NUMBER, name: 'Z', surname: `${SURNAME} ${round}` });
      const { json } = await of('POST', '/inbox', { sender: NUMBER, text: `${RECEIVED} ${'x'.repeat(round * 90)}` });
      await of('PATCH', `/inbox/${json.id}`, { read: true });
      await of('PATCH', `/inbox/${json.id}`, { read: false });
      const sent = await of('POST', '/messages/record', { recipient: NUMBER, text: `${SENT} ${round}` });
      await of('POST', `/messages/${sent.json.id}/status`, { status: 'DELIVERED' });
      const sendAt = new Date(api.clock.now + 86_400_000).toISOString();
      const later = await of('POST', '/messages', { recipients: [NUMBER], text: `${SCHEDULED} ${round}`, sendAt });
      assert.equal(later.status, 202, later.text);
      await crowd(api, 2_000 + round * 100, 100);
      await api.services.database.run(
        sql<{ round: number }>(
          'delete from received where message_id between 5000000 and 5001500 and message_id % 13 = :round',
        ),
        { round },
      );
    }
    await of('POST', '/blacklist', { number: NUMBER, evidence: EVIDENCE });
    await api.services.database.run(
      sql<Record<string, never>>(
        `insert into unrouted (unrouted_id, connector, sender, destination, text, received_at)
         values (77, 'kannel', '${NUMBER}', '31999', '${UNROUTED}', 0)`,
      ),
      {},
    );
    return api;
  }

  test('after person erase no name, number or text is in the file or in the write-ahead log', async (t) => {
    const api = await planted(t);
    assert.equal(left(api).length, WORDS.length + 1, 'they are there before');
    const erased = await api.call('DELETE', `/persons/${encodeURIComponent(NUMBER)}`);
    assert.equal(erased.status, 200, erased.text);
    assert.deepEqual(left(api), []);
  });

  test('after account remove no text of its messages is in the files', async (t) => {
    const api = await planted(t);
    await api.call('POST', '/accounts/acme/disable');
    assert.equal((await api.call('DELETE', '/accounts/acme')).status, 200);
    assert.deepEqual(
      left(api).filter((word) => word !== UNROUTED && word !== '825550477'),
      [],
    );
  });
});
