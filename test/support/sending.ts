import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { changeAccount, createAccount, type NewAccount } from '../../src/domain/accounts/accounts.ts';
import { createLedger } from '../../src/domain/accounts/ledger.ts';
import { createScheduled } from '../../src/domain/messages/scheduled.ts';
import { createSent } from '../../src/domain/messages/sent.ts';
import { createAccepting, type NewMessages } from '../../src/domain/sending/accept.ts';
import { newAttemptId } from '../../src/domain/sending/attempts.ts';
import { createCancellation } from '../../src/domain/sending/cancel.ts';
import { type ClaimedMessage, createClaiming } from '../../src/domain/sending/claim.ts';
import { createSettling, type OnGatewayIds, type Outcome } from '../../src/domain/sending/settle.ts';
import type { Engine } from './engines.ts';
import { openStore, sql } from './opened-database.ts';

/** Accounts that send, on a database of their own, with a clock that the test sets. */
const idOf = sql<{ username: string }, { account_id: bigint }>(
  'select account_id from account where username = :username',
);

const nameOf = sql<{ account: bigint }, { username: string }>(
  'select username from account where account_id = :account',
);

export const START = Date.UTC(2026, 10, 17, 12);
export const MINUTE = 60_000;
export const LEASE = 2 * MINUTE;
export const UNKNOWN_OUTCOME = 15 * MINUTE;

export const message = (given: Partial<NewMessages> & { to?: readonly string[]; text?: string } = {}): NewMessages => ({
  recipients: (given.to ?? ['+27825550201']).map((number) => ({ number, text: given.text ?? 'hello' })),
  sender: null,
  reference: null,
  sendAt: null,
  notAfter: null,
  ...given,
});

export async function openSending(engine: Engine, t: TestContext, onGatewayIds?: OnGatewayIds) {
  const sending = await openSendingOn(await engine.fresh('empty'), onGatewayIds);
  t.after(() => sending.database.close());
  return sending;
}

/** The same on a database that exists, which the test closes. */
export async function openSendingOn(setting: string, onGatewayIds?: OnGatewayIds) {
  const database = await openStore(setting);
  const clock = { now: START };
  const now = () => clock.now;
  const ledger = createLedger(database, now);
  const accepting = createAccepting(database, now);
  const settling = createSettling(database, now, onGatewayIds);
  const claimingAs = (owner: string) =>
    createClaiming(database, { now, owner, newAttemptId, leaseMs: LEASE, unknownOutcomeMs: UNKNOWN_OUTCOME });
  const claiming = claimingAs('one');
  let count = 0;
  return {
    setting,
    database,
    clock,
    now,
    ledger,
    accepting,
    settling,
    claiming,
    claimingAs,
    sent: createSent(database, now),
    scheduled: createScheduled(database, now),
    cancellation: createCancellation(database, now),
    async addAccount(given: Partial<NewAccount> = {}): Promise<bigint> {
      const username = `sender-${++count}`;
      await createAccount(database, { username, passwordHash: null, credits: 1_000n, ...given }, clock.now);
      return (await database.first(idOf, { username }))?.account_id as bigint;
    },
    change: (account: bigint, change: Parameters<typeof changeAccount>[3]) =>
      database.first(nameOf, { account }).then((row) => changeAccount(database, account, row?.username ?? '', change)),
    accept: (account: bigint, given = message(), settings: Partial<Parameters<typeof accepting.accept>[1]> = {}) =>
      accepting.accept(account, { region: 'ZA', timeZone: null, quietHours: null, ...settings }, given),
    claim: (limit = 100, connector = 'loopback') =>
      claiming.claim({ connector, isDefault: connector === 'loopback' }, limit),
    settle: (
      claimed: readonly ClaimedMessage[],
      outcome: Outcome,
      state: 'accepted' | 'refused' | 'unknown-outcome' = 'accepted',
    ) =>
      settling.settle(
        claimed.map((each) => ({
          message: each,
          parts: each.parts.map(({ number }) => ({ part: number, state, gatewayId: null })),
          outcome,
        })),
      ),
    async checkLedger(when = ''): Promise<void> {
      assert.deepEqual((await ledger.check()).discrepancies, [], when);
    },
  };
}
export type Sending = Awaited<ReturnType<typeof openSending>>;

/** A connector as it is prepared at the start of a service. */
export const SMPP_CARRIER = {
  name: 'carrier',
  kind: 'smpp',
  config: {},
  isDefault: true,
  submissionsMax: 10,
  ratePerSecond: null,
};
