import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createCredentialFailures } from '../../src/serve/telemetry/credential-failures.ts';
import { createConsoleClient } from '../support/console-client.ts';
import { onOneEngine } from '../support/engines.ts';
import { type OperatorApi, startOperatorApi } from '../support/operator-api.ts';

onOneEngine('refused credentials', (engine) => {
  let api: OperatorApi;
  before(async () => {
    api = await startOperatorApi(engine);
  });
  after(() => api.stop());
  const counts = () =>
    Object.fromEntries(
      Array.from(api.app.credentialFailures.counters(), ({ labels, value }) => [labels.reason, value]),
    );

  test('a refused token, scope, sign-in and callback are counted, and logged with the address', async () => {
    assert.deepEqual(counts(), { token: 0, scope: 0, 'sign-in': 0, carrier: 0 });
    await api.call('GET', '/accounts', { token: null });
    await api.call('GET', '/accounts', { token: `colo_${'A'.repeat(43)}` });
    const { token } = await api.addToken(['audit']);
    await api.call('GET', '/accounts', { token });
    await api.call('POST', '/tokens', { token, body: { name: 'x', scopes: ['erase'] } });
    await fetch(`${api.address}/carriers/nobody/`, { method: 'POST', body: '{}' });
    await createConsoleClient(api.address).post('/console/sign-in', { name: 'acme', password: 'not this one' });
    assert.deepEqual(counts(), { token: 2, scope: 2, 'sign-in': 1, carrier: 1 });
    const lines = api.logged.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'a credential was refused');
    assert.deepEqual(
      lines.map(({ reason }) => reason),
      ['token', 'token', 'scope', 'scope', 'carrier', 'sign-in'],
    );
    for (const { client } of lines) assert.match(client, /127\.0\.0\.1|::1/);
    assert.doesNotMatch(api.logged.join(''), /colo_|not this one/);
  });

  test('exports of an inbox, of sent messages, contacts and a person are in the audit, without the number', async () => {
    for (const path of ['inbox.csv', 'sent.csv', 'contacts.csv']) {
      assert.equal((await api.call('GET', `/accounts/acme/${path}`)).status, 200);
    }
    assert.equal((await api.call('GET', `/persons/${encodeURIComponent('+27825550201')}`)).status, 200);
    const { items } = (await api.call('GET', '/audit?limit=4')).json;
    assert.deepEqual(
      items.map(({ action, account, target }: Record<string, string>) => [action, account, target]),
      [
        ['person show', null, 'all accounts'],
        ['contact export', 'acme', 'acme'],
        ['message export', 'acme', 'acme'],
        ['inbox export', 'acme', 'acme'],
      ],
    );
  });
});

test('at most 10 refused credentials per minute are logged one by one, and the next minute logs how many were left out', () => {
  const lines: [object, string][] = [];
  const clock = { now: 0 };
  const log = { warn: (fields: object, text: string) => void lines.push([fields, text]) };
  const failures = createCredentialFailures(log as never, () => clock.now);
  for (let count = 0; count < 500; count++) failures.count('token', { client: '192.0.2.1' });
  assert.equal(lines.length, 10);
  clock.now += 60_000;
  failures.count('token', { client: '192.0.2.1' });
  assert.deepEqual(lines[10], [{ left: 490 }, 'further refused credentials were not logged one by one']);
  assert.equal(lines.length, 12);
  assert.equal([...failures.counters()][0]?.value, 501);
});
