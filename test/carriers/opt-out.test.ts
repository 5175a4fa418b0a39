import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Problem } from '../../src/base/problem.ts';
import { NOT_TOLD, WITHHELD } from '../../src/carriers/connector.ts';
import { createOptOutCheck } from '../../src/carriers/opt-out-check.ts';
import { createBlacklist } from '../../src/domain/contacts/blacklist.ts';
import { createScheduled } from '../../src/domain/messages/scheduled.ts';
import { createRouting } from '../../src/domain/receiving/routes.ts';
import { createAccepting } from '../../src/domain/sending/accept.ts';
import type { ClaimedMessage } from '../../src/domain/sending/claim.ts';
import { createOptOuts } from '../../src/domain/sending/opt-out.ts';
import { onOneEngine } from '../support/engines.ts';
import { openGateway, scripted, until } from '../support/gateway.ts';
import { startOperatorApi } from '../support/operator-api.ts';
import { message } from '../support/sending.ts';

const NUMBER = '+27825550201';
const OTHER = '+27825550202';

test('one question about opt-outs is about the messages that leave next, and its answer counts for 50 ms', async () => {
  let now = 0;
  const questions: bigint[][] = [];
  let answer = async (asked: readonly ClaimedMessage[]) => asked.filter(({ id }) => id === 3n);
  const optedOutAmong = (asked: readonly ClaimedMessage[]) => {
    questions.push(asked.map(({ id }) => id));
    return answer(asked);
  };
  const messages = Array.from(
    { length: 70 },
    (_, index) => ({ account: index < 68 ? 1n : 2n, id: BigInt(index) }) as ClaimedMessage,
  );
  const failed = (thrown: unknown) => assert.fail(String(thrown));
  const check = createOptOutCheck(messages, now, { claiming: { optedOutAmong }, now: () => now, failed });
  const of = (index: number) => check(messages[index] as ClaimedMessage);
  assert.deepEqual([await of(0), questions], [null, []], 'the claim has just looked');
  now = 60;
  assert.deepEqual(await Promise.all([of(1), of(2), of(3)]), [null, null, WITHHELD]);
  assert.equal(questions.length, 1);
  assert.deepEqual([questions[0]?.length, questions[0]?.at(-1)], [65, 65n]);
  assert.equal(await of(67), null);
  assert.deepEqual(questions.at(-1)?.includes(67n), true, 'it was not among those of the first question');
  assert.equal(await of(69), null);
  assert.deepEqual(questions.at(-1), [69n, 68n], 'another account');
  now = 120;
  answer = () => Promise.reject(new Problem('unavailable', 'no answer'));
  assert.deepEqual(await Promise.all([of(4), of(5)]), [NOT_TOLD, NOT_TOLD]);
  answer = async () => [];
  assert.equal(await of(6), null, 'a question that failed is put again');
});

