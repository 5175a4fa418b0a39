import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { systemClock } from '../../src/base/clock.ts';
import { probe } from '../../src/migration/learn/probe.ts';
import { readCounts, readRows } from '../../src/migration/old-server/old-account.ts';
import { createOldServer } from '../../src/migration/old-server/old-server.ts';
import { ODD_DIALECT } from '../support/odd-dialect.ts';
import { sampleData, USER_IDS } from '../support/old-server/sample.ts';
import { type OldServerProcess, startOldServer } from '../support/old-server/server.ts';
import { ODD_WAYS } from '../support/old-server/ways.ts';

const NOW = Date.UTC(2026, 10, 15, 12);
const [ALPHA] = USER_IDS;

describe('migrate probe', () => {
  let old: OldServerProcess;
  before(async () => {
    old = await startOldServer(sampleData(NOW), { ...ODD_WAYS, protocols: ['soap11', 'soap12', 'post'] });
  });
  after(() => old.close());
  const run = (testsMarks = true) =>
    probe({ url: old.url, userId: ALPHA, timeZone: '+02:00', testsMarks, clock: { ...systemClock, now: () => NOW } });

  test('migrate probe finds the namespace, the protocols, the columns, the form of dates and the caps', async () => {
    const { namespace, protocols, learned, effects } = await run();
    assert.equal(namespace, ODD_WAYS.namespace);
    assert.deepEqual(protocols, ['soap11', 'soap12', 'post']);
    const { dialect } = learned;
    assert.deepEqual(dialect.dataSet?.name, ODD_DIALECT.dataSet?.name);
    assert.equal(dialect.dates?.zone, 'none');
    assert.equal(dialect.groupId, 'zero');
    const columns = (name: string) => dialect.columns?.[name]?.map(({ name }) => name);
    const expected = (name: string) => ODD_DIALECT.columns?.[name]?.map(({ name }) => name);
    for (const name of Object.keys(ODD_DIALECT.columns ?? {})) assert.deepEqual(columns(name), expected(name), name);
    assert.equal(dialect.caps?.['inbox.Read'], 20);
    assert.equal(effects['inbox.Unread'], 'leaves');
    assert.deepEqual(old.data.writes, []);
  });

  test('operations that only one of both WSDLs has are uncertain', async () => {
    const isOfWsdl = ({ entry }: { entry: string }) => entry.startsWith('wsdl ');
    assert.deepEqual((await run(false)).uncertain.filter(isOfWsdl), []);
    const { ways } = old;
    old.ways = {
      ...ways,
      moreInWsdl: { compose: ['SendMessage recipient message → boolean'] },
      notInWsdl: ['account.LookupContact'],
    };
    old.calls.clear();
    const { uncertain, learned } = await run(false);
    old.ways = ways;
    assert.deepEqual(learned.dialect.missing, ['account.LookupContact']);
    assert.equal(old.calls.get('account.LookupContact'), undefined);
    assert.deepEqual(uncertain.filter(isOfWsdl), [
      {
        entry: 'wsdl account',
        reason: 'The old server lacks operations of the contract: LookupContact. They are in `missing`.',
      },
      {
        entry: 'wsdl compose',
        reason: 'Columba lacks operations of the old server: SendMessage. Ask whether a client calls them.',
      },
    ]);
  });

  test('an operation of the WSDL that the server does not have is uncertain, and the probe continues', async () => {
    const { ways } = old;
    old.ways = { ...ways, notThere: ['account.FetchSavedMessages', 'inbox.CountRead', 'sent.FetchSentDS'] };
    const { uncertain, learned, effects } = await run();
    old.ways = ways;
    const entries = uncertain.map(({ entry }) => entry);
    for (const name of ['account.FetchSavedMessages', 'inbox.CountRead', 'sent.FetchSentDS', 'reading']) {
      assert(entries.includes(name), `${name}: ${entries.join()}`);
    }
    assert.match(uncertain.find(({ entry }) => entry === 'inbox.CountRead')?.reason ?? '', /ended with a fault/);
    assert.equal(learned.dialect.groupId, 'zero');
    assert.deepEqual(effects, {});
  });

  test('an operation that the dialect calls missing is not called, its list is empty, and a count is refused', async () => {
    old.calls.clear();
    const client = createOldServer({ url: old.url, dialect: ODD_DIALECT });
    const missing = ['account.FetchSavedMessages', 'inbox.CountRead'];
    const from = { old: client, userId: ALPHA, dialect: { ...ODD_DIALECT, missing }, effects: {} };
    assert.deepEqual(await readRows(from, 'account.FetchSavedMessages'), []);
    await assert.rejects(readCounts(from), /The old server lacks inbox\.CountRead/);
    for (const name of missing) assert.equal(old.calls.get(name), undefined);
    client.close();
  });

  test('booleans that are written as Y and N are read, and their words are learned', async () => {
    const { ways } = old;
    const columns = ways.columns['inbox.InboxDS']?.map(
      ([shows, name, type]) => [shows, name, type === 'boolean' ? 'string' : type] as const,
    );
    const isRead = { 'inbox.InboxDS': columns ?? [] };
    old.ways = { ...ways, columns: { ...ways.columns, ...isRead }, booleans: ['Y', 'N'] };
    const { learned, effects } = await run();
    old.ways = ways;
    assert.deepEqual(learned.dialect.booleanWords, { true: 'Y', false: 'N' });
    assert.equal(effects['inbox.InboxDS'], 'leaves');
  });

  test('without the test whether reading marks, no operation is called that might mark a message', async () => {
    old.calls.clear();
    const { uncertain } = await run(false);
    for (const name of ['inbox.Unread', 'inbox.Read', 'inbox.InboxDS']) assert.equal(old.calls.get(name), undefined);
    assert(uncertain.some(({ entry }) => entry === 'reading inbox.Unread'));
  });

  test('the probe detects with one message that reading marks it', async () => {
    old.ways = { ...old.ways, readingMarks: ['inbox.Unread'] };
    const { effects, uncertain } = await run();
    assert.equal(effects['inbox.Unread'], 'marks');
    assert.equal(old.data.writes.length, 1);
    assert(uncertain.some(({ entry, reason }) => entry === 'reading inbox.Unread' && /marked one/.test(reason)));
  });

  test('an unknown user_id ends with a sentence', async () => {
    const probing = probe({ url: old.url, userId: 'nobody', timeZone: 'UTC', testsMarks: true });
    await assert.rejects(probing, /No protocol answers a call with this user_id/);
  });
});
