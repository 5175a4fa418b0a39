import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import { refuseServed } from '../../src/commands/restore.ts';
import { addSession } from '../../src/domain/access/sessions.ts';
import { auditEntries } from '../../src/domain/accounts/audit.ts';
import { claimKey } from '../../src/domain/accounts/idempotency.ts';
import { takeIds } from '../../src/domain/accounts/ids.ts';
import { writeInstallation } from '../../src/domain/accounts/installation.ts';
import { decideMany, queuedMessages } from '../../src/domain/queue/queue.ts';
import { newAttemptId } from '../../src/domain/sending/attempts.ts';
import { decide } from '../../src/domain/sending/decide.ts';
import { provePart } from '../../src/domain/sending/end.ts';
import { HELD, HELD_WITH_RECEIPT } from '../../src/domain/sending/hold.ts';
import { createMaintenance } from '../../src/domain/sending/maintenance.ts';
import { createReceipts, type NewReceipt } from '../../src/domain/sending/receipts.ts';
import { adopt } from '../../src/serve/adopt.ts';
import { joined } from '../../src/store/transactions.ts';
import { onOneEngine } from '../support/engines.ts';
import { pathOf, sql } from '../support/opened-database.ts';
import { MINUTE, message, openSendingOn, START } from '../support/sending.ts';
import { adoptionOf, copyOf, dropCopy, openOf, play } from './adopted.ts';

const LONG = 'x'.repeat(400); // three parts
const SERVED = {
  generation: BigInt(START),
  run: '0'.repeat(16),
  place: '',
  timeline: '',
  copiedAt: null,
  restoredAt: null,
};

