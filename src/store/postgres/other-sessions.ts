import type { Clock } from '../../base/clock.ts';
import { Problem } from '../../base/problem.ts';
import type { Queries } from '../database.ts';
import { citusState, nodeFacts, otherSessions, otherSessionsAnywhere } from '../schema/distribution-facts.ts';

/** PostgreSQL still lists a connection for a moment after its client has closed it. */
const SESSION_ENDS_MS = 5_000;
const SESSION_ASKED_MS = 100;

/** How many connections the service and its commands have, besides this one, and keep. */
export async function countOtherSessions(connection: Queries, clock: Clock): Promise<number> {
  const count = (await hasWorkers(connection)) ? countAnywhere : countHere;
  const until = clock.monotonic() + SESSION_ENDS_MS;
  for (;;) {
    const total = await count(connection);
    if (total === 0 || clock.monotonic() >= until) return total;
    await clock.sleep(SESSION_ASKED_MS);
  }
}

/** A service may ask any of them. */
async function hasWorkers(connection: Queries): Promise<boolean> {
  if (!(await connection.first(citusState, {}))?.is_there) return false;
  return (await connection.all(nodeFacts, {})).some(({ is_coordinator }) => !is_coordinator);
}

const countHere = async (connection: Queries): Promise<number> =>
  Number((await connection.first(otherSessions, {}))?.total ?? 0n);

async function countAnywhere(connection: Queries): Promise<number> {
  let total = 0;
  for (const { node, success, result } of await connection.all(otherSessionsAnywhere, {})) {
    if (!success)
      throw new Problem(
        'conflict',
        `The node ${node} of Citus did not answer, and the service may still use the database there: ${result}. Start the node, or see that the other nodes can connect to it, and run this command again.`,
      );
    total += Number(result);
  }
  return total;
}
