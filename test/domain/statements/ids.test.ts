import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { importFile } from '../../../src/transfer/import.ts';
import { exportOf, inEveryProtocol, type Row } from '../../support/contract-client.ts';
import { onEveryEngine } from '../../support/engines.ts';
import { startService } from '../../support/service.ts';

/** Both ends of 64 bits, around zero, and the first that is no exact double. */
const IDS = ['-9223372036854775808', '-1', '0', '9007199254740993', '9223372036854775807'];

const TIME = '2026-05-01T00:00:00Z';
const ACCOUNT = {
  groups: [{ id: 1 }, { id: 2 }],
  contacts: IDS.map((id) => ({ id, groupid: 1 })),
  inbox: IDS.map((id) => ({ id, timestamp: TIME, read: false })),
  sent: IDS.map((id) => ({
    id,
    delivery_status: 'DELIVERED',
    timestamp_sent: TIME,
    timestamp_updated: TIME,
    marked: false,
  })),
  scheduled: IDS.map((id) => ({ id, timestamp_scheduled: TIME, timestamp_created: TIME })),
};

const idsOf = (rows: readonly Row[]) => rows.map(({ id }) => id);

/** The neighbours, which doubles would take for the same number. */
const NOT_THERE = ['-9223372036854775807', '9007199254740992', '9007199254740994', '9223372036854775806'];

onEveryEngine('64-bit ids', (engine) => {
  inEveryProtocol(engine, 'received messages are listed, marked and deleted under their exact id', async (client) => {
    const owner = await client.newcomer(ACCOUNT);
    const range = { from: '2026-01-01T00:00:00Z', to: '2026-12-31T00:00:00Z', max_count: 10 };
    assert.deepEqual(idsOf(await owner.ask('inbox', 'Read', range)), IDS);
    assert.deepEqual(idsOf(await owner.ask('inbox', 'Unread', { max_count: 10 })), IDS);
    assert.deepEqual(idsOf((await owner.ask('inbox', 'InboxDS', { max_count: 10 })).rows), IDS.toReversed());
    for (const message_id of NOT_THERE) {
      assert.equal(await owner.ask('inbox', 'MarkMessageAsRead', { message_id }), false);
      assert.equal(await owner.ask('inbox', 'DeleteMessage', { message_id }), false);
    }
    for (const [index, message_id] of IDS.entries()) {
      assert.equal(await owner.ask('inbox', 'MarkMessageAsRead', { message_id }), true);
      assert.deepEqual(idsOf(await owner.ask('inbox', 'Unread', { max_count: 10 })), IDS.slice(index + 1));
    }
    for (const [index, message_id] of IDS.entries()) {
      assert.equal(await owner.ask('inbox', 'DeleteMessage', { message_id }), true);
      assert.deepEqual(idsOf(await owner.ask('inbox', 'Read', range)), IDS.slice(index + 1));
    }
  });

  inEveryProtocol(engine, 'sent messages are listed, marked and deleted under their exact id', async (client) => {
    const owner = await client.newcomer(ACCOUNT);
    const unmarked = async () =>
      (await owner.ask('sent', 'FetchUnmarkedDeliveryStatus', { max: 10 })).map((status) => status.user_message_id);
    assert.deepEqual(await unmarked(), IDS);
    assert.deepEqual(idsOf((await owner.ask('sent', 'FetchSentDS', { max: 10 })).rows), IDS.toReversed());
    for (const id of NOT_THERE) assert.equal(await owner.ask('sent', 'MarkMessageAsRead', { id }), false);
    for (const [index, id] of IDS.entries()) {
      assert.equal(await owner.ask('sent', 'MarkMessageAsRead', { id }), true);
      assert.deepEqual(await unmarked(), IDS.slice(index + 1));
    }
    for (const message_id of IDS) assert.equal(await owner.ask('sent', 'DeleteSentMessage', { message_id }), true);
    assert.deepEqual((await owner.ask('sent', 'FetchSentDS', { max: 10 })).rows, []);
  });

  inEveryProtocol(engine, 'scheduled messages are listed and deleted under their exact id', async (client) => {
    const owner = await client.newcomer(ACCOUNT);
    for (const message_id of NOT_THERE) {
      assert.equal(await owner.ask('compose', 'DeleteScheduledMessage', { message_id }), false);
    }
    for (const [index, message_id] of IDS.entries()) {
      assert.deepEqual(idsOf((await owner.ask('compose', 'FetchScheduledDS', { max: 10 })).rows), IDS.slice(index));
      assert.equal(await owner.ask('compose', 'DeleteScheduledMessage', { message_id }), true);
    }
  });

  inEveryProtocol(engine, 'contacts are listed, moved, removed and deleted under their exact id', async (client) => {
    const owner = await client.newcomer(ACCOUNT);
    const inGroup = async (groupid: number) => idsOf(await owner.ask('account', 'FetchContactsByGroupId', { groupid }));
    assert.deepEqual(idsOf(await owner.ask('account', 'FetchContacts')), IDS);
    assert.deepEqual(idsOf((await owner.ask('account', 'FetchContactsDS')).rows), IDS);
    for (const id of NOT_THERE) {
      assert.equal(await owner.ask('account', 'DeleteContact', { contact_id: [...IDS, id] }), false);
    }
    for (const [index, id] of IDS.entries()) {
      assert.equal(await owner.ask('account', 'MoveContactToNewGroup', { contact_id: [id], group_id: '2' }), true);
      assert.deepEqual(await inGroup(2), IDS.slice(0, index + 1));
    }
    assert.equal(await owner.ask('account', 'RemoveContactFromGroup', { contact_id: IDS, group_id: '2' }), true);
    assert.deepEqual(await inGroup(2), []);
    assert.equal(await owner.ask('account', 'DeleteContactsById', { id: -1 }), true);
    assert.equal(await owner.ask('account', 'DeleteContactsById', { id: 0 }), true);
    for (const id of [IDS[0], IDS[3], IDS[4]] as string[]) {
      assert.equal(await owner.ask('account', 'DeleteContact', { contact_id: [id] }), true);
    }
    assert.deepEqual(await owner.ask('account', 'FetchContacts'), []);
  });

  for (const written of ['texts', 'numbers']) {
    test(`ids that are JSON ${written} are imported and exported exactly`, async () => {
      const service = await startService(engine);
      const folder = mkdtempSync(join(tmpdir(), 'columba-ids-'));
      try {
        const account = {
          userID: 'ids',
          username: 'ids',
          credits: 1,
          usedCredits: 0,
          datetimeCreated: TIME,
          ...ACCOUNT,
        };
        const text = JSON.stringify({ accounts: [account] });
        const file = join(folder, 'ids.json');
        writeFileSync(file, written === 'texts' ? text : text.replace(/"id":"(-?\d+)"/g, '"id":$1'));
        const { accounts, messages, mistakes } = await importFile(file, service.app.archive, Date.now);
        assert.deepEqual([accounts, messages, mistakes], [1, 3 * IDS.length, []]);
        const exported = JSON.parse(await exportOf(service.app, 'ids'));
        for (const list of ['contacts', 'inbox', 'sent', 'scheduled'])
          assert.deepEqual(idsOf(exported[list]), IDS, list);
      } finally {
        rmSync(folder, { recursive: true });
        await service.stop();
      }
    });
  }
});
