import { BoundedMap } from '../../base/bounded-map.ts';
import type { SubmitResult } from '../connector.ts';
import { adminOf, type KannelBoxConfig, type KannelDependencies, type KannelSendsmsConfig } from './config.ts';
import type { ReadReceipt } from './receipts.ts';
import { askStatus, isOnline } from './status.ts';

/**
 * Kannel reports twice that it does not take a submission: by its answer, and by a receipt with the
 * reason, which may come before the answer. Only the answer says that the submission was not taken,
 * and only the receipt says why. Together they are one result, and the receipt is not one of the
 * message.
 */

/** The receipt comes within milliseconds of the answer, unless another process gets it. */
const REASON_WAIT_MS = 1_000;
/**
 * With several processes, the receipt may reach another process than the answer. That process waits
 * this long, until the answer is on disk.
 */
const STRANGER_WAIT_MS = 3_000;
const REMEMBERED_MAX = 10_000;

interface InFlight {
  readonly reason: PromiseWithResolvers<ReadReceipt>;
  /** Resolves with whether Kannel refused the submission. */
  readonly isRefused: PromiseWithResolvers<boolean>;
}

/**
 * The submissions of this process by attempt id, which is unique for ever. They are not kept in a
 * connector, because within one process one instance may submit and another one be called back.
 */
const inFlight = new Map<string, InFlight>();
const known = new BoundedMap<string, 'refused' | 'not refused'>(REMEMBERED_MAX);

export interface Refusals {
  /** Runs a submission. `no route` is a refusal whose reason comes in a receipt. */
  during(attemptId: string, signal: AbortSignal, work: () => Promise<SubmitResult | 'no route'>): Promise<SubmitResult>;
  /** Whether the receipt is the reason of a refusal. Waits for an answer that has not come. */
  explains(attemptId: string, receipt: ReadReceipt): Promise<boolean>;
}

export function createRefusals(config: KannelBoxConfig | KannelSendsmsConfig, deps: KannelDependencies): Refusals {
  const admin = adminOf(config);

  async function resultOf(
    own: InFlight,
    signal: AbortSignal,
    work: () => Promise<SubmitResult | 'no route'>,
  ): Promise<SubmitResult> {
    const result = await work();
    if (result !== 'no route') return result;
    const reason = await Promise.race([own.reason.promise, deps.sleep(REASON_WAIT_MS, signal)]);
    if (reason && !reason.noRoute) return { kind: 'permanent', reason: reason.detail ?? 'refused by Kannel' };
    return { kind: 'temporary', reason: 'no route', retryAfterMs: 30_000, connectorDown: !(await isCarrierOnline()) };
  }

  /** If a carrier is online, only this number has no route. Without an admin port nobody knows. */
  async function isCarrierOnline(): Promise<boolean> {
    if (!admin) return false;
    const status = await askStatus(deps, admin);
    return typeof status !== 'string' && isOnline(status, config.smscId);
  }

  return {
    async during(attemptId, signal, work) {
      const own: InFlight = { reason: Promise.withResolvers(), isRefused: Promise.withResolvers() };
      inFlight.set(attemptId, own);
      let isRefused = false;
      try {
        const result = await resultOf(own, signal, work);
        isRefused = result.kind === 'temporary' || result.kind === 'permanent';
        return result;
      } finally {
        known.set(attemptId, isRefused ? 'refused' : 'not refused');
        own.isRefused.resolve(isRefused);
        inFlight.delete(attemptId);
      }
    },
    async explains(attemptId, receipt) {
      if (!receipt.isRefusal) return false;
      const own = inFlight.get(attemptId);
      if (own === undefined) {
        if (!known.has(attemptId)) await deps.sleep(STRANGER_WAIT_MS);
        return known.get(attemptId) === 'refused';
      }
      own.reason.resolve(receipt);
      return own.isRefused.promise;
    },
  };
}
