import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { Dialect } from '../../../src/asmx/dialect/dialect.ts';
import { LIST_ORDERS, type ListOperation, listRules } from '../../../src/asmx/dialect/list-orders.ts';
import { createOperations } from '../../../src/asmx/operations/handlers.ts';
import { adopt, clientOf } from '../../support/contract-client.ts';
import { onOneEngine } from '../../support/engines.ts';
import { ends, load, type Many, manyOf, mixed } from '../../support/long-lists.ts';
import { type Service, startService } from '../../support/service.ts';

/** Orders and caps of a dialect, and what Read returns. */

const EVER = { from: Date.UTC(1, 0, 1), to: Date.UTC(9_999, 0, 1) };
const ALL = 10_000;

type Row = Readonly<Record<string, unknown>>;

/** The rows of a list in no order. */
const ROWS: Readonly<Record<ListOperation, (many: Many) => readonly object[]>> = {
  'account.FetchContacts': ({ contacts }) => contacts,
  'account.FetchContactsDS': ({ contacts }) => contacts,
  'account.FetchContactsByGroupId': ({ contacts }) => contacts.filter(({ groupid }) => groupid === '1'),
  'account.FetchContactsByGroupIdDS': ({ contacts }) => contacts.filter(({ groupid }) => groupid === '1'),
  'account.FetchGroups': () => [{ id: 1 }, { id: 2 }],
  'account.FetchSavedMessages': () => [0, 1, 2].map((saved) => ({ saved, id: saved })),
  'inbox.Read': ({ received }) => received,
  'inbox.Unread': ({ received }) => received.filter(({ read }) => !read),
  'inbox.InboxDS': ({ received }) => received,
  'sent.FetchUnmarkedDeliveryStatus': ({ sent }) => sent.filter(({ marked }) => !marked),
  'sent.FetchSentDS': ({ sent }) => sent,
  'compose.FetchScheduledDS': ({ scheduled }) => scheduled,
};
const OPERATIONS = Object.keys(LIST_ORDERS) as ListOperation[];

const isBefore = (a: Row, b: Row, field: string): boolean => {
  const [x, y] = [a[field], b[field]];
  if (x !== y) return field === 'id' ? BigInt(String(x)) < BigInt(String(y)) : (x as number) < (y as number);
  return BigInt(String(a.id)) < BigInt(String(b.id));
};

/** The ids in an order; of templates, the texts. */
function expected(operation: ListOperation, order: string, many: Many): string[] {
  const field = order.replace('-', '');
  const rows = (ROWS[operation](many) as Row[]).toSorted((a, b) => (isBefore(a, b, field) ? -1 : 1));
  if (order.startsWith('-')) rows.reverse();
  return rows.map(idOf);
}
const idOf = (row: unknown): string => {
  if (typeof row === 'string') return row;
  const { id, message, user_message_id } = row as Row;
  return String(id ?? message ?? user_message_id);
};

async function idsOf(list: unknown): Promise<string[]> {
  if (Array.isArray(list)) return list.map(idOf);
  const ids: string[] = [];
  for await (const page of list as AsyncIterable<unknown[]>) ids.push(...page.map(idOf));
  return ids;
}

