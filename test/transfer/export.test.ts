import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { systemClock } from '../../src/base/clock.ts';
import { exportAccounts } from '../../src/transfer/export.ts';
import { accountChanges } from '../support/account-changes.ts';
import { clientOf } from '../support/contract-client.ts';
import { onEveryEngine, SAMPLE } from '../support/engines.ts';
import {
  account,
  document,
  essence,
  exportText,
  importText,
  moved,
  TIME,
  withService,
} from '../support/import-files.ts';
import { ACME } from '../support/service.ts';

const SAMPLE_TEXT = readFileSync(SAMPLE, 'utf8');

/** Every field there is, with values at which a careless writer or reader fails. */
const FULL = account('full', {
  password: 'secret',
  contactName: '',
  contactSurname: '\uFEFF 😀',
  company: 'a\u2028b\u2029c\u0085d',
  email: 'e',
  tel: '+27115550100',
  fax: 'none',
  mobile: '+27825550100',
  address: 'line\r\nline',
  region: 'GB',
  credits: '-9223372036854775808',
  usedCredits: '9223372036854775807',
  transmissionPriority: -5,
  tag: 2147483647,
  datetimeLastLoggedIn: '0001-01-01T00:00:00Z',
  datetimeDisabled: '9999-12-31T23:59:59.999Z',
  groups: [{ id: -2147483648 }, { id: 7, name: '' }],
  contacts: [
    { id: '-1', name: '', surname: '"', mobile: ' 082 555 0201 ', groupid: '7', note: 'a note' },
    { id: '9007199254740993', mobile: 'none' },
  ],
  templates: ['b', 'a', '\u0000', '{"accounts":', '\u2028', 'x'.repeat(2_000)],
  blacklist: [
    { mobile: '0825550666', timestamp: '1969-12-31T23:59:59.999Z' },
    { mobile: '+27 82 555 0667', sample_message: '', timestamp: TIME },
  ],
  inbox: [
    { id: '1', sender: '', message: 'm', short_code: '31000', timestamp: '2026-05-01T10:00:00.120+02:00', read: true },
    { id: '2', timestamp: TIME, read: false },
  ],
  sent: [
    {
      id: '1',
      user_message_id: 'mine',
      recipient: '1',
      message: 'm',
      delivery_status: 'EXPIRED',
      marked: true,
      timestamp_sent: TIME,
      timestamp_updated: '2026-05-02T00:00:00.1Z',
    },
    { id: '2', delivery_status: 'QUEUED', timestamp_sent: TIME, timestamp_updated: TIME, marked: false },
  ],
  scheduled: [
    {
      id: '1',
      user_message_id: 'mine',
      recipient: '1',
      message: 'm'.repeat(500),
      timestamp_scheduled: TIME,
      timestamp_created: TIME,
    },
    { id: '2', timestamp_scheduled: TIME, timestamp_created: TIME },
  ],
});
const EMPTY = account('empty');
const LISTS = { groups: [], contacts: [], templates: [], blacklist: [], inbox: [], sent: [], scheduled: [] };

