import assert from 'node:assert/strict';
import { test } from 'node:test';
import { contract } from '../../src/asmx/contract/contract.ts';
import type { Contract } from '../../src/asmx/contract/types.ts';
import { NO_DIALECT } from '../../src/asmx/dialect/dialect.ts';
import { isReading } from '../../src/migration/old-server/old-server.ts';
import { createMigrationCounts } from '../../src/migration/stages/counts.ts';
import { migrationReport } from '../../src/migration/stages/report.ts';
import { onOneEngine } from '../support/engines.ts';
import { PROTOCOLS } from '../support/protocols.ts';
import { ALPHA, DIALECT, type Move, NOW, startMove, WAYS } from './moving.ts';

const ARGUMENTS: Readonly<Record<string, unknown>> = {
  groupid: 11,
  mobile: '+27820001010',
  from: NOW - 40 * 86_400_000,
  to: NOW + 86_400_000,
  max_count: 1_000,
  max: 1_000,
};

/** Every reading operation in every protocol. */
async function readAll({ client }: Move): Promise<number> {
  let calls = 0;
  for (const [group, operations] of Object.entries(contract as Contract)) {
    for (const [operation, { parameters }] of Object.entries(operations)) {
      if (!isReading(group, operation)) continue;
      const args = Object.fromEntries(Object.keys(parameters).map((name) => [name, ARGUMENTS[name] ?? ALPHA]));
      for (const protocol of PROTOCOLS) {
        const { result } = await client.call(group, operation, args, { protocol });
        assert.equal(result.kind, 'value', `${group}.${operation} ${protocol}`);
        calls += 1;
      }
    }
  }
  return calls;
}

const write = async ({ client }: Move, group: string, operation: string, args: object): Promise<unknown> => {
  const { result } = await client.call(group, operation, { user_id: ALPHA, ...args });
  return result.kind === 'value' ? result.value : result;
};

onOneEngine('a whole move', (engine) => {
  test('with the dialect every reading operation is equal in every protocol, and the verdict counts the calls', async (t) => {
    const move = await startMove(t, engine, DIALECT);
    await move.stage('compare');
    const calls = await readAll(move);
    await move.migration.settled();
    const { sinceStart: totals } = move.migration.pendingCounts;
    await move.migration.pendingCounts.flush();
    const { database } = move.service.app;
    const now = () => move.service.clock.now;
    const migrationCounts = createMigrationCounts(database, now);
    const { examples } = await migrationCounts.since(1);
    assert.deepEqual(
      examples.filter(({ name }) => name === 'different'),
      [],
    );
    assert.equal((totals.get('equal') ?? 0) + (totals.get('order') ?? 0), calls);
    assert.deepEqual(move.old.data.writes, []);
    await migrationCounts.setCheck((await move.check()).length === 0);
    const report = await migrationReport(database, now, { days: 7, callsMin: 1 });
    assert.deepEqual(
      report.rules
        .filter(({ isMet }) => !isMet)
        .map(({ name }) => name)
        .filter((name) => name !== 'latency'),
      ['unseen'],
    );
  });

  test('without the dialect the planted differences are found, and the verdict is not safe', async (t) => {
    const move = await startMove(t, engine, { ...NO_DIALECT, namespace: WAYS.namespace }, false);
    await move.stage('compare');
    for (const [group, operation] of [
      ['sent', 'FetchSentDS'],
      ['compose', 'FetchScheduledDS'],
    ] as const) {
      await move.client.call(group, operation, { user_id: ALPHA, max: 100 }, { protocol: 'get' });
    }
    await move.client.call('inbox', 'Unread', { user_id: ALPHA, max_count: 100 }, { protocol: 'get' });
    await move.migration.settled();
    await move.restart();
    const { database } = move.service.app;
    const report = await migrationReport(database, () => move.service.clock.now, { days: 7, callsMin: 1 });
    assert.equal(report.isSafe, false);
    assert.deepEqual(
      report.operations
        .filter(({ different }) => different > 0)
        .map(({ operation }) => operation)
        .sort(),
      ['compose.FetchScheduledDS', 'inbox.Unread', 'sent.FetchSentDS'],
    );
    assert.match(JSON.stringify(report.examples), /columns: old SmsData\/Row: SmsID long/);
  });

  test('nothing is lost through all stages and back, although the proxy is killed in each', async (t) => {
    const move = await startMove(t, engine, DIALECT);
    const { alpha, old, service } = move;
    let id = 5_500;
    const arrive = () => {
      id += 1;
      service.clock.now += 20_000;
      const at = service.clock.now;
      alpha().inbox.push({ id, sender: '+27835550000', message: `Arrived ${id}`, shortCode: '31222', at, read: false });
      return String(id);
    };
    const unread = async (): Promise<string[]> => {
      const { result } = await move.client.call('inbox', 'Unread', { user_id: ALPHA, max_count: 1_000 });
      assert(result.kind === 'value');
      return (result.value as { id: bigint }[]).map((each) => String(each.id));
    };
    const asked: string[] = [];
    for (const stage of ['record', 'compare', 'lead', 'compare', 'lead'] as const) {
      await move.stage(stage);
      const [first, second, third] = [arrive(), arrive(), arrive()];
      assert.ok((await unread()).includes(third), `${stage}: what arrived is seen`);
      assert.equal(await write(move, 'inbox', 'MarkMessageAsRead', { message_id: first }), true, stage);
      assert.equal(await write(move, 'inbox', 'DeleteMessage', { message_id: second }), true, stage);
      assert.equal(await write(move, 'account', 'SaveMessageTemplate', { message: `In ${stage} ${third}` }), true);
      asked.push(first, second);
      await move.migration.settled();
      await move.restart();
      await move.migration.deliver();
      if (stage === 'record') {
        // Nothing is applied here before compare: the import brings it over.
        await move.importAgain();
      }
      const seen = await unread();
      assert.ok(seen.includes(third) && !seen.includes(first) && !seen.includes(second), `${stage}: after the kill`);
    }
    assert.deepEqual(await move.check(), []);
    const marked = old.data.writes.filter(({ operation }) => operation.startsWith('inbox.'));
    assert.deepEqual(
      marked.map(({ target }) => target),
      asked,
      'only what clients asked for, once and in order',
    );
    assert.deepEqual([...new Set(old.data.writes.map(({ by }) => by))], ['client']);
  });

  test('a message that arrives at the old server while all are deleted is not lost', async (t) => {
    const move = await startMove(t, engine, DIALECT);
    await move.stage('lead');
    const { alpha, service } = move;
    assert.equal(await write(move, 'inbox', 'DeleteAllMessages', {}), true);
    service.clock.now += 10_000;
    const at = service.clock.now;
    alpha().inbox.push({ id: 6_001, sender: '+2783', message: 'Just arrived', shortCode: '31222', at, read: false });
    await move.migration.deliver();
    assert.deepEqual(
      alpha().inbox.map(({ id }) => id),
      [6_001],
    );
    service.clock.now += 10_000;
    const { result } = await move.client.call('inbox', 'Unread', { user_id: ALPHA, max_count: 100 });
    assert(result.kind === 'value');
    assert.deepEqual(
      (result.value as { id: bigint }[]).map(({ id }) => id),
      [6_001n],
    );
  });
});
