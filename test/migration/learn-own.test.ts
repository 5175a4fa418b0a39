import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import type { Dialect } from '../../src/asmx/dialect/dialect.ts';
import type { RecordedExchange } from '../../src/migration/compare/recording.ts';
import { learnDialect } from '../../src/migration/learn/learn.ts';
import { CapsLearner, OrdersLearner } from '../../src/migration/learn/learn-lists.ts';
import type { Observation } from '../../src/migration/learn/learned.ts';
import { engines } from '../support/engines.ts';
import { type Arguments, requestOf } from '../support/protocols.ts';
import { ACME, startService } from '../support/service.ts';

/** What Columba writes in a dialect is learned as that dialect. */

const folder = mkdtempSync(join(tmpdir(), 'columba-learn-'));
after(() => rmSync(folder, { recursive: true, force: true }));

/** An empty string that is left out looks like a null, so emptyStrings is not learned. */
const DIALECT: Dialect = {
  dataSet: { name: 'Data', table: 'Row' },
  dataSets: { 'inbox.InboxDS': { name: 'Inbox', table: 'Message' } },
  columns: {
    'inbox.InboxDS': [
      { name: 'Received', type: 'dateTime', from: 'timestamp' },
      { name: 'MessageID', type: 'long', from: 'id' },
      { name: 'FromNumber', type: 'string', from: 'sender' },
      { name: 'Body', type: 'string', from: 'message' },
      { name: 'ShortCode', type: 'string', from: 'short_code' },
      { name: 'IsRead', type: 'int', from: 'read' },
      { name: 'Network', type: 'string', constant: 'none' },
    ],
  },
  dates: { zone: 'offset', timeZone: '+02:00', fractionDigits: 7 },
  groupId: 'zero',
  orders: { 'inbox.Unread': '-timestamp', 'account.FetchContacts': '-id', 'inbox.InboxDS': 'timestamp' },
  readReturnsReadOnly: true,
  errorStatus: 'asmx',
};

const CALLS: readonly (readonly [group: string, operation: string, args: Arguments])[] = [
  ['account', 'FetchContacts', {}],
  ['account', 'FetchContactsDS', {}],
  ['inbox', 'Unread', { max_count: 100 }],
  ['inbox', 'Read', { from: '2026-01-01T00:00:00Z', to: '2026-12-31T00:00:00Z', max_count: 100 }],
  ['inbox', 'Read', { from: '2026-10-02T00:00:00Z', to: '2026-10-31T00:00:00Z', max_count: 100 }],
  ['inbox', 'InboxDS', { max_count: 100 }],
  ['inbox', 'Unread', { max_count: 'x' }],
];

describe('the dialect of a service', () => {
  test('the dialect of a service is learned from its answers', async () => {
    const path = join(folder, 'dialect.json');
    writeFileSync(path, JSON.stringify(DIALECT));
    const service = await startService(engines[0] as (typeof engines)[0], 'sample', { dialect: path });
    const exchanges: RecordedExchange[] = [];
    for (const [group, operation, args] of CALLS) {
      const { method, path: target, query, bytes } = requestOf('get', group, operation, { user_id: ACME, ...args });
      const { status, text, headers } = await service.call('get', group, operation, { user_id: ACME, ...args });
      const type = String(headers['Content-Type']);
      exchanges.push({
        version: 1,
        at: '2026-11-15T12:00:00.000Z',
        account: 'account-1',
        group,
        operation,
        protocol: 'get',
        request: { method, target: `${target}?${query}`, headers: [], body: bytes, encoding: 'utf8' },
        old: { status, ms: 1, headers: [['content-type', type]], body: text, encoding: 'utf8' },
        ours: null,
        outcome: 'recorded',
        knownDifferences: [],
      });
    }
    await service.stop();
    async function* recordings() {
      yield* exchanges;
    }
    const { dialect, unreadable } = await learnDialect(recordings, 'UTC');
    const { evidence: _, namespace, ...rest } = dialect;
    assert.equal(namespace, 'http://sms.example/api');
    assert.deepEqual(rest, DIALECT);
    assert.equal(unreadable.count, 0);
  });
});

describe('orders in recordings', () => {
  const learn = (rows: readonly unknown[]) => {
    const learner = new OrdersLearner();
    learner.see({ name: 'sent.FetchSentDS' }, rows);
    return learner.learned();
  };
  const row = (id: number, timestamp_sent: number) => ({ id: BigInt(id), timestamp_sent });

  test('an order of rows that is Columba’s own needs no entry, also where the order by id holds too', () => {
    assert.deepEqual(learn([row(3, 30), row(2, 20), row(1, 10)]).dialect, {});
  });
  test('an order of rows by id is distinguished from one by time if both differ', () => {
    assert.deepEqual(learn([row(1, 30), row(2, 10), row(3, 20)]).dialect.orders, { 'sent.FetchSentDS': 'id' });
    assert.deepEqual(learn([row(3, 30), row(2, 10), row(1, 20)]).dialect.orders, { 'sent.FetchSentDS': '-id' });
  });
  test('rows in no known order leave the order uncertain', () => {
    const { dialect, uncertain } = learn([row(3, 30), row(1, 10), row(2, 20)]);
    assert.deepEqual(dialect, {});
    assert.match(uncertain[0]?.reason ?? '', /in none of the orders -timestamp_sent, timestamp_sent, id, -id/);
  });
  test('rows that are all alike prove nothing about their order', () => {
    assert.deepEqual(learn([row(1, 10), row(1, 10)]), { dialect: {}, findings: [], uncertain: [] });
  });
});

describe('caps in recordings', () => {
  const call = (name: string, account: string, max_count?: number): Observation =>
    ({
      name,
      account,
      texts: max_count === undefined ? {} : { max_count: [String(max_count)] },
    }) as unknown as Observation;
  const rows = (count: number) => Array.from({ length: count }, () => ({}));

  test('a cap of a list is proven by a count that is larger', () => {
    const learner = new CapsLearner();
    learner.see(call('inbox.CountUnread', 'a'), 80n);
    learner.see(call('inbox.Unread', 'a', 100), rows(33));
    const { dialect, uncertain } = learner.learned();
    assert.deepEqual([dialect.caps, uncertain], [{ 'inbox.Unread': 33 }, []]);
  });
  test('a short list proves no cap if the client asked for no more, or the account had no more', () => {
    const learner = new CapsLearner();
    for (let time = 0; time < 9; time++) learner.see(call('inbox.InboxDS', 'a', 20), rows(20));
    for (let time = 0; time < 9; time++) learner.see(call('inbox.Unread', 'a', 100), rows(20));
    assert.deepEqual(learner.learned(), { dialect: {}, findings: [], uncertain: [] });
  });
  test('a cap of a list is likely if several accounts have the same round number of rows', () => {
    const learner = new CapsLearner();
    for (const account of ['a', 'b', 'c']) learner.see(call('inbox.Unread', account, 1_000), rows(50));
    const { dialect, uncertain } = learner.learned();
    assert.deepEqual(dialect.caps, { 'inbox.Unread': 50 });
    assert.equal(uncertain[0]?.entry, 'caps.inbox.Unread');
  });
});
