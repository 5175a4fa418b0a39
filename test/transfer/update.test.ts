import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { accountId } from '../../src/domain/accounts/accounts.ts';
import { createLedger } from '../../src/domain/accounts/ledger.ts';
import { createSent } from '../../src/domain/messages/sent.ts';
import { createAccepting } from '../../src/domain/sending/accept.ts';
import { accountChanges } from '../support/account-changes.ts';
import { columba, freshPath } from '../support/command.ts';
import { clientOf } from '../support/contract-client.ts';
import { onOneEngine } from '../support/engines.ts';
import { account, essence, exportText, importText, lines, TIME, withService } from '../support/import-files.ts';
import { message } from '../support/sending.ts';
import type { Service } from '../support/service.ts';

const LATER = '2026-05-02T00:00:00Z';
const OWNER = 'user_id of one';

const received = (id: number, fields: object = {}) => ({ id, timestamp: TIME, read: false, ...fields });
const sent = (id: number, fields: object = {}) => ({
  id,
  delivery_status: 'SUBMITTED',
  timestamp_sent: TIME,
  timestamp_updated: TIME,
  marked: false,
  ...fields,
});
const scheduled = (id: number, fields: object = {}) => ({
  id,
  timestamp_scheduled: TIME,
  timestamp_created: TIME,
  message: 'x',
  ...fields,
});

/** An account with one row of everything. */
const BEFORE = account('one', {
  credits: 10,
  company: 'Old',
  email: 'old@example.com',
  groups: [{ id: 1, name: 'first' }],
  contacts: [{ id: 1, name: 'Ann', mobile: '+27825550101', groupid: 1 }],
  templates: ['a'],
  blacklist: [{ mobile: '+27825550199', timestamp: TIME }],
  inbox: [received(1, { message: 'first' })],
  sent: [sent(1, { message: 'first' })],
  scheduled: [scheduled(1)],
});

/** What the account is after a second file. */
const afterUpdate = async (service: Service, fields: Readonly<Record<string, unknown>>) => {
  const result = await importText(service.app, lines(account('one', fields)), true);
  assert.deepEqual(result.mistakes, []);
  assert.deepEqual([result.accounts, result.updated], [1, 1]);
  return JSON.parse(await exportText(service.app, true, 'one'));
};

