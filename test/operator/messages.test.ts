import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newAttemptId } from '../../src/domain/sending/attempts.ts';
import { createClaiming } from '../../src/domain/sending/claim.ts';
import { openActions } from '../support/actions.ts';
import { onEveryEngine } from '../support/engines.ts';
import { actionNamed } from '../support/operator-api.ts';
import { checkLedger, load, scheduled, sent, TWO_PARTS } from './archived-account.ts';

const acme = { username: 'acme' };
const AT = '2026-11-15T12:00:00.000Z';

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
      id: '7',
      creditsReturned: '2',
    });
    assert.deepEqual(await bench.of('acme', 'credits show'), { free: '12', held: '0', used: '0' });
    const [release] = (await bench.of('acme', 'credits movements')).items;
    assert.deepEqual([release.kind, release.amount, release.messageId], ['release', '2', '7']);
    assert.equal((await bench.refusal('message cancel', { params: { ...acme, id: '7' } })).kind, 'not-found');
    assert.equal((await bench.refusal('message cancel', { params: { ...acme, id: '8' } })).kind, 'conflict');
    assert.deepEqual((await bench.of('acme', 'message list', { query: { state: 'scheduled' } })).items, []);
    await checkLedger(bench);
  });

  test('reschedule names messages whose notAfter is before the new time, and does not call them sent', async (t) => {
    const { of, account } = await openActions(engine, t);
    await account('acme', { credits: '10' });
    const [sendAt, notAfter] = ['2026-11-16T12:00:00.000Z', '2026-11-16T13:00:00.000Z'];
    const to = { recipients: ['+27825550201'], text: 'Hi', sendAt };
    const [limited, free] = [{ ...to, notAfter }, to];
    const ids: string[] = [];
    for (const body of [limited, free]) ids.push((await of('acme', 'message send', { body })).accepted[0].id);
    const shown = await Promise.all(ids.map((id) => of('acme', 'message show', { params: { id } })));
    assert.deepEqual(
      shown.map((each) => each.notAfter),
      [notAfter, null],
    );
    const move = (chosen: readonly string[]) =>
      of('acme', 'message reschedule', { body: { ids: chosen, sendAt: '2026-11-17T12:00:00Z' } });
    assert.deepEqual(await move(ids), { moved: 1, tooLate: 1 });
    assert.deepEqual(await move(['99']), { moved: 0, tooLate: 0 });
    const action = actionNamed('message reschedule');
    assert.equal(
      action.command.refusal?.({ moved: 0, tooLate: 1 }),
      'Nothing was moved. Because of notAfter, 1 message cannot be sent as late as that.',
    );
  });

  test('a message that is due and waits is cancelled by API and command, singly and in a batch, and ends as DELETED', async (t) => {
    const { of, account, refusal, database, services } = await openActions(engine, t);
    await account('acme', { credits: '10' });
    const recipients = ['+27825550201', '+27825550202', '+27825550203'];
    const { accepted } = await of('acme', 'message send', { body: { recipients, text: 'hello' } });
    const ids = accepted.map((each: { id: string }) => each.id);
    const cancelled = await of('acme', 'message cancel', { params: { id: ids[0] } });
    assert.deepEqual(cancelled, { id: ids[0], creditsReturned: '1' });
    const shown = await of('acme', 'message show', { params: { id: ids[0] } });
    assert.equal(shown.status, 'DELETED');
    assert.equal(shown.history.at(-1).detail, 'cancelled before it was submitted');
    const claiming = createClaiming(database, {
      now: services.now,
      owner: 'test',
      newAttemptId,
      leaseMs: 60_000,
      unknownOutcomeMs: 60_000,
    });
    assert.equal((await claiming.claim({ connector: 'loopback', isDefault: true }, 1)).length, 1);
    const claimed = await refusal('message cancel', { params: { username: 'acme', id: ids[1] } });
    assert.equal(claimed.kind, 'conflict');
    assert.match(claimed.message, /is being submitted at this moment/);
    const batch = await of('acme', 'message cancel-many', { body: { ids } });
    assert.deepEqual(batch, { cancelled: 1, creditsReturned: '1' });
    assert.deepEqual(await of('acme', 'credits show'), { free: '9', held: '1', used: '0' });
  });

  test('a message is found by reference, recipient in any notation, status and time, in both orders and by page', async (t) => {
    const { of, account, clock, refusal } = await openActions(engine, t);
    await account('acme', { region: 'ZA' });
    const numbers = ['0825550201', '+27825550202', '+27 82 555 0201', '0825550203'];
    for (const [index, recipient] of numbers.entries()) {
      clock.now = Date.parse(AT) + index * 1_000;
      const status = index === 1 ? 'REJECTED' : 'SUBMITTED';
      await of('acme', 'message record', {
        body: { recipient, text: 'hi', reference: `order-${index}`, status, sentAt: new Date(clock.now).toISOString() },
      });
    }
    const found = async (query: Record<string, string>) =>
      (await of('acme', 'message list', { query })).items.map((each: { reference: string }) => each.reference);
    assert.deepEqual(await found({ reference: 'order-2' }), ['order-2']);
    assert.deepEqual(await found({ reference: 'Order-2' }), []);
    assert.deepEqual(await found({ recipient: '+27825550201' }), ['order-2', 'order-0']);
    assert.deepEqual(await found({ recipient: '0825550201', order: 'oldest' }), ['order-0', 'order-2']);
    assert.deepEqual(await found({ recipient: '0825550201', reference: 'order-0' }), ['order-0']);
    assert.deepEqual(await found({ status: 'REJECTED' }), ['order-1']);
    assert.deepEqual(await found({ since: '2026-11-15T12:00:02Z' }), ['order-3', 'order-2']);
    assert.deepEqual(await found({ until: '2026-11-15T14:00:02+02:00' }), ['order-1', 'order-0']);
    const range = { since: '2026-11-15T12:00:01Z', until: '2026-11-15T12:00:03Z', order: 'oldest' };
    assert.deepEqual(await found(range), ['order-1', 'order-2']);
    for (const order of ['newest', 'oldest']) {
      const all: string[] = [];
      for (let after: string | null = ''; after !== null; ) {
        const query: Record<string, string> = { order, recipient: '0825550201', limit: '1', ...(after && { after }) };
        const { items, next } = await of('acme', 'message list', { query });
        all.push(...items.map((each: { reference: string }) => each.reference));
        after = next;
      }
      assert.deepEqual(all, order === 'newest' ? ['order-2', 'order-0'] : ['order-0', 'order-2']);
    }
    const query = { state: 'scheduled', status: 'QUEUED' };
    const wrong = await refusal('message list', { params: acme, query });
    assert.deepEqual(wrong.details.errors?.[0]?.pointer, '?status');
  });

  test('scheduled messages are found by reference and time, soonest or latest first', async (t) => {
    const { of, account } = await openActions(engine, t);
    await account('acme', { credits: '10' });
    for (const day of ['16', '17', '18']) {
      const body = {
        recipients: ['+27825550201'],
        text: 'Hi',
        sendAt: `2026-11-${day}T12:00:00Z`,
        reference: `day-${day}`,
      };
      await of('acme', 'message send', { body });
    }
    const found = async (query: Record<string, string>) =>
      (await of('acme', 'message list', { query: { state: 'scheduled', ...query } })).items.map(
        (each: { reference: string }) => each.reference,
      );
    assert.deepEqual(await found({ order: 'newest' }), ['day-18', 'day-17', 'day-16']);
    assert.deepEqual(await found({ since: '2026-11-17T00:00:00Z' }), ['day-17', 'day-18']);
    assert.deepEqual(await found({ reference: 'day-17' }), ['day-17']);
  });

  test('the error about an unknown message does not call it a scheduled one', async (t) => {
    const { account, refusal } = await openActions(engine, t);
    await account('acme');
    const { kind, message } = await refusal('message show', { params: { username: 'acme', id: '99999' } });
    assert.deepEqual([kind, message], ['not-found', 'There is no message with this id.']);
  });

  test('a wrong id is answered with what an id is, not with a regular expression', async (t) => {
    const { account, refusal } = await openActions(engine, t);
    await account('acme');
    for (const id of ['abc', '9'.repeat(19)]) {
      const { details } = await refusal('message show', { params: { username: 'acme', id } });
      const detail = 'expected an id: a whole number of 64 bits';
      assert.deepEqual(details.errors, [{ pointer: '{id}', detail }]);
    }
  });
});
