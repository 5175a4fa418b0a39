import { Caller } from '../caller.ts';
import { type Dialect, render, type Statement } from '../statement.ts';
import type { Write } from './write-batches.ts';

/**
 * A delete or an update that runs for many accounts at once, where all of its parameters are ids.
 * It takes arrays of them, and returns the number of the write for each row that it changed.
 */
export interface ManyStatement {
  readonly name: string;
  readonly text: string;
  readonly parameters: readonly string[];
}

const DELETE = /^\s*delete from (\w+) where ([\s\S]+)$/;
const UPDATE = /^\s*update (\w+) set ([\s\S]+?) where ([\s\S]+)$/;
const PARAMETER = /(?<!:):([a-z][A-Za-z]*)/g;

/** Undefined for a statement of another form. */
export function manyOf({ name, text, parameters }: Statement<never>, dialect: Dialect): ManyStatement | undefined {
  if (/\b(returning|using|from\s+\w+\s+as)\b/.test(text)) return undefined;
  const names = parameters as readonly string[];
  const columns = names.map((each) => `of_${each}`);
  const arrays = names.map((_, index) => `${dialect.parameter(index + 1)}::bigint[]`);
  const job = `unnest(${arrays.join(', ')}) with ordinality as job(${columns.join(', ')}, number)`;
  const byJob = (part: string) => render(part.replace(PARAMETER, 'job.of_$1'), names, dialect);
  const [, deleteTable, deleteWhere] = DELETE.exec(text) ?? [];
  const [, updateTable, changes, updateWhere] = UPDATE.exec(text) ?? [];
  const combined =
    deleteTable !== undefined && deleteWhere !== undefined
      ? `delete from ${deleteTable} using ${job} where ${byJob(deleteWhere)} returning job.number`
      : updateTable !== undefined && changes !== undefined && updateWhere !== undefined
        ? `update ${updateTable} set ${byJob(changes)} from ${job} where ${byJob(updateWhere)} returning job.number`
        : undefined;
  return combined === undefined ? undefined : { name: `${name}.many`, text: combined, parameters: names };
}

/** Whether all parameters are ids. */
export const hasIdsOnly = ({ statement, parameters }: Write): boolean =>
  (statement.parameters as readonly string[]).every((name) => {
    const value = (parameters as Readonly<Record<string, unknown>>)[name];
    return typeof value === 'bigint' || value instanceof Caller;
  });

/** An array for each parameter, as PostgreSQL writes them. */
export const manyValues = ({ parameters }: ManyStatement, writes: readonly Write[]): string[] =>
  parameters.map((name) => {
    const values = writes.map((write) => (write.parameters as Readonly<Record<string, unknown>>)[name]);
    return `{${values.map((value) => (value instanceof Caller ? value.id : value)).join()}}`;
  });
