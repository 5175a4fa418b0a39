import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { createReceived } from '../../../src/domain/messages/received.ts';
import { type ConversationPosition, createConversations } from '../../../src/domain/search/conversations.ts';
import { numberToken } from '../../../src/domain/search/tokens.ts';
import { domainOf } from '../../../src/operator/domain.ts';
import { numberEnd } from '../../../src/sms/numbers.ts';
import { openActions } from '../../support/actions.ts';
import { counting } from '../../support/counted-database.ts';
import { type Engine, onEveryEngine } from '../../support/engines.ts';
import { sql } from '../../support/opened-database.ts';

async function practice(engine: Engine, t: TestContext) {
  const bench = await openActions(engine, t);
  return { ...bench, id: await bench.account('practice', { region: 'ZA' }), domain: domainOf(bench.services) };
}

onEveryEngine('unread conversations', (engine) => {
  test('a page of unread conversations costs a few statements, and does not repeat one that hundreds of messages ago was shown', async (t) => {
    const { id, domain, database, clock } = await practice(engine, t);
    const inbox = createReceived(database, () => clock.now, { wake() {} });
    const receive = async (sender: string) => {
      clock.now += 1;
      const message = { gatewayId: null, sender, text: 'hello', shortCode: null, receivedAt: clock.now };
      return (await inbox.receive(id, message)).id;
    };
    // The same last digits as the first one of the people.
    const [first, other, count] = ['+27825550200', '+27835550200', 120];
    const people = Array.from({ length: count }, (_, number) => `+278255503${String(number).padStart(2, '0')}`);
    await receive(first);
    for (const number of [other, ...people]) await receive(number);
    const read: bigint[] = [];
    for (let message = 0; message < 250; message += 1) read.push(await receive(first));
    await inbox.change(id, read, 'read');
    await receive(first);
    while (!(await domain.search.isComplete(id)));
    const { database: counted, read: cost } = counting(database);
    const conversations = createConversations(counted, async () => 'ZA');
    const seen: string[] = [];
    const costs: number[] = [];
    for (let after: ConversationPosition | null | undefined; after !== null; ) {
      cost.statements = 0;
      const page = await conversations.list(id, 40, after, 'unread');
      seen.push(...page.conversations.map(({ number }) => number));
      costs.push(cost.statements);
      after = page.next;
    }
    assert.deepEqual(seen, [first, ...people.reverse(), other]);
    assert.ok(Math.max(...costs) <= 7, costs.join());
  });

  test('a page of unread conversations looks at a bounded number of messages, wherever it begins', async (t) => {
    const { id, database } = await practice(engine, t);
    const sender = '+27825550200';
    for (const [into, values] of [
      ['received (account_id, message_id, generation, sender, text, received_at)', ':account, i, 0, :sender, null, i'],
      ['unread_message (account_id, generation, received_at, message_id)', ':account, 0, i, i'],
      ['search_entry (account_id, token, kind, at, item_id)', ':account, :token, 1, i, i'],
    ]) {
      const insert = sql<{ account: bigint; sender: string; token: string }>(
        `insert into ${into} with recursive n(i) as (select cast(1 as bigint) union all select i + 1 from n where i < 3000)
         select ${values} from n`,
      );
      const given = { account: id, sender, token: numberToken(numberEnd(sender)) };
      await database.transaction(id, (queries) => queries.run(insert, given));
    }
    const { database: counted, read } = counting(database);
    const conversations = createConversations(counted, async () => 'ZA');
    const page = await conversations.list(id, 25, { at: 2, number: '2' }, 'unread');
    assert.deepEqual([page.conversations, page.next], [[], null]);
    assert.ok(read.rows <= 3_100, `${read.rows}`);
  });
});
