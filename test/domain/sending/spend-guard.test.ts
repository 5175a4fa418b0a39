import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type Guard, NO_GUARD, putGuard } from '../../../src/domain/outbound/guard.ts';
import { refuseHeldMessage, releaseHeldMessage } from '../../../src/domain/sending/decide.ts';
import { createExpiry } from '../../../src/domain/sending/expire.ts';
import { createOptOuts } from '../../../src/domain/sending/opt-out.ts';
import { addWebhook } from '../../../src/domain/webhooks/webhooks.ts';
import { type Engine, onEveryEngine } from '../../support/engines.ts';
import { sql } from '../../support/opened-database.ts';
import { MINUTE, message, openSending, START } from '../../support/sending.ts';

const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const TRY = { tryForMs: 2 * DAY };
/** As docs/CONNECTORS.md proposes, for a fifth of the customers. */
const RECOMMENDED: Guard = {
  countries: 'region',
  recipientDay: 10,
  blockHour: 20,
  creditsHour: 100n,
  creditsDay: 400n,
};

const states = sql<Record<string, never>, { message_id: bigint; state: string; reason: string | null }>(
  'select message_id, state, reason from dispatch order by message_id',
);
const events = sql<Record<string, never>, { data: string }>(
  "select data from webhook_delivery where type = 'guard.stopped' order by due_at, event_id",
);
const counted = sql<Record<string, never>, { rule: string; key: string }>('select rule, key from spend_count');

async function open(engine: Engine, t: TestContext, guard: Partial<Guard>, credits = 100_000n) {
  const sending = await openSending(engine, t);
  const { database, now } = sending;
  const webhook = { account: null, url: 'https://ops.example/events', events: ['guard.stopped'], full: false } as const;
  await addWebhook(database, webhook, now());
  const account = await sending.addAccount({ credits, region: 'ZA' });
  await putGuard(database, account, { ...NO_GUARD, ...guard }, START);
  return {
    ...sending,
    account,
    send: (to: readonly string[], more: object = {}) => sending.accept(account, message({ to, ...more })),
    states: async () => (await database.all(states, {})).map(({ state }) => state),
    reasons: async () => (await database.all(states, {})).map(({ reason }) => reason),
    told: async () => (await database.all(events, {})).map(({ data }) => JSON.parse(data)),
  };
}

const numbers = (first: string, count: number) =>
  Array.from({ length: count }, (_, index) => `+${BigInt(first) + BigInt(index)}`);

