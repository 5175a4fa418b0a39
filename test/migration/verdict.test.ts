import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import {
  createMigrationCounts,
  DAY_MS,
  KNOWN_DIFFERENCE_PREFIX,
  latencyOfStep,
  latencyStep,
} from '../../src/migration/stages/counts.ts';
import { begin } from '../../src/migration/stages/migrated-accounts.sql.ts';
import { migrationReport, OPERATIONS, reportDocument } from '../../src/migration/stages/report.ts';
import { type VerdictInput, verdictOf } from '../../src/migration/stages/verdict.ts';
import { openActions } from '../support/actions.ts';
import { columba, freshPath } from '../support/command.ts';
import { onOneEngine } from '../support/engines.ts';

const NOW = Date.UTC(2026, 10, 15, 12);
const [FIRST = '', ...OTHERS] = OPERATIONS;
const counted = (name: string, total: number, operation = FIRST) => ({ operation, protocol: 'get', name, total });

/** Everything as it must be. */
const SAFE: VerdictInput = {
  counts: [counted('equal', 1_000), counted('old ms 20', 1_000), counted('our ms 20', 1_000)],
  examples: [],
  unknown: [],
  acceptances: OTHERS.map((operation) => ({ operation, by: 'ann', at: NOW, reason: '' })),
  check: { isEqual: true, at: NOW },
  operations: OPERATIONS,
  since: NOW - 7 * DAY_MS,
};
const SETTINGS = { days: 7, callsMin: 100 };
const unmet = (more: Partial<VerdictInput>): string[] =>
  verdictOf({ ...SAFE, ...more }, SETTINGS)
    .rules.filter(({ isMet }) => !isMet)
    .map(({ name }) => name);
const withCounts = (...more: VerdictInput['counts']) => ({ counts: [...SAFE.counts, ...more] });

/** An operation that nobody accepted. */
const FEW = 'sent.FetchSentDS';
const REST = SAFE.acceptances.filter(({ operation }) => operation !== FEW);

describe('verdict', () => {
  test('the verdict is safe only if every rule is met', () => {
    assert.equal(verdictOf(SAFE, SETTINGS).isSafe, true);
    assert.deepEqual(unmet({}), []);
  });

  const BROKEN: Readonly<Record<string, [Partial<VerdictInput>, string]>> = {
    'nothing was compared': [{ counts: [] }, 'calls'],
    'an operation in use has too few calls': [{ ...withCounts(counted('equal', 99, FEW)), acceptances: REST }, 'calls'],
    'an operation was never called and nobody accepted it': [{ acceptances: SAFE.acceptances.slice(1) }, 'unseen'],
    'clients call an operation that Columba lacks': [
      { unknown: [counted('unknown', 3, 'compose.SendMessage')] },
      'unknown',
    ],
    'one answer of a thousand is different': [withCounts(counted('different', 1)), 'different'],
    'Columba failed once': [withCounts(counted('failed', 1)), 'failed'],
    'lag is half a percent': [withCounts(counted('lag', 6)), 'lag'],
    'one call was dropped': [withCounts(counted('dropped', 1)), 'dropped'],
    'nobody checked the contents': [{ check: null }, 'check'],
    'the check is older than the period': [{ check: { isEqual: true, at: NOW - 8 * DAY_MS } }, 'check'],
    'the contents differ': [{ check: { isEqual: false, at: NOW } }, 'check'],
    'Columba is slower': [withCounts(counted('our ms 40', 1_000)), 'latency'],
  };
  for (const [name, [more, rule]] of Object.entries(BROKEN)) {
    test(`the verdict is not safe if ${name}`, () => {
      const { isSafe } = verdictOf({ ...SAFE, ...more }, SETTINGS);
      assert.equal(isSafe, false);
      assert.ok(unmet(more).includes(rule));
    });
  }

  test('an operation with few calls is safe if a person has accepted it by name', () => {
    assert.deepEqual(unmet(withCounts(counted('equal', 99, FEW))), []);
  });

  test('an operation that Columba lacks is safe if a person has accepted it by name', () => {
    const unknown = [counted('unknown', 3, 'compose.SendMessage')];
    const acceptances = [...SAFE.acceptances, { operation: 'compose.SendMessage', by: 'ann', at: NOW, reason: '' }];
    assert.deepEqual(unmet({ unknown, acceptances }), []);
    assert.deepEqual(verdictOf({ ...SAFE, unknown, acceptances }, SETTINGS).unknown, [
      { operation: 'compose.SendMessage', calls: 3, isAccepted: true },
    ]);
  });

  test('latencies are counted in steps of 19 percent', () => {
    for (const ms of [0.2, 1, 3, 47, 1_234, 60_000]) {
      const step = latencyOfStep(latencyStep(ms));
      assert.ok(step >= ms && step <= Math.max(1, ms * 1.2), `${ms}: ${step}`);
    }
  });
});

