import { Problem } from '../../base/problem.ts';
import { batchCounts, countedByBatch } from './batches.ts';
import { type Distribution, distribution, distributionOf } from './distribution.ts';
import { migrations } from './migrations.ts';
import { NOTE_LOCKED } from './search.ts';

/**
 * The SQL that distributes the tables of PostgreSQL over the nodes of Citus. It can be run again:
 * after a migration it distributes the tables that are new.
 */

/** Citus refuses `random()` in an update, so it is drawn before. */
const DRAWN = 'drawn := (random() * 9007199254740991)::bigint;';

/**
 * The functions of the triggers as loops over the rows that changed. A query that joins these rows
 * with a distributed table fails with "could not find named tuplestore". Plain PostgreSQL keeps the
 * functions of the migrations, which are one query each.
 */
const loop = (name: string, rows: string, work: string): string =>
  `create or replace function ${name}() returns trigger language plpgsql as $$ declare r record; drawn bigint;
   begin for r in ${rows} loop ${DRAWN} ${work} end loop; return null; end $$;`;
const inboxes = (rows: string): string =>
  `select account_id, generation, count(*) as messages from ${rows} group by account_id, generation`;
const ofInbox = 'where account_id = r.account_id and generation = r.generation';
const unmarkedOf = (rows: string, sign: '' | '-'): string =>
  `select account_id, ${sign}(is_marked = 0)::int as unmarked from ${rows}`;
const sentLoop = (event: string, rows: string): string =>
  loop(
    `tally_sent_${event}`,
    `select account_id, sum(unmarked) as unmarked from (${rows}) as messages group by account_id`,
    `update tally set unmarked = unmarked + r.unmarked, version = drawn where account_id = r.account_id;`,
  );
const added = (table: string, kind: number, id: string): string =>
  loop(
    `search_${table}_insert`,
    `select account_id, ${id} as id from added`,
    `insert into search_change (account_id, kind, item_id) values (r.account_id, ${kind}, r.id) ${NOTE_LOCKED};`,
  );
const gone = (table: string, kind: number, id: string, was: string): string =>
  loop(
    `search_${table}_delete`,
    `select account_id, ${id} as id, ${was} from gone`,
    `if exists (select 1 from account where account_id = r.account_id) then
       insert into search_change (account_id, kind, item_id, was_at, was_number, was_text, was_reference)
       values (r.account_id, ${kind}, r.id, r.at, r.number, r.text, r.reference) ${NOTE_LOCKED};
     end if;`,
  );
const ofBatch = 'where account_id = r.account_id and batch_id = r.batch_id';
const batchUpdate = (sign: '+' | '-') =>
  `update batch set ${batchCounts.map((count) => `${count} = ${count} ${sign} r.${count}`).join(', ')} ${ofBatch};`;
const batchOfSent = (event: string, rows: string, sign: '+' | '-') =>
  loop(`tally_batch_sent_${event}`, countedByBatch(rows), batchUpdate(sign));
const batchOfScheduled = (event: string, rows: string, sign: '+' | '-') =>
  loop(
    `tally_batch_scheduled_${event}`,
    `select account_id, batch_id, count(*) as total from ${rows} where batch_id is not null group by account_id, batch_id`,
    `update batch set in_schedule = in_schedule ${sign} r.total ${ofBatch};`,
  );
const BATCH_TIMES = `select added.account_id, added.batch_id, min(added.updated_at) as first_at, max(added.updated_at) as last_at
  from added join gone on gone.account_id = added.account_id and gone.message_id = added.message_id
  where added.batch_id is not null and gone.status = 'QUEUED' and added.status <> 'QUEUED'
  group by added.account_id, added.batch_id`;
const GRANT =
  'insert into movement (account_id, movement_id, kind, from_side, to_side, amount, moved_at, reason) values';

const once = (name: string, parameters: string, returns: string, work: string): string =>
  `create or replace function ${name}(${parameters}) returns ${returns} language plpgsql as $$ declare drawn bigint;
   begin ${DRAWN} ${work} end $$;`;