onEveryEngine('the spend guard', (engine) => {
  test('an account without a guard sends as before: everywhere, as much as its credits allow', async (t) => {
    const sending = await openSending(engine, t);
    const account = await sending.addAccount();
    const to = [...numbers('27825550000', 100), ...numbers('88216000000', 5), '+4915112345678'];
    const { accepted, refused } = await sending.accept(account, message({ to }));
    assert.deepEqual([accepted.length, refused.length], [106, 0]);
    assert.deepEqual(await sending.database.all(counted, {}), []);
  });

  test('a number of another country is refused with the rule while the others are accepted, and `region` is the country of the account', async (t) => {
    const bench = await open(engine, t, { countries: 'region' });
    const { accepted, refused } = await bench.send(['+27825550201', '+88216000001', '+447400123456']);
    assert.deepEqual(
      accepted.map(({ recipient }) => recipient),
      ['+27825550201'],
    );
    assert.deepEqual(
      refused.map(({ index, reason }) => [index, reason]),
      [
        [1, 'country'],
        [2, 'country'],
      ],
    );
    assert.match(refused[0]?.detail ?? '', /only numbers of ZA/);
    const [event, ...others] = await bench.told();
    assert.deepEqual([event.rule, event.outcome, event.messages, others.length], ['country', 'refused', 2, 0]);
    await putGuard(bench.database, bench.account, { ...NO_GUARD, countries: ['ZA', 'GB'] }, START);
    assert.equal((await bench.send(['+447400123456'])).accepted.length, 1);
  });

  test('messages over a ceiling are held with their credits and name their rule, and the operator and webhooks learn of it at once', async (t) => {
    const bench = await open(engine, t, { recipientDay: 2 });
    for (let sent = 0; sent < 2; sent++) await bench.send(['+27825550201']);
    const { accepted } = await bench.send(['+27825550201', '+27825550202']);
    assert.deepEqual(
      accepted.map(({ heldBy }) => heldBy),
      ['recipient-day', undefined],
    );
    assert.deepEqual(await bench.states(), ['waiting', 'waiting', 'held', 'waiting']);
    assert.match((await bench.reasons())[2] ?? '', /^recipient-day: more than 2 messages to one recipient in a day/);
    assert.equal((await bench.ledger.balances(bench.account)).held, 4n);
    assert.equal((await bench.claim()).length, 3, 'a dispatcher does not see what is held');
    assert.deepEqual(
      (await bench.told()).map(({ rule, outcome, messages }) => [rule, outcome, messages]),
      [['recipient-day', 'held', 1]],
    );
    await bench.send(['+27825550201']);
    assert.equal((await bench.told()).length, 1, 'once an hour for each rule');
    bench.clock.now += DAY;
    assert.equal((await bench.send(['+27825550201'])).accepted[0]?.heldBy, undefined);
    await bench.checkLedger();
  });

  test('an operator releases a held message, which is then sent, or refuses it, which frees its credits', async (t) => {
    const bench = await open(engine, t, { recipientDay: 1 });
    await bench.send(['+27825550201']);
    const ids: bigint[] = [];
    for (let sent = 0; sent < 2; sent++) ids.push((await bench.send(['+27825550201'])).accepted[0]?.id as bigint);
    const [released, refused] = ids as [bigint, bigint];
    assert.equal((await bench.claim()).length, 1);
    await releaseHeldMessage(bench.database, bench.account, released, { at: bench.clock.now, ...TRY });
    await refuseHeldMessage(bench.database, bench.account, refused, bench.clock.now);
    assert.deepEqual(
      (await bench.claim()).map(({ id }) => id),
      [released],
    );
    assert.equal((await bench.sent.show(bench.account, refused)).status, 'REJECTED');
    assert.equal((await bench.ledger.balances(bench.account)).held, 2n);
    const again = releaseHeldMessage(bench.database, bench.account, released, { at: bench.clock.now, ...TRY });
    await assert.rejects(again, /does not hold the message/);
    await assert.rejects(refuseHeldMessage(bench.database, bench.account, refused, START), /no held message/);
    await bench.checkLedger();
  });

  test('a held message can be cancelled, expires, and ends with an opt-out, and a held one for later is not in the schedule', async (t) => {
    const bench = await open(engine, t, { creditsDay: 1n });
    await bench.send(['+27825550200']);
    const held = async (more: object = {}) =>
      (await bench.send(['+27825550201'], more)).accepted[0] as { id: bigint; heldBy?: string };
    const cancelled = await held();
    assert.equal(await bench.cancellation.cancel(bench.account, cancelled.id), 1n);
    const later = await held({ sendAt: START + HOUR });
    assert.equal(later.heldBy, 'credits-day');
    assert.equal((await bench.sent.show(bench.account, later.id)).status, 'QUEUED');
    await createOptOuts(bench.database, bench.now, async () => 'ZA').add(bench.account, '+27825550201', null);
    assert.equal((await bench.sent.show(bench.account, later.id)).status, 'DELETED');
    assert.deepEqual(await bench.states(), ['waiting']);

    const expiring = (await bench.send(['+27825550202'], { notAfter: START + HOUR })).accepted[0] as { id: bigint };
    assert.deepEqual(await bench.states(), ['waiting', 'held']);
    bench.clock.now = START + HOUR;
    await createExpiry(bench.database, bench.now, (work) => work())(() => false);
    assert.equal((await bench.sent.show(bench.account, expiring.id)).status, 'EXPIRED');
    assert.deepEqual(await bench.states(), ['waiting']);
    await bench.checkLedger();
  });

  test('a dry run shows what would be held, and is not counted', async (t) => {
    const bench = await open(engine, t, { blockHour: 2 });
    const to = numbers('27825550200', 3);
    for (let round = 0; round < 2; round++) {
      const settings = { region: 'ZA', timeZone: null, quietHours: null };
      const { accepted } = await bench.accepting.dryRun(bench.account, settings, message({ to }));
      assert.deepEqual(
        accepted.map(({ heldBy }) => heldBy),
        [undefined, undefined, 'block-hour'],
      );
    }
    assert.deepEqual([await bench.database.all(counted, {}), await bench.told()], [[], []]);
  });

  test('known patterns of fraud are stopped at their ceiling', async (t) => {
    const bench = await open(engine, t, RECOMMENDED);
    // Adjacent numbers, of which somebody earns a share.
    const adjacent = await bench.send(numbers('27825550000', 100));
    assert.equal(adjacent.accepted.filter(({ heldBy }) => !heldBy).length, 20);
    // Far countries, where a message costs most.
    const far = await bench.send([...numbers('88216000000', 40), ...numbers('2521000000', 40)]);
    assert.deepEqual([far.accepted.length, new Set(far.refused.map(({ reason }) => reason)).size], [0, 1]);
    // A form that sends a code to the same number again and again.
    bench.clock.now += HOUR;
    let sent = 0;
    for (let tries = 0; tries < 15; tries++) {
      if (!(await bench.send(['+27831110001'])).accepted[0]?.heldBy) sent += 1;
    }
    assert.equal(sent, 10);
    // A burst at night, to numbers all over the country.
    bench.clock.now = START + 14 * HOUR;
    const spread = Array.from({ length: 160 }, (_, index) => `+2772${String(1_000_000 + index * 1_009)}`);
    let burst = 0;
    for (let hour = 0; hour < 6; hour++) {
      for (let page = 0; page < 160; page += 80) {
        const { accepted } = await bench.send(spread.slice(page, page + 80));
        burst += accepted.filter(({ heldBy }) => !heldBy).length;
      }
      bench.clock.now += HOUR;
    }
    assert.equal(burst, 400, '100 an hour, and 400 in the day');
    const rules = new Set((await bench.told()).map(({ rule }) => rule));
    assert.deepEqual([...rules].sort(), ['block-hour', 'country', 'credits-day', 'credits-hour', 'recipient-day']);
    await bench.checkLedger();
  });

  test('the traffic of a normal month is not held', async (t) => {
    const bench = await open(engine, t, RECOMMENDED);
    const customers = Array.from({ length: 60 }, (_, index) => `+2782${String(2_000_000 + index * 7_919)}`);
    let held = 0;
    for (let day = 0; day < 30; day++) {
      for (const hour of [8, 12, 17]) {
        bench.clock.now = START + day * DAY + hour * HOUR;
        const own = customers.filter((_, index) => (index + day + hour) % 3 === 0);
        const { accepted, refused } = await bench.send(own);
        held += accepted.filter(({ heldBy }) => heldBy).length + refused.length;
      }
    }
    assert.equal(held, 0);
    assert.deepEqual(await bench.told(), []);
  });

  test('counts of numbers are hashes, and are forgotten when their hour or day is over', async (t) => {
    const bench = await open(engine, t, { recipientDay: 5, blockHour: 5 });
    await bench.send(['+27825550201']);
    const before = await bench.database.all(counted, {});
    assert.equal(before.length, 2);
    assert.doesNotMatch(JSON.stringify(before.map(({ key }) => key)), /2782555/);
    bench.clock.now += 2 * DAY;
    await bench.send(['+27831110001']);
    assert.equal((await bench.database.all(counted, {})).length, 2);
  });
});
