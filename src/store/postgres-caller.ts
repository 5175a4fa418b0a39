import { denied } from '../problem.ts';
import { identify } from './accounts.ts';
import { Caller, type Dialect, render, type Statement } from './statement.ts';

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
const caller = `with caller as (${identify.text.replaceAll(':hash', `:${HASH}`)})`;
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
  `${caller} select caller.account_id as caller_id, answer.* from caller left join lateral (
     select true as caller_found, found.* from (${text.replace(ACCOUNT, 'caller.account_id')}) as found
   ) as answer on true`;

const changing = (text: string): string | undefined =>
  /^\s*insert\b|\breturning\b/.test(text)
    ? undefined
    : `${caller}, done as (${text.replace(ACCOUNT, '(select account_id from caller)')} returning 1)
       select account_id as caller_id, (select count(*) from done) as changes from caller`;

export const callerValues = ({ parameters }: CallerStatement, values: Readonly<Record<string, unknown>>) =>
  parameters.map((name) => (name === HASH ? (values.account as Caller).userIdHash : values[name]));

/** The rows that were found, without the one that only says who asked. */
export function foundRows<R extends Record<string, unknown>>(rows: R[], account: Caller): R[] {
  if (!rows[0]) throw denied();
  account.id = rows[0].caller_id as bigint;
  return rows[0].caller_found === null ? [] : rows;
}

/** Locks the account, and says which one it is. */
export const lockText = (account: bigint | Caller): { name: string; text: string; values: unknown[] } =>
  account instanceof Caller && account.id === undefined
    ? {
        name: 'lockCaller',
        text: `select account_id from account where account_id = (${identify.text.replaceAll(':hash', '$1')}) for update`,
        values: [account.userIdHash],
      }
    : {
        name: 'lockAccount',
        text: 'select account_id from account where account_id = $1 for update',
        values: [account instanceof Caller ? account.id : account],
      };
