import { isUnavailable, type Problem } from '../../base/problem.ts';
import type { Queries } from '../database.ts';
import { partialAnswers } from '../schema/distribution-facts.ts';
import { parametersOf, render, type Statement } from '../statement.ts';
import { distributedDialect } from './dialect.ts';

/**
 * A question about all accounts fails while one node of the cluster is missing. Where the answers
 * of the others are of use, such as which accounts have messages to send, each of them is asked for
 * its own shards. That takes a new connection for each node, so it is done only then.
 */
export async function askReachableNodes<P, R>(
  queries: Queries,
  { text: plain, distributed }: Statement<P, R>,
  table: string,
  parameters: P,
): Promise<R[]> {
  const text = distributed?.text ?? plain;
  const names = parametersOf(text);
  const literals = names.map((name) => literalOf(parameters[name as keyof P]));
  const sql = render(text, names, { ...distributedDialect, parameter: (number) => literals[number - 1] ?? 'null' });
  const shard = `(select * from (${sql.replaceAll(new RegExp(`\\b${table}\\b`, 'g'), '%1$s')}) as of_shard)`;
  const answers = await queries.all(partialAnswers, { table, shard });
  return answers.flatMap(({ result }) => JSON.parse(result.replace(NUMBER, '"$&"')).map(numbersOf));
}

/** A node has failed, and the one that was asked goes on. */
export function isNodeMissing(thrown: unknown): boolean {
  if (!isUnavailable(thrown)) return false;
  const { code = '', severity } = ((thrown as Problem).details.cause ?? {}) as { code?: string; severity?: string };
  return severity !== undefined && /^(08|57P)/.test(code);
}

/** In a format: a per cent sign is doubled. */
const literalOf = (value: unknown): string =>
  typeof value === 'number' || typeof value === 'bigint'
    ? String(value)
    : `'${String(value).replaceAll("'", "''").replaceAll('%', '%%')}'`;

/**
 * Ids have more digits than a number of JSON keeps. The columns of these questions are all whole
 * numbers.
 */
const NUMBER = /-?\d+(?=[,}])/g;
const numbersOf = (row: Record<string, string>) =>
  Object.fromEntries(Object.entries(row).map(([name, digits]) => [name, BigInt(digits)]));
