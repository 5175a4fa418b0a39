import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { decide } from '../../../src/domain/sending/decide.ts';
import { createOptOuts } from '../../../src/domain/sending/opt-out.ts';
import { activateSchedule } from '../../../src/domain/sending/schedule.ts';
import { readAccount } from '../../../src/transfer/account-json.ts';
import { createArchive } from '../../../src/transfer/archive.ts';
import { onEveryEngine } from '../../support/engines.ts';
import { sql } from '../../support/opened-database.ts';
import { LEASE, MINUTE, message, openSending, START, UNKNOWN_OUTCOME } from '../../support/sending.ts';

const DAY = 24 * 60 * MINUTE;
const idOf = sql<{ username: string }, { account_id: bigint }>(
  'select account_id from account where username = :username',
);

onEveryEngine('accepting', (engine) => {
  test('numbers become E.164 in the region of the account, each is used once, and impossible ones are refused while the others are accepted', async (t) => {
    const sending = await openSending(engine, t);
    const account = await sending.addAccount();
    const to = ['082 555 0201', '+27825550201', '0027 82 555 0202', '12', 'hello', '+4915112345678'];
    const { accepted, refused, credits } = await sending.accept(account, message({ to }));
    assert.deepEqual(
      accepted.map(({ recipient }) => recipient),
      ['+27825550201', '+27825550202', '+4915112345678'],
    );
    assert.deepEqual(
      refused.map(({ index, reason }) => `${index} ${reason}`),
      ['1 duplicate', '3 impossible', '4 impossible'],
    );
    assert.equal(credits, 3n);
    assert.deepEqual(await sending.ledger.balances(account), { free: 997n, held: 3n, used: 0n });
    await sending.checkLedger();
  });

  test('a message to 2.78E+10 is refused, and not sent to the number 27810', async (t) => {
    const sending = await openSending(engine, t);
    const account = await sending.addAccount();
    const { accepted, refused } = await sending.accept(
      account,
      message({ to: ['2.78E+10', '2.7825550201e10', ' 2,78E10'] }),
    );
    assert.deepEqual(accepted, []);
    const detail = 'a spreadsheet has written this number with an exponent';
    assert.deepEqual(
      refused.map((each) => each.detail),
      [`${detail}, and digits are lost`, detail, `${detail}, and digits are lost`],
    );
  });

  test('a blacklisted number is refused in whatever notation', async (t) => {
    const sending = await openSending(engine, t);
    const account = await sending.addAccount();
    await createOptOuts(sending.database, sending.now, async () => 'ZA').add(account, '082 555 0666', null);
    const { accepted, refused } = await sending.accept(account, message({ to: ['+27825550666', '+27825550201'] }));
    assert.deepEqual([accepted.length, refused[0]?.reason, refused[0]?.index], [1, 'blacklisted', 0]);
  });

  test('without enough credits the whole request is refused, with the number missing', async (t) => {
    const sending = await openSending(engine, t);
    const account = await sending.addAccount({ credits: 2n });
    const given = message({ to: ['+27825550201', '+27825550202'], text: 'x'.repeat(161) });
    await assert.rejects(sending.accept(account, given), {
      kind: 'conflict',
      message: /cost 4 credits\. Free: 2\. Missing: 2\./,
    });
    assert.deepEqual(await sending.ledger.balances(account), { free: 2n, held: 0n, used: 0n });
    assert.deepEqual(await sending.claim(), []);
  });

  test('a request that needs exactly the free credits of an account is accepted', async (t) => {
    const sending = await openSending(engine, t);
    const account = await sending.addAccount({ credits: 2n });
    const { accepted } = await sending.accept(account, message({ text: 'x'.repeat(161) }));
    assert.equal(accepted.length, 1);
    assert.deepEqual(await sending.ledger.balances(account), { free: 0n, held: 2n, used: 0n });
  });

  test('a dry run shows parts, cost, refusals, missing credits and the delay by quiet hours, and changes nothing', async (t) => {
    const sending = await openSending(engine, t);
    const account = await sending.addAccount({ credits: 1n });
    const given = message({ to: ['+27825550201', 'x'], text: 'ж'.repeat(71) });
    const settings = { region: 'ZA', timeZone: 'UTC', quietHours: '11:00-13:00' };
    const result = await sending.accepting.dryRun(account, settings, given);
    assert.deepEqual(
      { ...result, accepted: result.accepted.length, refused: result.refused.length },
      {
        accepted: 1,
        refused: 1,
        batch: null,
        parts: 2,
        credits: 2n,
        creditsMissing: 1n,
        dueAt: START + 60 * MINUTE,
        isShifted: true,
        isPast: false,
        ucs2Characters: ['ж'],
      },
    );
    assert.deepEqual(await sending.sent.newest(account, 10), []);
    assert.deepEqual(await sending.ledger.balances(account), { free: 1n, held: 0n, used: 0n });
  });

  test('a message accepted in quiet hours is scheduled for their end', async (t) => {
    const sending = await openSending(engine, t);
    const account = await sending.addAccount();
    await sending.accept(account, message(), { quietHours: '11:00-13:00' });
    const [scheduled] = await sending.scheduled.soonest(account, 10);
    assert.equal(scheduled?.scheduledAt, START + 60 * MINUTE);
  });

  test('a notAfter before the messages are due is refused', async (t) => {
    const sending = await openSending(engine, t);
    const account = await sending.addAccount();
    const given = message({ sendAt: START + 2, notAfter: START + 1 });
    await assert.rejects(sending.accept(account, given), { kind: 'bad-argument' });
  });

  test('new ids are above those of deleted messages', async (t) => {
    const sending = await openSending(engine, t);
    const account = await sending.addAccount();
    const first = (await sending.accept(account)).accepted[0]?.id as bigint;
    await sending.sent.delete(account, first);
    const second = (await sending.accept(account)).accepted[0]?.id as bigint;
    assert.ok(second > first);
  });

  test('an imported schedule is not sent until it is activated, and then once', async (t) => {
    const sending = await openSending(engine, t);
    const scheduled = [
      ['1', '082 555 0201'],
      ['2', 'nobody'],
    ].map(([id, recipient]) => ({
      id,
      recipient,
      message: 'later',
      timestamp_scheduled: new Date(START + MINUTE).toISOString(),
      timestamp_created: new Date(START).toISOString(),
    }));
    const given = {
      username: 'moved',
      userID: 'moved',
      credits: '5',
      usedCredits: '0',
      datetimeCreated: '2026-01-01T00:00:00Z',
      scheduled,
    };
    await createArchive(sending.database, Date.now, null).load(await readAccount(given, 0));
    const account = (await sending.database.first(idOf, { username: 'moved' }))?.account_id as bigint;
    sending.clock.now = START + MINUTE;
    assert.deepEqual(await sending.claim(), [], 'it is not active');
    const settings = { region: 'ZA', timeZone: null, quietHours: null };
    const activate = () => activateSchedule(sending.database, account, settings, 2 * DAY, null);
    assert.deepEqual(await activate(), { activated: 1, refused: [{ id: 2n, reason: 'impossible' }] });
    assert.deepEqual((await activate()).activated, 0, 'activating again changes nothing');
    const claimed = await sending.claim();
    assert.deepEqual(
      claimed.map(({ recipient }) => recipient),
      ['+27825550201'],
    );
    await sending.settle(claimed, { kind: 'submitted' });
    assert.deepEqual(await sending.claim(), []);
    await sending.checkLedger();
  });

  for (const [decision, status, balances] of [
    ['submitted', 'SUBMITTED', { free: 999n, held: 0n, used: 1n }],
    ['not-submitted', 'REJECTED', { free: 1_000n, held: 0n, used: 0n }],
    ['submit-again', 'QUEUED', { free: 999n, held: 1n, used: 0n }],
  ] as const) {
    test(`an operator decides about a message that needs a decision: ${decision}`, async (t) => {
      const sending = await openSending(engine, t);
      const account = await sending.addAccount();
      const id = (await sending.accept(account)).accepted[0]?.id as bigint;
      const verdict = () => decide(sending.database, account, id, decision, { at: sending.clock.now, tryForMs: DAY });
      await assert.rejects(verdict(), { kind: 'conflict' });
      await sending.claim();
      sending.clock.now += LEASE;
      await sending.claim();
      sending.clock.now += UNKNOWN_OUTCOME;
      await sending.claim();
      await verdict();
      assert.equal((await sending.sent.show(account, id)).status, status);
      assert.deepEqual(await sending.ledger.balances(account), balances);
      assert.equal((await sending.claim()).length, decision === 'submit-again' ? 1 : 0);
      await sending.checkLedger();
    });
  }
});

