import assert from 'node:assert/strict';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { listed as blacklisted } from '../../src/domain/contacts/blacklist.sql.ts';
import { createAccountName, migrationKey } from '../../src/migration/compare/account-names.ts';
import { createPseudonyms, pseudonymize } from '../../src/migration/compare/pseudonyms.ts';
import { recordedOf } from '../../src/migration/compare/recorder.ts';
import { formatExchange } from '../../src/migration/compare/recording.ts';
import { Proposals, proposeFromCall } from '../../src/migration/copy/blacklist-proposals.ts';
import { fileColumns } from '../../src/migration/copy/files.ts';
import { importAccounts } from '../../src/migration/copy/import.ts';
import { createOldServer } from '../../src/migration/old-server/old-server.ts';
import { TESTED } from '../../src/migration/old-server/read-effects.ts';
import { accountIdNamed } from '../../src/migration/stages/migrated-accounts.ts';
import { readCsv } from '../../src/transfer/csv.ts';
import { columba, freshPath } from '../support/command.ts';
import { ODD_DIALECT } from '../support/odd-dialect.ts';
import { sampleData, USER_IDS } from '../support/old-server/sample.ts';
import { startOldServer } from '../support/old-server/server.ts';
import { ODD_WAYS } from '../support/old-server/ways.ts';
import { openStore } from '../support/opened-database.ts';
import { PROTOCOLS, type Protocol, requestOf } from '../support/protocols.ts';

const LOG_KEY = 'a key for tests';
const [ALPHA, BETA] = USER_IDS;
const key = migrationKey(LOG_KEY, '');
const accountName = createAccountName(key);
const compare = {
  dialect: {},
  zone: 'UTC',
  disabled: new Set<never>(),
  pseudonym: createPseudonyms(key),
  listLimit: 10_000,
};

/** A recorded call of BlackListNumber, and whether the old server did it. */
function recorded(protocol: Protocol, userId: string, mobile: string, sample: string, isDone: boolean) {
  const args = { user_id: userId, mobile, sample_message: sample };
  const { method, path, query, headers, bytes } = requestOf(protocol, 'account', 'BlackListNumber', args);
  const result = `<BlackListNumberResult>${isDone}</BlackListNumberResult>`;
  const envelope = (uri: string) =>
    `<s:Envelope xmlns:s="${uri}"><s:Body><BlackListNumberResponse xmlns="http://sms.example/api">${result}</BlackListNumberResponse></s:Body></s:Envelope>`;
  const bodies: Record<Protocol, string> = {
    soap11: envelope('http://schemas.xmlsoap.org/soap/envelope/'),
    soap12: envelope('http://www.w3.org/2003/05/soap-envelope'),
    get: `<boolean xmlns="http://sms.example/api">${isDone}</boolean>`,
    post: `<boolean xmlns="http://sms.example/api">${isDone}</boolean>`,
  };
  const type = protocol === 'soap12' ? 'application/soap+xml' : 'text/xml';
  const old = {
    status: 200,
    rawHeaders: ['Content-Type', `${type}; charset=utf-8`],
    body: Buffer.from(bodies[protocol]),
    ms: 1,
  };
  return recordedOf(
    {
      at: Date.UTC(2026, 10, 1),
      userId,
      group: 'account',
      operation: 'BlackListNumber',
      protocol,
      request: {
        method,
        target: query === '' ? path : `${path}?${query}`,
        rawHeaders: Object.entries(headers as Record<string, string>).flat(),
        body: Buffer.from(bytes),
      },
      old,
      ours: null,
      outcome: 'recorded',
      knownDifferences: [],
    },
    accountName,
  );
}

test('calls of BlackListNumber in recordings are proposed if the old server executed them', () => {
  const proposals = new Proposals();
  const usernames = new Map([[accountName(ALPHA), 'alpha']]);
  const propose = (exchange: ReturnType<typeof recorded>) => proposeFromCall(exchange, usernames, compare, proposals);
  for (const [index, protocol] of PROTOCOLS.entries()) {
    propose(recorded(protocol, ALPHA, `082 555 020${index}`, 'no more & never', true));
    propose(recorded(protocol, ALPHA, `082 555 020${index}`, 'the same again', true));
    propose(recorded(protocol, ALPHA, '0829999999', 'refused by the old server', false));
  }
  assert.deepEqual(
    proposals.all.map(({ username, number, origin, evidence }) => [username, number, origin, evidence]),
    PROTOCOLS.map((_, index) => ['alpha', `082 555 020${index}`, 'user', 'no more & never']),
  );
  propose(recorded('get', BETA, '0821111111', 'whose is it', true));
  propose(recorded('get', ALPHA, 'nobody', 'no digit', true));
  const other = recorded('get', ALPHA, '0821111112', 'x', true);
  propose(pseudonymize(other, createPseudonyms(key)));
  assert.equal(proposals.all.length, 4);
  assert.deepEqual(Object.fromEntries(proposals.left), {
    'account without a user_id': 1,
    'not a number': 1,
    'numbers are pseudonyms': 1,
    'refused by the old server': 4,
  });
});