onOneEngine('counts of a migration', (engine) => {
  test('counts of two nodes are summed, and days outside of the period are left out', async (t) => {
    const { database, clock } = await openActions(engine, t);
    const migrationCounts = createMigrationCounts(database, () => clock.now);
    await migrationCounts.add([counted('equal', 5)], [{ ...counted('different', 1), example: 'old', at: clock.now }]);
    clock.now += 3 * DAY_MS;
    await Promise.all([migrationCounts.add([counted('equal', 2)], []), migrationCounts.add([counted('equal', 3)], [])]);
    assert.deepEqual((await migrationCounts.since(1)).counts, [counted('equal', 5)]);
    assert.deepEqual((await migrationCounts.since(7)).counts, [counted('equal', 10)]);
    clock.now += 100 * DAY_MS;
    await migrationCounts.removeOld();
    assert.deepEqual(await migrationCounts.since(200), { counts: [], examples: [] });
  });

  test('examples of one outcome are replaced, so they stay few', async (t) => {
    const { database, clock } = await openActions(engine, t);
    const migrationCounts = createMigrationCounts(database, () => clock.now);
    for (let index = 0; index < 10; index++) {
      await migrationCounts.add([], [{ ...counted('different', 1), example: `example ${index}`, at: clock.now }]);
    }
    const { examples } = await migrationCounts.since(1);
    assert.equal(examples.length, 3);
    assert.ok(examples.some(({ example }) => example === 'example 9'));
  });
});

