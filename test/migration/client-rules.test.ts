import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compileClientRules } from '../../src/migration/proxy/client-rules.ts';
import { createMigrationProxy } from '../../src/migration/proxy/migration-proxy.ts';
import type { KnownRule } from '../../src/migration/stages/client-rules.ts';
import { act } from '../support/console-client.ts';
import { onEveryEngine } from '../support/engines.ts';
import { startOperatorApi } from '../support/operator-api.ts';
import { type Proxied, startProxied } from '../support/proxied.ts';
import { ACME } from '../support/service.ts';

/** Cut-over by client: which server answers the reads of one program. */

const rule = (more: Partial<KnownRule>): KnownRule => ({
  name: 'rule',
  account: null,
  username: null,
  network: null,
  header: null,
  stage: 'lead',
  changedAt: 0,
  ...more,
});
const client = (more: object = {}) => ({ account: 1n, address: '10.0.0.17', headers: {}, ...more });

test('of several rules the one with an account wins, then one with a header field, the longer prefix, and the name', () => {
  const header = { name: 'x-client', value: 'invoices' };
  const all = [
    rule({ name: 'c', network: '0.0.0.0/0', stage: 'compare' }),
    rule({ name: 'b', network: '10.0.0.0/8', stage: 'lead' }),
    rule({ name: 'd', header, stage: 'compare' }),
    rule({ name: 'e', header: { ...header, value: 'shop' }, network: '10.0.0.0/8', account: 2n, stage: 'lead' }),
  ];
  const stageOf = compileClientRules(all);
  assert.equal(stageOf('lead', client({ address: '192.0.2.1' })), 'compare');
  assert.equal(stageOf('compare', client()), 'lead');
  assert.equal(stageOf('lead', client({ headers: { 'x-client': 'invoices' } })), 'compare');
  assert.equal(stageOf('compare', client({ account: 2n, headers: { 'x-client': 'shop' } })), 'lead');
  const [one, other] = [
    rule({ name: 'one', network: '10.0.0.17', stage: 'compare' }),
    rule({ name: 'two', network: '10.0.0.17' }),
  ];
  assert.equal(compileClientRules([other, one])('lead', client()), 'compare');
});

test('a rule does nothing in the stages record and alone, in which one server lacks data', () => {
  const stageOf = compileClientRules([rule({ network: '0.0.0.0/0' })]);
  assert.deepEqual([stageOf('record', client()), stageOf('alone', client())], ['record', 'alone']);
});

