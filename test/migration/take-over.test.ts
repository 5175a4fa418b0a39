import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { importAccounts } from '../../src/migration/copy/import.ts';
import { syncAccount } from '../../src/migration/copy/sync.ts';
import { takeOverSchedule } from '../../src/migration/copy/take-over.ts';
import { createOldServer } from '../../src/migration/old-server/old-server.ts';
import { accountIdNamed, noteTaken, readEffects } from '../../src/migration/stages/migrated-accounts.ts';
import { createMigrationStages } from '../../src/migration/stages/stages.ts';
import { onOneEngine } from '../support/engines.ts';
import { ODD_DIALECT } from '../support/odd-dialect.ts';
import { type OldAccount, runSchedule } from '../support/old-server/accounts.ts';
import { sampleData, USER_IDS } from '../support/old-server/sample.ts';
import { type OldServerProcess, startOldServer } from '../support/old-server/server.ts';
import { ODD_WAYS } from '../support/old-server/ways.ts';
import { sql } from '../support/opened-database.ts';
import { type Service, startService } from '../support/service.ts';

const NOW = Date.UTC(2026, 10, 15, 12);
const [ALPHA] = USER_IDS;

onOneEngine('migrate schedule take-over and sync', (engine) => {
  let service: Service;
  let old: OldServerProcess;
  let account: bigint;
  const dependencies = async () => {
    const client = createOldServer({ url: old.url, dialect: ODD_DIALECT });
    const { database, archive } = service.app;
    const effects = await readEffects(database, client.url);
    const sendingOf = async () => ({ region: 'ZA', timeZone: null, quietHours: null });
    const clock = { now: () => service.clock.now };
    return { database, archive, old: client, dialect: ODD_DIALECT, effects, ...clock, sendingOf, tryForMs: 3_600_000 };
  };
  beforeEach(async () => {
    service = await startService(engine, 'empty');
    old = await startOldServer(sampleData(NOW, { messages: 12 }), ODD_WAYS);
    await importAccounts(await dependencies(), [{ line: 1, userId: ALPHA }]);
    account = (await accountIdNamed(service.app.database, 'alpha')) as bigint;
  });
  afterEach(async () => {
    await service.stop();
    await old.close();
  });
  const alpha = (): OldAccount => old.data.accounts[0] as OldAccount;
  const takeOver = async (dryRun = false) => {
    const { messages } = await takeOverSchedule(await dependencies(), ALPHA, { dryRun });
    return messages.map(({ id, outcome }) => `${id} ${outcome}`);
  };
  const sync = async (everything = false) =>
    syncAccount(await dependencies(), { account, username: 'alpha', userId: ALPHA }, { everything });
  const active = async (): Promise<number[]> => {
    const rows = await service.app.database.all(
      sql<{ account: bigint }, { message_id: bigint }>(
        'select message_id from dispatch where account_id = :account order by message_id',
      ),
      { account },
    );
    return rows.map(({ message_id }) => Number(message_id));
  };

  test('the take-over deletes each scheduled message at the old server and activates it in Columba, once', async () => {
    assert.deepEqual(await takeOver(true), [
      '9000 would-activate',
      '9001 would-activate',
      '9002 would-activate',
      '9003 would-activate',
    ]);
    assert.equal(alpha().scheduled.length, 4);
    assert.deepEqual(await active(), []);
    assert.deepEqual(await takeOver(), ['9000 activated', '9001 activated', '9002 activated', '9003 activated']);
    assert.equal(alpha().scheduled.length, 0);
    assert.deepEqual(await active(), [9000, 9001, 9002, 9003]);
    assert.deepEqual(await takeOver(), []);
    await sync(true);
    assert.deepEqual(await active(), [9000, 9001, 9002, 9003], 'a sync took back what was taken over');
  });

  test('the take-over leaves the schedule of an account alone that the old server answers, because it is for lead and alone', async () => {
    const stages = createMigrationStages(service.app.database, () => NOW);
    await stages.setDefault('compare', false);
    for (const dryRun of [true, false]) {
      await assert.rejects(takeOver(dryRun), /alpha is in the stage compare: take-over is for lead and alone\./);
    }
    await stages.set('alpha', 'record', false);
    await assert.rejects(takeOver(), /alpha is in the stage record/);
    assert.equal(alpha().scheduled.length, 4);
    assert.deepEqual(await active(), []);
    await stages.set('alpha', 'lead', false);
    assert.deepEqual(await takeOver(), ['9000 activated', '9001 activated', '9002 activated', '9003 activated']);
  });

  test('without an answer to the delete, a message is held and listed with an unknown outcome, and never activated', async () => {
    let calls = 0;
    old.onCall = (operation) => {
      if (operation === 'compose.DeleteScheduledMessage' && ++calls === 2) old.cutsFor = 1;
    };
    await assert.rejects(takeOver(), /does not answer/);
    old.onCall = () => {};
    assert.deepEqual(await takeOver(), ['9000 activated', '9001 unknown-outcome', '9002 activated', '9003 activated']);
    assert.deepEqual(await active(), [9000, 9002, 9003]);
    assert.deepEqual(await takeOver(), ['9001 unknown-outcome']);
  });

  test('after a kill between the answer and the activation, the next run activates the message', async () => {
    alpha().scheduled = alpha().scheduled.filter(({ id }) => id !== 9000);
    await noteTaken(service.app.database, account, 9000n, 'deleted', NOW);
    assert.equal((await takeOver())[0], '9000 activated');
    assert.deepEqual(await active(), [9000, 9001, 9002, 9003]);
  });

  test('a scheduled message that the old server has sent in between is not activated', async () => {
    runSchedule(old.data, NOW + 86_400_000);
    assert.deepEqual(await takeOver(), ['9000 gone', '9001 activated', '9002 activated', '9003 activated']);
    assert.deepEqual(await active(), [9001, 9002, 9003]);
    assert.deepEqual(
      old.data.deliveries.filter(({ username }) => username === 'alpha').map(({ id }) => id),
      [9000],
    );
  });

  const scheduledShown = async (): Promise<string[]> => {
    const { text } = await service.call('soap11', 'compose', 'FetchScheduledDS', { user_id: ALPHA, max: '100' });
    return [...text.matchAll(/<id>(\d+)</g)].map(([, id]) => id as string);
  };
  const held = async () => (await service.app.ledger.balances(account)).held;

  test('a message that the old server has sent is removed from the schedule, and its credits are free again', async () => {
    assert.equal(await held(), 4n);
    runSchedule(old.data, NOW + 86_400_000);
    alpha().scheduled = alpha().scheduled.filter(({ id }) => id !== 9002); // deleted there meanwhile
    // Sent between the list and the delete.
    old.onCall = (operation) => {
      if (operation === 'compose.DeleteScheduledMessage')
        alpha().scheduled = alpha().scheduled.filter(({ id }) => id !== 9003);
    };
    assert.deepEqual(await takeOver(), ['9000 gone', '9001 activated', '9002 gone', '9003 gone']);
    assert.deepEqual(await scheduledShown(), ['9001']);
    assert.equal(await held(), 1n);
    assert.deepEqual((await service.app.ledger.check()).discrepancies, []);
    // As an earlier version left it: the next run removes it.
    await sync();
    assert.deepEqual(await scheduledShown(), ['9001']);
    assert.deepEqual(await takeOver(), []);
  });

  test('scheduled messages that the old server has sent are removed from Columba by the imports of the last stage', async () => {
    await createMigrationStages(service.app.database, () => NOW).set('alpha', 'alone', true);
    runSchedule(old.data, NOW + 86_400_000);
    await importAccounts(await dependencies(), [{ line: 1, userId: ALPHA }]);
    assert.deepEqual(await scheduledShown(), ['9001', '9002', '9003']);
    runSchedule(old.data, NOW + 30 * 86_400_000);
    await importAccounts(await dependencies(), [{ line: 1, userId: ALPHA }]);
    assert.deepEqual(await scheduledShown(), []);
    assert.equal(await held(), 0n);
    assert.deepEqual((await service.app.ledger.check()).discrepancies, []);
  });

  test('a scheduled message beyond the end of the list is not taken for sent, because its delete shows whether it exists', async () => {
    old.ways = { ...ODD_WAYS, caps: { ...ODD_WAYS.caps, 'compose.FetchScheduledDS': 2 } };
    const { dialect, ...rest } = await dependencies();
    const capped = { ...dialect, caps: { ...dialect.caps, 'compose.FetchScheduledDS': 2 } };
    const { messages } = await takeOverSchedule({ ...rest, dialect: capped }, ALPHA);
    assert.deepEqual(
      messages.map(({ outcome }) => outcome),
      ['activated', 'activated', 'activated', 'activated'],
    );
    assert.equal(alpha().scheduled.length, 0);
  });

  test('a scheduled message that Columba cannot send stays at the old server', async () => {
    (alpha().scheduled[1] as { recipient: string }).recipient = 'nobody';
    await sync();
    assert.deepEqual(await takeOver(), ['9000 activated', '9001 refused', '9002 activated', '9003 activated']);
    assert.deepEqual(
      alpha().scheduled.map(({ id }) => id),
      [9001],
    );
  });

  test('a sync copies new messages, and a second one changes nothing', async () => {
    service.clock.now = NOW + 120_000;
    const at = NOW + 60_000;
    alpha().inbox.push({ id: 5_900, sender: '+27831', message: 'new', shortCode: '31222', at, read: false });
    const times = { sentAt: at, updatedAt: at };
    const words = { reference: 'r', recipient: '+27832', message: 'out', status: 'Queued' };
    alpha().sent.push({ id: 7_900, ...words, ...times, marked: false });
    runSchedule(old.data, NOW + 86_400_000);
    const report = await sync();
    assert.deepEqual([report.received, report.sent, report.scheduled, report.fits], [1, 2, 0, true]);
    assert.match(
      (await service.call('soap11', 'inbox', 'Unread', { user_id: ALPHA, max_count: '100' })).text,
      />5900</,
    );
    const version = await service.app.database.version(account);
    const second = await sync();
    assert.deepEqual([second.received, second.sent, second.scheduled, second.fits], [0, 0, 0, true]);
    assert.equal(await service.app.database.version(account), version);
    assert(second.calls <= 9, `${second.calls} calls`);
    assert.equal(old.data.writes.filter(({ by }) => by !== 'schedule').length, 0);
  });

  test('a sync copies later statuses of old messages, and deletes those that were deleted at the old server', async () => {
    const first = alpha().sent[0] as { status: string; updatedAt: number; marked: boolean };
    Object.assign(first, { status: 'Expired', updatedAt: NOW, marked: false });
    alpha().inbox.splice(2, 1);
    const report = await sync();
    assert.equal(report.fits, true);
    assert.match((await service.call('soap11', 'sent', 'FetchSentDS', { user_id: ALPHA, max: '100' })).text, /EXPIRED/);
    const { text } = await service.call('soap11', 'inbox', 'CountRead', { user_id: ALPHA });
    assert.match(text, new RegExp(`>${alpha().inbox.filter(({ read }) => read).length}<`));
  });

  test('a message that a client marked in Columba stays read, although the old server does not have the mark yet', async () => {
    await createMigrationStages(service.app.database, () => NOW).set('alpha', 'lead', true);
    const marking = await service.call('soap11', 'inbox', 'MarkMessageAsRead', { user_id: ALPHA, message_id: '5000' });
    assert.match(marking.text, />true</);
    assert.equal((await sync()).fits, false);
    const { text } = await service.call('soap11', 'inbox', 'Unread', { user_id: ALPHA, max_count: '100' });
    assert.doesNotMatch(text, />5000</);
  });
});