export const distributedFunctions: readonly string[] = [
  // For the user_ids, whose table has no triggers: see domain/accounts/user-ids.sql.ts.
  once('version_of', 'account bigint', 'void', 'update tally set version = drawn where account_id = account;'),
  once(
    'version_of_row',
    '',
    'trigger',
    'update tally set version = drawn where account_id = new.account_id; return null;',
  ),
  once(
    'tally_account_insert',
    '',
    'trigger',
    'insert into tally (account_id, version) values (new.account_id, drawn); return null;',
  ),
  loop(
    'version_renew',
    'select distinct account_id from changed',
    `update tally set version = drawn where account_id = r.account_id;`,
  ),
  loop(
    'tally_received_insert',
    inboxes('added'),
    `update tally set read = read + r.messages, version = drawn ${ofInbox};`,
  ),
  loop(
    'tally_received_delete',
    `select account_id, generation, count(*) as messages, array_agg(received_at) as times, array_agg(message_id) as ids
     from gone group by account_id, generation`,
    `delete from unread_message using unnest(r.times, r.ids) as message (at, id)
       where account_id = r.account_id and generation = r.generation and received_at = message.at and message_id = message.id;
     update tally set read = read - r.messages, version = drawn ${ofInbox};`,
  ),
  loop(
    'tally_unread_insert',
    inboxes('added'),
    `update tally set unread = unread + r.messages, read = read - r.messages, version = drawn ${ofInbox};`,
  ),
  loop(
    'tally_unread_delete',
    inboxes('gone'),
    `update tally set unread = unread - r.messages, read = read + r.messages, version = drawn ${ofInbox};`,
  ),
  sentLoop('insert', unmarkedOf('added', '')),
  sentLoop('delete', unmarkedOf('gone', '-')),
  sentLoop('update', `${unmarkedOf('added', '')} union all ${unmarkedOf('gone', '-')}`),
  loop(
    'tally_scheduled_delete',
    'select account_id, array_agg(message_id) as ids from gone group by account_id',
    `delete from dispatch where account_id = r.account_id and message_id = any(r.ids) and is_scheduled = 1;`,
  ),
  `create or replace function ledger_account_insert() returns trigger language plpgsql as $$ begin
     insert into ledger (account_id) values (new.account_id);
     if new.credits <> 0 then
       ${GRANT} (new.account_id, 1, 'grant', 'operator', 'free', new.credits, new.created_at, 'opening');
     end if;
     if new.used_credits <> 0 then
       ${GRANT} (new.account_id, 2, 'grant', 'operator', 'used', new.used_credits, new.created_at, 'opening');
     end if;
     return null; end $$;`,
  batchOfSent('insert', 'added', '+'),
  batchOfSent('delete', 'gone', '-'),
  `create or replace function tally_batch_sent_update() returns trigger language plpgsql as $$ declare r record; begin
     if exists (select 1 from added where batch_id is not null) then
       for r in ${countedByBatch('gone')} loop ${batchUpdate('-')} end loop;
       for r in ${countedByBatch('added')} loop ${batchUpdate('+')} end loop;
       for r in ${BATCH_TIMES} loop
         update batch set started_at = least(started_at, r.first_at), last_at = greatest(last_at, r.last_at) ${ofBatch};
       end loop;
     end if;
     return null; end $$;`,
  batchOfScheduled('insert', 'added', '+'),
  batchOfScheduled('delete', 'gone', '-'),
  added('received', 1, 'message_id'),
  added('sent', 2, 'message_id'),
  added('scheduled', 3, 'message_id'),
  added('contact', 4, 'contact_id'),
  gone('received', 1, 'message_id', 'received_at as at, sender as number, text, null::text as reference'),
  gone('sent', 2, 'message_id', 'sent_at as at, recipient as number, text, reference'),
  gone('scheduled', 3, 'message_id', 'scheduled_at as at, recipient as number, text, reference'),
  gone(
    'contact',
    4,
    'contact_id',
    `0::bigint as at, mobile as number, coalesce(name, '') || ' ' || coalesce(surname, '') as text, null::text as reference`,
  ),
];

/** The view becomes a table, because a distributed `account` can have no key over all accounts. */
export const distributedDirectory: readonly string[] = [
  'alter view account_directory rename to account_directory_view',
  'create table account_directory as select * from account_directory_view',
  'drop view account_directory_view',
  'alter table account_directory add primary key (account_id)',
  'alter table account_directory alter column username set not null',
  'alter table account_directory add constraint account_directory_username unique (username)',
  'alter table account drop constraint account_username_key',
  'create index account_by_username on account (username)',
  "select create_reference_table('account_directory')",
];

/** `account` is first, because the others are stored together with it. */
export const tablesOf = (kind: Distribution): string[] =>
  Object.entries(distribution).flatMap(([table, each]) => (each === kind ? table : []));

export const distributeTable = (table: string): string =>
  distributionOf(table) === 'reference'
    ? `select create_reference_table('${table}')`
    : `select create_distributed_table('${table}', 'account_id'${table === 'account' ? '' : ", colocate_with => 'account'"})`;

