import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { afterEach, beforeEach, test } from 'node:test';
import { systemClock } from '../../src/base/clock.ts';
import { listed as blacklisted } from '../../src/domain/contacts/blacklist.sql.ts';
import { createOptOuts } from '../../src/domain/sending/opt-out.ts';
import { checkAccounts } from '../../src/migration/copy/check.ts';
import { timeReader } from '../../src/migration/copy/file-dates.ts';
import { type FileKind, type FileOptions, fileColumns, loadFile } from '../../src/migration/copy/files.ts';
import { importAccounts } from '../../src/migration/copy/import.ts';
import { createOldServer } from '../../src/migration/old-server/old-server.ts';
import { TESTED } from '../../src/migration/old-server/read-effects.ts';
import { accountIdNamed, copyProgress } from '../../src/migration/stages/migrated-accounts.ts';
import type { Database } from '../../src/store/database.ts';
import { openCsvFile } from '../../src/transfer/csv-file.ts';
import { freshPath } from '../support/command.ts';
import { onOneEngine } from '../support/engines.ts';
import { ODD_DIALECT } from '../support/odd-dialect.ts';
import { sampleData, USER_IDS } from '../support/old-server/sample.ts';
import { type OldServerProcess, startOldServer } from '../support/old-server/server.ts';
import { ODD_WAYS } from '../support/old-server/ways.ts';
import { sql } from '../support/opened-database.ts';
import { type Service, startService } from '../support/service.ts';

const NOW = Date.UTC(2026, 10, 15, 12);
const [ALPHA] = USER_IDS;
// The old server gives the 20 newest sent messages, as many do.
const CAPS = { ...ODD_WAYS.caps, 'sent.FetchSentDS': 20 };
const DIALECT = { ...ODD_DIALECT, caps: CAPS };

const sentRows = sql<{ account: bigint }, { message_id: bigint; text: string; sent_at: bigint; is_marked: bigint }>(
  'select message_id, text, sent_at, is_marked from sent where account_id = :account order by sent_at, message_id',
);
const contactRows = sql<
  { account: bigint },
  { name: string | null; surname: string | null; mobile: string; grouped: string | null }
>(
  `select contact.name, surname, mobile, contact_group.name as grouped from contact
   left join contact_group on contact_group.account_id = contact.account_id and contact_group.group_id = contact.group_id
   where contact.account_id = :account order by contact_id`,
);
const movements = sql<{ account: bigint }, { total: bigint }>(
  'select count(*) as total from movement where account_id = :account',
);

interface Given extends Partial<FileOptions> {
  readonly columns?: Readonly<Record<string, string>>;
  readonly delimiter?: string;
}

function fileOf(content: string | Uint8Array): string {
  const path = freshPath('csv');
  writeFileSync(path, content);
  return path;
}
const opened = (kind: FileKind, content: string | Uint8Array, { columns = {}, username, delimiter }: Given = {}) =>
  openCsvFile(fileOf(content), fileColumns(kind, username !== null), {
    named: new Map(Object.entries(columns)),
    way: (name) => `--column ${name}="Header"`,
    ...(delimiter === undefined ? {} : { delimiter }),
  });

