import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { accountId } from '../../src/domain/accounts/accounts.ts';
import { hashUserId } from '../../src/domain/accounts/credentials.ts';
import { revokeUserId } from '../../src/domain/accounts/user-ids.ts';
import { migrationKey } from '../../src/migration/compare/account-names.ts';
import { listRecordings } from '../../src/migration/compare/recorder.ts';
import { copyReceived } from '../../src/migration/copy/message-copy.ts';
import { columba } from '../support/command.ts';
import { engines } from '../support/engines.ts';

import { PROTOCOLS } from '../support/protocols.ts';
import { type Proxied, startProxied } from '../support/proxied.ts';
import { ACME, type Service } from '../support/service.ts';

/** Recorded through the proxy, and replayed by the command against a server. */

const [sqlite] = engines;
assert.ok(sqlite);

async function recordedFile({ call, recorded, folder }: Proxied, withWrites: boolean): Promise<string> {
  for (const protocol of PROTOCOLS) {
    await call(protocol, 'account', 'Profile', { user_id: ACME });
    await call(protocol, 'inbox', 'Unread', { user_id: ACME, max_count: 10 });
    await call(protocol, 'account', 'FetchContact', { user_id: ACME, mobile: '+27825550101' });
  }
  if (withWrites) await call('post', 'account', 'SaveMessageTemplate', { user_id: ACME, message: 'Again & again' });
  await recorded();
  return listRecordings(folder)[0]?.path ?? assert.fail('nothing recorded');
}

async function arrive({ app: { database } }: Service, receivedAt: number): Promise<void> {
  const account = await accountId(database, 'acme');
  const message = { id: 9_007_199_254_999_999n, sender: '+27825550999', text: 'New', shortCode: null, receivedAt };
  await copyReceived(database, { account, username: 'acme', askedAt: receivedAt }, [message], new Set([message.id]));
}

const replayed = (proxied: Proxied, file: string, ...more: string[]) => {
  const users = join(proxied.folder, 'users.txt');
  writeFileSync(users, `# user_ids\n${ACME},acme\n`);
  // The key of the recording, so that the names of accounts are found again.
  const options = ['--users', users, '--against', proxied.newUrl, '--folder', proxied.folder, ...more];
  return columba(['migrate', 'replay', file, ...options], { env: { COLUMBA_LOG_KEY: 'replay' } });
};

test('recorded reads are equal at a server with the same data, in every protocol', async (t) => {
  const proxied = await startProxied(t, sqlite, { key: migrationKey('replay', '') });
  const file = await recordedFile(proxied, false);
  const { code, stdout, stderr } = await replayed(proxied, file, '--json');
  assert.equal(code, 0, stdout + stderr);
  const report = JSON.parse(stdout);
  assert.equal(report.sent, 12);
  assert.deepEqual(report.differences, []);
});

test('a replay names what differs, and ends with 1', async (t) => {
  const proxied = await startProxied(t, sqlite, { key: migrationKey('replay', '') });
  const file = await recordedFile(proxied, false);
  await proxied.service.call('get', 'inbox', 'DeleteAllMessages', { user_id: ACME });
  const { code, stdout } = await replayed(proxied, file);
  assert.equal(code, 1);
  assert.match(stdout, /different: inbox\.Unread soap11 .*rows/);
  const totals = new Map(
    [...stdout.matchAll(/^ +(\d+) {2}(\w[\w ]*?) {2,}\w/gm)].map(([, total, name]) => [name, Number(total)]),
  );
  assert.deepEqual([...totals.keys()], ['equal', 'order', 'by design', 'data changed since', 'different', 'failed']);
  assert.equal(
    [...totals.values()].reduce((sum, each) => sum + each, 0),
    12,
  );
  assert.ok((totals.get('different') ?? 0) > 0 && totals.get('failed') === 0, stdout);
  assert.match(stdout, /^ +0 {2}failed +no answer, or an error of the server itself/m);
  assert.match(stdout, /account\.Profile get: 1 equal/);
});

