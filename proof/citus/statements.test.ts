import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import pg from 'pg';
import { cpuByPid, cpuSince } from '../../bench/proc.ts';
import { systemClock } from '../../src/base/clock.ts';
import { createAccount } from '../../src/domain/accounts/accounts.ts';
import { addUserId } from '../../src/domain/accounts/user-ids.ts';
import { VERSIONS } from '../../src/store/postgres/connection.ts';
import { distributePostgres, openPostgres } from '../../src/store/postgres/database.ts';
import { SESSION } from '../../src/store/postgres/pool.ts';
import type { Statement } from '../../src/store/statement.ts';
import { exchanges } from '../../test/support/cases.ts';
import { serving } from '../../test/support/command.ts';
import { importSample } from '../../test/support/postgres-engines.ts';
import { exchangeBytes } from '../../test/support/socket.ts';
import { allStatements } from '../../test/support/statement-plans.ts';
import { type Span, startCollector } from '../../test/support/telemetry-output.ts';
import { addAccounts, type CitusCluster, createCluster, onCitus, pidsOf, show } from './cluster.ts';
import { prepareTrial, type Trial } from './prepared.ts';

/**
 * How many nodes a statement asks. Citus says it in its plans: the tasks of a statement, one for each shard. Statements that
 * ask all shards are named here with how often they run; docs/SCALING.md sums them up. A call of the contract runs none.
 */
const CLAIM = 'each claim, and each look for due messages: every second while nothing is sent';
const COUNTS = 'the overview and metrics, at most every 10 s';
const MAINTENANCE = 'maintenance, every 10 s in one process';
const OPERATOR = 'when an operator asks for it';
const RESTORE = 'once, after a restore';
const MOVE = 'while accounts move from an old server';
const ALL_SHARDS: Readonly<Record<string, string>> = {
  'accounts.accountsAfter': 'a page of accounts: lists, an export',
  'attempts.byAttemptId': 'an answer of a carrier that comes after its time-out',
  'connectors.inUse': OPERATOR,
  'counts.messages': COUNTS,
  'counts.retriedByConnector': COUNTS,
  'counts.scheduled': COUNTS,
  'counts.sending': COUNTS,
  'counts.submissionsBefore': COUNTS,
  'counts.toPurge': COUNTS,
  'counts.waitingByConnector': COUNTS,
  'drafts.forget': 'retention',
  'installation.skipIds': RESTORE,
  'migrationTraffic.behindAccounts': MOVE,
  'migrationTraffic.countWrites': MOVE,
  'migrationTraffic.dueWriteAccounts': MOVE,
  'purge.next': 'after an inbox was emptied, until its messages are deleted; the client has its answer already',
  'queue.after': OPERATOR,
  'queue.heldAfter': OPERATOR,
  'queue.openAfter': OPERATOR,
  'queue.restoredAfter': OPERATOR,
  'receipts.attemptsAfter': MAINTENANCE,
  'receipts.heldByRestore': RESTORE,
  'receipts.heldMatches': MAINTENANCE,
  'receipts.withGatewayId': 'each question to a carrier about a message from before a restore',
  'receipts.matched': 'each batch of receipts: they name a submission and no account',
  'receipts.passedTo': MAINTENANCE,
  'receipts.removePassed': MAINTENANCE,
  'receipts.unknownSubmissions': 'receipts that name no submission that is known',
  'receipts.waitingForReceipts': RESTORE,
  'search.entriesEverywhere': OPERATOR,
  'search.nextBackfill': 'the search index, every second',
  'search.nextChanged': 'the search index, every second',
  'senders.nextAccount': MAINTENANCE,
  'sending.awaited': 'a connector that another way waits for',
  'sending.dueAccounts': CLAIM,
  'sending.dueLater': RESTORE,
  'sending.dueOfWay': 'a way out that is down',
  'sending.firstHeldThen': RESTORE,
  'sending.levels': CLAIM,
  'sending.mayHaveLeft': RESTORE,
  'sending.nextDue': CLAIM,
  'sending.openAfter': MAINTENANCE,
};
/** It is below the span of the call that has emptied an inbox, which does not wait for it. */
const NOT_AWAITED = ['purge.next'];

/** The statement as plain SQL, for a plan with the values of this execution. */
const withValues = ({ sql, values, types }: Trial): string =>
  sql.replace(/\$(\d+)/g, (_, number) => {
    const index = Number(number) - 1;
    return `'${values[index]?.replaceAll("'", "''")}'::${types[index]}`;
  });