onEveryEngine('export', (engine) => {
  test('an export equals the import, apart from secrets and the spelling of times', () =>
    withService(engine, async ({ app }) => {
      const { accounts } = JSON.parse(SAMPLE_TEXT);
      assert.deepEqual((await importText(app, document(...accounts, FULL, EMPTY))).mistakes, []);
      const exported = JSON.parse(await exportText(app, false)).accounts;
      assert.deepEqual(
        exported.map(essence),
        [accounts[0], { ...LISTS, ...EMPTY, transmissionPriority: 0, tag: 0 }, FULL, accounts[1]].map(essence),
      );
    }));

  for (const ndjson of [false, true]) {
    const form = ndjson ? 'NDJSON' : 'a JSON document';
    test(`an export that is imported elsewhere and exported again has the same bytes, as ${form}`, () =>
      withService(engine, async ({ app }) => {
        const { accounts } = JSON.parse(SAMPLE_TEXT);
        await importText(app, document(...accounts, FULL, EMPTY));
        const first = await exportText(app, ndjson);
        await moved(engine, first, async (other, { accounts: count, mistakes }) => {
          assert.deepEqual([count, mistakes], [4, []]);
          assert.equal(await exportText(other.app, ndjson), first);
        });
      }));
  }

  test('JSON and NDJSON exports hold the same accounts by username, one per line', () =>
    withService(engine, async ({ app }) => {
      await importText(app, document(account('b'), account('a'), account('C'), account('ä')));
      const text = await exportText(app, true);
      const accounts = text
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line));
      assert.deepEqual(
        accounts.map(({ username }) => username),
        ['C', 'a', 'b', 'ä'],
      );
      assert.ok(text.endsWith('}\n'));
      assert.deepEqual(JSON.parse(await exportText(app, false)), { accounts });
    }));

  test('export writes one account alone, none at all, and refuses an account that does not exist', () =>
    withService(engine, async ({ app }) => {
      assert.deepEqual(JSON.parse(await exportText(app, false)), { accounts: [] });
      assert.equal(await exportText(app, true), '');
      await importText(app, document(account('a'), account('b')));
      assert.equal(JSON.parse(await exportText(app, true, 'b')).username, 'b');
      await assert.rejects(exportText(app, true, 'c'), { message: 'There is no account with the username c.' });
    }));

  test('a user_id still works after moving, and a revoked or disabled one still does not', () =>
    withService(engine, async (service) => {
      await importText(service.app, document(account('one'), account('off', { datetimeDisabled: TIME })));
      const { userId: second } = await accountChanges(service.app).rotateUserId('one', false);
      const hash = (await accountChanges(service.app).show('one')).credentials.at(-1)?.hash as string;
      await accountChanges(service.app).revokeUserId('one', hash);
      const text = await exportText(service.app, false);
      await moved(engine, text, async (other, { mistakes }) => {
        assert.deepEqual(mistakes, []);
        const client = clientOf(other, 'soap11', 'user_id of one');
        assert.equal((await client.ask('account', 'Profile'))?.userID, 'user_id of one');
        for (const user_id of [second, 'user_id of off']) {
          assert.equal((await client.refused('account', 'Profile', { user_id })).kind, 'denied');
        }
        const { credentials } = await accountChanges(other.app).show('one');
        assert.deepEqual(credentials, (await accountChanges(service.app).show('one')).credentials);
        await accountChanges(other.app).setEnabled('off', true);
        assert.ok(await clientOf(other, 'get', 'user_id of off').ask('account', 'Profile'));
      });
    }));

  test('an export is of one moment, though others write meanwhile', () =>
    withService(engine, async (service) => {
      await importText(service.app, SAMPLE_TEXT);
      const before = await exportText(service.app, true);
      const pieces: string[] = [];
      const { archive } = service.app;
      await archive.read(null, async (reading) => {
        await clientOf(service, 'get', ACME).ask('inbox', 'DeleteAllMessages');
        for await (const { id } of reading.received) pieces.push(String(id));
      });
      assert.deepEqual(
        pieces,
        before.split('\n').flatMap((line) => (line ? JSON.parse(line).inbox.map(({ id }: { id: string }) => id) : [])),
      );
      assert.notEqual(await exportText(service.app, true), before);
    }));

  test('an export that nobody reads ends with a sentence, and releases its snapshot', () =>
    withService(engine, async ({ app }) => {
      const templates = Array.from({ length: 100 }, (_, number) => `${number} ${'x'.repeat(1_900)}`);
      await importText(app, document(account('a', { templates })));
      const options = { ndjson: true, username: null, unreadMaxMs: 50, clock: systemClock };
      let written = 0;
      const neverTaken = () => {
        written += 1;
        return new Promise<void>(() => {});
      };
      let ended = 0;
      const archive: typeof app.archive = {
        ...app.archive,
        read: (...given) => app.archive.read(...given).finally(() => void ended++),
      };
      await assert.rejects(exportAccounts(archive, options, neverTaken), {
        kind: 'bad-argument',
        message: 'Nobody has read the export for 0.05 seconds, so it was stopped. Write it to a file.',
      });
      assert.deepEqual([written, ended], [1, 1]);
      assert.equal(JSON.parse(await exportText(app, true)).templates.length, 100);
    }));
});
