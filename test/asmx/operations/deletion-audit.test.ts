import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { auditEntries } from '../../../src/domain/accounts/audit.ts';
import { accountChanges } from '../../support/account-changes.ts';
import { onEveryEngine } from '../../support/engines.ts';
import type { Arguments } from '../../support/protocols.ts';
import { ACME, GLOBEX, type Service, startService } from '../../support/service.ts';

onEveryEngine('the audit of deletes through the contract', (engine) => {
  let service: Service;
  before(async () => {
    service = await startService(engine);
  });
  after(() => service.stop());

  const all = { account: null, actor: null, action: null, from: null, to: null };
  const entries = async () => (await auditEntries(service.app.database, all, 100, null)).entries;

  /** The entries that the call adds, as action and target. */
  async function addedBy(group: string, operation: string, args: Arguments): Promise<string[]> {
    const known = new Set((await entries()).map(({ id }) => id));
    service.clock.now += 1;
    const { status } = await service.call('soap11', group, operation, { user_id: ACME, ...args });
    assert.equal(status, 200);
    const added = (await entries()).filter(({ id }) => !known.has(id));
    for (const entry of added) {
      const { at, actorKind, actorName, account, address, tokenId, fields } = entry;
      assert.deepEqual(
        { at, actorKind, actorName, account, address, tokenId, fields },
        {
          at: service.clock.now,
          actorKind: 'contract',
          actorName: 'acme',
          account: 'acme',
          address: '192.0.2.1',
          tokenId: null,
          fields: [],
        },
      );
    }
    return added.map(({ action, target }) => `${action} ${target}`);
  }

  const DELETES: [string, string, Arguments, string][] = [
    ['account', 'DeleteContact', { contact_id: ['101', '102'] }, '101,102'],
    ['account', 'DeleteContactsById', { id: '103' }, '103'],
    ['account', 'DeleteMessageTemplate', { message: 'Your order is ready for collection.' }, '1 template'],
    ['inbox', 'DeleteMessage', { message_id: '1001' }, '1001'],
    ['inbox', 'DeleteAllMessages', {}, 'all'],
    ['sent', 'DeleteSentMessage', { message_id: '2001' }, '2001'],
    ['compose', 'DeleteScheduledMessage', { message_id: '3001' }, '3001'],
    ['compose', 'DeleteAllScheduled', {}, 'all'],
  ];
  for (const [group, operation, args, target] of DELETES) {
    test(`${operation} adds one audit entry, and none if it deletes nothing`, async () => {
      assert.deepEqual(await addedBy(group, operation, args), [`${group}.${operation} ${target}`]);
      assert.deepEqual(await addedBy(group, operation, args), []);
    });
  }

  test('an id of another account adds no entry', async () => {
    assert.deepEqual(await addedBy('inbox', 'DeleteMessage', { message_id: '1500' }), []);
    assert.deepEqual(await addedBy('account', 'DeleteContact', { contact_id: ['104', '201'] }), []);
  });

  test('a mark and a change of group add no entry', async () => {
    assert.deepEqual(await addedBy('sent', 'MarkMessageAsRead', { id: '2002' }), []);
    assert.deepEqual(await addedBy('account', 'RemoveContactFromGroup', { contact_id: ['104'], group_id: '2' }), []);
  });

  test('deletes of one moment, by two accounts, add an entry each', async () => {
    const known = new Set((await entries()).map(({ id }) => id));
    const call = (user_id: string, group: string, operation: string, args: Arguments) =>
      service.call('soap11', group, operation, { user_id, ...args });
    await Promise.all([
      call(ACME, 'sent', 'DeleteSentMessage', { message_id: '2002' }),
      call(ACME, 'sent', 'DeleteSentMessage', { message_id: '2003' }),
      call(ACME, 'sent', 'DeleteSentMessage', { message_id: '9999' }),
      call(GLOBEX, 'sent', 'DeleteSentMessage', { message_id: '2500' }),
      call(GLOBEX, 'inbox', 'DeleteMessage', { message_id: '1500' }),
    ]);
    const added = (await entries()).filter(({ id }) => !known.has(id));
    assert.deepEqual(added.map(({ account, target }) => `${account} ${target}`).sort(), [
      ...['acme 2002', 'acme 2003', 'globex 1500', 'globex 2500'],
    ]);
  });

  test('a user_id that is restricted to networks deletes with one entry', async () => {
    await accountChanges(service.app).allow('acme', ['192.0.2.0/24']);
    assert.deepEqual(await addedBy('sent', 'DeleteSentMessage', { message_id: '2004' }), [
      'sent.DeleteSentMessage 2004',
    ]);
    assert.deepEqual(await addedBy('sent', 'DeleteSentMessage', { message_id: '2004' }), []);
  });

  test('no entry has a text, a phone number or a user_id', async () => {
    const whole = JSON.stringify(await entries(), (_, value) => (typeof value === 'bigint' ? String(value) : value));
    for (const secret of ['order', '+27', '825550', ACME, GLOBEX]) assert.ok(!whole.includes(secret), secret);
  });
});
