import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accountId } from '../../src/domain/accounts/accounts.ts';
import { createContacts } from '../../src/domain/contacts/contacts.ts';
import { openActions, pointers } from '../support/actions.ts';
import { onEveryEngine } from '../support/engines.ts';

onEveryEngine('contacts and groups', (engine) => {
  test('a contact is added, shown, changed and removed, and its id is never used again', async (t) => {
    const { of, account } = await openActions(engine, t);
    await account('acme');
    const added = await of('acme', 'contact add', { body: { mobile: '082 555 0201', name: 'Ann' } });
    const others = { surname: null, groupId: null, note: null };
    assert.deepEqual(added, { id: '1', name: 'Ann', mobile: '082 555 0201', ...others });
    assert.deepEqual(await of('acme', 'contact show', { params: { id: '1' } }), added);
    const changed = await of('acme', 'contact change', { params: { id: '1' }, body: { mobile: '0825550202' } });
    assert.deepEqual(changed, { id: '1', name: null, mobile: '0825550202', ...others });
    assert.deepEqual(await of('acme', 'contact remove', { params: { id: '1' } }), { id: '1' });
    assert.equal((await of('acme', 'contact add', { body: { mobile: '0825550203' } })).id, '2');
  });

  test('a note stays with its contact until it is changed, and goes with the contact into exports', async (t) => {
    const { of, run, account } = await openActions(engine, t);
    await account('acme', { region: 'ZA' });
    const body = { mobile: '0825550201', note: 'Calls before noon' };
    assert.equal((await of('acme', 'contact add', { body })).note, 'Calls before noon');
    const change = async (more: object) =>
      (await of('acme', 'contact change', { params: { id: '1' }, body: { mobile: '0825550202', ...more } })).note;
    assert.equal(await change({}), 'Calls before noon', 'a program that does not know notes does not lose it');
    const [exported] = (await run('person show', { params: { number: '+27825550202' } })).accounts;
    assert.equal(exported.contacts[0].note, 'Calls before noon');
    assert.equal(await change({ note: null }), null);
  });

  test('contacts are found by group, by a part of a name and by a number in any notation', async (t) => {
    const { of, account } = await openActions(engine, t);
    await account('acme', { region: 'ZA' });
    const { id: groupId } = await of('acme', 'group add', { body: { name: 'Friends' } });
    const people = [
      { mobile: '0825550201', name: 'Ann', surname: 'Lee', groupId },
      { mobile: '+27 82 555 0202', name: 'Bob', surname: 'LEEDS' },
      { mobile: '0825550203', name: 'Cid', groupId },
    ];
    for (const body of people) await of('acme', 'contact add', { body });
    const found = async (query: Record<string, string>) =>
      (await of('acme', 'contact list', { query })).items.map(({ name }: { name: string }) => name);
    assert.deepEqual(await found({}), ['Ann', 'Bob', 'Cid']);
    assert.deepEqual(await found({ group: groupId }), ['Ann', 'Cid']);
    assert.deepEqual(await found({ q: 'lee' }), ['Ann', 'Bob']);
    assert.deepEqual(await found({ mobile: '0027825550202' }), ['Bob']);
    assert.deepEqual(await found({ mobile: '27825550201', group: groupId }), ['Ann']);
    assert.deepEqual(await found({ mobile: '0825550209' }), []);
  });

  test('the names of many numbers are found with one question for the region of the account', async (t) => {
    const { of, account, services } = await openActions(engine, t);
    await account('acme', { region: 'ZA' });
    const numbers = ['+27825550201', '+27825550202', '+27825550203'];
    for (const mobile of numbers) await of('acme', 'contact add', { body: { mobile } });
    let asked = 0;
    const contacts = createContacts(services.database, async () => {
      asked += 1;
      return 'ZA';
    });
    const id = await accountId(services.database, 'acme');
    assert.equal((await contacts.withSameNumbers(id, [...numbers, '+27825550299'])).size, 3);
    assert.equal(asked, 1);
    await contacts.withSameNumbers(id, ['+27825550299']);
    assert.equal(asked, 1, 'a number that nobody has needs no region');
  });

  test('pages of contacts neither miss nor repeat one', async (t) => {
    const { of, account } = await openActions(engine, t);
    await account('acme');
    for (let each = 0; each < 7; each++) await of('acme', 'contact add', { body: { mobile: `082555020${each}` } });
    const seen: string[] = [];
    for (let after: string | undefined; ; ) {
      const query = { limit: '3', ...(after === undefined ? {} : { after }) };
      const page = await of('acme', 'contact list', { query });
      seen.push(...page.items.map(({ id }: { id: string }) => id));
      if (page.next === null) break;
      after = page.next;
    }
    assert.deepEqual(seen, ['1', '2', '3', '4', '5', '6', '7']);
  });

  test('the contacts of a removed group stay, and two groups cannot have the same name', async (t) => {
    const { of, account, refusal } = await openActions(engine, t);
    await account('acme');
    const { id } = await of('acme', 'group add', { body: { name: 'Friends' } });
    await of('acme', 'contact add', { body: { mobile: '0825550201', groupId: id } });
    assert.deepEqual((await of('acme', 'group list')).items, [{ id, name: 'Friends', contacts: 1 }]);
    const taken = await refusal('group add', { params: { username: 'acme' }, body: { name: 'Friends' } });
    assert.deepEqual(pointers(taken), ['#/name']);
    assert.equal((await of('acme', 'group change', { params: { id }, body: { name: 'Family' } })).name, 'Family');
    assert.deepEqual(await of('acme', 'group remove', { params: { id } }), { id, contacts: 1 });
    assert.equal((await of('acme', 'contact list')).items[0].groupId, null);
  });

  test("a wrong field is named, and another account's rows do not exist", async (t) => {
    const { of, account, refusal } = await openActions(engine, t);
    await account('acme');
    await account('globex');
    const { id } = await of('globex', 'contact add', { body: { mobile: '0825550201' } });
    const group = await of('globex', 'group add', { body: { name: 'Theirs' } });
    const acme = { username: 'acme' };
    const wrong = await refusal('contact add', { params: acme, body: { mobile: 'none', name: 'a\nb', extra: 1 } });
    assert.deepEqual(pointers(wrong).sort(), ['#/extra', '#/name']);
    assert.deepEqual(pointers(await refusal('contact add', { params: acme, body: { mobile: 'none' } })), ['#/mobile']);
    const body = { mobile: '0825550201', groupId: group.id };
    assert.deepEqual(pointers(await refusal('contact add', { params: acme, body })), ['#/groupId']);
    for (const name of ['contact show', 'contact remove']) {
      assert.equal((await refusal(name, { params: { ...acme, id } })).kind, 'not-found');
    }
    const change = { params: { ...acme, id }, body: { mobile: '0825550209' } };
    assert.equal((await refusal('contact change', change)).kind, 'not-found');
    assert.equal((await refusal('group remove', { params: { ...acme, id: group.id } })).kind, 'not-found');
    assert.equal((await of('globex', 'contact show', { params: { id } })).mobile, '0825550201');
  });

  test('a contact cannot have the number 2.78E+10', async (t) => {
    const { account, refusal } = await openActions(engine, t);
    await account('acme');
    const wrong = await refusal('contact add', { params: { username: 'acme' }, body: { mobile: '2.78E+10' } });
    const detail = 'a spreadsheet has written this number with an exponent, and digits are lost';
    assert.deepEqual(wrong.details.errors, [{ pointer: '#/mobile', detail }]);
  });

  test('a template is identified by its text, and saving it again answers with the first', async (t) => {
    const { of, account, status, refusal } = await openActions(engine, t);
    await account('acme');
    const given = { params: { username: 'acme' }, body: { text: 'Hi,\nyour parcel' } };
    assert.equal(await status('template add', given), 201);
    assert.equal(await status('template add', given), 200);
    const [saved] = (await of('acme', 'template list')).items;
    assert.equal(saved.text, 'Hi,\nyour parcel');
    await of('acme', 'template remove', { params: { id: saved.id } });
    assert.deepEqual((await of('acme', 'template list')).items, []);
    const gone = await refusal('template remove', { params: { username: 'acme', id: saved.id } });
    assert.equal(gone.kind, 'not-found');
  });
});
