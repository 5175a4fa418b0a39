import { denied } from '../../base/problem.ts';
import { Caller, isAdmitted } from '../caller.ts';
import { CALLER } from '../callers.sql.ts';
import { render, type SqlDialect, type Statement } from '../statement.ts';

/**
 * A statement that identifies the caller as well, so that identification takes no round trip of its
 * own. With one, a Profile took 18 to 25 % more CPU of Columba and PostgreSQL together, and an
 * Unread of 20 messages 12 to 25 %. No row means that the user_id is unknown. A known caller
 * without results has one row without a result.
 */
export interface CallerStatement {
  readonly name: string;
  readonly text: string;
  readonly parameters: readonly string[];
}

export const HASH = 'callerHash';
/**
 * A caller restricted to networks is found too. The statement then does nothing: the networks are
 * checked first.
 */
const callerOf = (hash: string) => `with caller as (${CALLER.replaceAll(':hash', hash)})`;
export const caller = callerOf(`:${HASH}`);
export const UNRESTRICTED = '(select account_id from caller where allowed_networks is null)';
export const ACCOUNT = /(?<!:):account\b/g;

/**
 * Undefined for an insert or a `returning`: there the caller is identified before, by a statement
 * of its own.
 */
export function withCaller(statement: Statement<never>, dialect: SqlDialect): CallerStatement | undefined {
  const { name, text } = statement;
  const combined = statement.writes ? combineWrite(text) : combineRead(text);
  if (combined === undefined) return undefined;
  const parameters = [...(statement.parameters as string[]).filter((each) => each !== 'account'), HASH];
  return { name: `${name}.caller`, text: render(combined, parameters, dialect), parameters };
}

const combineRead = (text: string): string =>
  `${caller} select caller.account_id as caller_id, caller.allowed_networks as caller_networks,
     (select version from tally where tally.account_id = caller.account_id) as caller_version, answer.*
   from caller left join lateral (
     select true as caller_found, found.* from (${text.replace(ACCOUNT, 'caller.account_id')}) as found
     where caller.allowed_networks is null
   ) as answer on true`;

/** The caller, and how many rows `done` has changed. */
export const CALLER_FOUND =
  'select account_id as caller_id, allowed_networks as caller_networks, (select count(*) from done) as changes from caller';

const combineWrite = (text: string): string | undefined =>
  /^\s*insert\b|\breturning\b/.test(text)
    ? undefined
    : `${caller}, done as (${text.replace(ACCOUNT, UNRESTRICTED)} returning 1) ${CALLER_FOUND}`;

export const callerValues = ({ parameters }: CallerStatement, values: Readonly<Record<string, unknown>>) =>
  parameters.map((name) => (name === HASH ? (values.account as Caller).userIdHash : values[name]));

/**
 * Sets the id of the caller, or throws `denied`. `restricted`: the statement did nothing and is to
 * be run again.
 */
export function identifyFrom(
  row: Readonly<Record<string, unknown>> | undefined,
  account: Caller,
): 'done' | 'restricted' {
  const networks = row?.caller_networks as string | null | undefined;
  if (!isAdmitted(account.admits, networks) || !row) throw denied();
  account.id = row.caller_id as bigint;
  return networks === null ? 'done' : 'restricted';
}

/**
 * The rows of the statement itself. Undefined where the caller is restricted and nothing was read.
 * The rows and the version are of one moment.
 */
export function foundRows<R extends Record<string, unknown>>(rows: R[], account: Caller): R[] | undefined {
  if (identifyFrom(rows[0], account) === 'restricted') return undefined;
  account.version = Number(rows[0]?.caller_version);
  return rows[0]?.caller_found === null ? [] : rows;
}

/**
 * The accounts of many callers ($1: the hashes), locked in the order of their ids. So two batches
 * cannot wait for each other. An account that somebody else has locked is left out, as is one that
 * is restricted to networks. Each caller is looked up alone: for a list of hashes PostgreSQL reads
 * all user_ids where they are few, and keeps that plan.
 */
export const LOCKED_CALLERS = `with caller as (select given.hash as user_id_hash, found.account_id
      from (select distinct hash from unnest($1::text[]) as hash) as given
      cross join lateral (${CALLER.replace(':hash', 'given.hash')} and allowed_networks is null limit 1) as found),
    locked as (select account_id from account where account_id = any(array(select account_id from caller))
      order by account_id for no key update skip locked)`;

export const lockManyQuery = (hashes: readonly string[]): { name: string; text: string; values: unknown[] } => ({
  name: 'lockCallers',
  text: `${LOCKED_CALLERS}
    select user_id_hash, caller.account_id from caller join locked on locked.account_id = caller.account_id`,
  values: [hashes],
});

/**
 * Locks the row of the account, and identifies a caller whose account is not known yet. A foreign
 * key looks at the account while its tally is locked: with `for update` that was a deadlock.
 */
export const lockQuery = (account: bigint | Caller): { name: string; text: string; values: unknown[] } =>
  account instanceof Caller && account.id === undefined
    ? {
        name: 'lockCaller',
        text: `${callerOf('$1')}, locked as (select account_id from account where account_id = ${UNRESTRICTED} for no key update)
          select caller.account_id as caller_id, allowed_networks as caller_networks from caller left join locked on true`,
        values: [account.userIdHash],
      }
    : {
        name: 'lockAccount',
        text: 'select account_id from account where account_id = $1 for no key update',
        values: [account instanceof Caller ? account.id : account],
      };
