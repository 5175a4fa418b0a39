import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import type { Exchange } from '../../src/asmx/endpoint.ts';
import type { Request } from '../../src/base/exchange.ts';
import { accountId } from '../../src/domain/accounts/accounts.ts';
import { hashUserId } from '../../src/domain/accounts/credentials.ts';
import { createLedger } from '../../src/domain/accounts/ledger.ts';
import { createReceived } from '../../src/domain/messages/received.ts';
import { createAccepting } from '../../src/domain/sending/accept.ts';
import { newAttemptId } from '../../src/domain/sending/attempts.ts';
import { createClaiming } from '../../src/domain/sending/claim.ts';
import { createSettling } from '../../src/domain/sending/settle.ts';
import type { Database } from '../../src/store/database.ts';
import { accountChanges } from '../../test/support/account-changes.ts';
import { columba } from '../../test/support/command.ts';
import { adopt, exportOf } from '../../test/support/contract-client.ts';
import { type Engine, SAMPLE } from '../../test/support/engines.ts';
import { LEASE, message, UNKNOWN_OUTCOME } from '../../test/support/sending.ts';
import { ACME, GLOBEX, textOf } from '../../test/support/service.ts';
import { type Serving, serve } from '../../test/support/serving.ts';
import { type AnyCall, phrase } from './any-calls.ts';

/**
 * Two installations with the same data and the same things done to them. Each has its database open twice, as two processes
 * have. One keeps answers and the other makes each anew, and nobody can tell which is which.
 */
export interface Twins {
  /** The same call to both, and the same answer from both; what the one that keeps answers did about it. */
  call(call: AnyCall): Promise<Exchange>;
  /** The same to both, by name of the account. */
  setEnabled(username: string, enabled: boolean): Promise<void>;
  allow(username: string, networks: readonly string[]): Promise<void>;
  /** A further user_id under a name. */
  rotate(username: string, revokeOthers: boolean, name: string): Promise<void>;
  /** Unless it was revoked before. */
  revoke(username: string, name: string): Promise<void>;
  import(username: string): Promise<void>;
  /** As the operator's action does it: a message arrives. */
  receive(username: string, text: string): Promise<void>;
  /** Grants credits, accepts a message, and does with it what the dispatcher does. */
  send(username: string, text: string): Promise<void>;
  /** As a command in a process of its own. */
  command(...args: string[]): Promise<void>;
  passTime(ms: number): void;
  /** The data of both is still the same. */
  compare(): Promise<void>;
  stop(): Promise<void>;
}

interface Side {
  readonly database: string;
  readonly processes: readonly Serving[];
  readonly userIds: Map<string, string>;
  last: Exchange | undefined;
}

const { password, ...acme } = JSON.parse(readFileSync(SAMPLE, 'utf8')).accounts[0];
/** More than a page of everything, and lists on both sides of the longest that are kept. */
const many = (count: number, of: (index: number) => object) => Array.from({ length: count }, (_, index) => of(index));
const at = (index: number) => `2026-10-01T08:${String(index % 60).padStart(2, '0')}:00Z`;
const LARGE = {
  username: 'large',
  userID: 'large',
  groups: [{ id: 1, name: 'all' }],
  contacts: many(600, (id) => ({ id: 100 + id, name: 'someone', mobile: `+27825${550_000 + id}`, groupid: '1' })),
  inbox: many(700, (id) => ({ id: 1_000 + id, message: 'x'.repeat(50), timestamp: at(id), read: id % 3 === 0 })),
  sent: many(501, (id) => ({
    id: 2_000 + id,
    message: 'out',
    delivery_status: 'DELIVERED',
    marked: id % 5 === 0,
    timestamp_sent: at(id),
    timestamp_updated: at(id * 7),
  })),
};

async function openSide(engine: Engine, responseCacheBytesMax: number): Promise<Side> {
  const database = await engine.fresh('sample');
  const userIds = new Map([ACME, GLOBEX, 'large', '', 'unknown'].map((userId) => [userId, userId]));
  const side: Side = { database, userIds, processes: [], last: undefined };
  const observe = (exchange: Exchange) => {
    side.last = exchange;
  };
  const processes = [
    await serve(database, { observe }, { responseCacheBytesMax }),
    await serve(database, { observe }, { responseCacheBytesMax }),
  ];
  await adopt((processes[1] as Serving).app, LARGE);
  return Object.assign(side, { processes });
}