test('a replay shows the text of a fault, without the user_id', async (t) => {
  const proxied = await startProxied(t, sqlite, { key: migrationKey('replay', '') });
  const file = await recordedFile(proxied, false);
  const { app, clock } = proxied.service;
  const account = await accountId(app.database, 'acme');
  await revokeUserId(app.database, account, hashUserId(ACME), clock.now);
  const { code, stdout } = await replayed(proxied, file);
  assert.equal(code, 1);
  assert.match(stdout, /different: inbox\.Unread soap11 .*ours said “[^”]*user_id/);
  assert.doesNotMatch(stdout, new RegExp(ACME));
});

test('a difference that a later write or arrival explains is counted as changed since, and any other stays a difference', async (t) => {
  const proxied = await startProxied(t, sqlite, { key: migrationKey('replay', '') });
  const { call, recorded, folder, service, oldService } = proxied;
  const both = async (operation: string, args: Record<string, string>) => {
    for (const { call: ask } of [service, oldService])
      await ask('get', 'account', operation, { user_id: ACME, ...args });
  };
  service.clock.now = Date.UTC(2026, 10, 1);
  await call('get', 'account', 'FetchSavedMessages', { user_id: ACME });
  await call('get', 'inbox', 'CountUnread', { user_id: ACME });
  await call('get', 'inbox', 'Unread', { user_id: ACME, max_count: 100 });
  await call('get', 'account', 'FetchContacts', { user_id: ACME });
  service.clock.now += 60_000;
  // The first is a recorded write; the second one arrives, and no recorded call shows it.
  await call('get', 'account', 'SaveMessageTemplate', { user_id: ACME, message: 'Saved later' });
  await both('SaveMessageTemplate', { message: 'Saved later' });
  await arrive(service, service.clock.now + 60_000);
  await recorded();
  const file = listRecordings(folder)[0]?.path ?? assert.fail('nothing recorded');
  const { code, stdout, stderr } = await replayed(proxied, file, '--reads-only', '--json');
  assert.equal(code, 0, stdout + stderr);
  const counts = Object.fromEntries(
    JSON.parse(stdout).operations.map(
      ({ operation, protocol: _, ...rest }: { operation: string; protocol: string }) => [operation, rest],
    ),
  );
  assert.deepEqual(counts, {
    'account.FetchSavedMessages': { 'data changed since': 1 },
    'inbox.CountUnread': { 'data changed since': 1 },
    'inbox.Unread': { 'data changed since': 1 },
    'account.FetchContacts': { equal: 1 },
  });
  // Nothing was written to the address book since, so a missing contact is a difference.
  await service.call('get', 'account', 'DeleteContact', { user_id: ACME, contact_id: ['101'] });
  const lost = await replayed(proxied, file, '--reads-only');
  assert.equal(lost.code, 1);
  assert.match(lost.stdout, /account\.FetchContacts get: 1 different/);
});

test('writes are sent only with --copy, and left out with --reads-only', async (t) => {
  const proxied = await startProxied(t, sqlite, { key: migrationKey('replay', '') });
  const file = await recordedFile(proxied, true);
  const templates = async () =>
    (await proxied.service.call('get', 'account', 'FetchSavedMessages', { user_id: ACME })).text;
  const refused = await replayed(proxied, file);
  assert.deepEqual([refused.code, /1 call changes data/.test(refused.stderr)], [1, true]);
  assert.equal((await replayed(proxied, file, '--reads-only')).code, 0);
  assert.doesNotMatch(await templates(), /Again/);
  const dry = await replayed(proxied, file, '--copy', '--dry-run');
  assert.match(dry.stdout, /13 exchanges; 1 change of data/);
  assert.equal((await replayed(proxied, file, '--copy')).code, 0);
  assert.match(await templates(), /Again &amp; again/);
});

test('a call of an account whose user_id is not given is left out', async (t) => {
  const proxied = await startProxied(t, sqlite, { key: Buffer.from('another key') });
  const file = await recordedFile(proxied, false);
  const { code, stdout } = await replayed(proxied, file);
  assert.deepEqual([code, /Sent 0\. Left out: 12 account without a user_id/.test(stdout)], [1, true]);
});
