import { globSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { auditedOf } from '../../src/store/postgres/audited-statement.ts';
import { withCaller } from '../../src/store/postgres/caller-statement.ts';
import { postgresDialect } from '../../src/store/postgres/dialect.ts';
import { manyOf } from '../../src/store/postgres/many-statement.ts';
import { render, type Statement } from '../../src/store/statement.ts';

/** Plans of PostgreSQL for the statements of the rooms. */

const SOURCE = fileURLToPath(new URL('../../src/', import.meta.url));

const isStatement = (value: unknown): value is Statement<never> =>
  typeof value === 'object' && value !== null && 'text' in value && 'parameters' in value;

/** Of all `.sql.ts` files: a new statement is among them. */
export async function allStatements(): Promise<Statement<never>[]> {
  const files = globSync('**/*.sql.ts', { cwd: SOURCE }).sort();
  const modules = await Promise.all(
    files.map((file) => import(pathToFileURL(`${SOURCE}${file}`).href) as Promise<Record<string, unknown>>),
  );
  return modules.flatMap((module) => Object.values(module).filter(isStatement));
}

export interface StatementText {
  readonly name: string;
  readonly text: string;
  /** A form that not every statement has: the server tells by refusing it. */
  readonly isOptional: boolean;
}

/** The forms in which connection.ts may send a statement: as it is, with its caller, its audit entry, for many callers. */
export function textsOf(statement: Statement<never>): StatementText[] {
  const { name, text, parameters, affects, deletes } = statement;
  const own = { name, text: render(text, parameters, postgresDialect), isOptional: false };
  const forms: ({ name: string; text: string } | undefined)[] = [];
  if ((parameters as readonly string[]).includes('account')) {
    forms.push(withCaller(statement, postgresDialect));
    // A call of the contract changes its own account.
    if (affects === 'own') forms.push(manyOf(statement, postgresDialect));
  }
  if (deletes) forms.push(auditedOf(statement, postgresDialect, false));
  if (deletes && !/\breturning\b/.test(text)) forms.push(auditedOf(statement, postgresDialect, true));
  return [own, ...forms.flatMap((form) => (form ? [{ ...form, isOptional: true }] : []))];
}

type Ask = (sql: string) => Promise<Readonly<Record<string, unknown>>[]>;

let count = 0;

/**
 * The plan for any values, as a connection of ours keeps it. PostgreSQL has `explain (generic_plan)` from 16 on; this is
 * the same on every version.
 */
export async function genericPlan(ask: Ask, text: string): Promise<string> {
  const name = `explained_${++count}`;
  await ask(`prepare ${name} as ${text}`);
  const [types] = await ask(
    `select coalesce(array_length(parameter_types, 1), 0) as total from pg_prepared_statements where name = '${name}'`,
  );
  const values = Array.from({ length: Number(types?.total) }, () => 'null').join();
  const rows = await ask(`explain execute ${name}${values && `(${values})`}`);
  await ask(`deallocate ${name}`);
  return rows.map((row) => row['QUERY PLAN']).join('\n');
}

/** Estimated, of the most expensive node. */
export const costOf = (plan: string): number =>
  Math.max(...[...plan.matchAll(/cost=[\d.]+\.\.([\d.]+)/g)].map(([, cost]) => Number(cost)));
