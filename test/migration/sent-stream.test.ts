import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { afterEach, beforeEach, test } from 'node:test';
import { contract } from '../../src/asmx/contract/contract.ts';
import type { Dialect, DialectColumn } from '../../src/asmx/dialect/dialect.ts';
import { systemClock } from '../../src/base/clock.ts';
import type { SentMessage } from '../../src/domain/messages/sent.ts';
import { checkAccounts } from '../../src/migration/copy/check.ts';
import { importAccounts } from '../../src/migration/copy/import.ts';
import { syncAccount } from '../../src/migration/copy/sync.ts';
import { readRowsOf } from '../../src/migration/old-server/answer-rows.ts';
import { createOldServer } from '../../src/migration/old-server/old-server.ts';
import { TESTED } from '../../src/migration/old-server/read-effects.ts';
import { accountIdNamed, copyProgress } from '../../src/migration/stages/migrated-accounts.ts';
import { onOneEngine } from '../support/engines.ts';
import { newAccount, type OldAccount } from '../support/old-server/accounts.ts';
import { type OldServerProcess, startOldServer } from '../support/old-server/server.ts';
import { PLAIN_WAYS } from '../support/old-server/ways.ts';
import { sql } from '../support/opened-database.ts';
import { type Service, startService } from '../support/service.ts';

/** Import, sync and check read FetchSentDS while it comes, and take no part of it for the whole. */

const NOW = Date.UTC(2026, 10, 15, 12);
const EFFECTS = Object.fromEntries(TESTED.map((name) => [name, 'leaves' as const]));
/** They are written by the thousand: half of them, which come first, are more than that. */
const MESSAGES = 2_200;
const COUNT_SENT = sql<{ account: bigint }, { count: bigint }>(
  'select count(*) as count from sent where account_id = :account',
);

