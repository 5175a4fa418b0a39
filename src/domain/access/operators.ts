import { conflict, notFound } from '../../base/problem.ts';
import { randomId } from '../../base/random.ts';
import type { Database } from '../../store/database.ts';
import * as sql from './operators.sql.ts';
import type { Owner } from './owners.ts';
import { endAccess } from './sessions.ts';

/** Operators: people who sign in to the console for the whole service. */
export interface Operator {
  readonly id: bigint;
  readonly name: string;
  readonly hasPassword: boolean;
  readonly createdAt: number;
  readonly lastSignInAt: number | null;
  readonly disabledAt: number | null;
}

export async function addOperator(database: Database, name: string, now: number): Promise<Operator> {
  const operator = randomId();
  if ((await database.run(sql.addOperator, { operator, name, createdAt: now })) === 0) {
    throw conflict('name: there is already an operator with this name. Choose another name.');
  }
  return operatorNamed(database, name);
}

export async function operatorNamed(database: Database, name: string): Promise<Operator> {
  const row = await database.first(sql.operatorByName, { name });
  if (!row) throw notFound('operator of this name');
  return toOperator(row);
}

/** Lists operators by name. */
export const operatorsAfter = async (database: Database, after: string, limit: number): Promise<Operator[]> =>
  (await database.all(sql.operatorsAfter, { after, limit })).map(toOperator);

/**
 * Disabling an operator ends the sessions and links of the operator. The name stays taken, so that
 * the audit never means somebody else by it.
 */
export async function setOperatorEnabled(
  database: Database,
  name: string,
  disabledAt: number | null,
): Promise<Operator> {
  const { id } = await operatorNamed(database, name);
  await database.run(sql.setOperatorDisabled, { operator: id, disabledAt });
  if (disabledAt !== null) await endAccess(database, { kind: 'operator', id });
  return operatorNamed(database, name);
}

export const ownerOfOperator = ({ id, name }: Operator): Owner => ({ kind: 'operator', id, name });

function toOperator(row: sql.OperatorRow): Operator {
  const { passwordHash, ...values } = sql.operatorColumns.read(row);
  return { ...values, hasPassword: passwordHash !== null };
}
