import assert from 'node:assert/strict';
import { test } from 'node:test';
import pg from 'pg';
import { removeAccount } from '../../src/domain/accounts/accounts.sql.ts';
import { dueAccounts } from '../../src/domain/sending/dispatch.sql.ts';
import {
  isStoredAsDeclared,
  readStoredTables,
  refuseUndistributedWorker,
  refuseWorker,
} from '../../src/store/postgres/distribute.ts';
import { askReachableNodes } from '../../src/store/postgres/reachable-nodes.ts';
import { renderedOf } from '../../src/store/postgres/statement-forms.ts';
import {
  commandsOf,
  type DependentFact,
  type DistributionFacts,
  distributedFunctions,
  distributionSteps,
  foreignKeysOf,
  type KeyFact,
  oldRowSteps,
  type TriggerFact,
  withoutForeignKeys,
} from '../../src/store/schema/distributed.ts';
import { distribution } from '../../src/store/schema/distribution.ts';
import { dependentFacts, keyFacts, triggerFacts } from '../../src/store/schema/distribution-facts.ts';
import { migrations } from '../../src/store/schema/migrations.ts';
import { parametersOf } from '../../src/store/statement.ts';
import { untouchedPostgres } from '../support/engines.ts';
import { TABLES } from '../support/opened-database.ts';
import { onOneServer } from '../support/postgres-engines.ts';
import { allStatements } from '../support/statement-plans.ts';
import { strayings, unnamedIn } from './locality.ts';

const NO_FACTS: DistributionFacts = { tables: [], keys: [], triggers: [], dependents: [] };

onOneServer('triggers on a distributed database', () => {
  test('every trigger function that reads the rows of a statement has a loop for Citus', async () => {
    const client = new pg.Client({ connectionString: await untouchedPostgres() });
    await client.connect();
    try {
      const { rows } = await client.query(
        `select distinct proname from pg_trigger join pg_proc on pg_proc.oid = tgfoid
         where tgnewtable is not null or tgoldtable is not null`,
      );
      assert.ok(rows.length > 10);
      const loops = distributedFunctions.join('\n');
      assert.deepEqual(
        rows.map(({ proname }) => proname).filter((name) => !loops.includes(`function ${name}(`)),
        [],
      );
    } finally {
      await client.end();
    }
  });

  test('every trigger of the tables is one that a migration makes, so that none is refused as one of another program', async () => {
    const client = new pg.Client({ connectionString: await untouchedPostgres() });
    await client.connect();
    try {
      const { rows } = await client.query<TriggerFact>(triggerFacts.text);
      assert.ok(rows.length > 20);
      const tables = TABLES.map((name) => ({ name, method: null, is_known: false, has_old_rows: false }));
      const steps = distributionSteps({ ...NO_FACTS, tables, triggers: rows });
      const isSpread = ({ of }: TriggerFact) => distribution[of] !== 'local';
      for (const { name } of rows.filter(isSpread)) {
        assert.ok(
          steps.some((step) => step.startsWith(`drop trigger ${name} on `)),
          name,
        );
      }
    } finally {
      await client.end();
    }
  });
});

onOneServer('what other programs have made of the tables', () => {
  const asked = async (work: (client: pg.Client) => Promise<void>) => {
    const client = new pg.Client({ connectionString: await untouchedPostgres() });
    await client.connect();
    try {
      await client.query('begin; create schema reports');
      await work(client);
    } finally {
      await client.end();
    }
  };
  const tables = ['account', 'received'].map((name) => ({ name, method: null, is_known: false, has_old_rows: false }));

  test('a foreign key of another schema is refused by its name, and not after all rows were copied', async () => {
    await asked(async (client) => {
      await client.query('create table reports.invoice (account_id bigint references account)');
      const keys = (await client.query<KeyFact>(keyFacts.text)).rows;
      assert.throws(
        () => distributionSteps({ ...NO_FACTS, tables, keys }),
        /alter table reports\.invoice drop constraint invoice_account_id_fkey/,
      );
    });
  });

  test('a view of the account_directory is refused by its name, and not after all rows were copied', async () => {
    await asked(async (client) => {
      const dependentsNow = async () => (await client.query<DependentFact>(dependentFacts.text)).rows;
      assert.deepEqual(await dependentsNow(), []);
      await client.query(`create materialized view reports.names as select username from account_directory;
        create view "Odd" as select * from account_directory; create view inboxes as select account_id from received`);
      const dependents = await dependentsNow();
      assert.deepEqual(dependents, [
        { type: 'view', identity: 'public."Odd"' },
        { type: 'materialized view', identity: 'reports.names' },
      ]);
      assert.throws(
        () => distributionSteps({ ...NO_FACTS, tables, dependents: dependents.slice(1) }),
        /make it again afterwards: drop materialized view reports\.names$/,
      );
      assert.deepEqual(distributionSteps({ ...NO_FACTS, tables: [], dependents }), []);
    });
  });
});