onOneEngine('FetchSentDS as a stream', (engine) => {
  let service: Service;
  let old: OldServerProcess;
  let account: OldAccount;
  beforeEach(async () => {
    service = await startService(engine, 'empty');
    service.clock.now = NOW;
    account = newAccount('the user id', 'large');
    for (let id = 1; id <= MESSAGES; id++) send(id);
    old = await startOldServer({ accounts: [account], writes: [], deliveries: [] }, PLAIN_WAYS);
  });
  afterEach(async () => {
    await service.stop();
    await old.close();
  });
  const send = (id: number, changes: Partial<OldAccount['sent'][number]> = {}) => {
    const at = NOW - 86_400_000 - (MESSAGES - id) * 1_000;
    const message = `Text ${id} – ünïcode 😀 <&>`;
    const fields = { id, reference: `ref ${id}`, recipient: '+27831', message, status: 'DELIVERED' };
    account.sent.push({ ...fields, sentAt: at, updatedAt: at, marked: id % 2 === 0, ...changes });
  };
  const dependencies = (retriesMax = 0, ways = PLAIN_WAYS) => {
    const dialect = ways === PLAIN_WAYS ? {} : WITHOUT_MARKS;
    const { namespace } = ways;
    const client = createOldServer({
      url: old.url,
      namespace,
      dialect,
      retriesMax,
      clock: { ...systemClock, sleep: async () => {} },
    });
    const { database, archive } = service.app;
    return { database, archive, old: client, dialect, effects: EFFECTS, now: () => service.clock.now };
  };
  const users = [{ line: 1, userId: 'the user id' }];
  const run = (retriesMax = 0) => importAccounts(dependencies(retriesMax), users);
  const differences = async () =>
    (await checkAccounts(dependencies(), users)).flatMap(({ differences: found, problem }) => [...found, problem]);
  const here = async (): Promise<SentMessage[]> => {
    const found: SentMessage[] = [];
    await service.app.archive.read('large', async ({ sent }) => {
      for await (const each of sent) found.push(each);
    });
    return found;
  };
  const idsHere = async () => (await here()).map(({ id }) => Number(id));
  const accountId = async () => (await accountIdNamed(service.app.database, 'large')) as bigint;
  /** Asked again and again while the list comes, so nothing is read but their number. */
  const countHere = async () => {
    const account = await accountIdNamed(service.app.database, 'large');
    return account === null ? 0 : Number((await service.app.database.first(COUNT_SENT, { account }))?.count);
  };
  const isComplete = async () => (await copyProgress(service.app.database, await accountId()))?.completedAt != null;
  /** The long list comes in two halves; the newest messages are asked for before. */
  const inHalves = (between: (response: ServerResponse) => unknown) => {
    old.send = async (operation, text, response) => {
      if (operation !== 'sent.FetchSentDS' || text.length < 400_000) return response.end(text);
      const half = text.indexOf('<Table ', text.length / 2) + 100; // in the middle of a row
      response.write(text.slice(0, half));
      await between(response);
      if (!response.destroyed && !response.writableEnded) response.end(text.slice(half));
    };
  };
  const cut = async (response: ServerResponse) => {
    await untilAsync(async () => (await countHere()) >= MESSAGES / 4);
    response.destroy();
  };

  for (const kind of ['import', 'sync'] as const) {
    test(`${kind} writes sent messages while the rest of FetchSentDS is still to come`, async () => {
      if (kind === 'sync') {
        const all = account.sent.splice(0);
        assert.equal((await run()).accounts[0]?.outcome, 'copied');
        account.sent.push(...all);
      }
      let written = 0;
      inHalves(() =>
        untilAsync(async () => {
          written = await countHere();
          return written >= 1_000;
        }),
      );
      if (kind === 'import') assert.equal((await run()).accounts[0]?.outcome, 'copied');
      else {
        const target = { account: await accountId(), username: 'large', userId: 'the user id' };
        assert.equal((await syncAccount(dependencies(), target, { everything: true })).sent, MESSAGES);
      }
      assert(written >= 1_000 && written < MESSAGES, `${written} were written`);
      assert.equal((await here()).length, MESSAGES);
      assert.deepEqual(await differences(), [null]);
    });
  }

  test('a first import whose FetchSentDS is interrupted is not complete, and the next one continues', async () => {
    inHalves(cut);
    const { stopped, isRetryable } = await run();
    assert.match(stopped ?? '', /does not answer/);
    assert.equal(isRetryable, true);
    assert.equal(await isComplete(), false);
    const some = (await idsHere()).length;
    assert(some > 0 && some < MESSAGES, `${some} are here`);
    inHalves(() => {});
    assert.equal((await run()).accounts[0]?.outcome, 'copied');
    assert.deepEqual(await differences(), [null]);
  });

  for (const how of ['is cut', 'ends early without an error'] as const) {
    test(`nothing is removed on the evidence of a FetchSentDS that ${how}`, async () => {
      await run();
      account.sent.splice(1, 1);
      account.sent.splice(-1, 1);
      const end = (response: ServerResponse) => void (how === 'is cut' ? response.destroy() : response.end());
      inHalves(async (response) => end(response));
      old.send = withoutLength(old.send);
      const { stopped, accounts } = await run();
      assert.match(stopped ?? accounts[0]?.problem ?? '', how === 'is cut' ? /does not answer/ : /cannot be read/);
      assert.equal((await here()).length, MESSAGES);
      const target = { account: await accountId(), username: 'large', userId: 'the user id' };
      await assert.rejects(syncAccount(dependencies(), target, { everything: true }));
      assert.equal((await here()).length, MESSAGES);
      const checked = checkAccounts(dependencies(), users);
      if (how === 'is cut') await assert.rejects(checked, /does not answer/);
      else assert.match((await checked)[0]?.problem ?? '', /cannot be read/);
      inHalves(() => {});
      assert.equal((await run()).accounts[0]?.outcome, 'copied');
      const left = await idsHere();
      assert.deepEqual([left.length, left.includes(2), left.includes(MESSAGES)], [MESSAGES - 2, false, false]);
    });
  }

  test('a FetchSentDS that is interrupted once is called again, and its rows are counted once', async () => {
    let cuts = 0;
    inHalves((response) => void (cuts++ === 0 && response.destroy()));
    const { accounts } = await run(1);
    assert.deepEqual([accounts[0]?.outcome, accounts[0]?.sent, cuts], ['copied', MESSAGES, 2]);
    assert.deepEqual(await differences(), [null]);
  });

  test('a message that another import copies while FetchSentDS is read is not taken for a removed one', async () => {
    await run();
    const target = { account: await accountId(), username: 'large', userId: 'the user id' };
    let isFirst = true;
    inHalves(async () => {
      if (!isFirst) return;
      isFirst = false;
      send(MESSAGES + 7);
      assert.equal((await syncAccount(dependencies(), target)).sent, 1);
    });
    await run();
    assert.equal((await idsHere()).at(-1), MESSAGES + 7);
  });

  test('an unknown status word behind the first thousand rows stops the import, with its count', async () => {
    for (const each of account.sent.slice(0, 300)) each.status = 'Parked';
    const { accounts, unknownWords } = await run();
    assert.equal(accounts[0]?.outcome, 'failed');
    assert.deepEqual(unknownWords, { Parked: 300 });
    assert.equal(await isComplete(), false);
    const statuses = new Set((await here()).map(({ status }) => status));
    assert.deepEqual([...statuses], ['DELIVERED']);
  });

  test('if FetchSentDS shows no marks, those of a long list are read from the unmarked statuses', async () => {
    const columns = { ...PLAIN_WAYS.columns };
    columns['sent.FetchSentDS'] = (columns['sent.FetchSentDS'] ?? []).filter(([shows]) => shows !== 'marked');
    old.ways = { ...PLAIN_WAYS, columns };
    const { accounts } = await importAccounts(dependencies(0, old.ways), users);
    assert.deepEqual([accounts[0]?.outcome, accounts[0]?.remarks], ['copied', []]);
    const wrong = (await here()).filter(({ id, marked }) => marked !== (id % 2n === 0n));
    assert.deepEqual(wrong, []);
  });

  test('check finds single messages of a long list that differ, with their ids', async () => {
    await run();
    const changed = account.sent[40];
    assert(changed);
    changed.message = 'another text';
    send(MESSAGES + 1, { sentAt: NOW - 2 * 86_400_000 });
    const [gone] = account.sent.splice(2_000, 1);
    const [found] = await differences();
    assert(found && typeof found === 'object');
    assert.deepEqual(found, {
      what: 'sent',
      here: MESSAGES,
      there: MESSAGES,
      onlyHere: [String(gone?.id)],
      onlyThere: [String(MESSAGES + 1)],
      different: [String(changed.id)],
    });
  });
});

