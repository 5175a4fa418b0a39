import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { next } from '../../../src/domain/messages/purge.sql.ts';
import type { Database } from '../../../src/store/database.ts';
import { accountChanges } from '../../support/account-changes.ts';
import { adopt } from '../../support/contract-client.ts';
import { type Engine, engines } from '../../support/engines.ts';
import { openOutside } from '../../support/other-process.ts';
import { onPostgres, testOnOneServer } from '../../support/postgres-engines.ts';
import type { Arguments } from '../../support/protocols.ts';
import { ACME, GLOBEX } from '../../support/service.ts';
import { CALLS, changes, serve } from '../../support/serving.ts';
import { countRoundTrips } from './round-trips.ts';

/** Who calls is found out along with the first statement, and nobody gets anything by it. */

/** Each is refused by the service itself; where a parameter has no such value, it stays as it is. */
const BAD: Arguments = {
  max: -1,
  max_count: -1,
  message: '',
  mobile: '',
  contact_id: Array.from({ length: 1_001 }, (_, index) => index),
};
/** No statement is needed to know that these name nothing. */
const NOTHING: Arguments = {
  message_id: 'x',
  group_id: '1.5',
  contact_id: ['101', 'x'],
  mobile: 'nobody',
  max_count: 0,
};
const MISSING: Arguments = { message_id: null, group_id: null, contact_id: null, mobile: null, message: null };

const at = '2026-05-01T00:00:00Z';
/** May only be used from a network that is not ours, and has something that every operation could change. */
const RESTRICTED = {
  username: 'restricted',
  userID: 'restricted',
  groups: [{ id: 1 }, { id: 2 }],
  templates: ['a'],
  contacts: [101, 102, 103].map((id) => ({ id, groupid: 1, mobile: '+27825550201' })),
  inbox: [{ id: 1003, timestamp: at, read: false }],
  sent: [{ id: 2002, delivery_status: 'DELIVERED', timestamp_sent: at, timestamp_updated: at, marked: false }],
  scheduled: [{ id: 3002, message: 'a', timestamp_scheduled: at, timestamp_created: at }],
};

const variantsOf = (args: Arguments): Arguments[] => [
  args,
  ...[BAD, NOTHING, MISSING].map((other) =>
    Object.fromEntries(
      Object.entries(args).map(([name, value]) => [name, name in other ? (other[name] ?? null) : value]),
    ),
  ),
];

