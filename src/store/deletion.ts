import { randomId } from '../base/random.ts';
import { Caller } from './caller.ts';
import type { Statement } from './statement.ts';

/** The values of the audit entry of a delete through the contract: see callers.sql.ts. */
export interface DeletionValues {
  readonly auditId: bigint;
  readonly auditAt: number;
  readonly auditAddress: string;
  readonly auditAction: string;
  readonly auditTarget: string;
}

/** Undefined if the statement deletes nothing, or if no call of the contract runs it. */
export function deletionOf<P, R>(statement: Statement<P, R>, parameters: P): DeletionValues | undefined {
  if (!statement.deletes) return undefined;
  const { account } = parameters as { account?: unknown };
  const deletion = account instanceof Caller ? account.deletion : undefined;
  return (
    deletion && {
      // Random, so that processes need no common counter. It has 62 bits, so it is positive.
      auditId: randomId(),
      auditAt: deletion.at,
      auditAddress: deletion.address,
      auditAction: deletion.action,
      auditTarget: statement.deletes(parameters),
    }
  );
}

// An entry names up to this many ids. If there are more, it has their number.
const IDS_MAX = 100;

/** The target of a delete of many: `ids` is a JSON array of numbers. */
export function targetOf(ids: string): string {
  const list = ids.slice(1, -1).split(',');
  return list.length > IDS_MAX ? `${list.length} of them` : list.join();
}