const NAME = 'asked';
/** A table has 32 by default: CITUS_SHARDS=32 shows what statements of all shards cost then. */
const SHARDS = Number(process.env.CITUS_SHARDS ?? 4);
/** Callers of one turn of the event loop, on a busy service. */
const CALLERS = 64;
const LONG = { timeout: 900_000 };
const WARM = 20;
const TIMES = 200;

onCitus('the nodes that a statement asks', () => {
  let cluster: CitusCluster;
  let database: string;
  let client: pg.Client;
  let statements: readonly Statement<never>[];
  let account: string;
  before(async () => {
    cluster = await createCluster(2, [`citus.shard_count=${SHARDS}`]);
    database = await cluster.database(NAME);
    await importSample(database);
    await addAccounts(database, CALLERS); // their ids are random: both workers have some
    await distributePostgres({ url: database, connectionsMax: 1, timeoutMs: 60_000 }, systemClock);
    client = new pg.Client({ connectionString: database });
    await client.connect();
    await client.query(SESSION);
    account = (await client.query('select min(account_id)::text as id from account')).rows[0].id;
    statements = await allStatements();
  });
  after(async () => {
    await client?.end();
    await cluster?.remove();
  });

  async function tasksOf(statement: Statement<never>): Promise<number> {
    const trial = await prepareTrial(client, statement, account);
    await client.query('deallocate trial');
    const tasks = await tasksIn(withValues(trial));
    await client.query('rollback');
    return tasks;
  }

  /** The most tasks of one step of the plan; none where the node that is asked answers by itself. */
  async function tasksIn(sql: string): Promise<number> {
    const { rows } = await client.query(`explain (costs off) ${sql}`);
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
    return Math.max(0, ...[...plan.matchAll(/Task Count: (\d+)/g)].map(([, count]) => Number(count)));
  }

  test('the statements that ask all shards are those of the list, and all others ask one or none', async () => {
    const asked = new Map<string, number>();
    for (const each of statements) asked.set(each.name, await tasksOf(each));
    const between = [...asked].filter(([, tasks]) => tasks > 1 && tasks < SHARDS);
    assert.deepEqual(between, []);
    const all = [...asked].filter(([, tasks]) => tasks === SHARDS).map(([name]) => name);
    assert.deepEqual(all.sort(), Object.keys(ALL_SHARDS).sort());
  });

  test('no call of the contract runs one of them, in any of the 32 operations and four protocols', async () => {
    const collector = await startCollector();
    const service = await serving(['--database', database, '--web-port', 'off'], {
      env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.address },
    });
    for (const { name, raw } of exchanges('ops')) {
      const answer = (await exchangeBytes(service.address, raw)).toString('latin1');
      assert.match(answer, /^HTTP\/1.1 200/, name);
    }
    service.child.kill('SIGTERM');
    await service.ended;
    const below = Map.groupBy(collector.spans(), ({ parentSpanId }) => parentSpanId);
    const namesIn = ({ spanId }: Span): string[] =>
      (below.get(spanId) ?? []).flatMap((span) => [span.name, ...namesIn(span)]);
    const calls = collector.spans().filter(({ attributes }) => attributes['rpc.method'] !== undefined);
    assert.equal(new Set(calls.map(({ name }) => name)).size, 32);
    const run = new Set(calls.flatMap(namesIn));
    show(`${calls.length} calls ran ${run.size} statements: ${[...run].sort().join(' ')}`);
    assert.ok(run.size > 30);
    assert.deepEqual(
      [...run].filter((name) => Object.hasOwn(ALL_SHARDS, name) && !NOT_AWAITED.includes(name)),
      [],
    );
  });

  test('what they cost: CPU of the coordinator and of both workers, and how long they take', LONG, async (t) => {
    const [[first = '', third = '', ...others] = [], [second = '', ...more] = []] = await accountsByNode();
    const both = [first, second];
    const mark = (id: string) => `update tally set version = version + 1 where account_id = ${id}`;
    const versionsOf = (ids: readonly string[]) => VERSIONS.text.replace('$1', `'{${ids}}'`);
    const callers = [...both, third, ...others, ...more].slice(0, CALLERS);
    const service = await openPostgres({ url: database, connectionsMax: 1, timeoutMs: 60_000 }, systemClock);
    t.after(() => service.close());
    let added = 0;
    const work: Work[] = [
      await ofStatement('accounts.identify', 'who has this user_id'),
      await ofStatement('accounts.admitted', 'whether its account admits it, and the version'),
      ofSql('versions of 2 accounts, one on each worker', versionsOf(both), () =>
        client.query({ ...VERSIONS, values: [`{${both}}`] }),
      ),
      ofSql(`versions of ${CALLERS} accounts`, versionsOf(callers), () =>
        client.query({ ...VERSIONS, values: [`{${callers}}`] }),
      ),
      await ofStatement('inbox.unread', 'a page of unread messages'),
      await ofStatement('accounts.account', 'account by its id'),
      await ofStatement('accounts.accountByName', 'account by its username'),
      ofSql('lock of an account', mark(first), () => client.query(`begin; ${mark(first)}; rollback`)),
      ofSql('a write of one account', mark(first), () => client.query(mark(first))),
      {
        what: '4 writes of 2 accounts on one worker, each committed alone',
        run: () => each([first, third, first, third], mark),
      },
      {
        what: '4 writes of 2 accounts on one worker, in one transaction',
        run: () => together([first, third, first, third], mark),
      },
      {
        what: '4 writes of 2 accounts on both workers, each committed alone',
        run: () => each([...both, ...both], mark),
      },
      {
        what: '4 writes of 2 accounts on both workers, in one transaction',
        run: () => together([...both, ...both], mark),
      },
      {
        what: 'an account is added, with a username and a user_id that no other has',
        run: () => {
          const username = `added-${++added}`;
          return createAccount(service, { username, passwordHash: null, credits: 0n }, systemClock.now());
        },
      },
      {
        what: 'a username that another account has is refused',
        run: () => assert.rejects(createAccount(service, { username: 'added-1', passwordHash: null, credits: 0n }, 0)),
      },
      {
        what: 'an account gets one more user_id',
        run: () => addUserId(service, BigInt(first), { userId: undefined, revokeOthers: false }, systemClock.now()),
      },
      await ofStatement('sending.levels'),
      await ofStatement('sending.dueAccounts'),
      await ofStatement('sending.nextDue'),
      await ofStatement('receipts.matched'),
      await ofStatement('counts.messages'),
    ];
    show(`of 2 workers with ${SHARDS} shards, ${TIMES} executions each after ${WARM}: CPU in µs, time in ms`);
    show('| what | shards | coordinator | workers | least | lower quartile |');
    for (const { what, sql, run } of work) {
      const shards = sql ? await tasksIn(sql) : '';
      const { coordinator, workers, least, quartile } = await measure(run);
      show(`| ${what} | ${shards} | ${coordinator} | ${workers} | ${least} | ${quartile} |`);
    }
  });

  /** With the SQL whose plan says how many shards are asked, where it is one statement. */
  interface Work {
    readonly what: string;
    readonly sql?: string;
    readonly run: () => Promise<unknown>;
  }
  const ofSql = (what: string, sql: string, run: Work['run']): Work => ({ what, sql, run });

  const each = async (ids: readonly string[], sql: (id: string) => string) => {
    for (const id of ids) await client.query(sql(id));
  };
  const together = (ids: readonly string[], sql: (id: string) => string) =>
    each(['begin', ...ids, 'commit'], (id) => (/^\d/.test(id) ? sql(id) : id));

  /** As the service sends it: named, so that its plan is kept. */
  async function ofStatement(name: string, what = name): Promise<Work> {
    const statement = statements.find((each) => each.name === name) as Statement<never>;
    const { sql, values, types } = await prepareTrial(client, statement, account);
    await client.query('deallocate trial; rollback');
    const given = withValues({ sql, values, types });
    return ofSql(what, given, () => client.query({ name, text: sql, values: [...values] }));
  }

  /** Accounts on each worker. */
  async function accountsByNode(): Promise<string[][]> {
    const ids = (await client.query('select account_id::text as id from account')).rows.map(({ id }) => id as string);
    const placed = await client.query(
      `select id, nodeport from unnest($1::bigint[]) as id
       join pg_dist_placement on shardid = get_shard_id_for_distribution_column('account', id)
       join pg_dist_node on pg_dist_node.groupid = pg_dist_placement.groupid`,
      [ids],
    );
    return [...Map.groupBy(placed.rows, ({ nodeport }) => nodeport).values()]
      .map((rows) => rows.map(({ id }) => String(id)))
      .sort((one, other) => other.length - one.length);
  }

  async function measure(run: () => Promise<unknown>) {
    for (let count = 0; count < WARM; count++) await run();
    const pids = [pidsOf(cluster.coordinator), cluster.workers.flatMap(pidsOf)];
    const before = pids.map(cpuByPid);
    const times: number[] = [];
    for (let count = 0; count < TIMES; count++) {
      const since = performance.now();
      await run();
      times.push(performance.now() - since);
    }
    const cpu = before.map((each, index) => Math.round(cpuSince(each, pids[index] as number[]) / TIMES));
    times.sort((one, other) => one - other);
    const [least = 0, quartile = 0] = [times[0], times[TIMES / 4]];
    return { coordinator: cpu[0], workers: cpu[1], least: least.toFixed(2), quartile: quartile.toFixed(2) };
  }
});