onOneEngine('actions of a migration', (engine) => {
  test('stages are set and listed, changes that the proxy could not follow are refused, and the audit has the change', async (t) => {
    const { run, account, refusal } = await openActions(engine, t);
    await account('acme');
    const set = (stage: string, more = {}, query = {}) => ({
      params: { username: 'acme' },
      body: { stage, ...more },
      query,
    });
    assert.deepEqual(await run('migrate stage', set('compare')), {
      username: 'acme',
      before: 'record',
      stage: 'compare',
    });
    await run('migrate stage', set('lead', {}, { dry_run: 'true' }));
    const { items } = await run('migrate stages');
    assert.deepEqual(items, [{ username: 'acme', stage: 'compare', changedAt: new Date(NOW).toISOString() }]);
    const early = await refusal('migrate stage', set('alone'));
    assert.deepEqual(
      [early.kind, /^acme is in the stage compare\. .*is reached from lead/.test(early.message)],
      ['conflict', true],
    );
    assert.equal((await refusal('migrate stage', set('alone', {}, { dry_run: 'true' }))).kind, 'conflict');
    await run('migrate stage', set('alone', { force: true }));
    const problem = await refusal('migrate stage', set('record'));
    assert.deepEqual([problem.kind, /no way back without loss/.test(problem.message)], ['conflict', true]);
    await run('migrate stage', set('record', { force: true }));
    assert.equal(
      (await refusal('migrate stage', { ...set('lead'), params: { username: 'nobody' } })).kind,
      'not-found',
    );
    const entries = (await run('audit list')).items as { action: string; target: string }[];
    assert.deepEqual(
      entries
        .filter(({ action }) => action === 'migrate stage')
        .map(({ target }) => target)
        .sort(),
      ['acme/alone', 'acme/compare', 'acme/record'],
    );
  });

  test('a default of alone is refused while it would move accounts that are not in lead, and names them', async (t) => {
    const { run, account, refusal, database } = await openActions(engine, t);
    const toAlone = { body: { stage: 'alone' } };
    const set = (username: string, stage: string) => run('migrate stage', { params: { username }, body: { stage } });
    assert.match((await refusal('migrate default-stage', toAlone)).message, /^No account is in lead yet/);
    const names = Array.from({ length: 21 }, (_, index) => `account${String(index).padStart(2, '0')}`);
    for (const username of names) {
      await database.run(begin, { account: await account(username), at: NOW });
    }
    await account('made-here');
    await run('migrate default-stage', { body: { stage: 'compare' } });
    for (const query of [{}, { dry_run: 'true' }]) {
      const { kind, message } = await refusal('migrate default-stage', { ...toAlone, query });
      assert.equal(kind, 'conflict');
      assert.match(message, /^account00, account01, .*account19 and further accounts are in the stage compare\. /);
      assert.match(message, /move each account to lead first/);
    }
    await run('migrate default-stage', { body: { stage: 'alone', force: true } });
    await run('migrate default-stage', { body: { stage: 'compare', force: true } });
    for (const username of names) {
      await set(username, 'lead');
      await set(username, 'alone');
    }
    await run('migrate default-stage', toAlone);
  });

  test('the report has the default stage, the rules and what was accepted by name', async (t) => {
    const { run, refusal, database, clock } = await openActions(engine, t);
    await run('migrate default-stage', { body: { stage: 'compare' } });
    const why = { reason: 'No program of ours has groups.' };
    await run('migrate accept', { params: { operation: 'account.FetchGroups' }, body: why });
    const report = await run('migrate report');
    assert.deepEqual([report.isSafe, report.defaultStage, report.days], [false, 'compare', 7]);
    const { operation, reason } = report.acceptances[0];
    assert.deepEqual([operation, reason], ['account.FetchGroups', why.reason]);
    assert.equal(report.neverSeen.length, 31);
    const lacking = { params: { operation: 'compose.SendMessage' }, body: {} };
    assert.equal((await refusal('migrate accept', lacking)).kind, 'not-found');
    await createMigrationCounts(database, () => clock.now).add([counted('unknown', 2, 'compose.SendMessage')], []);
    await run('migrate accept', lacking);
    assert.deepEqual((await run('migrate report')).unknown, [
      { operation: 'compose.SendMessage', calls: 2, isAccepted: true },
    ]);
    assert.equal((await refusal('migrate accept', { params: { operation: '../x' } })).kind, 'bad-argument');
    await run('migrate withdraw', { params: { operation: 'account.FetchGroups' } });
    const again = await refusal('migrate withdraw', { params: { operation: 'account.FetchGroups' } });
    assert.equal(again.kind, 'not-found');
  });

  test('a new default stage names the accounts that keep a stage of their own', async (t) => {
    const { run, account } = await openActions(engine, t);
    await account('acme');
    const change = { body: { stage: 'compare' } };
    assert.deepEqual((await run('migrate default-stage', change)).kept, { accounts: [], more: false });
    await run('migrate stage', { params: { username: 'acme' }, body: { stage: 'lead' } });
    const { kept } = await run('migrate default-stage', change);
    assert.deepEqual(kept, { accounts: [{ username: 'acme', stage: 'lead' }], more: false });
  });

  test('the page of the report escapes what it shows, and may load nothing', async (t) => {
    const { database, clock } = await openActions(engine, t);
    const migrationCounts = createMigrationCounts(database, () => clock.now);
    const example = { ...counted('different', 1), example: '<script>alert(1)</script>', at: clock.now };
    await migrationCounts.add(
      [counted('different', 1), counted(`${KNOWN_DIFFERENCE_PREFIX}header-date`, 4)],
      [example],
    );
    const page = reportDocument(await migrationReport(database, () => clock.now, SETTINGS));
    assert.doesNotMatch(page, /<script/);
    assert.match(page, /&#60;script&#62;/);
    assert.match(
      page,
      /Content-Security-Policy" content="default-src 'none'; style-src 'sha256-[\w+/]+='; base-uri 'none'/,
    );
    assert.match(page, /header-date/);
    assert.match(page, /@media print/);
  });
});

test('columba migrate report is a text for people who decide, writes the page to print, and is JSON as the API answers', async () => {
  const env = { COLUMBA_DATABASE: `sqlite:${freshPath('db')}` };
  await columba(['account', 'add', 'acme'], { env });
  await columba(['migrate', 'stage', 'acme', 'compare'], { env });
  const why = 'No program of ours has groups.';
  await columba(['migrate', 'accept', 'account.FetchGroups', '--reason', why], { env });
  const page = freshPath('html');
  const { code, stdout } = await columba(['migrate', 'report', '--html', page], { env });
  assert.equal(code, 0);
  assert.doesNotMatch(stdout, /[{}]/);
  assert.match(
    stdout,
    /^Wrote .*\n\nMigration report, .* UTC\. Not safe yet, by the last 7 days\.\n\nWhat is next: Stage /,
  );
  assert.match(stdout, /Accounts: 0 in record, 1 in compare, 0 in lead, 0 in alone\. .*\n {2}acme: compare since 20/);
  assert.match(stdout, /NO {3}Enough calls of every operation and protocol in use: nothing was compared/);
  assert.match(stdout, /, 20[\d-]+, because: No program of ours has groups\.: account\.FetchGroups\n/);
  assert.match(stdout, /Who set which stage:\n {2}20.* UTC: acme to compare by /);
  assert.ok(stdout.split('\n').every((line) => line.length <= 160));
  assert.match(readFileSync(page, 'utf8'), /because: No program of ours has groups\.: <code>account\.FetchGroups/);
  const json = await columba(['migrate', 'report', '--json'], { env });
  assert.equal(JSON.parse(json.stdout).acceptances[0].reason, why);
});

test('columba migrate verdict ends with 1 while it is not safe, and writes the page', async () => {
  const env = { COLUMBA_DATABASE: `sqlite:${freshPath('db')}` };
  await columba(['account', 'add', 'acme'], { env });
  const page = freshPath('html');
  const { code, stdout } = await columba(['migrate', 'verdict', '--days', '14', '--html', page], { env });
  assert.equal(code, 1);
  assert.match(stdout, /^Not safe yet, by the last 14 days\.\nNO {3}calls {5}nothing was compared\n/);
  assert.match(readFileSync(page, 'utf8'), /<h1>Migration report<\/h1>/);
  const json = await columba(['migrate', 'verdict', '--json'], { env });
  assert.deepEqual([json.code, JSON.parse(json.stdout).isSafe], [1, false]);
});
