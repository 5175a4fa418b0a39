import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '../../src/base/clock.ts';
import { createCarrierEvents } from '../../src/carriers/carrier-events.ts';
import type { Connector, Submission, SubmitResult } from '../../src/carriers/connector.ts';
import { createGateway, type GatewayParts } from '../../src/carriers/gateway.ts';
import { accountId, createAccount, type NewAccount } from '../../src/domain/accounts/accounts.ts';
import { createLedger } from '../../src/domain/accounts/ledger.ts';
import { createSent } from '../../src/domain/messages/sent.ts';
import type { ArrivedMessage } from '../../src/domain/receiving/incoming.ts';
import { createAccepting } from '../../src/domain/sending/accept.ts';
import { createConnectors, type NewConnector } from '../../src/domain/sending/connectors.ts';
import { heldReceipts } from '../../src/domain/sending/receipts.ts';
import type { Engine } from './engines.ts';
import { openStore } from './opened-database.ts';
import { message } from './sending.ts';

/** A gateway on a database of its own, with the real clock and short times. */
export const LOOPBACK: NewConnector = {
  name: 'loopback',
  kind: 'loopback',
  config: { receiptAfterMs: 5 },
  isDefault: true,
  submissionsMax: 100,
  ratePerSecond: null,
};

export const SETTINGS = {
  pollMs: 20,
  submitTimeoutMs: 5_000,
  leaseMs: 60_000,
  unknownOutcomeMs: 100,
  stopTimeoutMs: 2_000,
};

export async function until(what: string, isTrue: () => Promise<boolean> | boolean): Promise<void> {
  for (let tries = 0; tries < 3_000; tries++) {
    if (await isTrue()) return;
    await sleep(10);
  }
  assert.fail(`this did not happen: ${what}`);
}

/** A connector whose answers the test gives. */
export function scripted(answer: (part: Submission) => SubmitResult | Promise<SubmitResult>) {
  const submitted: string[] = [];
  const create: GatewayParts['create'] = (name): Connector => ({
    name,
    kind: 'loopback',
    start: async () => {},
    stop: async () => {},
    submit: (parts) =>
      Promise.all(
        parts.map((part) => {
          submitted.push(part.recipient);
          return answer(part);
        }),
      ),
  });
  return { submitted, create };
}

export async function openGateway(engine: Engine, t: TestContext, given: Partial<GatewayParts> = {}) {
  const database = await openStore(await engine.fresh('empty'));
  const now = Date.now;
  const incoming: ArrivedMessage[] = [];
  const own = createCarrierEvents(database, now, 'ZA');
  const failures: unknown[] = [];
  const start = () => {
    const gateway = createGateway({
      database,
      clock: { ...systemClock, random: () => 0 },
      ofFile: [LOOPBACK],
      events: {
        ...own,
        async incoming(each) {
          incoming.push(each);
          await own.incoming(each);
        },
      },
      onGatewayIds: heldReceipts,
      defaultRegion: 'ZA',
      settings: SETTINGS,
      failed: (thrown) => failures.push(thrown),
      ...given,
    });
    return gateway;
  };
  const gateway = start();
  await gateway.start();
  let isStopped = false;
  const stop = async () => {
    if (!isStopped) await gateway.stop();
    isStopped = true;
  };
  t.after(async () => {
    await stop();
    await database.close();
  });
  const ledger = createLedger(database, now);
  const sent = createSent(database, now);
  const accepting = createAccepting(database, now);
  let count = 0;
  return {
    database,
    gateway,
    start,
    stop,
    incoming,
    failures,
    ledger,
    sent,
    connectors: createConnectors(database, now),
    async addAccount(account: Partial<NewAccount> = {}): Promise<bigint> {
      const username = `gateway-${++count}`;
      await createAccount(database, { username, passwordHash: null, credits: 1_000n, ...account }, now());
      return accountId(database, username);
    },
    async send(account: bigint, to: readonly string[], text = 'hello', sender: string | null = null) {
      const settings = { region: 'ZA', timeZone: null, quietHours: null };
      const { accepted } = await accepting.accept(account, settings, message({ to, text, sender }));
      gateway.wake();
      return accepted.map(({ id }) => id as bigint);
    },
    statusOf: async (account: bigint, id: bigint) => (await sent.show(account, id)).status,
  };
}