const { marked: _, ...UNMARKED } = contract.sent.FetchSentDS.result.columns;
/** Every column but `marked`, by its own name. */
const WITHOUT_MARKS: Dialect = {
  columns: { 'sent.FetchSentDS': Object.keys(UNMARKED).map((name) => ({ name, from: name })) as DialectColumn[] },
};

/** As a server of HTTP/1.0 does: the end of the connection is the end of the answer. */
const withoutLength =
  (send: OldServerProcess['send']): OldServerProcess['send'] =>
  (operation, text, response) => {
    response.useChunkedEncodingByDefault = false;
    return send(operation, text, response);
  };

async function untilAsync(look: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 500 && !(await look()); tries++) await new Promise((resolve) => setTimeout(resolve, 20));
}

test('a reader of 20,000 rows is never more than 200 rows ahead of its consumer', async () => {
  const ROWS = 20_000;
  let [made, taken, furthest] = [0, 0, 0];
  const bytes = async function* () {
    yield Buffer.from(`<DataSet xmlns="urn:old">${SCHEMA}<d:diffgram xmlns:d="${DIFFGRAM}"><NewDataSet xmlns="">`);
    while (made < ROWS) {
      const rows = Array.from({ length: 10 }, () => rowOf(++made)).join('');
      yield Buffer.from(rows);
    }
    yield Buffer.from('</NewDataSet></d:diffgram></DataSet>');
  };
  const names = { group: 'sent', operation: 'FetchSentDS', protocol: 'get', dialect: {}, zone: 'UTC' } as const;
  for await (const rows of readRowsOf(names, { contentType: 'text/xml', body: bytes() })) {
    taken += rows.length;
    furthest = Math.max(furthest, made - taken, rows.length);
  }
  assert.equal(taken, ROWS);
  assert(furthest <= 200, `${furthest} rows`);
});

const DIFFGRAM = 'urn:schemas-microsoft-com:xml-diffgram-v1';
const SCHEMA =
  '<s:schema xmlns:s="http://www.w3.org/2001/XMLSchema"><s:element name="NewDataSet"><s:complexType><s:choice><s:element name="Table"/></s:choice></s:complexType></s:element></s:schema>';
const rowOf = (id: number): string =>
  `<Table d:id="Table${id}"><id>${id}</id><message>${'A text of a usual length. '.repeat(5)}</message><delivery_status>DELIVERED</delivery_status><timestamp_sent>2026-10-02T10:45:30Z</timestamp_sent></Table>`;
