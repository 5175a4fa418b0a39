import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accountId } from '../../src/domain/accounts/accounts.ts';
import type { SentMessage } from '../../src/domain/messages/sent.ts';
import { copySent } from '../../src/migration/copy/message-copy.ts';
import { createMigrationProxy } from '../../src/migration/proxy/migration-proxy.ts';
import { createMigrationCounts } from '../../src/migration/stages/counts.ts';
import { onOneEngine } from '../support/engines.ts';
import { PROTOCOLS } from '../support/protocols.ts';
import { send, startProxied } from '../support/proxied.ts';
import { ACME, type Service } from '../support/service.ts';

const totalOf = (totals: ReadonlyMap<string, number>, name: string): number => totals.get(name) ?? 0;

onOneEngine('stages of the proxy', (engine) => {
  test('record: the old server answers, Columba is not asked, and the exchange is recorded', async (t) => {
    const { call, recorded, service, migration } = await startProxied(t, engine);
    const { status, text } = await call('get', 'inbox', 'CountUnread', { user_id: ACME });
    assert.deepEqual([status, /<long /.test(text)], [200, true]);
    const [exchange] = await recorded();
    assert.deepEqual([exchange?.group, exchange?.operation, exchange?.protocol], ['inbox', 'CountUnread', 'get']);
    assert.deepEqual([exchange?.outcome, exchange?.ours, exchange?.old?.status], ['recorded', null, 200]);
    assert.equal(totalOf(migration.pendingCounts.sinceStart, 'recorded'), 1);
    assert.deepEqual(service.slept, []);
  });

  test('compare: reads of every protocol are equal, and the client has the answer of the old server', async (t) => {
    const { call, stage, migration, oldUrl } = await startProxied(t, engine);
    await stage('compare');
    for (const protocol of PROTOCOLS) {
      const args = { user_id: ACME, max_count: 100 };
      const through = await call(protocol, 'inbox', 'Unread', args);
      assert.equal(through.text, (await send(oldUrl, protocol, 'inbox', 'Unread', args)).text);
    }
    await migration.settled();
    assert.deepEqual(
      [totalOf(migration.pendingCounts.sinceStart, 'equal'), totalOf(migration.pendingCounts.sinceStart, 'different')],
      [4, 0],
    );
  });

  test('compare: a write that the old server did is repeated in Columba, and one that it refused is not', async (t) => {
    const { call, stage, migration, service, oldService } = await startProxied(t, engine);
    await stage('compare');
    const done = await call('post', 'account', 'SaveMessageTemplate', { user_id: ACME, message: 'Both have it' });
    assert.match(done.text, />true</);
    const refused = await call('post', 'inbox', 'DeleteMessage', { user_id: ACME, message_id: '424242' });
    assert.match(refused.text, />false</);
    await migration.settled();
    for (const { call: ask } of [service, oldService]) {
      assert.match((await ask('get', 'account', 'FetchSavedMessages', { user_id: ACME })).text, /Both have it/);
    }
    assert.deepEqual(
      [totalOf(migration.pendingCounts.sinceStart, 'equal'), totalOf(migration.pendingCounts.sinceStart, 'skipped')],
      [1, 1],
    );
  });

  test('compare: another text is different, and its example contains no text of a message', async (t) => {
    const { call, stage, migration, service } = await startProxied(t, engine);
    await stage('compare');
    await service.call('post', 'account', 'SaveMessageTemplate', { user_id: ACME, message: 'Only Columba has this' });
    await call('soap11', 'account', 'FetchSavedMessages', { user_id: ACME });
    await migration.settled();
    assert.equal(totalOf(migration.pendingCounts.sinceStart, 'different'), 1);
    await migration.pendingCounts.flush();
    const { examples } = await createMigrationCounts(service.app.database, () => service.clock.now).since(7);
    const [different] = examples.filter(({ name }) => name === 'different');
    assert.match(different?.example ?? '', /rows/);
    assert.doesNotMatch(JSON.stringify(examples), /Only Columba/);
  });

  test('a difference that disappears after a sync is counted as lag', async (t) => {
    let syncs = 0;
    const started = await startProxied(t, engine, {
      sync: async () => {
        syncs += 1;
        await started.service.call('post', 'account', 'SaveMessageTemplate', { user_id: ACME, message: 'Late' });
      },
    });
    await started.stage('compare');
    await started.oldService.call('post', 'account', 'SaveMessageTemplate', { user_id: ACME, message: 'Late' });
    await started.call('get', 'account', 'FetchSavedMessages', { user_id: ACME });
    while (totalOf(started.migration.pendingCounts.sinceStart, 'lag') === 0)
      await new Promise((resolve) => setTimeout(resolve, 5));
    assert.ok(syncs > 0);
    assert.equal(totalOf(started.migration.pendingCounts.sinceStart, 'different'), 0);
  });

  test('a FetchSentDS that differs because the old server sends meanwhile is counted as lag', async (t) => {
    const sent = (id: bigint): SentMessage => ({
      id,
      reference: null,
      recipient: '+27825550101',
      text: 'Sent by the old server',
      status: 'DELIVERED',
      sentAt: Number(id),
      updatedAt: Number(id),
      marked: true,
    });
    const add = async ({ app: { database } }: Service, ...ids: bigint[]) => {
      const account = await accountId(database, 'acme');
      await copySent(database, { account, username: 'acme', askedAt: 1 }, [ids.map(sent)]);
    };
    // The sync brings the first one, and by then the old server has sent another.
    const started = await startProxied(t, engine, {
      sync: async () => {
        await add(started.oldService, 902n);
        await add(started.service, 901n, 902n);
      },
    });
    await started.stage('compare');
    await add(started.oldService, 901n);
    await started.call('get', 'sent', 'FetchSentDS', { user_id: ACME, max: 100 });
    const { sinceStart: totals } = started.migration.pendingCounts;
    while (totalOf(totals, 'lag') + totalOf(totals, 'different') === 0)
      await new Promise((done) => setTimeout(done, 5));
    assert.deepEqual([totalOf(totals, 'lag'), totalOf(totals, 'different')], [1, 0]);
  });

  test('a difference that stays after three syncs is counted as a difference', async (t) => {
    let syncs = 0;
    const { call, stage, migration, oldService } = await startProxied(t, engine, { sync: async () => void syncs++ });
    await stage('compare');
    await oldService.call('post', 'account', 'SaveMessageTemplate', { user_id: ACME, message: 'Never here' });
    await call('get', 'account', 'FetchSavedMessages', { user_id: ACME });
    while (totalOf(migration.pendingCounts.sinceStart, 'different') === 0)
      await new Promise((resolve) => setTimeout(resolve, 5));
    assert.equal(syncs, 3);
  });

  test('lead: Columba answers, and the old server gets the write from the database', async (t) => {
    const { call, stage, migration, service, oldService } = await startProxied(t, engine);
    await stage('lead');
    const migrationCounts = createMigrationCounts(service.app.database, () => service.clock.now);
    const { text } = await call('soap12', 'account', 'SaveMessageTemplate', { user_id: ACME, message: 'Led' });
    assert.match(text, />true</);
    assert.match((await service.call('get', 'account', 'FetchSavedMessages', { user_id: ACME })).text, /Led/);
    await migration.deliver();
    assert.match((await oldService.call('get', 'account', 'FetchSavedMessages', { user_id: ACME })).text, /Led/);
    assert.equal((await migrationCounts.waitingWrites()).total, 0);
    assert.equal(totalOf(migration.pendingCounts.sinceStart, 'led'), 1);
  });

  test('lead: a write is neither lost nor repeated when the old server is down and the proxy is killed', async (t) => {
    const { call, stage, migration, service, ...rest } = await startProxied(t, engine, {
      oldUrl: 'http://127.0.0.1:1',
    });
    const { settings, oldService, oldServiceUrl: oldUrl } = rest;
    await stage('lead');
    const args = { user_id: ACME, message: 'Waits for the old server' };
    assert.match((await call('soap11', 'account', 'SaveMessageTemplate', args)).text, />true</);
    await migration.deliver();
    const migrationCounts = createMigrationCounts(service.app.database, () => service.clock.now);
    assert.equal((await migrationCounts.waitingWrites()).total, 1);
    await migration.stop();
    service.clock.now += 600_000;
    const next = createMigrationProxy({ ...settings, oldUrl, folder: undefined });
    t.after(() => next.stop());
    await next.start();
    await next.deliver();
    const { text } = await oldService.call('get', 'account', 'FetchSavedMessages', { user_id: ACME });
    assert.equal(text.split('Waits for the old server').length, 2);
    assert.equal((await migrationCounts.waitingWrites()).total, 0);
    const address = `http://127.0.0.1:${await next.proxy.listen(0, '127.0.0.1')}`;
    assert.equal((await send(address, 'get', 'inbox', 'CountUnread', { user_id: ACME })).status, 200);
  });

  test('lead: deleting all messages deletes at the old server only those that Columba had', async (t) => {
    const { call, stage, migration, service, oldService } = await startProxied(t, engine);
    await stage('lead');
    const before = (await service.call('get', 'inbox', 'CountRead', { user_id: ACME })).text;
    assert.doesNotMatch(before, />0</);
    assert.match((await call('get', 'inbox', 'DeleteAllMessages', { user_id: ACME })).text, />true</);
    await migration.deliver();
    for (const { call: ask } of [service, oldService]) {
      for (const count of ['CountRead', 'CountUnread']) {
        assert.match((await ask('get', 'inbox', count, { user_id: ACME })).text, />0</);
      }
    }
  });

  test('lead: a sync runs before a polling answer, and not again within 5 seconds', async (t) => {
    const synced: string[] = [];
    const { call, stage, service } = await startProxied(t, engine, { sync: async (user) => void synced.push(user) });
    await stage('lead');
    for (let calls = 0; calls < 3; calls++) await call('get', 'inbox', 'CountUnread', { user_id: ACME });
    assert.deepEqual(synced, [ACME]);
    service.clock.now += 5_001;
    await call('get', 'inbox', 'CountUnread', { user_id: ACME });
    assert.deepEqual(synced, [ACME, ACME]);
  });

  test('back from lead, the old server gets what waits before it answers again', async (t) => {
    const { call, stage, settings, service, oldService } = await startProxied(t, engine);
    await stage('lead');
    const down = createMigrationProxy({ ...settings, oldUrl: 'http://127.0.0.1:1', folder: undefined });
    await down.start();
    const port = await down.proxy.listen(0, '127.0.0.1');
    const args = { user_id: ACME, message: 'Before the next answer' };
    await send(`http://127.0.0.1:${port}`, 'get', 'account', 'SaveMessageTemplate', args);
    await down.stop();
    service.clock.now += 2_000;
    await stage('compare');
    assert.match((await call('get', 'account', 'FetchSavedMessages', { user_id: ACME })).text, /Before the next/);
    assert.match(
      (await oldService.call('get', 'account', 'FetchSavedMessages', { user_id: ACME })).text,
      /Before the next/,
    );
  });

  test('alone: only Columba is asked', async (t) => {
    const { call, stage, migration, service } = await startProxied(t, engine, { oldUrl: 'http://127.0.0.1:1' });
    await stage('alone');
    await call('get', 'account', 'SaveMessageTemplate', { user_id: ACME, message: 'Alone' });
    assert.match((await call('get', 'account', 'FetchSavedMessages', { user_id: ACME })).text, /Alone/);
    await migration.deliver();
    const migrationCounts = createMigrationCounts(service.app.database, () => service.clock.now);
    assert.equal((await migrationCounts.waitingWrites()).total, 0);
  });

  test('an account can have a stage of its own, and another proxy on the database sees its change', async (t) => {
    const { call, stages, service, settings, migration } = await startProxied(t, engine);
    const other = createMigrationProxy({ ...settings, folder: undefined });
    t.after(() => other.stop());
    await other.start();
    const port = await other.proxy.listen(0, '127.0.0.1');
    await stages.set('acme', 'alone', true);
    await service.call('get', 'account', 'SaveMessageTemplate', { user_id: ACME, message: 'Here only' });
    for (const seeing of [migration, other]) await seeing.refreshStages();
    const args = { user_id: ACME };
    assert.match((await call('get', 'account', 'FetchSavedMessages', args)).text, /Here only/);
    const there = await send(`http://127.0.0.1:${port}`, 'get', 'account', 'FetchSavedMessages', args);
    assert.match(there.text, /Here only/);
  });

  test('going back from alone is refused with a sentence, unless it is forced', async (t) => {
    const { stages } = await startProxied(t, engine);
    await stages.set('acme', 'lead', false);
    await stages.set('acme', 'alone', false);
    await assert.rejects(stages.set('acme', 'lead', false), /no way back without loss/);
    assert.equal(await stages.set('acme', 'lead', true), 'alone');
  });

  test('going back from lead is refused where the old server does not take writes', async (t) => {
    // The only proxy of this database: another one with an old server that answers would deliver the write.
    const { stages, migration, call, service } = await startProxied(t, engine, { oldUrl: 'http://127.0.0.1:1' });
    await stages.set('acme', 'lead', false);
    await migration.refreshStages();
    const { text } = await call('get', 'account', 'SaveMessageTemplate', { user_id: ACME, message: 'Not there yet' });
    assert.match(text, />true</);
    service.clock.now += 31_000;
    await assert.rejects(stages.set('acme', 'compare', false), /does not accept 1 writes/);
    assert.equal(await stages.set('acme', 'compare', true), 'lead');
    assert.equal((await service.call('get', 'inbox', 'CountUnread', { user_id: ACME })).status, 200);
  });
});
