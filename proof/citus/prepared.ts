import type pg from 'pg';
import { distributedDialect } from '../../src/store/postgres/dialect.ts';
import { parametersOf, render, type Statement } from '../../src/store/statement.ts';

/** A statement of the program as the service sends it to Citus, prepared under the name `trial`, and values of its types. */
export interface Trial {
  readonly sql: string;
  readonly values: readonly string[];
  readonly types: readonly string[];
}

/** In a transaction, which the caller ends. */
export async function prepareTrial(
  client: pg.Client,
  { text: plain, distributed }: Statement<never>,
  account: string,
): Promise<Trial> {
  const text = distributed?.text ?? plain;
  const names = parametersOf(text);
  const sql = render(text, names, distributedDialect);
  await client.query(`begin; prepare trial as ${sql}`);
  const { rows } = await client.query(
    "select unnest(parameter_types)::text as type from pg_prepared_statements where name = 'trial'",
  );
  const values = rows.map(({ type }, index) => sampleOf(type, names[index] as string, text, account));
  return { sql, values, types: rows.map(({ type }) => type) };
}

/** A value of the type; a list of numbers, or one record with the columns that the text asks for. */
function sampleOf(type: string, name: string, text: string, account: string): string {
  if (type === 'json') {
    const [, columns] = new RegExp(`\\{records :${name} ([^}]*)\\}`).exec(text) ?? [];
    const record = columns?.split(',').map((column) => (column.trim().endsWith('text') ? 'x' : 1));
    return record ? JSON.stringify([record]) : '[1,2]';
  }
  if (type !== 'bigint') return type === 'text' ? 'x' : '1';
  return name === 'account' ? account : name.toLowerCase().includes('limit') ? '10' : '1';
}
