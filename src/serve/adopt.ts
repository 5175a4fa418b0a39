import type { Clock } from '../base/clock.ts';
import { counted } from '../base/counted.ts';
import { answersQueries } from '../carriers/kinds.ts';
import { endAllSessions } from '../domain/access/sessions.ts';
import { addAuditEntry } from '../domain/accounts/audit.ts';
import { emitEvent } from '../domain/accounts/events.ts';
import { voidClaims } from '../domain/accounts/idempotency.ts';
import { nextGeneration, readInstallation, skipIds, writeInstallation } from '../domain/accounts/installation.ts';
import { noteQueries } from '../domain/sending/carrier-queries.ts';
import { createConnectors } from '../domain/sending/connectors.ts';
import { holdAll, keepScheduled } from '../domain/sending/hold.ts';
import type { Database } from '../store/database.ts';
import { joined } from '../store/transactions.ts';
import { newRun, writeMarks } from './installation.ts';

/**
 * Makes a restored copy the database of the installation, in one transaction: messages that may
 * have been sent since the copy was made are held, carriers are to be asked about those that were
 * sent before, ids are skipped, sessions and unfinished requests end, and the copy gets a
 * generation of its own.
 */
export interface Adoption {
  /** The path of an SQLite database, beside which its marks are written. */
  readonly path: string | undefined;
  readonly clock: Pick<Clock, 'now'>;
  /** Who ran the command. */
  readonly actorName: string;
  /** The database was moved while the service was stopped, so nothing can have been sent since. */
  readonly nothingLost: boolean;
  /** Messages that are due later are held then: clients may have brought them forward. */
  readonly holdScheduled: boolean;
  /** Tells what would be done, and does nothing. */
  readonly dryRun: boolean;
  /** The generations of earlier restores, as far as a target of the backup knows them. */
  readonly restored: readonly bigint[];
}
export interface Adopted {
  readonly generation: bigint;
  readonly held: number;
  /** Messages that are due later. */
  readonly scheduled: number;
  /** Parts that a carrier had before, and that it is asked about. */
  readonly asked: number;
}

export async function adopt(database: Database, adoption: Adoption): Promise<Adopted> {
  const { path, clock, actorName, nothingLost, holdScheduled, dryRun, restored } = adoption;
  const place = await database.place();
  let adopted: Adopted | undefined;
  try {
    await database.transaction(null, async (queries) => {
      const at = clock.now();
      const before = await readInstallation(queries);
      const generation = nextGeneration(before?.generation ?? 0n, at);
      const held = nothingLost ? 0 : await holdAll(queries, at);
      const scheduled = nothingLost ? 0 : await keepScheduled(queries, at, holdScheduled);
      let asked = 0;
      if (!nothingLost) {
        const connectors = await createConnectors(joined(database, queries), clock.now).list();
        const queried = connectors.filter(({ kind, sendsReceipts }) => answersQueries(kind) && sendsReceipts);
        asked = await noteQueries(
          queries,
          queried.map(({ name }) => name),
          at,
        );
        const last = before?.generation ?? 0n;
        const others = restored.filter((each) => each > last).length;
        await skipIds(queries, { from: last, to: generation, others });
        await endAllSessions(queries);
        await voidClaims(queries);
      }
      await addAuditEntry(joined(database, queries), {
        at,
        actorKind: 'command',
        actorName,
        tokenId: null,
        address: null,
        action: 'restore',
        account: null,
        target: `generation ${generation}, ${counted(held, 'message')} held${nothingLost ? ', nothing lost' : ''}`,
        fields: [],
      });
      await emitEvent(queries, { type: 'service.restored', at, generation, held });
      const run = newRun();
      const own = { generation, run, place: place.id, timeline: place.timeline };
      await writeInstallation(queries, { ...own, copiedAt: null, restoredAt: at });
      adopted = { generation, held, scheduled, asked };
      if (dryRun) throw new RolledBack();
      if (path !== undefined) writeMarks(path, { generation, runs: [run] });
    });
  } catch (thrown) {
    if (!(thrown instanceof RolledBack)) throw thrown;
  }
  return adopted as Adopted;
}

/** Undoes the transaction of a dry run. */
class RolledBack extends Error {}