onEveryEngine('cut-over by client', (engine) => {
  const save = (proxied: Proxied, message: string) =>
    proxied.call('post', 'account', 'SaveMessageTemplate', { user_id: ACME, message });
  async function templates({ address }: Proxied, headers: Record<string, string> = {}): Promise<string> {
    const answer = await fetch(`${address}/api/account.asmx/FetchSavedMessages?user_id=${ACME}`, { headers });
    return answer.text();
  }
  const only = (service: Proxied['service'], message: string) =>
    service.call('post', 'account', 'SaveMessageTemplate', { user_id: ACME, message });

  async function started(
    t: Parameters<typeof startProxied>[0],
    stage: 'compare' | 'lead',
    more: Parameters<typeof startProxied>[2] = {},
  ): Promise<Proxied> {
    const proxied = await startProxied(t, engine, more);
    await proxied.stage(stage);
    await only(proxied.service, 'Only Columba has this');
    await only(proxied.oldService, 'Only the old server has this');
    return proxied;
  }
  const header = { name: 'X-Client', value: 'invoices' };
  const put = async (proxied: Proxied, stage: 'compare' | 'lead') => {
    await proxied.stages.putRule({ name: 'invoices', username: null, network: null, header, stage });
    await proxied.migration.refreshStages();
  };

  test('compare: a client whose rule is lead gets the answers of Columba to reads, and other clients those of the old server', async (t) => {
    const proxied = await started(t, 'compare');
    await put(proxied, 'lead');
    assert.match(await templates(proxied), /Only the old server/);
    assert.match(await templates(proxied, { 'X-Client': 'invoices' }), /Only Columba/);
    await proxied.stages.removeRule('invoices');
    await proxied.migration.refreshStages();
    assert.match(await templates(proxied, { 'X-Client': 'invoices' }), /Only the old server/);
  });

  test('compare: a client whose rule is lead reads what it has just written, though the old server did the write', async (t) => {
    const proxied = await started(t, 'compare');
    await put(proxied, 'lead');
    for (let round = 0; round < 20; round++) {
      assert.match((await save(proxied, `Round ${round}.`)).text, />true</);
      assert.match(await templates(proxied, { 'X-Client': 'invoices' }), new RegExp(`Round ${round}\\.`));
    }
    const there = await proxied.oldService.call('get', 'account', 'FetchSavedMessages', { user_id: ACME });
    assert.match(there.text, /Round 19/);
  });

  test('lead: a client whose rule is compare gets the answers of the old server to reads, with what it has just written through Columba', async (t) => {
    const proxied = await started(t, 'lead');
    await put(proxied, 'compare');
    for (let round = 0; round < 20; round++) {
      assert.match((await save(proxied, `Round ${round}.`)).text, />true</);
      const text = await templates(proxied, { 'X-Client': 'invoices' });
      assert.match(text, new RegExp(`Round ${round}\\.`));
      assert.match(text, /Only the old server/);
    }
    assert.match(await templates(proxied), /Only Columba/);
  });

  test('lead: where the old server lacks a write, Columba answers a client whose rule is compare', async (t) => {
    // No other proxy may deliver the write meanwhile, so none reaches the old server.
    const proxied = await started(t, 'lead', { oldUrl: 'http://127.0.0.1:1' });
    await put(proxied, 'compare');
    assert.match((await save(proxied, 'Waits for the old server')).text, />true</);
    const text = await templates(proxied, { 'X-Client': 'invoices' });
    assert.match(text, /Only Columba has this/);
    assert.match(text, /Waits for the old server/);
  });

  test('another proxy follows a rule within seconds, and a rule for one account leaves the others alone', async (t) => {
    const proxied = await started(t, 'compare');
    const other = createMigrationProxy({ ...proxied.settings, folder: undefined });
    t.after(() => other.stop());
    await other.start();
    const address = `http://127.0.0.1:${await other.proxy.listen(0, '127.0.0.1')}`;
    await proxied.stages.putRule({
      name: 'all of acme',
      username: 'acme',
      network: '127.0.0.0/8',
      header: null,
      stage: 'lead',
    });
    while (!/Only Columba/.test(await templates({ ...proxied, address })))
      await new Promise((done) => setTimeout(done, 50));
    await proxied.stages.putRule({
      name: 'all of acme',
      username: 'globex',
      network: '127.0.0.0/8',
      header: null,
      stage: 'lead',
    });
    while (!/Only the old server/.test(await templates({ ...proxied, address })))
      await new Promise((done) => setTimeout(done, 50));
  });

  test('rules are set, listed and removed by actions, which the audit records, and a rule that matches every client is refused', async (t) => {
    const api = await startOperatorApi(engine);
    t.after(() => api.stop());
    const params = { name: 'invoices' };
    const put = (body: object) => act(api, 'migrate client-rule', { params, body });
    await put({ stage: 'lead', address: '10.0.0.0/24', header: 'X-Client: invoices', username: 'acme' });
    const { rules } = await act<{ rules: Record<string, string>[] }>(api, 'migrate client-rules', {});
    assert.deepEqual(
      rules.map(({ changedAt: _, ...each }) => each),
      [{ name: 'invoices', stage: 'lead', address: '10.0.0.0/24', header: 'x-client: invoices', username: 'acme' }],
    );
    await assert.rejects(put({ stage: 'lead' }), /a rule for every client is a stage/);
    await assert.rejects(put({ stage: 'lead', address: '10.0.0.300' }), /expected an address/);
    await assert.rejects(put({ stage: 'alone', address: '10.0.0.1' }));
    await act(api, 'migrate remove-client-rule', { params });
    await assert.rejects(act(api, 'migrate remove-client-rule', { params }), /no rule/);
    const { items } = await act<{ items: { action: string; target: string }[] }>(api, 'audit list', {});
    assert.deepEqual(
      items.filter(({ action }) => action.includes('client-rule')).map(({ action, target }) => `${action} ${target}`),
      ['migrate remove-client-rule invoices', 'migrate client-rule invoices/lead'],
    );
  });
});
