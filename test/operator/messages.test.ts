import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createArchive } from '../../src/domain/archive.ts';
import { createLedger } from '../../src/domain/ledger.ts';
import { readAccount } from '../../src/transfer/account-json.ts';
import { type ActionBench, openActions } from '../support/actions.ts';
import { onEveryEngine } from '../support/engines.ts';

const acme = { username: 'acme' };
const AT = '2026-11-15T12:00:00.000Z';

/** An account with 10 credits and a scheduled message 7 of 2 parts; `fields` are added to the file. */
async function load({ database }: ActionBench, fields: object, update = false): Promise<void> {
  const given = {
    ...{ username: 'acme', userID: 'user_id of acme', credits: '10', usedCredits: '0' },
    ...{ datetimeCreated: '2026-01-01T00:00:00Z', ...fields },
  };
  const archive = createArchive(database);
  const account = await readAccount(given, 0);
  await (update ? archive.update(account) : archive.load(account));
}
const scheduled = (id: number, message: string, recipient = '+27825550201') => ({
  ...{ id, recipient, message },
  ...{ timestamp_scheduled: '2027-01-01T00:00:00Z', timestamp_created: '2026-01-01T00:00:00Z' },
});
const sent = (id: number, status: string) => ({
  ...{ id, recipient: '+27825550201', message: 'hi', delivery_status: status, marked: false },
  ...{ timestamp_sent: '2026-05-01T00:00:00Z', timestamp_updated: '2026-05-01T00:00:00Z' },
});
const TWO_PARTS = 'x'.repeat(200);

async function checkLedger({ database }: ActionBench): Promise<void> {
  assert.deepEqual((await createLedger(database, () => 0).check()).discrepancies, []);
}

