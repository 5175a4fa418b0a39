import { denied } from '../../problem.ts';
import { Caller, type Dialect, isAdmitted, render, type Statement } from '../statement.ts';
import { identify } from '../statements/accounts.ts';

/**
 * A statement about whoever a user_id names, so that finding out who that is takes no round trip of its own. Nobody is not
 * the same as nothing found: then the answer has no row at all.
 */
export interface CallerStatement {
  readonly name: string;
  readonly text: string;
  readonly parameters: readonly string[];
}

const HASH = 'callerHash';
/** Who is restricted to networks is found as well, but nothing is read or changed before these have been looked at. */
const callerOf = (hash: string) => `with caller as (${identify.text.replaceAll(':hash', hash)})`;
const caller = callerOf(`:${HASH}`);
const UNRESTRICTED = '(select account_id from caller where allowed_networks is null)';
const ACCOUNT = /(?<!:):account\b/g;

/** Undefined for the few that cannot be put so: they follow a question of its own. */
export function withCaller(statement: Statement<never>, dialect: Dialect): CallerStatement | undefined {
  const { name, text } = statement;
  const whole = statement.writes ? changing(text) : reading(text);
  if (whole === undefined) return undefined;
  const parameters = [...(statement.parameters as string[]).filter((each) => each !== 'account'), HASH];
  return { name: `${name}.caller`, text: render(whole, parameters, dialect), parameters };
}

const reading = (text: string): string =>
  `${caller} select caller.account_id as caller_id, caller.allowed_networks as caller_networks, answer.*
   from caller left join lateral (
     select true as caller_found, found.* from (${text.replace(ACCOUNT, 'caller.account_id')}) as found
     where caller.allowed_networks is null
   ) as answer on true`;

const changing = (text: string): string | undefined =>
  /^\s*insert\b|\breturning\b/.test(text)
    ? undefined
    : `${caller}, done as (${text.replace(ACCOUNT, UNRESTRICTED)} returning 1)
       select account_id as caller_id, allowed_networks as caller_networks, (select count(*) from done) as changes from caller`;

export const callerValues = ({ parameters }: CallerStatement, values: Readonly<Record<string, unknown>>) =>
  parameters.map((name) => (name === HASH ? (values.account as Caller).userIdHash : values[name]));

/** Takes over who it is, or throws. Whether the rest was done: not where the networks had to be looked at first. */
export function isDoneFor(account: Caller, row: Readonly<Record<string, unknown>> | undefined): boolean {
  const networks = row?.caller_networks as string | null | undefined;
  if (!isAdmitted(account.admits, networks) || !row) throw denied();
  account.id = row.caller_id as bigint;
  return networks === null;
}

/** The rows that were found, without the one that only says who asked; undefined where nothing was read yet. */
export function foundRows<R extends Record<string, unknown>>(rows: R[], account: Caller): R[] | undefined {
  if (!isDoneFor(account, rows[0])) return undefined;
  return rows[0]?.caller_found === null ? [] : rows;
}

/** Locks the account, and says which one it is. */
export const lockText = (account: bigint | Caller): { name: string; text: string; values: unknown[] } =>
  account instanceof Caller && account.id === undefined
    ? {
        name: 'lockCaller',
        text: `${callerOf('$1')}, locked as (select account_id from account where account_id = ${UNRESTRICTED} for update)
          select caller.account_id as caller_id, allowed_networks as caller_networks from caller left join locked on true`,
        values: [account.userIdHash],
      }
    : {
        name: 'lockAccount',
        text: 'select account_id from account where account_id = $1 for update',
        values: [account instanceof Caller ? account.id : account],
      };
