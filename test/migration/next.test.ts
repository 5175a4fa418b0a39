import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMigrationClients } from '../../src/migration/stages/clients.ts';
import { createMigrationCounts, DAY_MS } from '../../src/migration/stages/counts.ts';
import { begin, setCompleted } from '../../src/migration/stages/migrated-accounts.sql.ts';
import { daysIn, timeline } from '../../src/migration/stages/progress.ts';
import { OPERATIONS } from '../../src/migration/stages/report.ts';
import { act } from '../support/console-client.ts';
import { onOneEngine } from '../support/engines.ts';
import { type OperatorApi, startOperatorApi } from '../support/operator-api.ts';

interface Next {
  readonly step: string;
  readonly isReady: boolean;
  readonly blocks: string[];
  readonly commands: string[];
  readonly notes: string[];
}

test('an account has the days of the default stage until it has a stage of its own', () => {
  const change = (stage: 'record' | 'compare' | 'lead', day: number) => ({ stage, at: day * DAY_MS, by: 'ann' });
  const changes = timeline([change('record', 1), change('compare', 8)], [change('lead', 20)], 3 * DAY_MS);
  assert.deepEqual(daysIn(changes, 30 * DAY_MS), { record: 5, compare: 12, lead: 10, alone: 0 });
});

onOneEngine('the next step of a move', (engine) => {
  async function opened(t: { after(work: () => Promise<void>): void }) {
    const api = await startOperatorApi(engine);
    t.after(() => api.stop());
    const next = (username?: string) =>
      act<Next>(api, 'migrate next', { query: username === undefined ? {} : { username } });
    return { api, next };
  }
  const seen = (api: OperatorApi, at: number, userIdHash: string | null) =>
    createMigrationClients(api.services.database, api.services.now).add([
      {
        accountName: userIdHash === null ? '' : `account-${userIdHash}`,
        userIdHash,
        agent: 'Invoices/1.0',
        address: '10.0.0.17',
        operation: 'inbox.Unread',
        protocol: 'soap11',
        total: 1,
        firstAt: at,
        lastAt: at,
      },
    ]);
  async function copied({ services: { database, now } }: OperatorApi, username: string): Promise<void> {
    const { accountId } = await import('../../src/domain/accounts/accounts.ts');
    const account = await accountId(database, username);
    await database.run(begin, { account, at: now() });
    await database.run(setCompleted, { account, at: now() });
  }
  const pass = (api: OperatorApi, days: number) => {
    api.clock.now += days * DAY_MS;
  };
  async function makeSafe({ services: { database, now } }: OperatorApi): Promise<void> {
    const migrationCounts = createMigrationCounts(database, now);
    const key = { operation: 'inbox.Unread', protocol: 'soap11' };
    await migrationCounts.add(
      [
        { ...key, name: 'equal', total: 1_000 },
        { ...key, name: 'old ms 20', total: 1_000 },
        { ...key, name: 'our ms 4', total: 1_000 },
      ],
      [],
    );
    for (const operation of OPERATIONS) await migrationCounts.accept(operation, 'ann');
    await migrationCounts.setCheck(true);
  }

  test('each step of a move, from the first call to the last receipt, names what blocks it and its commands', async (t) => {
    const { api, next } = await opened(t);
    const first = await next();
    assert.deepEqual([first.step, first.isReady, first.blocks], ['record', false, ['No proxy has seen a call.']]);
    assert.match(first.commands.join('\n'), /migrate probe .*\n.*migrate proxy --old .* --stage record/);

    await seen(api, api.services.now(), 'nobody');
    assert.deepEqual((await next()).blocks, ['Clients were seen for 0 of 7 days.']);
    pass(api, 6);
    assert.equal((await next()).step, 'record');
    pass(api, 1);
    await seen(api, api.services.now(), 'nobody');
    const importing = await next();
    assert.deepEqual(
      [importing.step, importing.blocks],
      ['import', ['A user_id of a client has no account in Columba.']],
    );
    await act(api, 'migrate forget-clients', { body: { unknown: true } });

    await copied(api, 'acme');
    await seen(api, api.services.now(), null);
    const check = await next();
    assert.deepEqual([check.step, check.isReady], ['check', false]);
    await createMigrationCounts(api.services.database, api.services.now).setCheck(true);
    const compare = await next();
    assert.deepEqual(
      [compare.step, compare.isReady, compare.commands],
      ['compare', true, ['columba migrate default-stage compare']],
    );

    await act(api, 'migrate default-stage', { body: { stage: 'compare' } });
    const verdict = await next();
    assert.deepEqual([verdict.step, verdict.isReady], ['verdict', false]);
    assert.match(verdict.blocks.join('\n'), /0 of 7 days[\s\S]*Enough calls/);
    pass(api, 7);
    await makeSafe(api);
    const lead = await next('acme');
    assert.deepEqual(
      [lead.step, lead.isReady, lead.commands.at(-1)],
      ['lead', true, 'columba migrate stage acme lead'],
    );

    await act(api, 'migrate stage', { params: { username: 'acme' }, body: { stage: 'lead' } });
    assert.deepEqual((await next()).blocks, ['In this stage for 0 of 14 days.']);
    pass(api, 14);
    await makeSafe(api);
    const alone = await next();
    assert.deepEqual(
      [alone.step, alone.isReady, alone.commands.at(-1)],
      ['alone', true, 'columba migrate stage acme alone'],
    );

    await act(api, 'migrate stage', { params: { username: 'acme' }, body: { stage: 'alone' } });
    assert.deepEqual((await next()).step, 'receipts');
    pass(api, 3);
    const finish = await next();
    assert.deepEqual([finish.step, finish.commands], ['finish', ['columba migrate clients']]);
    assert.match(finish.notes.join('\n'), /A client was not seen for 7 days/);
  });

  test('calls with a wrong user_id do not hide the next step of accounts that have begun to move', async (t) => {
    const { api, next } = await opened(t);
    await copied(api, 'acme');
    await seen(api, api.services.now(), 'nobody');
    assert.equal((await next()).step, 'import');
    await act(api, 'migrate stage', { params: { username: 'acme' }, body: { stage: 'compare' } });
    const found = await next();
    assert.equal(found.step, 'verdict');
    assert.match(found.notes.join('\n'), /A user_id has no account in Columba/);
  });

  test('accounts are listed with their stages, the days in each, and who set them', async (t) => {
    const { api, next } = await opened(t);
    await copied(api, 'acme');
    await act(api, 'migrate stage', { params: { username: 'acme' }, body: { stage: 'compare' } });
    pass(api, 2);
    await act(api, 'migrate stage', { params: { username: 'acme' }, body: { stage: 'lead' } });
    pass(api, 3);
    const { items } = await act<{ items: Record<string, unknown>[] }>(api, 'migrate accounts', {});
    assert.equal(items.length, 1);
    const [acme] = items;
    assert.deepEqual([acme?.stage, acme?.days], ['lead', { record: 0, compare: 2, lead: 3, alone: 0 }]);
    assert.deepEqual(
      ((acme?.changes ?? []) as { stage: string; by: string }[]).map(({ stage, by }) => [stage, by !== '']),
      [
        ['compare', true],
        ['lead', true],
      ],
    );
    await assert.rejects(next('globex'), /no account/);
  });
});