onPostgres('callers', () => {
  let engine: Engine;
  before(() => {
    engine = engines.find(({ name }) => name === 'postgres') as Engine;
  });

  test('every operation denies an unknown, revoked or disabled user_id and one from another network, whatever the arguments, and changes nothing', async (t) => {
    const setting = await engine.fresh('sample');
    const { app, call } = await serve(setting);
    const outside = await openOutside(setting);
    t.after(() => Promise.all([app.stop(), outside.close()]));
    await accountChanges(app).rotateUserId('globex', true);
    await accountChanges(app).setEnabled('acme', false);
    await adopt(app, RESTRICTED);
    await accountChanges(app).allow('restricted', ['198.51.100.0/24']);
    const content = await outside.content();
    assert.equal(CALLS.length, 32);
    for (const [group, operation, args] of CALLS) {
      for (const variant of variantsOf(args)) {
        for (const user_id of ['nobody', GLOBEX, ACME, 'restricted', '', null, 'x'.repeat(129)]) {
          const { status, text } = await call(group, operation, { user_id, ...variant });
          const what = `${operation} ${JSON.stringify(variant).slice(0, 80)} as ${user_id}`;
          assert.deepEqual([status, text], [403, 'The user_id is not valid.\n'], what);
        }
      }
      assert.deepEqual(await outside.content(), content, operation);
    }
  });

  test('the same arguments are checked if the caller is known', async (t) => {
    const { app, call } = await serve(await engine.fresh('sample'));
    t.after(() => app.stop());
    const refused: string[] = [];
    for (const [group, operation, args] of CALLS) {
      const answers = variantsOf(args).map((variant) => call(group, operation, variant));
      const statuses = (await Promise.all(answers)).map(({ status }) => status);
      assert.equal(statuses[0], 200, operation);
      if (statuses[1] === 400) refused.push(`${group}.${operation}`);
    }
    assert.deepEqual(refused, [
      ...['RemoveContactFromGroup', 'MoveContactToNewGroup', 'DeleteContact'].map((name) => `account.${name}`),
      ...['account.SaveMessageTemplate', 'account.BlackListNumber', 'inbox.Read', 'inbox.Unread', 'inbox.InboxDS'],
      ...['sent.FetchUnmarkedDeliveryStatus', 'sent.FetchSentDS', 'compose.FetchScheduledDS'],
    ]);
  });

  test('a user_id that is revoked or whose account is disabled while the service runs is denied from then on', async (t) => {
    const { app, call } = await serve(await engine.fresh('sample'));
    t.after(() => app.stop());
    const statuses = async (user_id: string) => {
      const reading = CALLS.filter(([, operation]) => !changes(operation));
      const answers = reading.map(([group, operation, args]) => call(group, operation, { ...args, user_id }));
      return [...new Set((await Promise.all(answers)).map(({ status }) => status))];
    };
    assert.deepEqual([await statuses(ACME), await statuses(GLOBEX)], [[200], [200]]);
    await accountChanges(app).setEnabled('acme', false);
    const { userId } = await accountChanges(app).rotateUserId('globex', true);
    assert.deepEqual([await statuses(ACME), await statuses(GLOBEX)], [[403], [403]]);
    assert.deepEqual(await statuses(userId), [200]);
    await accountChanges(app).setEnabled('acme', true);
    assert.deepEqual(await statuses(ACME), [200]);
  });

  /** They have something to reckon or to check in between; a transaction begins with its lock, and ends. */
  const MORE: Readonly<Record<string, number>> = {
    'account.LookupContact': 2,
    'account.RemoveContactFromGroup': 4,
    'account.MoveContactToNewGroup': 5,
    'account.DeleteContact': 4,
    'account.DeleteContactsById': 4,
    'account.SaveMessageTemplate': 5,
    // Credits that go back take three for the ledger. Erased numbers, messages that are due and wait,
    // and scheduled answers to STOP take one each.
    'account.BlackListNumber': 14,
    'compose.DeleteScheduledMessage': 7,
    'compose.DeleteAllScheduled': 3,
  };
  const ONE = [
    ...['account.Profile', 'account.FetchContacts', 'account.FetchContactsDS', 'account.FetchContactsByGroupId'],
    ...[
      'account.FetchContactsByGroupIdDS',
      'account.FetchContact',
      'account.FetchGroups',
      'account.FetchSavedMessages',
    ],
    ...['account.DeleteMessageTemplate', 'inbox.Read', 'inbox.Unread', 'inbox.InboxDS', 'inbox.CountRead'],
    ...['inbox.CountUnread', 'inbox.MarkMessageAsRead', 'inbox.DeleteMessage', 'inbox.DeleteAllMessages'],
    ...['sent.FetchUnmarkedDeliveryStatus', 'sent.CountUnMarkedDeliveryStatus', 'sent.FetchSentDS'],
    ...['sent.MarkMessageAsRead', 'sent.DeleteSentMessage', 'compose.FetchScheduledDS'],
  ];

  testOnOneServer('most operations take one round trip, and so does denying an unknown user_id', async (t) => {
    const setting = await engine.fresh('sample');
    const { hostname, port } = new URL(setting);
    const turns = await countRoundTrips(hostname, Number(port || 5432));
    const address = setting.replace(/@[^/]*/, `@127.0.0.1:${turns.port}`);
    /** What is done after an answer does not count. */
    const database = (opened: Database): Database => ({
      ...opened,
      first: async (statement, parameters) =>
        statement.name === next.name ? undefined : opened.first(statement, parameters),
    });
    const { app, ask, call } = await serve(address, { database }, { databaseConnections: 1 });
    t.after(async () => {
      await app.stop();
      await turns.close();
    });
    const counts: Record<string, number> = {};
    for (const [group, operation, args] of CALLS) {
      const name = `${group}.${operation}`;
      counts[name] = await turns.of(() => ask(group, operation, args));
      const refusing = await turns.of(() => call(group, operation, { ...args, user_id: 'nobody' }));
      // What has begun a transaction ends it as well.
      assert.ok(refusing === 1 || (refusing === 2 && !ONE.includes(name)), `${name}: ${refusing}`);
    }
    assert.equal(ONE.length + Object.keys(MORE).length, 32);
    assert.deepEqual(
      ONE.map((name) => [name, counts[name]]),
      ONE.map((name) => [name, 1]),
    );
    for (const [name, most] of Object.entries(MORE)) assert.ok((counts[name] ?? 0) <= most, `${name}: ${counts[name]}`);
  });
});