export interface TableFact {
  readonly name: string;
  /** h: distributed by a column, n: a reference table; null for a table of this node. */
  readonly method: string | null;
  /** Whether other nodes know of it, as they do of each that is distributed. */
  readonly is_known: boolean;
  /** Whether the coordinator still has rows from before the table was distributed. */
  readonly has_old_rows: boolean;
}
export interface KeyFact {
  readonly name: string;
  readonly of: string;
  readonly to: string;
  readonly definition: string;
}
export interface TriggerFact {
  readonly name: string;
  readonly of: string;
  readonly definition: string;
  readonly function: string;
  /** Null for a function of another role or program. */
  readonly function_definition: string | null;
}
/** What uses `account_directory` while that is a view, such as a view of another program. */
export interface DependentFact {
  /** As in a statement that drops it: `materialized view`. */
  readonly type: string;
  readonly identity: string;
}

export interface DistributionFacts {
  readonly tables: readonly TableFact[];
  readonly keys: readonly KeyFact[];
  readonly triggers: readonly TriggerFact[];
  readonly dependents: readonly DependentFact[];
}

/**
 * The statements that remain to be executed, in their order, in one transaction. A foreign key
 * between tables that are spread by account stays; one between a table of the installation and
 * `account` goes, and the statement that deletes an account deletes those rows: see `everywhere` of
 * `Distributed` in store/statement.ts.
 */
export function distributionSteps({ tables, keys, triggers, dependents }: DistributionFacts): string[] {
  const methods = new Map(tables.map(({ name, method }) => [name, method]));
  const isNew = (table: string) => methods.has(table) && methods.get(table) === null;
  const spread = (table: string) => distributionOf(table) !== 'local' && distributionOf(table) !== undefined;
  const fresh = [...tablesOf('reference'), ...tablesOf('account')].filter(isNew);
  const known = knownEverywhere(tables);
  if (fresh.length === 0) return known;
  const moved = keys.filter(({ of, to }) => (spread(of) || spread(to)) && (fresh.includes(of) || fresh.includes(to)));
  for (const key of moved) refuseKeyOfOthers(key);
  const copied = fresh.includes('account') ? [...fresh, 'account_directory'] : fresh;
  const fired = triggers.filter(({ of }) => copied.includes(of));
  for (const trigger of fired) refuseTriggerOfOthers(trigger);
  if (fresh.includes('account')) dependents.forEach(refuseDependent);
  const isByAccount = (table: string) => distributionOf(table) === 'account';
  return [
    "set local citus.multi_shard_modify_mode to 'sequential'",
    ...moved.map(({ name, of }) => `alter table ${of} drop constraint ${name}`),
    // They would fire for the rows that are copied to the nodes, and count them again.
    ...fired.map(({ name, of }) => `drop trigger ${name} on ${of}`),
    // A role that is not a superuser can distribute only what uses functions of this transaction.
    ...new Set(fired.flatMap((each) => (isReplaced(each) ? [] : (each.function_definition ?? [])))),
    ...distributedFunctions,
    ...(fresh.includes('account') ? distributedDirectory : []),
    ...fresh.map(distributeTable),
    ...moved
      .filter(({ of, to }) => isByAccount(of) && isByAccount(to))
      .map(({ name, of, definition }) => `alter table ${of} add constraint ${name} ${definition}`),
    ...fired.filter(({ of }) => isByAccount(of)).map(({ definition }) => definition),
    ...copied.map(removeOldRows),
    ...known,
  ];
}

const isReplaced = (trigger: TriggerFact): boolean =>
  distributedFunctions.some((each) => each.includes(`function ${trigger.function}(`));

/** Citus keeps the rows that it has copied, unseen: they would outlive an erasure. */
const removeOldRows = (table: string): string => `select truncate_local_data_after_distributing_table('${table}')`;

/**
 * Removes the rows that an earlier version left on the coordinator. Each statement excludes every
 * other use of its table, so it is for the command alone: at a start of the service it would wait
 * for an export that is running, and all calls of other processes would wait behind it.
 */
export const oldRowSteps = (tables: readonly TableFact[]): string[] =>
  tables
    .filter(({ name, has_old_rows }) => has_old_rows && distributionOf(name) !== undefined)
    .map(({ name }) => removeOldRows(name));

