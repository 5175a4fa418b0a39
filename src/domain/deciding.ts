import { conflict, notFound } from '../problem.ts';
import type { Database } from '../store/database.ts';
import { elementsOf } from '../store/statements/json.ts';
import * as sql from '../store/statements/sending.ts';
import { end, putBack, setStatus } from './settling.ts';

/**
 * What an operator decides about a message of which nobody knows whether the carrier has it.
 * submitted: it has. not-submitted: it has not, and the credits are free again. submit-again: it
 * goes out once more, which may be the second time.
 */
export const DECISIONS = ['submitted', 'not-submitted', 'submit-again'] as const;
export type Decision = (typeof DECISIONS)[number];

const DETAIL = 'decided by an operator';

export function decide(
  database: Database,
  account: bigint,
  id: bigint,
  decision: Decision,
  { at, tryForMs }: { readonly at: number; readonly tryForMs: number },
): Promise<void> {
  return database.transaction(account, async (queries) => {
    const [row] = await queries.all(sql.of, { account, ids: elementsOf([id]) });
    if (!row) throw notFound('undecided message with this id');
    if (row.state !== 'unsure' && row.state !== 'undecided') {
      throw conflict('The message is not undecided: it is on its way.');
    }
    const { held } = row;
    if (decision === 'submitted') {
      await end(queries, account, at, 'SUBMITTED', [{ id, held, captured: held, detail: DETAIL }]);
    } else if (decision === 'not-submitted') {
      await end(queries, account, at, 'REJECTED', [{ id, held, captured: 0n, detail: DETAIL }]);
    } else {
      await queries.run(sql.extend, { account, id, expiresAt: at + tryForMs });
      await putBack(queries, account, 'waiting', [[id, at, DETAIL]]);
      await setStatus(queries, account, at, 'QUEUED', new Map([[id, DETAIL]]));
    }
  });
}
