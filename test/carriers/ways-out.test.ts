import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Connector, SubmitResult } from '../../src/carriers/connector.ts';
import type { GatewayParts } from '../../src/carriers/gateway.ts';
import { NO_ANSWER, refusalOf } from '../../src/carriers/submissions.ts';
import { createOutboundRoutes } from '../../src/domain/outbound/routes.ts';
import { onOneEngine } from '../support/engines.ts';
import { LOOPBACK, openGateway, until } from '../support/gateway.ts';
import { ROUTE, way } from '../support/outbound-route.ts';

const DOWN: SubmitResult = { kind: 'temporary', reason: 'connection refused', connectorDown: true };
const TAKEN: SubmitResult = { kind: 'accepted', gatewayId: null };
const REFUSED: SubmitResult = { kind: 'temporary', reason: 'no route' };
const NAMES = ['loopback', 'a', 'b'];

/** Connectors whose answers the test gives, by their names. */
function carriers(answers: Record<string, (recipient: string) => SubmitResult>) {
  const submitted: [string, string][] = [];
  const create: GatewayParts['create'] = (name): Connector => ({
    name,
    kind: 'loopback',
    start: async () => {},
    stop: async () => {},
    submit: async (parts) =>
      parts.map(({ recipient }) => {
        submitted.push([name, recipient]);
        return answers[name]?.(recipient) ?? TAKEN;
      }),
  });
  const ofFile = NAMES.map((name) => ({ ...LOOPBACK, name, isDefault: name === 'loopback' }));
  return { submitted, create, ofFile };
}

onOneEngine('routing to carriers', (engine) => {
  test('messages pass over a carrier that is down, are each accepted once by the next one, and are counted by the route', async (t) => {
    const { create, ofFile, submitted } = carriers({ a: () => DOWN });
    const bench = await openGateway(engine, t, { create, ofFile });
    const routes = createOutboundRoutes(bench.database, Date.now);
    const known = NAMES.map((name) => ({ name, urls: [] }));
    await routes.put({ ...ROUTE, ways: [way('a'), way('b')] }, known, 'https://sms.example');
    const account = await bench.addAccount();
    const to = Array.from({ length: 30 }, (_, index) => `+2782555${1000 + index}`);
    await bench.send(account, to);
    const taken = () => submitted.filter(([name]) => name === 'b').map(([, number]) => number);
    // One message may stay to test whether the carrier is up again.
    await until('the next way has nearly all', () => taken().length >= to.length - 1);
    assert.equal(new Set(taken()).size, taken().length, 'nothing twice');
    await until('the counts are written', async () => {
      const counts = await routes.counts();
      const [a, b] = ['a', 'b'].map((name) => counts.find(({ connector }) => connector === name));
      return (a?.temporary ?? 0) > 0 && (a?.failovers ?? 0) >= to.length - 1 && b?.accepted === taken().length;
    });
    await bench.stop();
    assert.deepEqual((await bench.ledger.check()).discrepancies, []);
    assert.deepEqual(bench.failures, []);
  });

  test('a message without an answer stays with its carrier, whatever other carriers the route names', async (t) => {
    const { create, ofFile, submitted } = carriers({ a: () => NO_ANSWER });
    const bench = await openGateway(engine, t, { create, ofFile });
    const known = NAMES.map((name) => ({ name, urls: [] }));
    const routes = createOutboundRoutes(bench.database, Date.now);
    await routes.put({ ...ROUTE, ways: [way('a'), way('b')] }, known, 'https://sms.example');
    const account = await bench.addAccount();
    await bench.send(account, ['+27825550201']);
    await until('it needs a decision', async () => {
      const [message] = await bench.sent.newest(account, 1);
      return message?.status === 'UNKNOWN';
    });
    assert.deepEqual(submitted, [['a', '+27825550201']]);
  });

  test('a carrier that refuses most messages is avoided for a while', async (t) => {
    const { create, ofFile } = carriers({ a: () => REFUSED });
    const bench = await openGateway(engine, t, { create, ofFile });
    const known = NAMES.map((name) => ({ name, urls: [] }));
    const routes = createOutboundRoutes(bench.database, Date.now);
    await routes.put({ ...ROUTE, ways: [way('a'), way('b')] }, known, 'https://sms.example');
    const account = await bench.addAccount();
    const to = Array.from({ length: 60 }, (_, index) => `+2782555${1000 + index}`);
    await bench.send(account, to);
    await until('it is avoided', async () => (await bench.connectors.show('a')).avoidedUntil !== null);
    const { avoidedReason, downSince } = await bench.connectors.show('a');
    assert.deepEqual([avoidedReason, downSince], ['it refused 50 of the last 50 messages', null]);
  });
});

test('a message goes to another carrier only if the first one certainly has no part of it', () => {
  const throttled: SubmitResult = { kind: 'temporary', reason: 'slow down', retryAfterMs: 1_000 };
  const never: SubmitResult = { kind: 'permanent', reason: 'no such number' };
  assert.equal(refusalOf([REFUSED, DOWN]), 'temporary');
  assert.equal(refusalOf([throttled, DOWN]), 'throttled');
  assert.equal(refusalOf([REFUSED, never]), 'permanent');
  assert.equal(refusalOf([REFUSED, TAKEN]), undefined);
  assert.equal(refusalOf([REFUSED, NO_ANSWER]), undefined);
  assert.equal(refusalOf([{ kind: 'temporary', reason: 'withheld: the recipient opted out' }]), undefined);
});