function refuseKeyOfOthers({ name, of, to }: KeyFact): void {
  if (distributionOf(of) !== undefined && distributionOf(to) !== undefined) return;
  throw new Problem(
    'conflict',
    `The foreign key ${name} of ${of} refers to ${to}, which Citus does not keep, and one of the two is a table of another program. Remove the key first: alter table ${of} drop constraint ${name}`,
  );
}

/**
 * The view becomes a table after all rows were copied. PostgreSQL would then refuse to drop a view
 * that something uses.
 */
function refuseDependent({ type, identity }: DependentFact): void {
  throw new Problem(
    'conflict',
    `The ${type} ${identity} of another program uses account_directory, which becomes a table. Remove it first, and make it again afterwards: drop ${type} ${identity}`,
  );
}

const CREATED_TRIGGER = /\btrigger (\w+) (?:before|after)\b[^;]*? on (\w+)/g;

/** Whether a migration makes it. */
const isOwn = ({ name, of }: TriggerFact): boolean =>
  migrations.some(({ sql, own }) =>
    [...`${sql} ${own?.postgres ?? ''}`.matchAll(CREATED_TRIGGER)].some(
      ([, trigger, table]) => trigger === name && table === of,
    ),
  );

/**
 * Its function may use what the workers do not have, and on a table of every node Citus allows no
 * trigger.
 */
function refuseTriggerOfOthers(trigger: TriggerFact): void {
  if (isOwn(trigger)) return;
  const { name, of } = trigger;
  throw new Problem(
    'conflict',
    `The trigger ${name} of ${of} is one of another program, and would have to run on the nodes of Citus, which may not have what it uses. Remove it first: drop trigger ${name} on ${of}`,
  );
}

/**
 * Where an operator lets services ask any node, the workers know the tables of the coordinator: so
 * also new ones.
 */
function knownEverywhere(tables: readonly TableFact[]): string[] {
  const local = tables.filter(({ name }) => distributionOf(name) === 'local');
  if (!local.some(({ is_known }) => is_known)) return [];
  return local
    .filter(({ is_known }) => !is_known)
    .map(({ name }) => `select citus_add_local_table_to_metadata('${name}', cascade_via_foreign_keys => true)`);
}

/** What a command may contain without ending: a text, the body of a function, a comment. */
const COMMAND = /(?:'[^']*'|\$\$[\s\S]*?\$\$|--[^\n]*|[^;'$-]|[$-])+/g;

/**
 * The commands of a migration, one at a time: Citus passes on the whole text that it is given with
 * each of them.
 */
export const commandsOf = (sql: string): string[] => (sql.match(COMMAND) ?? []).filter((each) => each.trim() !== '');

const CREATED = /create table (\w+) \(([\s\S]*?)\n\s*\)[^;]*;/g;
const OF_COLUMN = /^(\s*)(?!foreign\b)(\w+)( [^\n]*?) (references \w+(?: \([^)]*\))?(?: on delete \w+)?)(,?)$/gm;
const OF_TABLE = /,?\n\s*(foreign key \([^)]*\) (references \w+(?: \([^)]*\))?(?: on delete \w+)?))/g;
const referred = (reference: string): string => reference.split(/\s+/)[1] ?? '';
/** Whether Citus refuses it while the table itself is on one node. */
const isRefused = (reference: string): boolean => (distributionOf(referred(reference)) ?? 'local') !== 'local';

/** The SQL of a migration, without the foreign keys of new tables to those that are distributed. */
export const withoutForeignKeys = (sql: string): string =>
  sql.replace(CREATED, (created) =>
    created
      .replace(OF_TABLE, (whole, _key, reference: string) => (isRefused(reference) ? '' : whole))
      .replace(OF_COLUMN, (whole, space: string, column: string, type: string, reference: string, comma: string) =>
        isRefused(reference) ? `${space}${column}${type}${comma}` : whole,
      ),
  );

/** Statements that add those of these keys that lead from one table by account to another one. */
export const foreignKeysOf = (sql: string): string[] =>
  [...sql.matchAll(CREATED)].flatMap(([created, table = '']) => {
    const ofColumns = [...created.matchAll(OF_COLUMN)].map(
      ([, , column, , reference = '']) => [`foreign key (${column}) ${reference}`, reference] as const,
    );
    const ofTable = [...created.matchAll(OF_TABLE)].map(([, key = '', reference = '']) => [key, reference] as const);
    return [...ofColumns, ...ofTable]
      .filter(
        ([, reference]) => distributionOf(table) === 'account' && distributionOf(referred(reference)) === 'account',
      )
      .map(([key]) => `alter table ${table} add ${key}`);
  });
