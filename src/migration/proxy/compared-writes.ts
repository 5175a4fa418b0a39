import { within } from '../../base/clock.ts';
import { booleanResult } from '../compare/compare.ts';
import type { RawAnswer, RawRequest } from '../compare/redaction.ts';
import type { SeenCall } from '../old-server/call-reader.ts';
import { isRefused } from '../old-server/upstream.ts';
import { whileHeld } from './catch-up.ts';
import type { Deliveries, DeliverySettings } from './deliveries.ts';
import { sealWrite } from './sealed-write.ts';

/**
 * Writes of accounts that are compared. A write is in the database before the old server is asked.
 * The result of the old server is stored there before the client gets the answer, and Columba gets
 * the write from there, even if every process is killed in between.
 */
export interface ComparedWrites {
  /**
   * `ask` sends the request to the old server, and calls `before` with the whole answer before the
   * client gets it. The id of the write is undefined if Columba does not get it from the database.
   */
  write(account: bigint, call: SeenCall, request: RawRequest, ask: Asking): Promise<ComparedWrite>;
}
export type Asking = (before: (answer: RawAnswer) => Promise<void>) => Promise<RawAnswer | undefined>;
export interface ComparedWrite {
  /** Undefined if the client was gone. */
  readonly answer: RawAnswer | undefined;
  readonly id: bigint | undefined;
}

export type ComparedWritesSettings = Pick<DeliverySettings, 'writes' | 'seal' | 'compare' | 'clock' | 'failed'>;

/** Clients of the old server wait no longer than this for our database. */
const STORE_MS_MAX = 2_000;

export function createComparedWrites(
  settings: ComparedWritesSettings,
  deliveries: Pick<Deliveries, 'behind' | 'hold' | 'release'>,
): ComparedWrites {
  const { writes, compare, failed } = settings;

  /** Returns undefined if the database does not take the write in time. */
  async function begin(account: bigint, call: SeenCall, request: RawRequest): Promise<bigint | undefined> {
    const sealed = sealWrite(settings.seal, account, call, request, undefined);
    const storing = writes.begin(account, `${call.group}.${call.operation}`, sealed, 'asked');
    const id = await within(settings.clock, STORE_MS_MAX, storing.catch(failed), undefined, { background: true });
    if (typeof id === 'bigint') return id;
    failed(new Error('The database did not store a write in time. If the proxy is killed now, Columba may lack it.'));
    storing.then((late) => writes.remove(account, late)).catch(failed);
    return undefined;
  }

  return {
    async write(account, call, request, ask) {
      const id = await begin(account, call, request);
      if (id === undefined) return { answer: await ask(async () => {}), id };
      deliveries.hold(account, id);
      let isDone = false;
      const before = async (answer: RawAnswer): Promise<void> => {
        isDone = booleanResult(call, answer, compare) === true;
        if (isDone) deliveries.behind.add(account);
        const noting = isDone ? writes.setBehind(account, id, true) : writes.remove(account, id);
        // If this fails, the write stays as one with an unknown answer.
        await within(settings.clock, STORE_MS_MAX, noting.catch(failed), undefined, { background: true });
      };
      try {
        const answer = await whileHeld(settings, { account, id }, () => ask(before));
        if (answer && isDone) return { answer, id };
        deliveries.release(account, id);
        return { answer, id: undefined };
      } catch (thrown) {
        deliveries.release(account, id);
        if (isRefused(thrown)) await writes.remove(account, id).catch(failed);
        throw thrown;
      }
    },
  };
}
