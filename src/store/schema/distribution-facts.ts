import { statement } from '../statement.ts';
import type { DependentFact, KeyFact, TableFact, TriggerFact } from './distributed.ts';

/** What PostgreSQL and Citus know about the tables: see distributed.ts. */
type Nothing = Record<string, never>;

export const citusState = statement<Nothing, { is_there: boolean }>(
  'citus.state',
  "select to_regclass('pg_catalog.pg_dist_partition') is not null as is_there",
);
export const tableFacts = statement<Nothing, TableFact>(
  'citus.tables',
  // A table of the coordinator that other nodes may ask for has the method n and the model s.
  `select relname::text as name, case when partmethod = 'n' and repmodel = 's' then null else partmethod end::text as method,
     partmethod is not null as is_known,
     partmethod is not null and (partmethod, repmodel) <> ('n', 's') and pg_relation_size(pg_class.oid) > 0 as has_old_rows
   from pg_class
     left join pg_dist_partition on logicalrelid = pg_class.oid
   where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p') order by relname`,
);
export const keyFacts = statement<Nothing, KeyFact>(
  'citus.keys',
  `select quote_ident(conname) as name, conrelid::regclass::text as of, confrelid::regclass::text as to,
     pg_get_constraintdef(oid) as definition
   from pg_constraint
   where contype = 'f' and conparentid = 0 and current_schema()::regnamespace in (connamespace,
     (select relnamespace from pg_class where pg_class.oid = confrelid)) order by conname`,
);
export const dependentFacts = statement<Nothing, DependentFact>(
  'citus.dependents',
  // PostgreSQL writes down that the rule of a view depends on something, where the view is meant.
  `select distinct type, identity
   from pg_depend left join pg_rewrite on classid = 'pg_rewrite'::regclass and pg_rewrite.oid = objid
     cross join lateral pg_identify_object(case when ev_class is null then classid else 'pg_class'::regclass end,
       coalesce(ev_class, objid), 0)
   where refclassid = 'pg_class'::regclass and refobjid = to_regclass('account_directory') and deptype = 'n'
     and ev_class is distinct from refobjid order by identity`,
);
export const triggerFacts = statement<Nothing, TriggerFact>(
  'citus.triggers',
  `select quote_ident(tgname) as name, tgrelid::regclass::text as of, pg_get_triggerdef(pg_trigger.oid) as definition,
     proname::text as function,
     case when pronamespace = relnamespace and pg_has_role(proowner, 'usage') then pg_get_functiondef(pg_proc.oid) end
       as function_definition
   from pg_trigger join pg_class on pg_class.oid = tgrelid join pg_proc on pg_proc.oid = tgfoid
   where not tgisinternal and relnamespace = current_schema()::regnamespace order by tgname`,
);
/**
 * Sessions of the service or its commands on each node, besides this one. The view
 * citus_stat_activity leaves out a node that does not answer, and has no global number for sessions
 * of another role.
 */
export const otherSessionsAnywhere = statement<Nothing, { node: string; success: boolean; result: string }>(
  'citus.otherSessionsAnywhere',
  `select nodename || ':' || nodeport as node, success, result
   from pg_dist_local_group as own cross join lateral run_command_on_all_nodes(format(
       'select count(*) from pg_stat_activity cross join pg_dist_local_group
        where datname = current_database() and application_name = ''columba'' and (groupid, pid) <> (%s, %s)',
       own.groupid, pg_backend_pid())) as answer
     left join pg_dist_node using (nodeid)`,
);
/** The same on a server without Citus. */
export const otherSessions = statement<Nothing, { total: bigint }>(
  'citus.otherSessions',
  `select count(*) as total from pg_stat_activity
   where datname = current_database() and application_name = 'columba' and pid <> pg_backend_pid()`,
);
export const nodeFacts = statement<
  Nothing,
  { name: string; port: bigint; is_coordinator: boolean; is_active: boolean }
>(
  'citus.nodes',
  `select nodename as name, nodeport::bigint as port, groupid = 0 as is_coordinator, isactive as is_active
   from pg_dist_node where noderole = 'primary' order by groupid`,
);
/**
 * Asks each node that can be reached for its own shards of a table, each by `shard`, in which %1$s
 * is the name of the shard.
 */
export const partialAnswers = statement<{ table: string; shard: string }, { result: string }>(
  'citus.partialAnswers',
  `select result from (
     select array_agg(nodename) as names, array_agg(nodeport::int) as ports,
       array_agg('select coalesce(json_agg(found), ''[]'') from (' || shards || ') as found') as questions
     from (select nodename, nodeport, string_agg(format(:shard, shard_name(logicalrelid, shardid)), ' union all ') as shards
       from pg_dist_shard join pg_dist_shard_placement using (shardid)
       where logicalrelid = cast(cast(:table as text) as regclass) group by nodename, nodeport) as node) as asked
     cross join lateral master_run_on_worker(names, ports, questions, true) where success`,
);
/** What an installation must be like before its tables can be distributed. */
export const distributable = statement<
  Nothing,
  {
    user: string;
    owner: string;
    is_owner: boolean;
    take_role: string | null;
    schema: string;
    are_triggers_allowed: boolean;
  }
>(
  'citus.distributable',
  // Citus passes on "set local role", also to its own connections of a superuser, which then fail.
  `select current_user::text as user, relowner::regrole::text as owner,
     case when rolname <> current_user then format('select set_config(''role'', %L, true)', rolname) end as take_role,
     rolname = current_user or (pg_has_role(relowner, 'usage') and not is_superuser) as is_owner,
     current_schema()::text as schema, current_setting('citus.enable_unsafe_triggers')::boolean as are_triggers_allowed
   from pg_class join pg_roles on pg_roles.oid = relowner
     cross join (select current_setting('is_superuser')::boolean as is_superuser) as session
   where pg_class.oid = 'account'::regclass`,
);
export const localNode = statement<Nothing, { is_worker: boolean }>(
  'citus.localNode',
  'select groupid > 0 as is_worker from pg_dist_local_group',
);
/** What the coordinator answers to a question, on any node. */
export const coordinatorPlace = statement<{ question: string }, { success: boolean; result: string }>(
  'citus.coordinatorPlace',
  'select success, result from run_command_on_coordinator(:question)',
);