onOneEngine('import --update', (engine) => {
  const started = (work: (service: Service) => Promise<void>) => () =>
    withService(engine, async (service) => {
      assert.deepEqual((await importText(service.app, lines(BEFORE), true)).mistakes, []);
      await work(service);
    });

  test(
    'a number that a file puts on the blacklist cancels the messages that wait for it, scheduled or due, and frees their credits',
    started(async ({ app, clock }) => {
      const { database } = app;
      const now = () => clock.now;
      const id = await accountId(database, 'one');
      const settings = { region: 'ZA', timeZone: null, quietHours: null };
      const accepting = createAccepting(database, now);
      for (const sendAt of [null, clock.now + 60_000]) {
        await accepting.accept(id, settings, message({ to: ['+27825550301', '+27825550302'], sendAt }));
      }
      const ledger = createLedger(database, now);
      const before = await ledger.balances(id);
      const blacklist = [{ mobile: '082 555 0301', timestamp: TIME }];
      const region = { region: 'ZA' };
      assert.deepEqual((await importText(app, lines(account('one', { ...region, blacklist })), true)).mistakes, []);
      const after = await ledger.balances(id);
      assert.deepEqual([after.free - before.free, after.held - before.held], [2n, -2n]);
      const outbox = createSent(database, now);
      const statuses = (await outbox.newest(id, 2)).map(({ recipient, status }) => [recipient, status]);
      assert.deepEqual(statuses.sort(), [
        ['+27825550301', 'DELETED'],
        ['+27825550302', 'QUEUED'],
      ]);
      assert.deepEqual((await ledger.check()).discrepancies, []);
    }),
  );

  test('an account that does not exist is added, as without --update', () =>
    withService(engine, async ({ app }) => {
      const { accounts, updated } = await importText(app, lines(BEFORE), true);
      assert.deepEqual([accounts, updated], [1, 0]);
      assert.deepEqual(essence(JSON.parse(await exportText(app, true, 'one'))), {
        ...(essence({ transmissionPriority: 0, tag: 0, ...BEFORE }) as object),
        blacklist: [{ mobile: '+27825550199', timestamp: Date.parse(TIME) }],
      });
    }));

  test(
    'a file without rows removes nothing',
    started(async (service) => {
      const before = JSON.parse(await exportText(service.app, true, 'one'));
      assert.deepEqual(await afterUpdate(service, {}), before);
    }),
  );

  test(
    'importing the same file again with --update changes nothing',
    started(async (service) => {
      const before = await exportText(service.app, true, 'one');
      const { mistakes, updated } = await importText(service.app, lines(BEFORE), true);
      assert.deepEqual([mistakes, updated], [[], 1]);
      assert.equal(await exportText(service.app, true, 'one'), before);
    }),
  );

  test(
    'groups and contacts are added or changed by id, and a contact may be in a group that the account has',
    started(async (service) => {
      const { groups, contacts } = await afterUpdate(service, {
        groups: [{ id: 2, name: 'second' }],
        contacts: [
          { id: 1, name: 'Anna', mobile: '+27825550102', groupid: 2 },
          { id: 2, name: 'Bob', groupid: 1 },
        ],
      });
      assert.deepEqual(groups, [
        { id: 1, name: 'first' },
        { id: 2, name: 'second' },
      ]);
      assert.deepEqual(contacts, [
        { id: '1', name: 'Anna', mobile: '+27825550102', groupid: '2' },
        { id: '2', name: 'Bob', groupid: '1' },
      ]);
      const client = clientOf(service, 'soap12', OWNER);
      assert.equal((await client.ask('account', 'LookupContact', { mobile: '+27825550102' }))?.name, 'Anna');
      assert.equal(await client.ask('account', 'LookupContact', { mobile: '+27825550101' }), null);
    }),
  );

  test(
    'a contact in a group that neither the file nor the account has is refused, with all of its file',
    started(async (service) => {
      const before = await exportText(service.app, true, 'one');
      const wrong = account('one', { templates: ['b'], contacts: [{ id: 2, groupid: 9 }] });
      const newcomer = account('two', { contacts: [{ id: 2, groupid: 9 }] });
      const { mistakes, refused } = await importText(service.app, lines(wrong, newcomer), true);
      assert.equal(refused, 2);
      assert.deepEqual(mistakes, [
        'line 1 (one): the contact 2 is in group 9, which does not exist',
        'line 2 (two): the contact 2 is in group 9, which does not exist',
      ]);
      assert.equal(await exportText(service.app, true), before);
    }),
  );

  test(
    'templates and blocked numbers that are missing are added, each once',
    started(async (service) => {
      const { templates, blacklist } = await afterUpdate(service, {
        templates: ['b', 'a'],
        blacklist: [
          { mobile: '+27825550199', timestamp: LATER },
          { mobile: '+27825550198', timestamp: LATER },
        ],
      });
      assert.deepEqual(templates, ['a', 'b']);
      assert.deepEqual(
        blacklist.map(({ mobile }: { mobile: string }) => mobile),
        ['+27825550199', '+27825550198'],
      );
    }),
  );

  test(
    'received messages are added or changed by id, and counts and lists agree',
    started(async (service) => {
      const { inbox } = await afterUpdate(service, {
        inbox: [
          received(1, { message: 'changed', timestamp: LATER }),
          received(2, { read: true }),
          received(3, { message: 'new' }),
        ],
      });
      assert.deepEqual(
        inbox.map(({ id, message, read }: Record<string, unknown>) => [id, message, read]),
        [
          ['1', 'changed', false],
          ['2', undefined, true],
          ['3', 'new', false],
        ],
      );
      const client = clientOf(service, 'soap12', OWNER);
      assert.equal(await client.ask('inbox', 'CountUnread'), 2n);
      assert.equal(await client.ask('inbox', 'CountRead'), 1n);
      const unread = await client.ask('inbox', 'Unread', { max_count: 10 });
      assert.deepEqual(
        unread.map(({ id }) => id),
        ['3', '1'],
      );
    }),
  );

  test(
    'a message that was read here stays read, and an inbox that was emptied takes messages again',
    started(async (service) => {
      const client = clientOf(service, 'soap12', OWNER);
      assert.equal(await client.ask('inbox', 'MarkMessageAsRead', { message_id: '1' }), true);
      assert.equal((await afterUpdate(service, { inbox: [received(1)] })).inbox[0].read, true);
      assert.equal(await client.ask('inbox', 'CountUnread'), 0n);
      await client.ask('inbox', 'DeleteAllMessages');
      assert.equal((await afterUpdate(service, { inbox: [received(1), received(2)] })).inbox.length, 2);
      assert.equal(await client.ask('inbox', 'CountUnread'), 2n);
      assert.equal(await client.ask('inbox', 'CountRead'), 0n);
    }),
  );

  test(
    'sent messages are added or changed by id, and a mark stays until the status changes',
    started(async (service) => {
      const client = clientOf(service, 'soap12', OWNER);
      assert.equal(await client.ask('sent', 'MarkMessageAsRead', { id: 1 }), true);
      const same = await afterUpdate(service, { sent: [sent(1), sent(2)] });
      assert.deepEqual(
        same.sent.map(({ marked }: { marked: boolean }) => marked),
        [true, false],
      );
      assert.equal(await client.ask('sent', 'CountUnMarkedDeliveryStatus'), 1n);
      const delivered = sent(1, { delivery_status: 'DELIVERED', timestamp_updated: LATER });
      const changed = await afterUpdate(service, { sent: [delivered] });
      assert.deepEqual(
        changed.sent.map(({ marked, delivery_status: status }: Record<string, unknown>) => [marked, status]),
        [
          [false, 'DELIVERED'],
          [false, 'SUBMITTED'],
        ],
      );
      assert.equal(await client.ask('sent', 'CountUnMarkedDeliveryStatus'), 2n);
    }),
  );

  test(
    'credits pay for scheduled messages that are added, and are returned when a message gets shorter',
    started(async (service) => {
      const long = 'x'.repeat(200); // two parts
      const added = await afterUpdate(service, { credits: 999, scheduled: [scheduled(2, { message: long })] });
      assert.deepEqual([added.credits, added.scheduled.length], ['8', 2]);
      const shorter = await afterUpdate(service, { scheduled: [scheduled(2)] });
      assert.deepEqual([shorter.credits, shorter.scheduled.length], ['9', 2]);
      const many = Array.from({ length: 10 }, (_, index) => scheduled(index + 10));
      const { mistakes } = await importText(service.app, lines(account('one', { scheduled: many })), true);
      assert.deepEqual(mistakes, [
        'line 1 (one): the account has fewer than the 10 credits that its scheduled messages need',
      ]);
      assert.equal(JSON.parse(await exportText(service.app, true, 'one')).scheduled.length, 2);
    }),
  );

  test(
    'details that are given replace the old ones; credits, state, networks and user_ids stay',
    started(async (service) => {
      const accounts = accountChanges(service.app);
      await accounts.allow('one', ['192.0.2.0/24']);
      const { userId } = await accounts.rotateUserId('one', true);
      const fields = { company: 'New', credits: 1, usedCredits: 5, allowedNetworks: '198.51.100.7', region: 'ZA' };
      const after = await afterUpdate(service, fields);
      assert.deepEqual(
        [after.company, after.email, after.region, after.credits, after.usedCredits, after.allowedNetworks],
        ['New', 'old@example.com', 'ZA', '10', '0', '192.0.2.0/24'],
      );
      assert.equal((await clientOf(service, 'soap12', userId).ask('account', 'Profile'))?.company, 'New');
      const revoked = await clientOf(service, 'soap12', OWNER).raw('account', 'Profile');
      assert.notEqual(revoked.status, 200, 'a user_id that was revoked here stays revoked');
    }),
  );

  test(
    'a user_id that is new is added, and one of another account is refused',
    started(async (service) => {
      await afterUpdate(service, { userID: 'a second one' });
      for (const userId of [OWNER, 'a second one']) {
        assert.equal((await clientOf(service, 'soap12', userId).ask('account', 'Profile'))?.username, 'one');
      }
      const stranger = account('two', { userID: 'of two' });
      const thief = account('one', { userID: 'of two' });
      const { mistakes } = await importText(service.app, lines(stranger, thief), true);
      assert.deepEqual(mistakes, ['line 2 (one): userID: another account has this user_id']);
    }),
  );

  test('more rows than one statement takes are added and changed', () =>
    withService(engine, async (service) => {
      const rows = (count: number, message: string) =>
        account('one', {
          contacts: Array.from({ length: count }, (_, id) => ({ id, name: message })),
          inbox: Array.from({ length: count }, (_, id) => received(id, { message })),
          sent: Array.from({ length: count }, (_, id) => sent(id, { message })),
        });
      await importText(service.app, lines(rows(1_200, 'old')), true);
      const { mistakes } = await importText(service.app, lines(rows(2_300, 'new')), true);
      assert.deepEqual(mistakes, []);
      const { contacts, inbox, sent: all } = JSON.parse(await exportText(service.app, true, 'one'));
      assert.deepEqual([contacts.length, inbox.length, all.length], [2_300, 2_300, 2_300]);
      for (const { name } of contacts) assert.equal(name, 'new');
      for (const { message } of [...inbox, ...all]) assert.equal(message, 'new');
      const client = clientOf(service, 'soap12', OWNER);
      assert.equal(await client.ask('inbox', 'CountUnread'), 2300n);
    }));

  test(
    'without --update an account that exists is refused and stays as it is',
    started(async (service) => {
      const before = await exportText(service.app, true, 'one');
      const { mistakes } = await importText(service.app, lines(account('one', { templates: ['b'] })));
      assert.deepEqual(mistakes, ['line 1 (one): username: there is already an account with the username one']);
      assert.equal(await exportText(service.app, true, 'one'), before);
    }),
  );
});

describe('columba import --update', () => {
  test('columba import --update prints how many accounts existed before', async () => {
    const [file, database] = [freshPath('json'), `sqlite:${freshPath('db')}`];
    writeFileSync(file, lines(BEFORE, account('two')));
    const first = await columba(['import', '--update', file, '--database', database]);
    assert.deepEqual([first.code, first.stdout], [0, 'Imported 2 accounts with 3 messages.\n']);
    const second = await columba(['import', '--update', file, '--database', database]);
    assert.deepEqual([second.code, second.stdout], [0, 'Imported 2 accounts with 3 messages. Existed before: 2.\n']);
  });
});
