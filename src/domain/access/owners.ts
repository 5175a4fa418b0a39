import { notFound } from '../../base/problem.ts';
import type { Database } from '../../store/database.ts';
import { findAccount, findAccountNamed, type StoredAccount } from '../accounts/accounts.ts';
import * as operatorSql from './operators.sql.ts';

/** Somebody who signs in to the console: an operator or a customer. */
export interface Owner {
  readonly kind: 'operator' | 'account';
  readonly id: bigint;
  readonly name: string;
}

/** An owner with what a sign-in needs to know. */
export interface FoundOwner extends Owner {
  readonly passwordHash: string | null;
  readonly isDisabled: boolean;
  /** The networks from which an account may be used, with commas; null for everywhere. */
  readonly networks: string | null;
}

/** The columns of a row that belongs to an owner. */
export const ownerColumns = ({ kind, id }: Pick<Owner, 'kind' | 'id'>) => ({
  owner: ownerKey({ kind, id }),
  operator: kind === 'operator' ? id : null,
  accountId: kind === 'account' ? id : null,
});

export const ownerKey = ({ kind, id }: Pick<Owner, 'kind' | 'id'>): string => `${kind}/${id}`;

export async function ownerNamed(database: Database, kind: Owner['kind'], name: string): Promise<FoundOwner | null> {
  if (kind === 'operator') {
    const row = await database.first(operatorSql.operatorByName, { name });
    return row ? operatorOwner(row) : null;
  }
  const account = await findAccountNamed(database, name);
  return account ? accountOwner(account) : null;
}

/** Returns null if the owner was removed. */
export async function ownerOf(
  database: Database,
  row: { readonly operator_id: bigint | null; readonly account_id: bigint | null },
): Promise<FoundOwner | null> {
  if (row.operator_id !== null) {
    const found = await database.first(operatorSql.operatorById, { operator: row.operator_id });
    return found ? operatorOwner(found) : null;
  }
  if (row.account_id === null) return null;
  const found = await findAccount(database, row.account_id);
  return found ? accountOwner(found) : null;
}

/** The same owner as the database has it now. */
export async function currentOwner(database: Database, { kind, id }: Owner): Promise<FoundOwner> {
  const row = { operator_id: kind === 'operator' ? id : null, account_id: kind === 'account' ? id : null };
  const found = await ownerOf(database, row);
  if (!found) throw notFound('such user');
  return found;
}

const operatorOwner = (row: operatorSql.OperatorRow): FoundOwner => ({
  kind: 'operator',
  id: row.operator_id,
  name: row.name,
  passwordHash: row.password_hash,
  isDisabled: row.disabled_at !== null,
  networks: null,
});

const accountOwner = ({ id, username, passwordHash, disabledAt, allowedNetworks }: StoredAccount): FoundOwner => ({
  kind: 'account',
  id,
  name: username,
  passwordHash,
  isDisabled: disabledAt !== null,
  networks: allowedNetworks,
});
