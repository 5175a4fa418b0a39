import { Caller } from '../caller.ts';
import { render, type SqlDialect, type Statement } from '../statement.ts';
import { LOCKED_CALLERS } from './caller-statement.ts';
import type { Write } from './write-batches.ts';

/**
 * A delete or an update that runs for many callers at once, where all of its other parameters are
 * ids. It is one statement and so one transaction: it identifies the callers, locks their accounts
 * and changes their rows. As several statements in two round trips, a mark of 32 clients took 60 %
 * more CPU: 347 µs of Columba and PostgreSQL together, not 211.
 * It takes arrays: the hashes of user_ids, then the ids. It returns a row for each write that was
 * done: its number, its account, and how many rows it changed.
 */
export interface ManyStatement {
  readonly name: string;
  readonly text: string;
  /** All but the account. */
  readonly parameters: readonly string[];
}

export interface ManyRow {
  readonly number: bigint;
  readonly account_id: bigint;
  readonly changes: bigint;
}

const DELETE = /^\s*delete from (\w+) where ([\s\S]+)$/;
const UPDATE = /^\s*update (\w+) set ([\s\S]+?) where ([\s\S]+)$/;
const PARAMETER = /(?<!:):([a-z][A-Za-z]*)/g;

/** Undefined for a statement of another form. */
export function manyOf({ name, text, parameters }: Statement<never>, dialect: SqlDialect): ManyStatement | undefined {
  if (/\b(returning|using|from\s+\w+\s+as)\b/.test(text)) return undefined;
  const ids = (parameters as readonly string[]).filter((each) => each !== 'account');
  const byJob = (part: string) => render(part.replace(PARAMETER, 'job.of_$1'), [], dialect);
  const [, deleteTable, deleteWhere] = DELETE.exec(text) ?? [];
  const [, updateTable, changes, updateWhere] = UPDATE.exec(text) ?? [];
  const change =
    deleteTable !== undefined && deleteWhere !== undefined
      ? `delete from ${deleteTable} using job where ${byJob(deleteWhere)}`
      : updateTable !== undefined && changes !== undefined && updateWhere !== undefined
        ? `update ${updateTable} set ${byJob(changes)} from job where ${byJob(updateWhere)}`
        : undefined;
  if (change === undefined) return undefined;
  const columns = ids.map((each) => `of_${each}`);
  const arrays = ['$1::text[]', ...ids.map((_, index) => `$${index + 2}::bigint[]`)];
  // The array of locked accounts is made before any row is changed. Of equal writes only the first
  // is done. An update counts a row once, so the second would seem to find none.
  const combined = `${LOCKED_CALLERS},
    job as (select distinct on (${['caller.account_id', ...columns].join(', ')})
        ${['caller.account_id as of_account', ...columns, 'given.number'].join(', ')}
      from unnest(${arrays.join(', ')}) with ordinality as given(${['hash', ...columns, 'number'].join(', ')})
      join caller on caller.user_id_hash = given.hash
      where caller.account_id = any(array(select account_id from locked))
      order by ${['caller.account_id', ...columns, 'given.number'].join(', ')}),
    done as (${change} returning job.number)
    select number, of_account as account_id,
      (select count(*) from done where done.number = job.number) as changes from job`;
  return { name: `${name}.many`, text: combined, parameters: ids };
}

/** Whether all parameters are ids. */
export const hasIdsOnly = ({ statement, parameters }: Write): boolean =>
  (statement.parameters as readonly string[]).every((name) => {
    const value = (parameters as Readonly<Record<string, unknown>>)[name];
    return typeof value === 'bigint' || value instanceof Caller;
  });

/** An array of hashes, and one for each parameter, as PostgreSQL writes them. */
export const manyValues = ({ parameters }: ManyStatement, writes: readonly Write[]): string[] => [
  `{${writes.map((write) => write.parameters.account.userIdHash).join()}}`,
  ...parameters.map((name) => {
    const values = writes.map((write) => (write.parameters as Readonly<Record<string, unknown>>)[name]);
    return `{${values.join()}}`;
  }),
];