onEveryEngine('messages of the operator', (engine) => {
  test('every status is in the history, oldest first, and a final one stays', async (t) => {
    const { of, account, clock, refusal } = await openActions(engine, t);
    await account('acme');
    const { id } = await of('acme', 'message record', { body: { recipient: '0825550201', text: 'hi' } });
    clock.now += 1_000;
    await of('acme', 'message status', { params: { id }, body: { status: 'ENROUTE', detail: 'smsc 3' } });
    await of('acme', 'message status', { params: { id }, body: { status: 'ENROUTE' } });
    const at = '2026-11-15T12:00:00.500Z';
    const done = await of('acme', 'message status', { params: { id }, body: { status: 'DELIVERED', at } });
    assert.deepEqual(done.history, [
      { status: 'SUBMITTED', at: AT, detail: null },
      { status: 'ENROUTE', at: '2026-11-15T12:00:01.000Z', detail: 'smsc 3' },
      { status: 'DELIVERED', at, detail: null },
    ]);
    assert.deepEqual([done.status, done.updatedAt], ['DELIVERED', '2026-11-15T12:00:01.000Z']);
    assert.deepEqual(await of('acme', 'message show', { params: { id } }), done);
    const late = { params: { ...acme, id }, body: { status: 'EXPIRED' } };
    assert.equal((await refusal('message status', late)).kind, 'conflict');
    const future = { params: { ...acme, id }, body: { status: 'EXPIRED', at: '2026-11-16T00:00:00.000Z' } };
    assert.equal((await refusal('message status', future)).kind, 'bad-argument');
    assert.deepEqual(await of('acme', 'message show', { params: { id } }), done);
  });

  test('a status that an import brought is in the history too', async (t) => {
    const bench = await openActions(engine, t);
    await load(bench, { sent: [sent(3, 'SUBMITTED')] });
    const params = { id: '3' };
    await bench.of('acme', 'message status', { params, body: { status: 'ENROUTE' } });
    await load(bench, { sent: [sent(3, 'ACCEPTED')] }, true);
    const statuses = async () =>
      (await bench.of('acme', 'message show', { params })).history.map(({ status }: { status: string }) => status);
    assert.deepEqual(await statuses(), ['SUBMITTED', 'ENROUTE', 'ACCEPTED']);
    await bench.of('acme', 'message status', { params, body: { status: 'DELIVERED' } });
    assert.deepEqual(await statuses(), ['SUBMITTED', 'ENROUTE', 'ACCEPTED', 'DELIVERED']);
  });

  test('a cancelled message returns its credits once, and the ledger adds up', async (t) => {
    const bench = await openActions(engine, t);
    await load(bench, { scheduled: [scheduled(7, TWO_PARTS)], sent: [sent(8, 'SUBMITTED')] });
    const shown = await bench.of('acme', 'message show', { params: { id: '7' } });
    assert.deepEqual([shown.state, shown.heldCredits, shown.history], ['scheduled', '2', []]);
    assert.deepEqual(await bench.of('acme', 'credits show'), { free: '10', held: '2', used: '0' });
    assert.deepEqual(await bench.of('acme', 'message cancel', { params: { id: '7' } }), {
      ...{ id: '7', creditsReturned: '2' },
    });
    assert.deepEqual(await bench.of('acme', 'credits show'), { free: '12', held: '0', used: '0' });
    const [release] = (await bench.of('acme', 'credits movements')).items;
    assert.deepEqual([release.kind, release.amount, release.messageId], ['release', '2', '7']);
    assert.equal((await bench.refusal('message cancel', { params: { ...acme, id: '7' } })).kind, 'not-found');
    assert.equal((await bench.refusal('message cancel', { params: { ...acme, id: '8' } })).kind, 'conflict');
    assert.deepEqual((await bench.of('acme', 'message list', { query: { state: 'scheduled' } })).items, []);
    await checkLedger(bench);
  });

  test('a second import with --update keeps the ledger adding up', async (t) => {
    const bench = await openActions(engine, t);
    await load(bench, { scheduled: [scheduled(1, TWO_PARTS), scheduled(2, 'short')] });
    await bench.of('acme', 'credits add', { body: { amount: '5', reason: 'more' } });
    await load(bench, { credits: '99', scheduled: [scheduled(1, 'short'), scheduled(3, TWO_PARTS)] }, true);
    assert.deepEqual(await bench.of('acme', 'credits show'), { free: '14', held: '4', used: '0' });
    await checkLedger(bench);
    const tooMany = Array.from({ length: 8 }, (_, index) => scheduled(10 + index, TWO_PARTS));
    await assert.rejects(load(bench, { scheduled: tooMany }, true), /fewer than the 16 credits/);
    assert.deepEqual(await bench.of('acme', 'credits show'), { free: '14', held: '4', used: '0' });
    await checkLedger(bench);
  });

  test('credits that an account begins with are a movement', async (t) => {
    const bench = await openActions(engine, t);
    await bench.account('acme', { credits: '500' });
    await bench.account('globex');
    const { items } = await bench.of('acme', 'credits movements');
    assert.deepEqual(
      items.map(({ kind, from, to, amount, at }: Record<string, string>) => [kind, from, to, amount, at]),
      [['grant', 'operator', 'free', '500', AT]],
    );
    assert.deepEqual((await bench.of('globex', 'credits movements')).items, []);
    await checkLedger(bench);
  });

  test('a blacklisted number is allowed again, in whatever notation it is removed', async (t) => {
    const bench = await openActions(engine, t);
    await load(bench, { scheduled: [scheduled(1, TWO_PARTS, '0825550201'), scheduled(2, 'other', '0825550209')] });
    const { of } = bench;
    await bench.account('globex');
    const body = { number: '+27 82 555 0201', origin: 'STOP', evidence: 'stop' };
    assert.deepEqual(await of('acme', 'blacklist add', { body }), { cancelled: 1 });
    assert.deepEqual(await of('acme', 'credits show'), { free: '12', held: '1', used: '0' });
    await checkLedger(bench);
    const params = { number: '0825550201' };
    const theirs = await bench.refusal('blacklist remove', { params: { username: 'globex', ...params } });
    assert.equal(theirs.kind, 'not-found');
    assert.deepEqual(await of('acme', 'blacklist remove', { params }), { removed: 1 });
    assert.deepEqual((await of('acme', 'blacklist list')).items, []);
    assert.equal((await bench.refusal('blacklist remove', { params: { ...acme, ...params } })).kind, 'not-found');
    assert.equal(await bench.status('blacklist add', { params: acme, body }), 201);
  });

  test('an erased person on the blacklist can be allowed again', async (t) => {
    const { of, run, account, refusal } = await openActions(engine, t);
    await account('acme', { region: 'ZA' });
    await of('acme', 'blacklist add', { body: { number: '0825550201' } });
    await run('person erase', { params: { number: '+27825550201' } });
    assert.equal((await of('acme', 'blacklist list')).items.length, 1);
    const other = { params: { ...acme, number: '0825550202' } };
    assert.equal((await refusal('blacklist remove', other)).kind, 'not-found');
    assert.deepEqual(await of('acme', 'blacklist remove', { params: { number: '082 555 0201' } }), { removed: 1 });
    assert.deepEqual((await of('acme', 'blacklist list')).items, []);
  });
});