onOneServer('tables of the installation', () => {
  test('the statement that deletes an account empties each that refers to accounts', async () => {
    const client = new pg.Client({ connectionString: await untouchedPostgres() });
    await client.connect();
    try {
      const { rows } = await client.query(
        "select conrelid::regclass::text as of, confrelid::regclass::text as to from pg_constraint where contype = 'f'",
      );
      const cut = rows.filter(({ of, to }) => distribution[of] !== 'account' && distribution[to] === 'account');
      const emptied = (removeAccount.distributed?.everywhere ?? []).map(({ name }) => name.split('.').at(-1));
      assert.deepEqual(
        cut.map(({ of }) => of).filter((table) => !emptied.includes(table)),
        [],
      );
    } finally {
      await client.end();
    }
  });
});

test('while a node is missing, the others are asked for their own shards, with the values of the question', async () => {
  const asked: { table: string; shard: string }[] = [];
  const result =
    '[{"account_id":4611686018427387905,"kind":2,"position":-1},\n {"account_id":7,"kind":3,"position":0}]';
  const queries = {
    all: async (_: unknown, parameters: { table: string; shard: string }) => {
      asked.push(parameters);
      return [{ result }, { result: '[]' }];
    },
  };
  const given = { key: "o'hare 5%", priority: 1n, now: 5, limit: 16 };
  const rows = await askReachableNodes(queries as never, dueAccounts, 'dispatch_account', given);
  assert.deepEqual(rows, [
    { account_id: 4_611_686_018_427_387_905n, kind: 2n, position: -1n },
    { account_id: 7n, kind: 3n, position: 0n },
  ]);
  const [{ table = '', shard = '' } = {}] = asked;
  assert.equal(table, 'dispatch_account');
  assert.match(
    shard,
    /^\(select \* from .* from %1\$s where connector_key = 'o''hare 5%%' and priority = 1\s.*limit 16\)/s,
  );
  assert.doesNotMatch(shard, /dispatch_account|\$\d(?!s)|\{/);
});

test('a new table of the coordinator becomes known to the workers where they know the others', () => {
  const facts = (isKnown: boolean) => [
    { name: 'account', method: 'h', is_known: true, has_old_rows: false },
    { name: 'audit', method: null, is_known: isKnown, has_old_rows: false },
    { name: 'session', method: null, is_known: false, has_old_rows: false },
  ];
  assert.deepEqual(distributionSteps({ ...NO_FACTS, tables: facts(false) }), []);
  assert.match(
    distributionSteps({ ...NO_FACTS, tables: facts(true) }).join(),
    /^select citus_add_local_table_to_metadata\('session', [^;]*$/,
  );
});

/** What a node of Citus says about itself and its tables. */
interface Stored {
  readonly name: string;
  readonly method: string | null;
  readonly has_old_rows?: boolean;
}
const node = (tables: readonly Stored[], given = {}) => {
  const { version = migrations.length, isWorker = false } = given as { version?: number; isWorker?: boolean };
  const answers: Record<string, object[]> = {
    'citus.state': [{ is_there: true }],
    'citus.tables': [...tables, ...(version === 0 ? [] : [VERSIONS])],
    'citus.localNode': [{ is_worker: isWorker }],
    'schema.currentVersion': [{ version: BigInt(version) }],
  };
  const all = async ({ name }: { name: string }) => answers[name] ?? assert.fail(name);
  return { all, first: async (asked: { name: string }) => (await all(asked))[0] } as never;
};
const ACCOUNT = { name: 'account', method: 'h' };
const VERSIONS = { name: 'schema_version', method: null };

test('a service that asks a worker starts beside a table that another program has added', async () => {
  const others = { name: 'report_of_another_program', method: null };
  assert.equal(await isStoredAsDeclared(node([ACCOUNT, others])), true);
  assert.equal(await isStoredAsDeclared(node([ACCOUNT, { name: 'batch', method: null }])), false);
  assert.equal(await isStoredAsDeclared(node([ACCOUNT], { version: migrations.length - 1 })), false);
});

test('a table that another program has added is not called undistributed: nothing could distribute it', async () => {
  const visit = { name: 'visit', method: null };
  const stored = await readStoredTables(node([ACCOUNT, visit, { name: 'batch', method: null }]));
  assert.deepEqual(stored, { undistributed: ['batch'], withOldRows: [], ofOthers: ['visit'] });
});

test('a table that another program has named constructor is one of another program', async () => {
  const others = { name: 'constructor', method: null };
  assert.deepEqual((await readStoredTables(node([ACCOUNT, others]))).ofOthers, ['constructor']);
  assert.equal(await isStoredAsDeclared(node([ACCOUNT, others])), true);
  const tables = [{ name: 'account', method: null, is_known: false, has_old_rows: false }];
  const key = { name: 'their_key', of: 'constructor', to: 'account', definition: '' };
  assert.throws(() => distributionSteps({ ...NO_FACTS, tables, keys: [key] }), /drop constraint their_key/);
});

test('rows from before the distribution are left to the command: to remove them, a start would wait for an export', async () => {
  const account = { ...ACCOUNT, has_old_rows: true };
  assert.equal(await isStoredAsDeclared(node([account])), true);
  assert.deepEqual((await readStoredTables(node([account]))).withOldRows, ['account']);
  const facts = { ...account, is_known: true };
  assert.deepEqual(distributionSteps({ ...NO_FACTS, tables: [facts] }), []);
  assert.deepEqual(oldRowSteps([facts, { ...facts, name: 'visit' }]), [
    "select truncate_local_data_after_distributing_table('account')",
  ]);
});

test('a worker that does not know the tables of the coordinator is told from one with an older version', async () => {
  await assert.rejects(
    isStoredAsDeclared(node([ACCOUNT], { version: 0 })),
    /does not know the tables of the coordinator/,
  );
});

test('a foreign key of another program to a table that is distributed is refused by its name', () => {
  const account = { name: 'account', method: null, is_known: false, has_old_rows: false };
  const key = { name: 'invoice_key', of: 'invoice', to: 'account', definition: '' };
  assert.throws(
    () => distributionSteps({ ...NO_FACTS, tables: [account], keys: [key] }),
    /alter table invoice drop constraint invoice_key/,
  );
});

test('a trigger of another program is refused by its name: workers do not have what it writes to', () => {
  const received = { name: 'received', method: null, is_known: false, has_old_rows: false };
  const trigger = { of: 'received', definition: 'create trigger', function: 'f', function_definition: null };
  assert.throws(
    () => distributionSteps({ ...NO_FACTS, tables: [received], triggers: [{ ...trigger, name: 'report' }] }),
    /The trigger report of received is one of another program.*drop trigger report on received/,
  );
  const own = distributionSteps({
    ...NO_FACTS,
    tables: [received],
    triggers: [{ ...trigger, name: 'tally_received_insert' }],
  });
  assert.ok(own.includes('drop trigger tally_received_insert on received'));
});

test('a worker of Citus makes no tables: the start of a newer version names the coordinator', async () => {
  await refuseWorker(node([ACCOUNT]));
  await assert.rejects(
    refuseWorker(node([ACCOUNT], { isWorker: true })),
    /Run with the URL of the coordinator: columba/,
  );
  const newer = { isWorker: true, version: migrations.length + 1 };
  await assert.rejects(refuseWorker(node([ACCOUNT], newer)), /Run the newer version of Columba that wrote it\./);
});

test('a worker says that it is one before the distribution, where Citus says only that an operation is not allowed', async () => {
  await refuseUndistributedWorker(node([]));
  await assert.rejects(
    refuseUndistributedWorker(node([], { isWorker: true, version: 0 })),
    /This server is a worker of Citus.*Use the URL of the coordinator\./,
  );
});

test('every table says how it is stored on a distributed database', () => {
  assert.deepEqual(Object.keys(distribution).sort(), [...TABLES, 'account_directory', 'schema_version'].sort());
});

test('a subquery of a statement of one account names the account itself', async () => {
  const ofOne = (await allStatements()).filter(
    (each) => parametersOf(each.text).includes('account') && strayings(each, TABLES).length === 0,
  );
  assert.ok(ofOne.length > 200);
  const unnamed = ofOne.filter((each) => unnamedIn(each, TABLES).length > 0).map(({ name }) => name);
  assert.deepEqual(unnamed, []);
  const text = 'select (select 1 from sent where sent.account_id = account.account_id) from account';
  assert.deepEqual(unnamedIn({ name: '', text }, TABLES), ['sent']);
});

test('rows that are joined with records are asked of the node of their account', async () => {
  const joined = (await allStatements()).filter(({ text }) => text.includes('{joined '));
  assert.ok(joined.length > 5);
  for (const each of joined) {
    const { text, parameters } = renderedOf(each, 'distributed');
    const number = parameters.indexOf('account') + 1;
    assert.match(text, new RegExp(`\\b\\w+\\.account_id = \\$${number}\\b`), each.name);
  }
});

test('a migration of a distributed database is executed one command at a time', () => {
  const [body, text, comment] = [
    '$$ begin a; b; end $$',
    "insert into t values ('a;b', $1)",
    'create index c on d (e) -- f; g',
  ];
  assert.deepEqual(
    commandsOf(`${body};\n${text};;\n${comment}\n; `).map((each) => each.trim()),
    [body, text, comment],
  );
});

test('a migration of a distributed database makes a table first, and its foreign keys when it is distributed', () => {
  const sql = `
  create table batch (
    account_id bigint not null references account on delete cascade,
    message_id bigint,
    foreign key (account_id, message_id) references sent on delete cascade,
    primary key (account_id)
  );
  create table session (
    operator_id bigint references operator on delete cascade,
    account_id bigint references account on delete cascade
  );`;
  assert.equal(
    withoutForeignKeys(sql),
    `
  create table batch (
    account_id bigint not null,
    message_id bigint,
    primary key (account_id)
  );
  create table session (
    operator_id bigint references operator on delete cascade,
    account_id bigint
  );`,
  );
  assert.deepEqual(foreignKeysOf(sql), [
    'alter table batch add foreign key (account_id) references account on delete cascade',
    'alter table batch add foreign key (account_id, message_id) references sent on delete cascade',
  ]);
});