onOneEngine('a restored backup', (engine) => {
  test('a message that was sent after the backup is held, and is not submitted a second time', async () => {
    let account = 0n;
    let id = 0n;
    await play(engine, {
      async before(one) {
        account = await one.addAccount();
        id = (await one.accept(account)).accepted[0]?.id as bigint;
      },
      async lost(one) {
        const claimed = await one.claim();
        assert.deepEqual(
          claimed.map((each) => each.id),
          [id],
        );
        await one.settle(claimed, { kind: 'submitted' });
      },
      async after(two) {
        const { held } = await adopt(two.database, adoptionOf(two));
        assert.equal(held, 1);
        assert.deepEqual(await two.claim(), []);
        two.clock.now += 24 * 60 * MINUTE;
        assert.deepEqual(await two.claim(), [], 'nor does any policy or lease submit it later');
        assert.deepEqual(await openOf(two), [{ id, state: 'needs-decision', reason: HELD }]);
        assert.equal((await two.sent.show(account, id)).status, 'UNKNOWN');
        await two.checkLedger();
      },
    });
  });

  test('a receipt of a submission that was made after the backup settles its message, or tells of it where it proves too little', async () => {
    let account = 0n;
    const ids: bigint[] = [];
    const lost: string[] = [];
    const texts = ['hello', 'refused by one carrier, and another one may have it', LONG, 'by text', 'by numbers'];
    await play(engine, {
      async before(one) {
        account = await one.addAccount();
        for (const [place, text] of texts.entries()) {
          const { accepted } = await one.accept(account, message({ text, to: [`+2782555020${place}`] }));
          ids.push(accepted[0]?.id as bigint);
        }
      },
      async lost(one) {
        const claimed = await one.claim();
        for (const id of ids) lost.push(claimed.find((each) => each.id === id)?.parts[0]?.attemptId as string);
        await one.settle(claimed, { kind: 'submitted' });
      },
      async after(two) {
        assert.equal((await adopt(two.database, adoptionOf(two))).held, 5);
        const given = { connector: 'smsc', attemptId: null, gatewayId: null, at: START, detail: null };
        const receive = (of: Partial<NewReceipt>) =>
          createReceipts(two.database, two.now).receive({ ...given, status: 'DELIVERED', ...of });
        await receive({ attemptId: lost[0] as string });
        await receive({ attemptId: lost[1] as string, status: 'REJECTED' });
        await receive({ attemptId: lost[2] as string });
        await receive({ attemptId: newAttemptId(START, { account, id: 77n }) });
        const about = { sender: '', isDefaultSender: true };
        await receive({ gatewayId: 'g-3', about: { ...about, recipient: '27825550203', textStart: 'by text' } });
        await receive({ gatewayId: 'g-4', about: { ...about, recipient: '27825550204', textStart: '' } });
        two.clock.now += 6 * MINUTE;
        const incoming = { storeIncomplete: async () => 0, forgetOld: async () => 0 };
        await createMaintenance(two.database, incoming, { now: two.now, receiptWaitMs: 72 * 60 * MINUTE }).run();
        for (const place of [0, 3]) {
          assert.equal((await two.sent.show(account, ids[place] as bigint)).status, 'DELIVERED', texts[place]);
        }
        assert.deepEqual(
          (await openOf(two)).map(({ id, reason }) => [id, reason]),
          [1, 2, 4].map((place) => [ids[place], place === 1 ? HELD : HELD_WITH_RECEIPT]),
        );
        const all = { decision: 'submitted', account, isHeld: true, limit: 10 } as const;
        assert.equal((await decideMany(two.database, all, { at: two.clock.now, tryForMs: MINUTE })).decided, 3);
        await two.checkLedger();
      },
    });
  });

  test('no id that was used after the backup is used again', async () => {
    let account = 0n;
    const lost: bigint[] = [];
    const kinds = ['contact', 'group', 'message', 'template'] as const;
    await play(engine, {
      async before(one) {
        account = await one.addAccount();
        await one.accept(account);
      },
      async lost(one) {
        const given = await one.accept(account, message({ to: ['+27825550202', '+27825550203'] }));
        lost.push(...given.accepted.map((each) => each.id as bigint));
        for (const kind of kinds) {
          lost.push(await one.database.transaction(account, (queries) => takeIds(queries, account, kind, 1_000)));
        }
      },
      async after(two) {
        await adopt(two.database, adoptionOf(two));
        const ids: bigint[] = [];
        for (const kind of kinds) {
          ids.push(await two.database.transaction(account, (queries) => takeIds(queries, account, kind)));
        }
        for (const id of ids) assert.ok(id > Math.max(...lost.map(Number)) + 1_000, `${id}`);
      },
    });
  });

  test('a backup that is restored a second time does not give the ids again that were given after the first time', async () => {
    const one = await openSendingOn(await engine.fresh('empty'));
    const account = await one.addAccount();
    await one.accept(account);
    await one.database.transaction(null, (queries) => writeInstallation(queries, SERVED));
    const copies = [await copyOf(one)];
    for (let count = 1; count < 3; count++) copies.push(await copyOf(await openSendingOn(copies.at(-1) as string)));
    const [first, second, third] = copies as [string, string, string];
    const take = async (setting: string, at: number, count: number, restored: readonly bigint[] = []) => {
      const sending = await openSendingOn(setting);
      sending.clock.now = at;
      try {
        await adopt(sending.database, adoptionOf(sending, { restored }));
        const taken = new Map<string, bigint>();
        for (const kind of ['contact', 'group', 'message', 'template'] as const) {
          const ids = await sending.database.transaction(account, (queries) => takeIds(queries, account, kind, count));
          taken.set(kind, ids);
        }
        return taken;
      } finally {
        await sending.database.close();
        await dropCopy(setting);
      }
    };
    const GIVEN = 50_000;
    const before = await take(first, START + MINUTE, GIVEN);
    const isAfter = (ids: ReadonlyMap<string, bigint>, count: number) => {
      for (const [kind, id] of ids) assert.ok(id >= (before.get(kind) as bigint) + BigInt(count), `${kind} ${id}`);
    };
    isAfter(await take(second, START + 2 * MINUTE, 1, [BigInt(START + MINUTE)]), GIVEN);
    // Two days are a multiple of 64 minutes, and nobody tells of the first restore.
    isAfter(await take(third, START + MINUTE + 2 * 24 * 60 * MINUTE, 1), GIVEN);
  });

  test('messages that are due later stay scheduled, and those that became due in the lost time are held', async () => {
    let account = 0n;
    await play(engine, {
      async before(one) {
        account = await one.addAccount();
        await one.accept(account, message({ sendAt: START + 30_000, reference: 'due' }));
        await one.accept(account, message({ sendAt: START + 10 * MINUTE, reference: 'later', to: ['+27825550209'] }));
      },
      async after(two) {
        assert.equal((await adopt(two.database, adoptionOf(two))).held, 1);
        assert.deepEqual(await two.claim(), []);
        assert.deepEqual(
          (await two.scheduled.soonest(account, 10)).map(({ reference }) => reference),
          ['later'],
        );
        assert.equal((await two.sent.newest(account, 10))[0]?.reference, 'due');
        await two.checkLedger('held');
        two.clock.now = START + 10 * MINUTE;
        assert.equal((await two.claim()).length, 1);
      },
    });
  });

  test('a receipt for an attempt before the backup does not send the message again', async () => {
    let account = 0n;
    let id = 0n;
    await play(engine, {
      async before(one) {
        account = await one.addAccount();
        id = (await one.accept(account, message({ text: LONG }))).accepted[0]?.id as bigint;
        await one.settle(await one.claim(), { kind: 'waiting', dueAt: START, reason: 'busy' }, 'refused');
      },
      async after(two) {
        await adopt(two.database, adoptionOf(two));
        const proof = { messageId: id, attempt: 1n, part: 1n };
        await two.database.transaction(account, (queries) => provePart({ queries, account, at: two.now() }, proof));
        assert.deepEqual(await two.claim(), []);
        assert.equal((await openOf(two))[0]?.state, 'needs-decision');
      },
    });
  });

  test('a message whose receipt came before the answer to its submission is not held, and its credits are captured', async () => {
    let account = 0n;
    let id = 0n;
    await play(engine, {
      async before(one) {
        account = await one.addAccount();
        id = (await one.accept(account)).accepted[0]?.id as bigint;
        await one.claim();
        const proof = { messageId: id, attempt: 1n, part: 1n };
        await one.database.transaction(account, (queries) => provePart({ queries, account, at: one.now() }, proof));
      },
      async after(two) {
        assert.equal((await adopt(two.database, adoptionOf(two))).held, 0);
        assert.deepEqual(await openOf(two), []);
        assert.equal((await two.sent.show(account, id)).status, 'SUBMITTED');
        assert.equal((await two.ledger.balances(account)).held, 0n);
        await two.checkLedger();
      },
    });
  });

  test('an operator decides that a held message was sent, was not sent, or is sent now', async () => {
    let account = 0n;
    let ids: bigint[] = [];
    await play(engine, {
      async before(one) {
        account = await one.addAccount();
        const to = ['+27825550201', '+27825550202', '+27825550203', '+27825550204'];
        ids = (await one.accept(account, message({ to, text: LONG }))).accepted.map((each) => each.id as bigint);
      },
      async after(two) {
        await adopt(two.database, adoptionOf(two));
        const settings = { at: two.now(), tryForMs: 60 * MINUTE };
        await decide(two.database, account, ids[0] as bigint, 'submitted', settings);
        await decide(two.database, account, ids[1] as bigint, 'not-submitted', settings);
        assert.deepEqual(await two.ledger.balances(account), { free: 991n, held: 6n, used: 3n });
        const restored = await queuedMessages(two.database, { kind: 'restored', after: null, limit: 100 });
        assert.deepEqual(
          restored.map(({ id }) => id),
          [ids[2], ids[3]],
        );
        const many = { decision: 'submit-again', account: null, isHeld: true, limit: 1 } as const;
        const decideSome = () =>
          two.database.transaction(null, (queries) => decideMany(joined(two.database, queries), many, settings));
        assert.deepEqual(await decideSome(), { decided: 1, isMoreLeft: true });
        assert.deepEqual(await decideSome(), { decided: 1, isMoreLeft: false });
        const claimed = await two.claim();
        assert.deepEqual(
          claimed.map((each) => each.id),
          [ids[2], ids[3]],
        );
        await two.settle(claimed, { kind: 'submitted' });
        const statuses = await Promise.all(ids.map(async (id) => (await two.sent.show(account, id)).status));
        assert.deepEqual(statuses, ['SUBMITTED', 'REJECTED', 'SUBMITTED', 'SUBMITTED']);
        await two.checkLedger('decided');
      },
    });
  });

  test('a database that a service uses is not adopted', async () => {
    const { database, setting } = await openSendingOn(await engine.fresh('empty'));
    const adopted = () => refuseServed({ database: setting, databaseTimeoutMs: 10_000 });
    await assert.rejects(adopted(), /to the database|uses this database.*Stop it first/);
    await database.close();
    await adopted();
  });

  test('sessions and unfinished requests end, and audit and webhooks say that a backup was restored', async () => {
    await play(engine, {
      async before(one) {
        const account = await one.addAccount();
        await one.accept(account);
        const owner = { kind: 'account', id: account, name: 'sender-1' } as const;
        await addSession(one.database, owner, { address: '192.0.2.1', agent: 'test' }, START);
        await claimKey(one.database, 'unfinished', 'print', START);
        await one.database.run(ADD_WEBHOOK, {});
      },
      async after(two) {
        const { generation } = await adopt(two.database, adoptionOf(two));
        const counts = await two.database.first(COUNTS, {});
        assert.deepEqual(counts, { sessions: 0n, claims: 0n, events: 1n });
        const { entries } = await auditEntries(two.database, ANY, 10, null);
        assert.equal(entries[0]?.action, 'restore');
        assert.equal(entries[0]?.target, `generation ${generation}, 1 message held`);
      },
    });
  });

  test('a dry run holds no message, and neither does a restore that lost nothing', async () => {
    await play(engine, {
      async before(one) {
        await one.accept(await one.addAccount());
      },
      async after(two) {
        assert.equal((await adopt(two.database, adoptionOf(two, { dryRun: true }))).held, 1);
        assert.deepEqual(await openOf(two), []);
        if (two.setting.startsWith('sqlite:')) assert.ok(!existsSync(`${pathOf(two.setting)}-generation`));
        assert.equal((await adopt(two.database, adoptionOf(two, { nothingLost: true }))).held, 0);
        assert.equal((await two.claim()).length, 1);
      },
    });
  });
});

const ANY = { account: null, actor: null, action: null, from: null, to: null };
const ADD_WEBHOOK = sql(
  `insert into webhook (webhook_id, url, events, is_full, secret, created_at)
   values (1, 'https://shop.example/', ',service.restored,', 0, 'secret', 0)`,
);
const COUNTS = sql<Record<string, never>, { sessions: bigint; claims: bigint; events: bigint }>(
  `select (select count(*) from session) as sessions, (select count(*) from idempotency) as claims,
     (select count(*) from webhook_delivery where type = 'service.restored') as events`,
);
