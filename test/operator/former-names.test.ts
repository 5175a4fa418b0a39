import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { onOneEngine } from '../support/engines.ts';
import { type OperatorApi, startOperatorApi } from '../support/operator-api.ts';

onOneEngine('former names in the API', (engine) => {
  let api: OperatorApi;
  before(async () => {
    api = await startOperatorApi(engine);
  });
  after(() => api.stop());

  test('an account accepts its policy under the former name too, and shows it under both', async () => {
    const policies = ({ json }: { json: Record<string, unknown> }) => [json.unknownOutcomePolicy, json.unsurePolicy];
    const change = (body: object) => api.call('PATCH', '/accounts/acme', { body });
    assert.deepEqual(policies(await change({ unsurePolicy: 'submit-again' })), ['submit-again', 'submit-again']);
    assert.deepEqual(policies(await change({ company: 'Acme' })), ['submit-again', 'submit-again']);
    assert.deepEqual(policies(await change({ unknownOutcomePolicy: 'never-twice' })), ['never-twice', 'never-twice']);
    const body = { username: 'initech', unsurePolicy: 'submit-again' };
    assert.equal((await api.call('POST', '/accounts', { body })).status, 201);
    assert.deepEqual(policies(await api.call('GET', '/accounts/initech')), ['submit-again', 'submit-again']);
    const both = await change({ unsurePolicy: 'never-twice', unknownOutcomePolicy: 'submit-again' });
    assert.deepEqual([both.status, both.json.errors[0].pointer], [400, '#/unsurePolicy']);
    assert.match(both.json.errors[0].detail, /former name of unknownOutcomePolicy, which is given too; remove it/);
  });

  test('the path of message arm leads to message activate, and the OpenAPI document marks it as deprecated', async () => {
    const former = await api.call('POST', '/accounts/acme/messages/arm', { body: { ids: ['1'] } });
    const current = await api.call('POST', '/accounts/acme/messages/activate', { body: { ids: ['1'] } });
    assert.deepEqual([former.status, former.json], [200, { activated: 0, armed: 0, refused: [] }]);
    assert.deepEqual(current.json, former.json);
    const { paths, components } = (await api.call('GET', '/openapi.json')).json;
    const [old, own] = ['arm', 'activate'].map((verb) => paths[`/accounts/{username}/messages/${verb}`].post);
    assert.deepEqual([old.operationId, old.deprecated], ['armMessage', true]);
    assert.deepEqual([own.operationId, own.deprecated], ['activateMessages', undefined]);
    const fields = components.schemas.ActivateMessagesResult.properties;
    assert.deepEqual([fields.activated.deprecated, fields.armed.deprecated], [undefined, true]);
  });

  test('scope of a new token, and account, from and to of the audit, are accepted under their former names', async () => {
    const made = await api.call('POST', '/tokens', { body: { name: 'former', scope: ['audit'] } });
    assert.deepEqual([made.status, made.json.scopes], [201, ['audit']]);
    const both = { name: 'both', scope: ['audit'], scopes: ['audit'] };
    assert.deepEqual((await api.call('POST', '/tokens', { body: both })).json.errors, [
      { pointer: '#/scope', detail: 'this is the former name of scopes, which is given too; remove it' },
    ]);
    for (const query of ['username=acme&since=2026-01-01T00:00:00Z', 'account=acme&from=2026-01-01T00:00:00Z']) {
      const { items } = (await api.call('GET', `/audit?${query}&limit=1`)).json;
      assert.deepEqual([items[0].username, items[0].account], ['acme', 'acme']);
    }
  });

  test('the status and connectors show unknown outcomes under both names', async () => {
    const { sending } = (await api.call('GET', '/status')).json;
    assert.deepEqual([sending.unknownOutcome, sending.undecided], [0, 0]);
    const body = { kind: 'loopback' };
    const { unknownOutcome, unsure } = (await api.call('PUT', '/connectors/second', { body })).json;
    assert.deepEqual([unknownOutcome, unsure], [0, 0]);
  });
});