onOneEngine('an opt-out while a connector works', (engine) => {
  test('after an opt-out while its connector was paused, the carrier gets no message for the number when the connector is resumed', async (t) => {
    const { submitted, create } = scripted(() => ({ kind: 'accepted', gatewayId: null }));
    const { database, addAccount, send, connectors, statusOf, ledger } = await openGateway(engine, t, { create });
    const account = await addAccount();
    await connectors.setPaused('loopback', true);
    await new Promise((resolve) => setTimeout(resolve, 200)); // ten polls: every process has seen it
    const [first, second] = await send(account, [NUMBER, OTHER]);
    await createOptOuts(database, Date.now, async () => 'ZA').add(account, NUMBER, null);
    assert.equal(await statusOf(account, first as bigint), 'DELETED');
    assert.deepEqual(await ledger.balances(account), { free: 999n, held: 1n, used: 0n });
    await connectors.setPaused('loopback', false);
    await until('the other is submitted', async () => (await statusOf(account, second as bigint)) === 'SUBMITTED');
    assert.deepEqual(submitted, [OTHER]);
    assert.deepEqual((await ledger.check()).discrepancies, []);
  });

  test('a claimed message that waits for its turn at the connector is not submitted after an opt-out', async (t) => {
    const release = Promise.withResolvers<void>();
    const asked: string[] = [];
    const left: string[] = [];
    const { create } = scripted(async (part) => {
      asked.push(part.recipient);
      await release.promise; // as for a place of a slow carrier
      const withheld = await part.withheld?.();
      if (withheld) return withheld;
      left.push(part.recipient);
      return { kind: 'accepted', gatewayId: null };
    });
    const { database, addAccount, send, statusOf, ledger } = await openGateway(engine, t, { create });
    const account = await addAccount();
    const [first, second] = await send(account, [NUMBER, OTHER]);
    await until('both are claimed', () => asked.length === 2);
    await createOptOuts(database, Date.now, async () => 'ZA').add(account, '082 555 0201', null);
    await new Promise((resolve) => setTimeout(resolve, 100)); // longer than the look of the claim counts
    release.resolve();
    await until('the one ended', async () => (await statusOf(account, first as bigint)) === 'DELETED');
    await until('the other went', async () => (await statusOf(account, second as bigint)) === 'SUBMITTED');
    assert.deepEqual(left, [OTHER]);
    assert.deepEqual(await ledger.balances(account), { free: 999n, held: 0n, used: 1n });
    assert.deepEqual((await ledger.check()).discrepancies, []);
  });

  test('a STOP through the loopback cancels the scheduled messages to its sender, and no further message is accepted', async (t) => {
    const { database, addAccount, send, ledger } = await openGateway(engine, t);
    const account = await addAccount({ stopWords: 'STOP' });
    const route = { name: 'code', destination: '31234', keyword: null, priority: 0, username: 'gateway-1' };
    await createRouting(database, Date.now).put(route);
    const settings = { region: 'ZA', timeZone: null, quietHours: null };
    const accepting = createAccepting(database, Date.now);
    await accepting.accept(account, settings, message({ sendAt: Date.now() + 3_600_000 }));
    await send(account, [NUMBER], 'reply Stop!', '31234');
    const entries = () => createBlacklist(database, async () => 'ZA').list(account, 10, null);
    await until('the sender is on the blacklist', async () => (await entries()).length === 1);
    const [entry] = await entries();
    assert.deepEqual([entry?.number, entry?.origin, entry?.evidence], [NUMBER, 'STOP', 'Stop!']);
    assert.deepEqual(await createScheduled(database, Date.now).soonest(account, 10), []);
    assert.deepEqual(await send(account, [NUMBER]), []);
    await until('all is settled', async () => (await ledger.balances(account)).held === 0n);
    assert.deepEqual(await ledger.balances(account), { free: 999n, held: 0n, used: 1n });
    assert.deepEqual((await ledger.check()).discrepancies, []);
  });

  test('a STOP through Kannel cancels the waiting messages to its sender before Kannel gets its answer', async (t) => {
    const api = await startOperatorApi(engine);
    t.after(() => api.stop());
    const { call, address } = api;
    const callbackSecret = 'a-secret-of-kannel';
    const config = { host: '127.0.0.1', port: 1, username: 'u', password: 'p', callbackSecret };
    const callbackUrl = `${address}/carriers/kannel`;
    const put = await call('PUT', '/connectors/kannel', {
      body: { kind: 'kannel-sendsms', config: { ...config, callbackUrl } },
    });
    assert.ok(put.status < 300, put.text);
    await call('PUT', '/routes/code', { body: { username: 'acme', destination: '31234' } });
    await call('PATCH', '/accounts/acme', { body: { stopWords: ['STOP'] } });
    const number = '+27825550555';
    const body = { recipients: [number], text: 'hello' };
    const sent = await call('POST', '/accounts/acme/messages', { body });
    const { id } = sent.json.accepted[0];
    const before = (await call('GET', '/accounts/acme/credits')).json;
    const query = new URLSearchParams({ from: number, to: '31234', text: 'stop', coding: '0', id: 'mo-1', at: '' });
    const answer = await fetch(`${callbackUrl}/${callbackSecret}/mo?${query}`);
    assert.equal(answer.status, 200, await answer.text());
    const { status, history } = (await call('GET', `/accounts/acme/messages/${id}`)).json;
    assert.equal(status, 'DELETED');
    assert.equal(history.at(-1).detail, 'the recipient is on the blacklist');
    const after = (await call('GET', '/accounts/acme/credits')).json;
    assert.equal(BigInt(after.free) - BigInt(before.free), 1n);
    const [entry] = (await call('GET', '/accounts/acme/blacklist')).json.items.filter(
      ({ origin }: { origin: string }) => origin === 'STOP',
    );
    assert.deepEqual([entry.number, entry.evidence], [number, 'stop']);
  });
});
