import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Acting, createActing } from '../../src/console/acting.ts';
import type { Output } from '../../src/operator/action.ts';
import { connectorList } from '../../src/operator/actions/carriers/connectors.ts';
import { contactAdd, contactList, contactShow } from '../../src/operator/actions/contacts/contacts.ts';
import { contactExport } from '../../src/operator/actions/contacts/files.ts';
import { onOneEngine } from '../support/engines.ts';
import { startOperatorApi } from '../support/operator-api.ts';

/**
 * What a screen gives to an action and gets from it has the types of the action's schemas. The
 * compiler reads this file with the others: a line after `@ts-expect-error` that compiles is an
 * error of `npm run lint`.
 */
const params = { username: 'acme' };

/** Never called: only compiled. */
async function mistakes(act: Acting, contact: Output<typeof contactShow>): Promise<void> {
  // @ts-expect-error a contact has no such field
  contact.lastName;
  // @ts-expect-error an item of the list has none either
  (await act.run(contactList, { params })).items[0]?.lastName;
  // @ts-expect-error an id is a text, as in JSON
  contact.id satisfies bigint;
  // @ts-expect-error the path needs the account
  await act.run(contactList, { query: { q: 'Ann' } });
  // @ts-expect-error the query has no such field
  await act.run(contactList, { params, query: { search: 'Ann' } });
  // @ts-expect-error an action with a body needs it
  await act.run(contactAdd, { params });
  // @ts-expect-error the body lacks a field
  await act.run(contactAdd, { params, body: { name: 'Ann' } });
  // @ts-expect-error this one answers JSON and no file
  await act.download(contactList, { params });
  // @ts-expect-error an action is given as the value that declares it, and not by its name
  await act.run('contact list', { params });
}

test('mistakes in what a screen gives to an action do not compile', () => {
  assert.equal(mistakes.length, 2);
});

onOneEngine('actions of the console', (engine) => {
  test('an action answers what its schema declares, as JSON', async (t) => {
    const api = await startOperatorApi(engine);
    t.after(() => api.stop());
    const act = createActing(api.services, { kind: 'operator', id: 1n, name: 'ann' }, '127.0.0.1');
    const { id } = await act.run(contactAdd, { params, body: { mobile: '+27825550209', surname: 'Lee' } });
    const { surname, groupId } = await act.run(contactShow, { params: { ...params, id } });
    assert.deepEqual([surname, groupId], ['Lee', null]);
    const { items, next } = await act.run(contactList, { params, query: { q: 'Lee', limit: '500' } });
    assert.deepEqual([items.at(-1)?.id, next], [id, null]);
    assert.deepEqual((await act.run(connectorList)).items, []);
    const { status } = await act.full(contactAdd, { params, body: { mobile: '+27825550210' } });
    assert.equal(status, 201);
    let file = '';
    for await (const piece of await act.download(contactExport, { params })) file += piece;
    assert.match(file, /Lee/);
  });
});