onOneEngine('migrate files', (engine) => {
  let service: Service;
  let old: OldServerProcess;
  let database: Database;
  let account: bigint;
  beforeEach(async () => {
    service = await startService(engine, 'empty', { region: 'ZA' });
    database = service.app.database;
    old = await startOldServer(sampleData(NOW), { ...ODD_WAYS, caps: CAPS });
    await copy();
    account = (await accountIdNamed(database, 'alpha')) as bigint;
  });
  afterEach(async () => {
    await service.stop();
    await old.close();
  });
  const dependencies = () => {
    const client = createOldServer({
      url: old.url,
      dialect: DIALECT,
      retriesMax: 0,
      clock: { ...systemClock, sleep: async () => {} },
    });
    const effects = Object.fromEntries(TESTED.map((name) => [name, 'leaves' as const]));
    return {
      database,
      archive: service.app.archive,
      old: client,
      dialect: DIALECT,
      effects,
      now: () => service.clock.now,
    };
  };
  const copy = async () => {
    const { accounts } = await importAccounts(dependencies(), [{ line: 1, userId: ALPHA }]);
    assert.equal(accounts[0]?.problem, null);
  };
  const load = async (kind: FileKind, content: string | Uint8Array, given: Given = {}) => {
    const options = { username: 'alpha', dryRun: false, dialect: DIALECT, statuses: new Map(), ...given };
    const { rows } = await opened(kind, content, options);
    const regionOf = async () => 'ZA';
    const blacklist = createOptOuts(database, () => service.clock.now, regionOf);
    const readTime = given.readTime ?? timeReader(null, '+02:00');
    const context = { database, blacklist, regionOf, now: () => service.clock.now };
    return loadFile(context, kind, rows, { ...options, readTime });
  };
  const sent = () => database.all(sentRows, { account });
  /** All sent messages of the old server, as an administrator exports them from its database. */
  const exported = (hasIds: boolean): string => {
    const local = (at: number) => new Date(at + 2 * 3_600_000).toISOString().slice(0, 19).replace('T', ' ');
    const lines = old.data.accounts[0]?.sent.map(({ id, recipient, message, status, sentAt }) => {
      const cells = [recipient.replace('+27', '0'), `"${message}"`, local(sentAt), status];
      return [...(hasIds ? [id] : []), ...cells].join(';');
    });
    return [`${hasIds ? 'id;' : ''}Number;Message;Date;Status`, ...(lines ?? [])].join('\r\n');
  };

  for (const hasIds of [true, false]) {
    const way = hasIds ? 'by their ids' : 'by number, time and text';
    test(`sent messages beyond the cap are joined with the copied ones ${way}, and a second run adds nothing`, async () => {
      const before = await sent();
      const moved = await database.first(movements, { account });
      assert.equal(before.length, 20);
      const first = await load('sent', exported(hasIds));
      assert.deepEqual([first.rows, first.added, first.known, first.refusals], [60, 40, 20, []]);
      const again = await load('sent', exported(hasIds));
      assert.deepEqual([again.added, again.known, again.refused], [0, 60, 0]);
      const after = await sent();
      assert.equal(after.length, 60);
      assert.deepEqual(
        after.map(({ text, sent_at }) => `${sent_at} ${text}`).sort(),
        old.data.accounts[0]?.sent.map(({ message, sentAt }) => `${sentAt} ${message}`).sort(),
      );
      const copied = new Set(before.map(({ message_id }) => message_id));
      const added = after.filter(({ message_id }) => !copied.has(message_id));
      assert(added.every(({ is_marked }) => is_marked === 1n));
      assert.deepEqual(await database.first(movements, { account }), moved, 'credits moved');
      const highest = (await copyProgress(database, account))?.highest.message ?? 0n;
      if (hasIds) assert(added.every(({ message_id }) => message_id <= highest));
      else assert(added.every(({ message_id }) => message_id > highest + 1_000_000n));
    });

    test(`a later import leaves what came from a file ${way}, and check finds both sides equal`, async () => {
      await load('sent', exported(hasIds));
      await copy();
      assert.equal((await sent()).length, 60);
      const [checked] = await checkAccounts(dependencies(), [{ line: 1, userId: ALPHA }]);
      assert.deepEqual(checked?.differences, []);
    });
  }

  test('check ignores older sent messages too where the list of the old server ends without a known cap', async () => {
    await load('sent', 'number,text,sent\n0821234567,long ago,2019-01-01 10:00:00\n');
    const uncapped = { ...dependencies(), dialect: ODD_DIALECT };
    const old20 = old.data.accounts[0]?.sent.splice(0, 40);
    assert.equal(old20?.length, 40);
    const [checked] = await checkAccounts(uncapped, [{ line: 1, userId: ALPHA }]);
    assert.deepEqual(checked?.differences, []);
  });

  test('wrong rows are refused with their line and the reason, and the others are imported', async () => {
    const [known] = old.data.accounts[0]?.sent.slice(-1) ?? [];
    assert(known);
    const content = [
      'id,number,text,sent,status',
      '1,0821234567,"two\nlines",2020-01-01 10:00:00,DELIVERED',
      '2,none,x,2020-01-01 10:00:00,DELIVERED',
      '3,0821234567,x,01/02/2020 10:00,DELIVERED',
      '4,0821234567,x,2020-01-01 10:00:00,lost',
      'five,0821234567,x,2020-01-01 10:00:00,DELIVERED',
      '6,0821234567,x,2031-01-01 10:00:00,DELIVERED',
      `${known.id},${known.recipient},another,2020-01-01 10:00:00,DELIVERED`,
      `9000,0821234567,x,2020-01-01 10:00:00,DELIVERED`,
      ',0821234567,newer than the copy,2026-11-15 14:00:00,DELIVERED',
      '7,0821234567,good,2020-01-01 10:00:00,delivered',
    ].join('\n');
    service.clock.now = NOW + 86_400_000;
    await copy();
    service.clock.now = NOW + 2 * 86_400_000;
    const newer = content.replace('2026-11-15 14:00:00', '2026-11-17 01:00:00');
    const report = await load('sent', newer);
    assert.deepEqual([report.rows, report.added, report.refused], [10, 2, 8]);
    assert.deepEqual(
      report.refusals.map(({ line, problem }) => [line, problem.slice(0, 40)]),
      [
        [4, 'a phone number has at least one digit'],
        [5, 'sent: "01/02/2020 10:00" is no time that'],
        [6, 'status: "lost" is unknown. Name what it '],
        [7, 'id: expected a whole number, and it is "'],
        [8, 'the time 2031-01-01T08:00:00.000Z is in '],
        [9, `the message with the id ${known.id} has another`],
        [10, 'the message with the id 9000 is schedule'],
        [11, 'it has no id and was sent after the last'],
      ],
    );
  });

  test('a wrong time zone is detected if Columba has the message with its id', async () => {
    const report = await load('sent', exported(true), { readTime: timeReader(null, 'UTC') });
    assert.equal(report.refused, 20);
    assert.match(report.refusals[0]?.problem ?? '', /was sent at .* in Columba, and at .* in the file/);
  });

  test('an id above the copied ones is refused once Columba has given ids of its own', async () => {
    const row = (id: number, text: string) => `id,number,text,sent\n${id},0821234567,${text},2020-01-01 10:00:00\n`;
    assert.equal((await load('sent', row(20_000, 'a'))).added, 1);
    assert.equal((await copyProgress(database, account))?.highest.message, 20_000n);
    assert.equal((await load('sent', row(30_000, 'b'))).added, 1);
    const own = await load('sent', 'number,text,sent\n0821234567,c,2020-01-01 10:00:00\n');
    assert.equal(own.added, 1);
    assert((await sent()).some(({ message_id }) => message_id === 1_030_001n));
    const late = await load('sent', row(2_000_000, 'd'));
    assert.match(late.refusals[0]?.problem ?? '', /above the highest copied one, 30000, and Columba has given ids/);
    assert.equal((await load('sent', row(25_000, 'e'))).added, 1);
  });

  test('a sent message that a client has deleted in Columba does not come back from a file', async () => {
    const [first] = await sent();
    const args = { user_id: ALPHA, message_id: String(first?.message_id) };
    const answer = await service.call('soap11', 'sent', 'DeleteSentMessage', args);
    assert.match(answer.text, />true</);
    const report = await load('sent', exported(true));
    assert.deepEqual([report.added, report.known, report.deleted, report.refused], [40, 19, 1, 0]);
  });

  test('contacts are matched by number, get the fields that they lack, and keep those that they have', async () => {
    const before = await database.all(contactRows, { account });
    const ungrouped = before.find(({ grouped }) => grouped === null);
    const grouped = before.find((each) => each.grouped === 'Friends');
    assert(ungrouped && grouped);
    const content = [
      'Vorname\tName\tHandy Nr\tGruppe',
      `Other\tÖberg\t${ungrouped.mobile.replace('+27', '0')}\tNew`,
      `${grouped.name}\t\t${grouped.mobile}\tCustomers & partners`,
      'Ada\tLovelace\t082 555 0101\tNew',
      'Ada\tAgain\t+27825550101\tFriends',
      'No\tNumber\t\t',
    ].join('\n');
    const columns = { name: 'vorname', surname: 'name', mobile: 'handy nr', group: 'gruppe' };
    const dry = await load('contacts', content, { columns, dryRun: true });
    assert.deepEqual(await database.all(contactRows, { account }), before);
    const done = await load('contacts', content, { columns });
    assert.deepEqual(dry, done);
    assert.deepEqual([done.added, done.filled, done.known, done.differing, done.refused], [1, 1, 2, 2, 1]);
    assert.deepEqual(done.refusals, [{ line: 6, problem: 'mobile: there is no number' }]);
    const after = await database.all(contactRows, { account });
    const now = (mobile: string) => after.filter((each) => each.mobile === mobile);
    assert.deepEqual(now(ungrouped.mobile), [{ ...ungrouped, grouped: 'New' }]);
    assert.deepEqual(now(grouped.mobile), [grouped]);
    assert.deepEqual(now('082 555 0101'), [
      { name: 'Ada', surname: 'Lovelace', mobile: '082 555 0101', grouped: 'New' },
    ]);
    assert.equal(after.length, before.length + 1);
    const again = await load('contacts', content, { columns });
    assert.deepEqual([again.added, again.filled, again.known], [0, 0, 4]);
  });

  test('a blacklist accepts a column mapping, and a column may name the account', async () => {
    const content = 'Konto;Rufnummer;Grund\nalpha;0825550201;please stop \nnobody;0825550202;\nalpha;none;\n';
    const columns = { username: 'konto', number: 'rufnummer', evidence: 'grund' };
    const report = await load('blacklist', content, { columns, username: null });
    assert.deepEqual([report.added, report.refused], [1, 2]);
    assert.deepEqual(
      report.refusals.map(({ line }) => line),
      [3, 4],
    );
    const [entry] = await database.all(blacklisted, { account, after: '', limit: 10 });
    assert.deepEqual([entry?.number, entry?.origin, entry?.sample], ['0825550201', 'import', 'please stop ']);
    const again = await load('blacklist', content, { columns, username: null });
    assert.deepEqual([again.added, again.known], [0, 1]);
  });

  test('a quote that is not closed ends the file, and the rows before it are imported', async () => {
    const report = await load('blacklist', 'number,evidence\n0825550201,a\n0825550202,"b\n');
    assert.equal(report.added, 1);
    assert.match(report.stopped ?? '', /a quote is not closed/);
  });

  test('of a large file only one batch of rows is in memory', async () => {
    let [given, held] = [0, 0];
    const { rows } = await opened('sent', 'number,text,sent\n0821234567,x,2020-01-01 10:00:00\n');
    const { value: row } = await rows.next();
    assert(row);
    async function* many() {
      for (; given < 5_000; given++) yield row as NonNullable<typeof row>;
    }
    const regionOf = async () => 'ZA';
    const blacklist = createOptOuts(database, () => service.clock.now, regionOf);
    const context = { database, blacklist, regionOf, now: () => service.clock.now };
    let done = 0;
    const report = await loadFile(context, 'sent', many(), {
      username: 'alpha',
      dryRun: false,
      dialect: DIALECT,
      statuses: new Map(),
      readTime: timeReader(null, 'UTC'),
      progress: ({ added, known }) => {
        held = Math.max(held, given - done);
        done = added + known;
      },
    });
    assert.deepEqual([report.added, report.known], [1, 4_999]);
    assert(held <= 1_000, `${held} rows at once`);
  });
});
