import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { readAccount, writeAccount } from '../../src/transfer/account-json.ts';
import { onEveryEngine } from '../support/engines.ts';
import { PROTOCOLS } from '../support/protocols.ts';
import { type Service, startService } from '../support/service.ts';
import { type AnyAccount, anyAccount, questions } from './accounts.ts';
import { anyText, carried, LONG_MAX, LONG_MIN, runs, xmlText } from './arbitraries.ts';
import { phrasings } from './phrasings.ts';
import { ask } from './replies.ts';

const someForm = fc.constantFrom(...PROTOCOLS);

onEveryEngine('round trips', (engine) => {
  const withService = async (work: (service: Service) => Promise<void>): Promise<void> => {
    const service = await startService(engine, 'empty');
    try {
      await work(service);
    } finally {
      await service.stop();
    }
  };

  let accounts = 0;
  /** Each run has an account of its own, so that one that fails leaves nothing behind for the next. */
  async function adopt(
    { app }: Service,
    account: Partial<AnyAccount> = {},
  ): Promise<{ userID: string; username: string }> {
    accounts += 1;
    const names = { userID: `user ${accounts}`, username: `account ${accounts}` };
    const demanded = { credits: 0, usedCredits: 0, datetimeCreated: '2026-01-01T00:00:00Z' };
    await app.archive.load(await readAccount({ ...demanded, ...account, ...names }, Date.UTC(2026, 0)));
    return names;
  }

  test('a template that is saved in one protocol is listed in all, exactly, and deleted by its text in any', () =>
    withService(async (service) => {
      const save = fc.asyncProperty(
        xmlText().filter(Boolean),
        someForm,
        someForm,
        async (message, saving, deleting) => {
          const { userID: user_id } = await adopt(service);
          const call = { user_id, message };
          assert.equal(await ask(service, saving, 'account', 'SaveMessageTemplate', call), true);
          for (const protocol of PROTOCOLS) {
            assert.deepEqual(
              await ask(service, protocol, 'account', 'FetchSavedMessages', { user_id }),
              [message],
              protocol,
            );
          }
          assert.equal(await ask(service, deleting, 'account', 'DeleteMessageTemplate', call), true);
          assert.deepEqual(await ask(service, deleting, 'account', 'FetchSavedMessages', { user_id }), []);
        },
      );
      await fc.assert(save, runs(40, engine));
    }));

  test('every spelling of the characters of a text gives the same text', () =>
    withService(async (service) => {
      const save = fc.asyncProperty(xmlText().filter(Boolean), async (message) => {
        const { userID: user_id } = await adopt(service);
        for (const [name, phrase] of Object.entries(phrasings)) {
          const { status, text } = await service.send(phrase('account', 'SaveMessageTemplate', { user_id, message }));
          assert.equal(status, 200, `${name}: ${text}`);
          const listed = await ask(service, 'soap11', 'account', 'FetchSavedMessages', { user_id });
          assert.deepEqual(listed, [message], name);
          assert.equal(await ask(service, 'post', 'account', 'DeleteMessageTemplate', { user_id, message }), true);
        }
      });
      await fc.assert(save, runs(25, engine));
    }));

  test('a character that XML cannot carry is returned as U+FFFD in every protocol, and is stored as it was saved', () =>
    withService(async (service) => {
      const wellFormed = anyText()
        .map((text) => text.toWellFormed())
        .filter(Boolean);
      const save = fc.asyncProperty(wellFormed, fc.constantFrom('get', 'post'), async (message, protocol) => {
        const { userID: user_id } = await adopt(service);
        const call = { user_id, message };
        assert.equal(await ask(service, protocol, 'account', 'SaveMessageTemplate', call), true);
        for (const each of PROTOCOLS) {
          const listed = await ask(service, each, 'account', 'FetchSavedMessages', { user_id });
          assert.deepEqual(listed, [carried(message)]);
        }
        assert.equal(await ask(service, protocol, 'account', 'DeleteMessageTemplate', call), true);
      });
      await fc.assert(save, runs(25, engine));
    }));

  test('an account that is imported is answered in every protocol as it was in the file', () =>
    withService(async (service) => {
      const load = fc.asyncProperty(anyAccount, async (account) => {
        const { userID, username } = await adopt(service, account);
        for (const [group, operation, args, answer] of questions(account, userID, username)) {
          for (const protocol of PROTOCOLS) {
            const given = await ask(service, protocol, group, operation, { user_id: userID, ...args });
            assert.deepEqual(given, answer, `${group}.${operation} ${protocol}`);
          }
        }
      });
      await fc.assert(load, runs(25, engine));
    }));

  test('an id names its own message and no other, over all 64 bits and in every protocol', () =>
    withService(async (service) => {
      const change = fc.asyncProperty(anyAccount, someForm, async (account, protocol) => {
        const { userID } = await adopt(service, account);
        const told = (group: string, operation: string, args: Record<string, string>) =>
          ask(service, protocol, group, operation, { user_id: userID, ...args });
        const [inbox, sent] = [account.inbox, account.sent].map((list) => new Set(list.map(({ id }) => id)));
        for (const id of around(account.inbox)) {
          assert.equal(await told('inbox', 'MarkMessageAsRead', { message_id: id }), inbox?.has(id));
        }
        assert.equal(await told('inbox', 'CountUnread', {}), 0n);
        for (const { timestamp } of account.inbox) {
          const range = { from: timestamp, to: timestamp, max_count: '100' };
          const found = (await told('inbox', 'Read', range)) as { id: bigint }[];
          const there = account.inbox.filter((message) => message.timestamp === timestamp);
          assert.deepEqual(new Set(found.map(({ id }) => String(id))), new Set(there.map(({ id }) => id)));
        }
        for (const id of around(account.sent)) {
          assert.equal(await told('sent', 'MarkMessageAsRead', { id }), sent?.has(id));
        }
        assert.equal(await told('sent', 'CountUnMarkedDeliveryStatus', {}), 0n);
        for (const id of around(account.sent)) {
          assert.equal(await told('sent', 'DeleteSentMessage', { message_id: id }), sent?.has(id));
        }
        assert.deepEqual(await told('sent', 'FetchSentDS', { max: '10' }), []);
      });
      await fc.assert(change, runs(25, engine));
    }));

  test('returned credits stay a number of 64 bits', () =>
    withService(async (service) => {
      const cancel = fc.asyncProperty(anyAccount, someForm, async (account, protocol) => {
        const { userID: user } = await adopt(service, account);
        const credits = async () =>
          ((await ask(service, protocol, 'account', 'Profile', { user_id: user })) as { credits: bigint }).credits;
        const before = await credits();
        assert.equal(await ask(service, protocol, 'compose', 'DeleteAllScheduled', { user_id: user }), true);
        const after = await credits();
        assert.ok(after >= before && after <= LONG_MAX, `${before} credits became ${after}`);
        if (account.scheduled.length > 0 && before < LONG_MAX) assert.ok(after > before);
      });
      await fc.assert(cancel, runs(25, engine));
    }));
});

