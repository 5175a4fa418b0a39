import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createClaiming } from '../../src/domain/sending/claim.ts';
import { createSettling, type Settlement } from '../../src/domain/sending/settle.ts';
import { openActions } from '../support/actions.ts';
import { onOneEngine } from '../support/engines.ts';

const NUMBERS = Array.from({ length: 6 }, (_, index) => `082555020${index + 1}`);
const SHARE = { connector: 'loopback', isDefault: true };

onOneEngine('batches', (engine) => {
  async function opened(t: Parameters<typeof openActions>[1]) {
    const actions = await openActions(engine, t);
    const { account, database, clock } = actions;
    await account('acme', { credits: '100' });
    const now = () => clock.now;
    let attempts = 0;
    const claiming = createClaiming(database, {
      now,
      owner: 'test',
      newAttemptId: () => `attempt-${++attempts}`,
      leaseMs: 60_000,
      unknownOutcomeMs: 60_000,
    });
    const settling = createSettling(database, now);
    /** Submits what is due; `refuse` says which of them the carrier refuses for good. */
    async function submit(refuse: (index: number) => boolean, limit = 100): Promise<void> {
      const claimed = await claiming.claim(SHARE, limit);
      const settlements = claimed.map((message, index): Settlement => {
        const isRefused = refuse(index);
        const parts = message.parts.map(({ number }) => ({
          part: number,
          state: isRefused ? ('refused' as const) : ('accepted' as const),
          gatewayId: null,
        }));
        return { message, parts, outcome: isRefused ? { kind: 'rejected', reason: 'no' } : { kind: 'submitted' } };
      });
      await settling.settle(settlements);
    }
    const show = (id: string) => actions.of('acme', 'batch show', { params: { id } });
    const counts = async (id: string) => {
      const { scheduled, queued, submitted, delivered, failed, resent, cancelled, unknown } = await show(id);
      return { scheduled, queued, submitted, delivered, failed, resent, cancelled, unknown };
    };
    return { ...actions, submit, show, counts };
  }
  const NONE = { scheduled: 0, queued: 0, submitted: 0, delivered: 0, failed: 0, resent: 0, cancelled: 0, unknown: 0 };

  test('messages of one request are a batch, a single message is none, and later requests can join', async (t) => {
    const { of, show, refusal } = await opened(t);
    const first = await of('acme', 'message send', {
      body: { recipients: [...NUMBERS.slice(0, 2), '12'], text: 'hello', reference: 'recall' },
    });
    assert.equal(first.batch, first.accepted[0].id);
    const alone = await of('acme', 'message send', { body: { recipients: ['0825550209'], text: 'hello' } });
    assert.equal(alone.batch, null);
    const joined = await of('acme', 'message send', {
      body: { recipients: [NUMBERS[2]], text: 'hello', batch: first.batch },
    });
    assert.equal(joined.batch, first.batch);
    const batch = await show(first.batch);
    assert.deepEqual(
      [batch.name, batch.accepted, batch.refused, batch.queued, batch.credits, batch.used],
      ['recall', 3, 1, 3, '3', '0'],
    );
    assert.deepEqual(
      (await of('acme', 'batch list', {})).items.map(({ id }: { id: string }) => id),
      [first.batch],
    );
    const { items } = await of('acme', 'batch messages', { params: { id: first.batch }, query: { limit: '2' } });
    assert.equal(items.length, 2);
    const other = await refusal('message send', {
      params: { username: 'acme' },
      body: { recipients: NUMBERS, text: 'x', batch: alone.accepted[0].id },
    });
    assert.equal(other.kind, 'not-found');
  });

  test('the counts follow each message through its life, also when it is deleted', async (t) => {
    const { of, submit, counts, show, clock, run } = await opened(t);
    const sendAt = '2026-11-15T12:10:00Z';
    const { batch } = await of('acme', 'message send', { body: { recipients: NUMBERS, text: 'hello', sendAt } });
    assert.deepEqual(await counts(batch), { ...NONE, scheduled: 6 });
    const members = async (state: string) =>
      (await of('acme', 'batch messages', { params: { id: batch }, query: { state } })).items.map(
        ({ id }: { id: string }) => id,
      );
    const [one] = await members('scheduled');
    await of('acme', 'message cancel-many', { body: { ids: [one] } });
    assert.deepEqual(await counts(batch), { ...NONE, scheduled: 5 });
    clock.now += 11 * 60_000;
    await submit((index) => index < 2, 4);
    assert.deepEqual(await counts(batch), { ...NONE, scheduled: 1, submitted: 2, failed: 2 });
    assert.equal((await show(batch)).used, '2');
    const [first, second] = await members('submitted');
    for (const [id, status] of [
      [first, 'DELIVERED'],
      [second, 'UNKNOWN'],
    ]) {
      await of('acme', 'message status', { params: { id }, body: { status } });
    }
    assert.deepEqual(await counts(batch), { ...NONE, scheduled: 1, delivered: 1, failed: 2, unknown: 1 });
    await of('acme', 'message change-many', { body: { ids: [first], change: 'mark' } });
    await of('acme', 'message change-many', { body: { ids: [first], change: 'delete' } });
    assert.deepEqual(await counts(batch), { ...NONE, scheduled: 1, failed: 2, unknown: 1 });
    assert.deepEqual((await run('account list', {})).items.length, 1);
  });

  test('cancelling a batch ends what is scheduled and what waits, and returns its credits', async (t) => {
    const { of, submit, counts, clock, refusal } = await opened(t);
    const { batch } = await of('acme', 'message send', { body: { recipients: NUMBERS, text: 'hello' } });
    const sendAt = '2026-11-15T12:10:00Z';
    const recipients = ['0825550211', '0825550212'];
    await of('acme', 'message send', { body: { recipients, text: 'hello', sendAt, batch } });
    await submit(() => false, 2);
    const done = await of('acme', 'batch cancel', { params: { id: batch } });
    assert.deepEqual(done, { cancelled: 6, creditsReturned: '6', left: 0 });
    assert.deepEqual(await counts(batch), { ...NONE, submitted: 2, cancelled: 4 });
    assert.deepEqual(await of('acme', 'credits show'), { free: '98', held: '0', used: '2' });
    clock.now += 3_600_000;
    await submit(() => false);
    assert.deepEqual(await counts(batch), { ...NONE, submitted: 2, cancelled: 4 });
    const again = await of('acme', 'batch cancel', { params: { id: batch } });
    assert.deepEqual(again, { cancelled: 0, creditsReturned: '0', left: 0 });
    assert.equal((await refusal('batch cancel', { params: { username: 'acme', id: `1${batch}` } })).kind, 'not-found');
  });

  test('only failed messages are sent again, and only once', async (t) => {
    const { of, submit, counts } = await opened(t);
    const { batch } = await of('acme', 'message send', {
      body: { recipients: NUMBERS, text: 'hello', reference: 'r' },
    });
    await submit((index) => index < 3, 4);
    await of('acme', 'blacklist add', { body: { number: NUMBERS[0] } });
    const failed = (await of('acme', 'batch messages', { params: { id: batch }, query: { state: 'failed' } })).items;
    assert.equal(failed.length, 3);
    const done = await of('acme', 'batch resend', { params: { id: batch }, body: {} });
    assert.deepEqual([done.resent, done.refused, done.next], [2, 1, null]);
    assert.deepEqual(await counts(batch), { ...NONE, queued: 2, submitted: 1, failed: 1, resent: 2 });
    assert.deepEqual(await counts(done.batch), { ...NONE, queued: 2 });
    const [one] = (await of('acme', 'batch messages', { params: { id: done.batch } })).items;
    const { history } = await of('acme', 'message show', { params: { id: one.id } });
    assert.match(history.at(-1).detail, /^sent again, from \d+$/);
    const again = await of('acme', 'batch resend', { params: { id: batch }, body: {} });
    assert.deepEqual([again.resent, again.refused], [0, 1]);
  });

  test('the forecast comes from the speed so far, else from the rate of the connector, and says what is in the way', async (t) => {
    const { of, submit, clock, run, show } = await opened(t);
    const recipients = Array.from({ length: 60 }, (_, index) => `08255503${String(index).padStart(2, '0')}`);
    const config = {};
    await run('connector put', {
      params: { name: 'loopback' },
      body: { kind: 'loopback', config, isDefault: true, ratePerSecond: 2 },
    });
    const { batch } = await of('acme', 'message send', { body: { recipients, text: 'hello' } });
    const at = (ms: number) => new Date(clock.now + ms).toISOString();
    const { forecast } = await show(batch);
    assert.deepEqual([forecast.basis, forecast.perSecond, forecast.doneAt], ['rate', 2, at(30_000)]);
    await submit(() => false, 20);
    clock.now += 10_000;
    await submit(() => false, 20);
    const later = (await show(batch)).forecast;
    assert.deepEqual([later.basis, later.perSecond, later.doneAt], ['measured', 4, at(5_000)]);
    await run('connector pause', { params: { name: 'loopback' } });
    const paused = (await show(batch)).forecast;
    assert.deepEqual([paused.stopped, paused.doneAt], ['paused', null]);
    await run('connector resume', { params: { name: 'loopback' } });
    await submit(() => false);
    assert.equal((await show(batch)).forecast, null);
  });

  test('a batch is exported as CSV, and moves as a whole when its messages are moved', async (t) => {
    const { of, text, show } = await opened(t);
    const sendAt = '2026-11-15T12:10:00Z';
    const { batch } = await of('acme', 'message send', { body: { recipients: NUMBERS, text: '=hello', sendAt } });
    const { items } = await of('acme', 'batch messages', { params: { id: batch } });
    const ids = items.map(({ id }: { id: string }) => id);
    await of('acme', 'message reschedule', { body: { ids, sendAt: '2026-11-15T13:00:00Z' } });
    assert.equal((await show(batch)).dueAt, '2026-11-15T13:00:00.000Z');
    const lines = (await text('batch export', { params: { username: 'acme', id: batch } })).trim().split('\r\n');
    assert.equal(lines.length, 7);
    assert.match(lines[1] ?? '', /,SCHEDULED,2026-11-15T13:00:00.000Z,,,'=hello$/);
  });
});