/** Random lives of messages. Whatever happens, the ledger adds up and nothing is claimed twice. */
onEveryEngine('random sequences of changes', (engine) => {
  const step = fc.oneof(
    fc.record({ kind: fc.constant('accept' as const), delay: fc.integer({ min: 0, max: 3 }), long: fc.boolean() }),
    fc.record({ kind: fc.constant('claim' as const) }),
    fc.record({
      kind: fc.constant('settle' as const),
      outcome: fc.constantFrom('submitted', 'rejected', 'waiting', 'unknown-outcome'),
    }),
    fc.record({ kind: fc.constant('cancel' as const) }),
    fc.record({ kind: fc.constant('delete' as const) }),
    fc.record({ kind: fc.constant('wait' as const), minutes: fc.integer({ min: -5, max: 30 }) }),
  );

  test('the ledger adds up after every step, and no message has two claims at once', async (t) => {
    const sending = await openSending(engine, t);
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 25 }), fc.boolean(), async (steps, isAgain) => {
        const account = await sending.addAccount(isAgain ? { unknownOutcomePolicy: 'submit-again' } : {});
        const open = new Map<bigint, Awaited<ReturnType<typeof sending.claim>>[number]>();
        const ids: bigint[] = [];
        const submissions = new Map<bigint, number>();
        for (const each of steps) {
          if (each.kind === 'wait') sending.clock.now += each.minutes * MINUTE;
          if (each.kind === 'accept') {
            const sendAt = sending.clock.now + each.delay * MINUTE;
            const { accepted } = await sending.accept(
              account,
              message({ sendAt, text: each.long ? 'x'.repeat(400) : 'x' }),
            );
            ids.push(...accepted.map(({ id }) => id as bigint));
          }
          if (each.kind === 'claim') {
            for (const claimed of await sending.claim()) {
              if (claimed.account !== account) continue;
              const before = submissions.get(claimed.id) ?? 0;
              if (open.has(claimed.id)) assert.ok(isAgain, 'claimed twice under never-twice');
              submissions.set(claimed.id, before + 1);
              open.set(claimed.id, claimed);
            }
          }
          if (each.kind === 'settle') {
            const [first] = open.values();
            if (first) {
              open.delete(first.id);
              const later = { dueAt: sending.clock.now + MINUTE, reason: 'later' };
              const outcome = each.outcome === 'submitted' ? { kind: each.outcome } : { kind: each.outcome, ...later };
              const state =
                each.outcome === 'submitted'
                  ? 'accepted'
                  : each.outcome === 'unknown-outcome'
                    ? 'unknown-outcome'
                    : 'refused';
              await sending.settle([first], outcome as never, state);
            }
          }
          if (each.kind === 'cancel' && ids[0] !== undefined) await sending.scheduled.delete(account, ids[0]);
          if (each.kind === 'delete' && ids.at(-1) !== undefined)
            await sending.sent.delete(account, ids.at(-1) as bigint);
          const { free, held, used } = await sending.ledger.balances(account);
          assert.equal(free + held + used, 1_000n);
          assert.ok(free >= 0n && held >= 0n && used >= 0n);
        }
        await sending.checkLedger();
      }),
      { numRuns: engine.name === 'sqlite' ? 60 : 15 },
    );
  });
});
