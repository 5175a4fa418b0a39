import assert from 'node:assert/strict';
import { type Client, inEveryProtocol } from '../../support/contract-client.ts';
import { onEveryEngine } from '../../support/engines.ts';

const groupOf = async (client: Client, contact: string) =>
  (await client.ask('account', 'FetchContacts')).find(({ id }) => id === contact)?.groupid;

const totals = async (client: Client) => (await client.ask('account', 'FetchGroups')).map(({ total }) => total);

onEveryEngine('contacts and groups', (engine) => {
  const found = async (client: Client, operation: 'FetchContact' | 'LookupContact', mobile: string) =>
    (await client.ask('account', operation, { mobile }))?.id;

  inEveryProtocol(
    engine,
    'FetchContact finds the mobile that is stored exactly so, surrounding blanks ignored',
    async (client) => {
      const owner = await client.newcomer({
        region: 'ZA',
        contacts: [
          { id: 1, mobile: '082 555 0201' },
          { id: 2, mobile: ' 0825550201 ' },
          { id: 3, mobile: 'reception' },
          { id: 4 },
        ],
      });
      for (const [mobile, id] of [
        ['082 555 0201', '1'],
        ['  082 555 0201 ', '1'],
        ['0825550201', '2'],
        ['reception', '3'],
        ['+27825550201', undefined],
        ['082  555 0201', undefined],
        ['Reception', undefined],
        ['', undefined],
      ] as const) {
        assert.equal(await found(owner, 'FetchContact', mobile), id, mobile);
      }
    },
  );

  inEveryProtocol(
    engine,
    "LookupContact finds the same person whatever the notation, read in the account's region",
    async (client) => {
      for (const mobile of [
        '+27825550204',
        '0825550204',
        '0027825550204',
        '082 555-0204',
        '+27 (0)82 555 0204',
        ' 27825550204 ',
      ]) {
        assert.equal(await found(client, 'LookupContact', mobile), '104', mobile);
      }
      for (const mobile of ['+44825550204', '825550205x', 'nobody', '']) {
        assert.notEqual(await found(client, 'LookupContact', mobile), '104', mobile);
      }
    },
  );

  inEveryProtocol(
    engine,
    "LookupContact normalises the stored side too, and the region is the account's own",
    async (client) => {
      const contacts = [{ id: 1, mobile: '(020) 7946 0018' }];
      const british = await client.newcomer({ region: 'GB', contacts });
      const other = await client.newcomer({ region: 'ZA', contacts });
      assert.equal(await found(british, 'LookupContact', '+442079460018'), '1');
      assert.equal(await found(other, 'LookupContact', '+442079460018'), undefined);
    },
  );

  inEveryProtocol(engine, 'LookupContact compares a number that cannot be parsed by its digits', async (client) => {
    const owner = await client.newcomer({
      region: 'ZA',
      contacts: [
        { id: 1, mobile: 'ext. 7' },
        { id: 2, mobile: 'desk' },
      ],
    });
    assert.equal(await found(owner, 'LookupContact', '7'), '1');
    assert.equal(await found(owner, 'LookupContact', '#7'), '1');
    assert.equal(await found(owner, 'LookupContact', '8'), undefined);
    assert.equal(await found(owner, 'LookupContact', 'desk'), undefined);
  });

  inEveryProtocol(
    engine,
    'FetchContact and LookupContact return the contact with the lowest id if several have the number',
    async (client) => {
      const mobile = '+27825550300';
      const owner = await client.newcomer({
        contacts: [
          { id: 10, mobile },
          { id: 9, mobile },
          { id: 8, mobile: '082 555 0300' },
          { id: -1, mobile: '+27825550301' },
        ],
        region: 'ZA',
      });
      assert.equal(await found(owner, 'FetchContact', mobile), '9');
      assert.equal(await found(owner, 'LookupContact', mobile), '8');
    },
  );

  inEveryProtocol(engine, 'a contact in no group has no groupid element', async (client) => {
    const eve = { name: 'Eve', surname: 'Ungrouped', id: '106', mobile: '+27825550206' };
    assert.deepEqual(await client.ask('account', 'FetchContact', { mobile: eve.mobile }), eve);
    assert.deepEqual((await client.ask('account', 'FetchContacts')).at(-1), eve);
    assert.equal('groupid' in ((await client.ask('account', 'FetchContactsDS')).rows.at(-1) ?? {}), false);
  });

  inEveryProtocol(
    engine,
    'FetchContactsByGroupId(DS) lists the contacts of the group, and nothing for an unknown group',
    async (client) => {
      for (const [groupid, expected] of [
        [1, ['101', '102', '103']],
        [3, []],
        [999, []],
        [-2147483648, []],
      ] as const) {
        const list = await client.ask('account', 'FetchContactsByGroupId', { groupid });
        const { rows } = await client.ask('account', 'FetchContactsByGroupIdDS', { groupid });
        for (const contacts of [list, rows]) {
          assert.deepEqual(
            contacts.map(({ id }) => id),
            expected,
          );
        }
      }
    },
  );

  inEveryProtocol(engine, 'Group.total is the number of contacts in it now', async (client) => {
    assert.deepEqual(await totals(client), ['3', '2', '0']);
    await client.ask('account', 'MoveContactToNewGroup', { contact_id: ['101', '106'], group_id: '3' });
    assert.deepEqual(await totals(client), ['2', '2', '2']);
    await client.ask('account', 'RemoveContactFromGroup', { contact_id: ['104'], group_id: '2' });
    await client.ask('account', 'DeleteContact', { contact_id: ['102'] });
    assert.deepEqual(await totals(client), ['1', '1', '2']);
  });

  inEveryProtocol(
    engine,
    'RemoveContactFromGroup keeps the contacts without a group, and returns false the second time',
    async (client) => {
      const call = { contact_id: ['101', '102'], group_id: '1' };
      assert.equal(await client.ask('account', 'RemoveContactFromGroup', call), true);
      assert.equal((await client.ask('account', 'FetchContacts')).length, 6);
      assert.deepEqual([await groupOf(client, '101'), await groupOf(client, '103')], [undefined, '1']);
      assert.equal(await client.ask('account', 'RemoveContactFromGroup', call), false);
    },
  );

  inEveryProtocol(
    engine,
    'RemoveContactFromGroup returns false unless every contact is in that group',
    async (client) => {
      const before = await client.exported();
      for (const contact_id of [['101', '104'], ['104'], ['106']]) {
        assert.equal(await client.ask('account', 'RemoveContactFromGroup', { contact_id, group_id: '1' }), false);
      }
      assert.equal(await client.exported(), before);
    },
  );

  inEveryProtocol(
    engine,
    'MoveContactToNewGroup moves contacts from any group or none, and returns false unless the group and every contact exist',
    async (client) => {
      const move = (contact_id: string[], group_id: string | null) =>
        client.ask('account', 'MoveContactToNewGroup', { contact_id, group_id });
      assert.equal(await move(['101', '104', '106'], ' 03 '), true);
      for (const contact of ['101', '104', '106']) assert.equal(await groupOf(client, contact), '3');
      const before = await client.exported();
      for (const group of ['999', 'x', '', null]) assert.equal(await move(['101'], group), false);
      assert.equal(await move(['101', '999'], '1'), false);
      assert.equal(await client.exported(), before);
    },
  );

  inEveryProtocol(
    engine,
    'DeleteContactsById deletes the one contact with that id, not the contacts of a group',
    async (client) => {
      const owner = await client.newcomer({
        groups: [{ id: 1 }],
        contacts: [1, 2, 3].map((id) => ({ id, groupid: 1 })),
      });
      assert.equal(await owner.ask('account', 'DeleteContactsById', { id: 1 }), true);
      assert.deepEqual(
        (await owner.ask('account', 'FetchContacts')).map(({ id }) => id),
        ['2', '3'],
      );
      assert.equal(await client.ask('account', 'DeleteContactsById', { id: 2 }), false);
      assert.equal((await client.ask('account', 'FetchContactsByGroupId', { groupid: 2 })).length, 2);
    },
  );

  inEveryProtocol(
    engine,
    'DeleteContact and DeleteContactsById take effect at once, and return false the second time',
    async (client) => {
      assert.equal(await client.ask('account', 'DeleteContact', { contact_id: ['101'] }), true);
      assert.equal(await client.ask('account', 'DeleteContactsById', { id: 102 }), true);
      assert.equal(await client.ask('account', 'FetchContact', { mobile: '+27825550201' }), null);
      assert.equal(await client.ask('account', 'LookupContact', { mobile: '0825550202' }), null);
      assert.equal(await client.ask('account', 'DeleteContact', { contact_id: ['101'] }), false);
      assert.equal(await client.ask('account', 'DeleteContactsById', { id: 102 }), false);
    },
  );
});