async function answer({ processes, userIds }: Side, call: AnyCall) {
  const userId = userIds.get(call.who) ?? assert.fail(`nobody is ${call.who}`);
  const { bytes, ...phrased } = phrase(call, userId);
  const body = async () => Buffer.from(bytes);
  const request: Request = { ...phrased, base: 'http://sms.example', client: call.client, body };
  const reply = await (processes[call.process] as Serving).app.endpoint(request);
  const text = await textOf(reply);
  // A user_id that was made here is another one there.
  const made = call.who !== userId;
  return { status: reply.status, headers: reply.headers, text: made ? text.replaceAll(userId, call.who) : text };
}

const timeOf = ({ processes }: Side): number => (processes[0] as Serving).clock.now;

async function sendOne(database: Database, now: () => number, username: string, text: string): Promise<void> {
  const account = await accountId(database, username);
  await createLedger(database, now).adjust(account, { amount: 10n, reason: 'test', reference: null });
  const settings = { region: 'ZA', timeZone: null, quietHours: null };
  await createAccepting(database, now).accept(account, settings, message({ text }));
  const claiming = createClaiming(database, {
    now,
    owner: 'twins',
    newAttemptId,
    leaseMs: LEASE,
    unknownOutcomeMs: UNKNOWN_OUTCOME,
  });
  const claimed = await claiming.claim({ connector: 'loopback', isDefault: true }, 100);
  await createSettling(database, now).settle(
    claimed.map((each) => ({
      message: each,
      parts: each.parts.map(({ number }) => ({ part: number, state: 'accepted' as const, gatewayId: null })),
      outcome: { kind: 'submitted' as const },
    })),
  );
}

export async function openTwins(engine: Engine, told: string): Promise<Twins> {
  const sides = [await openSide(engine, 2 ** 25), await openSide(engine, 0)] as const;
  let calls = 0;
  const both = async (work: (side: Side, app: Serving['app']) => Promise<unknown>) => {
    for (const side of sides) await work(side, (side.processes[calls % 2] as Serving).app);
  };
  return {
    async call(call) {
      calls += 1;
      const [keeping, plain] = [await answer(sides[0], call), await answer(sides[1], call)];
      assert.deepEqual(keeping, plain, `call ${calls}, ${told}: ${JSON.stringify(call)}`);
      assert.notEqual(plain.status, 503);
      assert.ok(sides[1].last?.call || sides[1].last?.kind !== 'ok', 'the one that keeps nothing kept something');
      return sides[0].last as Exchange;
    },
    setEnabled: (username, enabled) => both((_, app) => accountChanges(app).setEnabled(username, enabled)),
    allow: (username, networks) => both((_, app) => accountChanges(app).allow(username, networks)),
    async rotate(username, revokeOthers, name) {
      await both(async (side, app) => {
        side.userIds.set(name, (await accountChanges(app).rotateUserId(username, revokeOthers)).userId);
      });
    },
    async revoke(username, name) {
      const done: boolean[] = [];
      await both(async ({ userIds }, app) => {
        const revoking = accountChanges(app).revokeUserId(
          username,
          hashUserId(userIds.get(name) as string).slice(0, 12),
        );
        done.push(
          await revoking.then(
            () => true,
            () => false,
          ),
        );
      });
      assert.equal(done[0], done[1]);
    },
    async import(username) {
      const userID = `user_id of ${username}`;
      await both(async (side, app) => {
        await adopt(app, { ...acme, username, userID });
        side.userIds.set(userID, userID);
      });
    },
    receive: (username, text) =>
      both(async (side, { database }) => {
        const message = { gatewayId: null, sender: '+27825550201', text, shortCode: '31000', receivedAt: timeOf(side) };
        const account = await accountId(database, username);
        await createReceived(database, () => timeOf(side), { wake() {} }).receive(account, message);
      }),
    send: (username, text) => both((side, { database }) => sendOne(database, () => timeOf(side), username, text)),
    async command(...args) {
      await both(async ({ database }) => {
        const { code, stderr } = await columba([...args, '--database', database]);
        assert.equal(code, 0, stderr);
      });
    },
    passTime(ms) {
      for (const { processes } of sides) for (const { clock } of processes) clock.now += ms;
    },
    async compare() {
      const [kept, plain] = await Promise.all(sides.map(({ processes }) => exportOf((processes[0] as Serving).app)));
      const withoutIds = (text = '') => text.replaceAll(/"userIDHashes":\[[^\]]*\],/g, '');
      // Commands tell the time by a clock of their own.
      const withoutCommands = (text: string) => text.replaceAll(/"datetimeDisabled":"[^"]*",/g, '');
      assert.equal(withoutCommands(withoutIds(kept)), withoutCommands(withoutIds(plain)));
    },
    async stop() {
      for (const { processes } of sides) for (const { app } of processes) await app.stop();
    },
  };
}