test('a dry run of the import needs no database and creates none', async (t) => {
  const old = await startOldServer(sampleData(Date.now(), { messages: 6 }), ODD_WAYS);
  t.after(() => old.close());
  const [dialect, users, database] = [freshPath('json'), freshPath('txt'), freshPath('db')];
  writeFileSync(dialect, JSON.stringify(ODD_DIALECT));
  writeFileSync(users, ALPHA, { mode: 0o600 });
  const env = { COLUMBA_DATABASE: `sqlite:${database}`, COLUMBA_DIALECT: dialect };
  const options = ['--old', old.url, '--users', users, '--rate', '1000', '--reads-mark', 'none'];
  const { code, stdout, stderr } = await columba(['migrate', 'import', ...options, '--dry-run'], { env });
  const estimate = '1 account: at least 11 calls to the old server, 1 s at --rate 1000. Large inboxes take more.';
  assert.deepEqual([code, stderr], [0, `columba: ${estimate}\n`]);
  assert.match(stdout, /alpha: checked\. 4 read, 2 unread, 6 sent/);
  assert.equal(existsSync(database), false);
});

test('columba migrate blacklist proposes from recordings and STOP texts, and adds from a file', async (t) => {
  const data = sampleData(Date.now(), { messages: 6 });
  const [alpha] = data.accounts;
  alpha?.inbox.push({
    id: 9_000,
    sender: '+27835550300',
    message: ' stop! ',
    shortCode: '1',
    at: Date.now(),
    read: true,
  });
  alpha?.inbox.push({
    id: 9_001,
    sender: '+27835550301',
    message: 'do not stop',
    shortCode: '1',
    at: Date.now(),
    read: true,
  });
  const old = await startOldServer(data, ODD_WAYS);
  t.after(() => old.close());
  const [dialect, users, recording, csv] = [freshPath('json'), freshPath('txt'), freshPath('ndjson'), freshPath('csv')];
  writeFileSync(dialect, JSON.stringify({ ...ODD_DIALECT, namespace: 'http://sms.example/api' }));
  writeFileSync(users, ALPHA, { mode: 0o600 });
  writeFileSync(recording, `${formatExchange(recorded('soap11', ALPHA, '0825550201', '=evidence', true))}\n`);
  const database = `sqlite:${freshPath('db')}`;
  const env = {
    COLUMBA_DATABASE: database,
    COLUMBA_DIALECT: dialect,
    COLUMBA_LOG_KEY: LOG_KEY,
    COLUMBA_REGION: 'ZA',
  };
  const store = await openStore(database, Date.now());
  t.after(() => store.close());
  const client = createOldServer({ url: old.url, dialect: ODD_DIALECT });
  t.after(() => client.close());
  const effects = Object.fromEntries(TESTED.map((name) => [name, 'leaves' as const]));
  const dependencies = { database: store, old: client, dialect: ODD_DIALECT, effects, now: Date.now };
  const { accounts } = await importAccounts(dependencies, [{ line: 1, userId: ALPHA }]);
  assert.equal(accounts[0]?.outcome, 'copied');
  const proposed = await columba(['migrate', 'blacklist', recording, '--users', users, '--out', csv], { env });
  assert.deepEqual([proposed.code, proposed.stderr], [0, '']);
  if (process.platform !== 'win32') assert.equal(statSync(csv).mode & 0o777, 0o600);
  const rows = [];
  for await (const { cells } of readCsv(readFileSync(csv), fileColumns('blacklist', false), null))
    rows.push([cells.number?.text, cells.origin?.text]);
  assert.deepEqual(rows, [
    ['0825550201', 'user'],
    ['+27835550300', 'STOP'],
  ]);
  writeFileSync(csv, `${readFileSync(csv, 'utf8')}nobody,0820000000\r\nalpha,none\r\n`);
  const dry = await columba(['migrate', 'blacklist', '--add', csv, '--dry-run'], { env });
  assert.deepEqual([dry.code, dry.stdout], [1, 'A dry run: 2 of 4 rows can be added.\n']);
  const added = await columba(['migrate', 'blacklist', '--add', csv, '--json'], { env });
  const { added: count, refused } = JSON.parse(added.stdout);
  assert.deepEqual([added.code, count, refused.map(({ row }: { row: number }) => row)], [1, 2, [4, 5]]);
  const account = (await accountIdNamed(store, 'alpha')) as bigint;
  const listed = await store.all(blacklisted, { account, after: '', limit: 10 });
  assert.deepEqual(
    listed.map(({ number, origin, sample }) => [number, origin, sample]),
    [
      ['+27835550300', 'STOP', ' stop! '],
      ['0825550201', 'user', '=evidence'],
    ],
  );
});