onOneEngine('lists of a dialect', (engine) => {
  let service: Service;
  const accounts = [manyOf('many', 701, mixed), manyOf('ends', 1_000, ends)];
  before(async () => {
    service = await startService(engine, 'empty');
    for (const many of accounts) await load(service.app, many);
    await adopt(service.app, { username: 'saver', userID: 'saver', templates: ['0', '1', '2'] });
  });
  after(() => service.stop());

  async function list(dialect: Dialect, operation: ListOperation, user_id: string, most = ALL): Promise<string[]> {
    const operations = createOperations({
      ...service.app,
      lists: listRules(dialect),
      listLimit: ALL,
      listItemsMax: 1_000,
    });
    const [group = '', name = ''] = operation.split('.');
    const given = { user_id, ...EVER, max: most, max_count: most, groupid: 1 };
    const { value } = await operations({ group, operation: name, arguments: given }, { client: '192.0.2.1' });
    return idsOf(value);
  }

  for (const operation of OPERATIONS) {
    for (const order of LIST_ORDERS[operation]) {
      test(`${operation} by ${order} has every row once, in that order, over all pages`, async () => {
        const many =
          operation === 'account.FetchSavedMessages' ? [{ ...accounts[0], username: 'saver' } as Many] : accounts;
        for (const each of many) {
          const rows = await list({ orders: { [operation]: order } }, operation, each.username);
          const wanted = expected(operation, order, each);
          assert.equal(rows.length, wanted.length);
          assert.equal(
            rows.findIndex((id, index) => id !== wanted[index]),
            -1,
            `${each.username}: ${rows.slice(0, 5)}`,
          );
        }
      });
    }

    test(`${operation} returns at most as many rows as its cap, the first of its order`, async () => {
      const many = operation === 'account.FetchSavedMessages' ? 'saver' : 'many';
      const whole = await list({}, operation, many);
      assert.deepEqual(await list({ caps: { [operation]: 2 } }, operation, many), whole.slice(0, 2));
    });
  }

  test('a call may ask for less than a cap', async () => {
    assert.equal((await list({ caps: { 'inbox.Unread': 5 } }, 'inbox.Unread', 'many', 3)).length, 3);
    assert.equal((await list({ caps: { 'inbox.Unread': 5 } }, 'inbox.Unread', 'many', 0)).length, 0);
  });

  test('Read returns only messages that are marked as read, if the old server did', async () => {
    const [many] = accounts as [Many, Many];
    const read = { ...many, received: many.received.filter((each) => each.read) };
    for (const order of LIST_ORDERS['inbox.Read']) {
      const dialect: Dialect = { readReturnsReadOnly: true, orders: { 'inbox.Read': order } };
      const wanted = expected('inbox.Read', order, read);
      assert.ok(wanted.length > 200);
      assert.deepEqual(await list(dialect, 'inbox.Read', 'many'), wanted);
      assert.deepEqual(await list(dialect, 'inbox.Read', 'many', 3), wanted.slice(0, 3));
      assert.deepEqual(await list(dialect, 'inbox.Read', 'ends'), []);
    }
  });
});

const folder = mkdtempSync(join(tmpdir(), 'columba-dialect-'));
after(() => rmSync(folder, { recursive: true, force: true }));

onOneEngine('a service with a dialect', (engine) => {
  const path = join(folder, `${engine.name}.json`);
  const dialect: Dialect = {
    orders: { 'inbox.Unread': '-timestamp' },
    caps: { 'inbox.Unread': 2 },
    readReturnsReadOnly: true,
    dates: { zone: 'none', timeZone: 'Africa/Johannesburg' },
    statusWords: { DELIVERED: 'Arrived' },
  };
  let service: Service;
  before(async () => {
    writeFileSync(path, JSON.stringify(dialect));
    service = await startService(engine, 'sample', { dialect: path });
  });
  after(() => service.stop());

  test('a service with a dialect applies its orders, caps, words and dates', async () => {
    const client = clientOf(service, 'get');
    const unread = await client.ask('inbox', 'Unread', { max_count: 10 });
    assert.deepEqual(
      unread.map(({ id, timestamp }) => [id, timestamp]),
      [
        ['9007199254740993', '2026-10-04T14:00:00'],
        ['1005', '2026-10-03T13:00:00'],
      ],
    );
    const range = { from: '2026-10-01T00:00:00', to: '2026-10-31T00:00:00', max_count: 10 };
    assert.deepEqual(
      (await client.ask('inbox', 'Read', range)).map(({ id }) => id),
      ['1001', '1002'],
    );
    const { rows } = await client.ask('sent', 'FetchSentDS', { max: 10 });
    assert.ok(rows.some((row) => row.delivery_status === 'Arrived'));
  });

  test('dates of arguments without a zone are in the zone of the dialect', async () => {
    const client = clientOf(service, 'get');
    const read = async (at: string) =>
      (await client.ask('inbox', 'Read', { from: at, to: at, max_count: 10 })).map(({ id }) => id);
    assert.deepEqual(await read('2026-10-01T10:00:00'), ['1001']);
    assert.deepEqual(await read('2026-10-01T08:00:00'), []);
    assert.deepEqual(await read('2026-10-01T08:00:00Z'), ['1001']);
  });

  test('an answer from the cache has the same bytes, and a change is seen at once', async () => {
    const client = clientOf(service, 'get');
    const ask = async () => (await client.raw('inbox', 'Unread', { max_count: 10 })).text;
    const first = await ask();
    assert.equal(await ask(), first);
    assert.equal(await client.ask('inbox', 'MarkMessageAsRead', { message_id: '1005' }), true);
    const later = await ask();
    assert.notEqual(later, first);
    assert.match(later, /<id>1004<\/id>\s*<message>/);
  });
});