onEveryEngine('import and export', (engine) => {
  const NOW = Date.UTC(2026, 0);
  const SETTINGS = ['stopWords', 'timeZone', 'quietHours', 'unknownOutcomePolicy', 'connector', 'lowCredits'] as const;

  test('an export has every setting of the import, and its import gives the same export', async (t) => {
    const { app, stop } = await startService(engine, 'empty');
    t.after(stop);
    const exported = async (username: string) => {
      let text = '';
      await app.archive.read(username, async (reading) => {
        for await (const piece of writeAccount(reading)) text += piece;
      });
      return text;
    };
    let count = 0;
    const carry = fc.asyncProperty(anyAccount, async (account) => {
      count += 1;
      const username = `first ${count}`;
      await app.archive.load(await readAccount({ ...account, username, userID: `user ${count}` }, NOW));
      const first = JSON.parse(await exported(username));
      for (const name of SETTINGS) assert.equal(first[name], account[name], name);
      const again = { ...first, username: `second ${count}`, userIDHashes: undefined, userID: `again ${count}` };
      await app.archive.load(await readAccount(again, NOW));
      const second = JSON.parse(await exported(again.username));
      const same = { username, userIDHashes: first.userIDHashes };
      assert.deepEqual({ ...second, ...same }, first);
    });
    await fc.assert(carry, runs(25, engine));
  });
});

/** The ids of a list and their neighbours. */
const around = (list: readonly { id: string }[]): Set<string> =>
  new Set(
    list
      .flatMap(({ id }) => [BigInt(id) - 1n, BigInt(id), BigInt(id) + 1n])
      .filter((id) => id >= LONG_MIN && id <= LONG_MAX)
      .map(String),
  );
