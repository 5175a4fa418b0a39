import type { Clock } from '../base/clock.ts';
import type { CarrierEvents, Connector, ReceivedReceipt, Submission, SubmitResult } from './connector.ts';

/**
 * A simulated carrier, which accepts messages and sends receipts after a moment. The last four
 * digits of a recipient choose a scripted outcome, so that every case can be tried without a
 * carrier. A message whose text begins with "reply " is answered by its recipient.
 */
export interface LoopbackConfig {
  /** How long a receipt takes. */
  readonly receiptAfterMs: number;
}

interface ScriptedOutcome {
  readonly meaning: string;
  readonly result?: SubmitResult;
  /** Statuses that follow, with the number of moments after which each comes. */
  readonly receipts: readonly (readonly [moments: number, status: ReceivedReceipt['status']])[];
}

const DELIVERED = [[1, 'DELIVERED']] as const;

/** The scripted outcomes by the last four digits of the recipient. */
export const SCRIPTED_OUTCOMES: Readonly<Record<string, ScriptedOutcome>> = {
  '9001': { meaning: 'UNDELIVERABLE', receipts: [[1, 'UNDELIVERABLE']] },
  '9002': { meaning: 'EXPIRED by the carrier', receipts: [[1, 'EXPIRED']] },
  '9003': { meaning: 'REJECTED by a receipt', receipts: [[1, 'REJECTED']] },
  '9004': {
    meaning: 'refused at once and for ever: REJECTED',
    result: { kind: 'permanent', reason: 'loopback: refused' },
    receipts: [],
  },
  '9005': {
    meaning: 'throttled: tried again until it expires',
    result: { kind: 'temporary', reason: 'loopback: throttled' },
    receipts: [],
  },
  '9006': {
    meaning: 'no answer to the submission, and no receipt: it needs a decision',
    result: { kind: 'unknown-outcome', reason: 'loopback: no answer' },
    receipts: [],
  },
  '9007': {
    meaning: 'no answer to the submission, and a receipt later: DELIVERED',
    result: { kind: 'unknown-outcome', reason: 'loopback: no answer' },
    receipts: [[2, 'DELIVERED']],
  },
  '9008': { meaning: 'the receipt comes twice: DELIVERED', receipts: [...DELIVERED, ...DELIVERED] },
  '9009': {
    meaning: 'receipts out of order: DELIVERED, then ENROUTE',
    receipts: [
      [1, 'DELIVERED'],
      [2, 'ENROUTE'],
    ],
  },
  '9010': { meaning: 'no receipt: SUBMITTED, after 72 hours UNKNOWN', receipts: [] },
  '9011': {
    meaning: 'late: ENROUTE, and DELIVERED ten moments later',
    receipts: [
      [1, 'ENROUTE'],
      [10, 'DELIVERED'],
    ],
  },
  '9012': { meaning: 'the receipt comes before the answer: DELIVERED', receipts: [[0, 'DELIVERED']] },
  '9013': { meaning: 'throttled once, then DELIVERED', receipts: DELIVERED },
  '9014': {
    meaning: 'the connector says that it is down: tried again',
    result: { kind: 'temporary', reason: 'loopback: down', connectorDown: true },
    receipts: [],
  },
};
const USUAL: ScriptedOutcome = { meaning: 'DELIVERED', receipts: DELIVERED };
const THROTTLED_ONCE = '9013';
const REPLY = 'reply ';
// The most numbers that are remembered as throttled. Then they are forgotten and throttled again.
const REMEMBERED_MAX = 10_000;
const AGAIN_MS = 100;

export function createLoopback(
  name: string,
  { receiptAfterMs }: LoopbackConfig,
  clock: Pick<Clock, 'now' | 'after'>,
): Connector {
  let events: CarrierEvents | undefined;
  let submitted = 0;
  const throttled = new Set<string>();
  const timers = createSharedTimers(clock);
  let isStopped = false;

  /** Repeats a report that was not taken, as a carrier does. */
  function bring(work: (to: CarrierEvents) => Promise<void>): void {
    if (!events) return;
    work(events).catch(() => {
      if (!isStopped) timers.after(Math.max(receiptAfterMs, AGAIN_MS), () => bring(work));
    });
  }

  function tell(submission: Submission, gatewayId: string, outcome: ScriptedOutcome): void {
    for (const [moments, status] of outcome.receipts) {
      const told = { connector: name, attemptId: submission.attemptId, gatewayId, status, detail: null };
      const work = () => bring((to) => to.receipt({ ...told, at: clock.now() }));
      if (moments === 0) work();
      else timers.after(moments * receiptAfterMs, work);
    }
    if (!submission.text.startsWith(REPLY)) return;
    timers.after(receiptAfterMs, () => {
      const { recipient, sender, text } = submission;
      const reply = { sender: recipient, destination: sender ?? name, text: text.slice(REPLY.length) };
      const incoming = {
        connector: name,
        gatewayId: `${gatewayId}-reply`,
        ...reply,
        receivedAt: clock.now(),
        part: null,
      };
      bring((to) => to.incoming(incoming));
    });
  }

  function submitOne(submission: Submission): SubmitResult {
    const { recipient, attemptId } = submission;
    const digits = recipient.slice(-4);
    const outcome = SCRIPTED_OUTCOMES[digits] ?? USUAL;
    if (digits === THROTTLED_ONCE && !throttled.has(recipient)) {
      if (throttled.size >= REMEMBERED_MAX) throttled.clear();
      throttled.add(recipient);
      return { kind: 'temporary', reason: 'loopback: throttled', retryAfterMs: 0 };
    }
    submitted += 1;
    const gatewayId = `${attemptId}.${submitted}`;
    if (outcome.result?.kind !== 'temporary' && outcome.result?.kind !== 'permanent')
      tell(submission, gatewayId, outcome);
    return outcome.result ?? { kind: 'accepted', gatewayId };
  }

  return {
    name,
    kind: 'loopback',
    async start(given) {
      events = given;
    },
    submit: async (parts) => parts.map(submitOne),
    /** Pending reports still come, because a connector is also stopped when it is changed. */
    async stop() {
      isStopped = true;
    },
  };
}

/** Timers that receipts of the same moment share. */
function createSharedTimers({ now, after }: Pick<Clock, 'now' | 'after'>) {
  const waiting = new Map<number, (() => void)[]>();
  return {
    after(ms: number, work: () => void): void {
      const at = now() + ms;
      const others = waiting.get(at);
      if (others) {
        others.push(work);
        return;
      }
      const all = [work];
      waiting.set(at, all);
      const run = () => {
        waiting.delete(at);
        for (const each of all) each();
      };
      after(ms, run, { background: true });
    },
  };
}
