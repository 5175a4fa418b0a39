import { setMaxListeners } from 'node:events';
import type { Connector, ReceivedReceipt, Submission, SubmitResult } from '../../src/carriers/connector.ts';
import { createRandom, type Random } from '../../test/support/random.ts';
import { type Event, FINAL, type SubmittedEvent } from '../checker/history.ts';
import type { Owner, Scheduler } from './scheduler.ts';

/**
 * The carriers of a simulated world. They give every answer that a carrier can give, or none, and
 * bring receipts early, late, twice, contradicting or never. What becomes of a part depends on the
 * seed, its message and its number, and not on when it comes.
 */
export interface CarrierParts {
  readonly seed: number;
  readonly scheduler: Scheduler;
  /** The owner of what carriers do: it never dies. */
  readonly outside: Owner;
  readonly record: (event: SubmittedEvent) => void;
  readonly receiptTaken: (receipt: ReceiptTaken) => void;
  /** A part of a message without a token: an answer to a STOP or HELP word. */
  readonly answerSubmitted: (part: Submission) => void;
  /** False where no node has acknowledged it. */
  readonly bring: (receipt: ReceivedReceipt) => Promise<boolean>;
  /** The answer has reached the node. */
  readonly heard: (owner: Owner, event: SubmittedEvent) => void;
  readonly nodeTime: (owner: Owner) => number;
}

type ReceiptTaken = Omit<Extract<Event, { kind: 'receipt-taken' }>, 'kind'>;

const TOKEN = /#(\d{6})#/;
/** Each part of a long text has the whole token in it. */
export const textOf = (token: string, times: number): string => `#${token}#`.repeat(times);
export const tokenOf = (text: string): string | undefined => TOKEN.exec(text)?.[1];

type Status = ReceivedReceipt['status'];
/** What the carrier does with a part. */
interface Behaviour {
  readonly taken: boolean;
  /** Null: the answer is lost. */
  readonly result: SubmitResult | null;
  readonly answerMs: number;
  /** The request itself was lost. */
  readonly arrives: boolean;
}

export type Carrier = ReturnType<typeof createCarrier>;

export function createCarrier(parts: CarrierParts) {
  const { seed, scheduler, outside, record } = parts;
  const counts = new Map<string, number>();
  /** For these a final receipt of some part will never come. */
  const silent = new Set<string>();
  /** Connectors whose carrier is out of order: until when, and what it does. */
  const outages = new Map<string, { readonly until: number; readonly behaviour: Behaviour }>();
  let receiptsOnTheirWay = 0;
  let isHealthy = false;

  const outageOf = (connector: string): Behaviour | undefined => {
    const outage = outages.get(connector);
    return outage && outage.until > scheduler.now() ? outage.behaviour : undefined;
  };

  /** Brings a receipt again and again until a node has it on disk. */
  async function bring(receipt: ReceivedReceipt, taken: ReceiptTaken, random: Random): Promise<void> {
    while (!(await parts.bring(receipt))) {
      await new Promise<void>((resolve) => scheduler.after(outside, random.between(200, 60_000), resolve));
    }
    parts.receiptTaken(taken);
    receiptsOnTheirWay -= 1;
  }

  function bringAfter(ms: number, receipt: ReceivedReceipt, taken: ReceiptTaken, random: Random): void {
    receiptsOnTheirWay += 1;
    scheduler.after(outside, ms, () => void bring({ ...receipt, at: scheduler.now() }, taken, random));
  }

  function report(
    connector: string,
    submission: Submission,
    gatewayId: string | null,
    token: string,
    part: number,
  ): void {
    const random = createRandom(`receipts ${token} ${part} ${counts.get(`${token} ${part}`)}`, seed);
    const final = finalOf(seed, token, part);
    const ids = idsOf(random, submission.attemptId, gatewayId);
    const receipt = (status: Status): ReceivedReceipt => ({ connector, ...ids, status, at: 0, detail: null });
    const laterMs = random.pick([500, 2_000, 20_000, 600_000, 4 * 3_600_000]);
    const soon = () => random.below(laterMs);
    const way = isHealthy ? 19 : random.below(24);
    const answerTo = ids.attemptId === null ? { answerTo: submission.attemptId } : {};
    const tell = (ms: number, status: Status) =>
      bringAfter(ms, receipt(status), { token, part, status, ...answerTo }, random);
    if (way === 0) silent.add(token);
    // The service has given up waiting by then.
    else if (way === 1) tell(80 * 3_600_000 + soon(), final);
    // Before the answer.
    else if (way < 5) tell(0, final);
    else tell(soon(), final);
    if (way >= 5 && way < 8) tell(soon(), final);
    if (way >= 8 && way < 12) tell(soon(), random.pick(['ENROUTE', 'ACCEPTED', 'UNKNOWN'] as const));
    // It contradicts the other one.
    if (way === 12) tell(soon(), random.pick(['UNDELIVERABLE', 'EXPIRED', 'DELIVERED'] as const));
  }

  /** A part has arrived. Returns the answer and when it is given; null where none is. */
  function arrive(owner: Owner, connector: string, submission: Submission) {
    const token = tokenOf(submission.text);
    if (token === undefined) {
      parts.answerSubmitted(submission);
      return { event: undefined, result: { kind: 'accepted', gatewayId: null } as const, answerMs: 10 };
    }
    const part = submission.udh?.[5] ?? 1;
    const key = `${token} ${part}`;
    const count = (counts.get(key) ?? 0) + 1;
    counts.set(key, count);
    const random = createRandom(`behaviour ${key} ${count}`, seed);
    const behaviour = isHealthy ? ACCEPTING : (outageOf(connector) ?? behaviourOf(random, count));
    if (!behaviour.arrives) return { event: undefined, result: null, answerMs: 0 };
    const gatewayId = random.chance(0.8)
      ? `g${createRandom(`id ${key} ${count}`, seed).bytes(6).toString('hex')}`
      : null;
    const { attemptId } = submission;
    const event: SubmittedEvent = {
      kind: 'submitted',
      token,
      part,
      attemptId,
      connector,
      taken: behaviour.taken ? 'yes' : 'no',
      ...refusalOf(behaviour),
      answered: false,
      nodeAt: parts.nodeTime(owner),
    };
    record(event);
    if (behaviour.taken) report(connector, submission, gatewayId, token, part);
    const result = behaviour.result?.kind === 'accepted' ? { ...behaviour.result, gatewayId } : behaviour.result;
    return { event, result, answerMs: behaviour.answerMs };
  }

  async function submitPart(owner: Owner, connector: string, submission: Submission, signal: AbortSignal) {
    const token = tokenOf(submission.text) ?? 'answer';
    const random = createRandom(`leave ${token} ${submission.attemptId}`, seed);
    const waitMs = isHealthy ? 0 : random.pick([0, 0, 0, 0, 20, 90, 800, 6_000, 45_000]);
    if (waitMs > 0) await wait(owner, random.below(waitMs), signal);
    if (signal.aborted) return NOT_SENT;
    const withheld = (await submission.withheld?.()) ?? null;
    if (withheld !== null) return withheld;
    if (signal.aborted) return NOT_SENT;
    if (!owner.isAlive) return NOT_SENT; // it cannot tell anybody
    const { event, result, answerMs } = arrive(owner, connector, submission);
    return new Promise<SubmitResult>((resolve) => {
      signal.addEventListener('abort', () => resolve({ kind: 'unknown-outcome', reason: 'no answer in time' }), {
        once: true,
      });
      if (result === null) return;
      scheduler.after(outside, answerMs, () =>
        scheduler.post(owner, () => {
          if (signal.aborted) return;
          if (event) parts.heard(owner, event);
          resolve(result);
        }),
      );
    });
  }

  function wait(owner: Owner, ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      scheduler.after(owner, ms, resolve);
      signal.addEventListener('abort', () => resolve(), { once: true });
    });
  }

  return {
    silent,
    receiptsOnTheirWay: () => receiptsOnTheirWay,
    /** For so long the carrier of the connector takes nothing. */
    breakDown(connector: string, ms: number, random: Random): void {
      outages.set(connector, { until: scheduler.now() + ms, behaviour: random.pick(OUTAGES) });
    },
    /** From now on everything is taken and answered. */
    heal(): void {
      isHealthy = true;
    },
    connectorOf: (owner: Owner, name: string): Connector => ({
      name,
      kind: 'loopback',
      start: async () => {},
      stop: async () => {},
      submit: (submissions, signal) => {
        setMaxListeners(0, signal);
        return Promise.all(submissions.map((each) => submitPart(owner, name, each, signal)));
      },
    }),
  };
}

const NOT_SENT: SubmitResult = { kind: 'temporary', reason: 'aborted before it was sent' };
const OUTAGES: readonly Behaviour[] = [
  {
    taken: false,
    result: { kind: 'temporary', reason: 'no connection', connectorDown: true },
    answerMs: 1,
    arrives: true,
  },
  { taken: false, result: { kind: 'temporary', reason: 'throttled' }, answerMs: 20, arrives: true },
  { taken: false, result: null, answerMs: 0, arrives: false },
];
const refusalOf = ({ result }: Behaviour): Pick<SubmittedEvent, 'refusal'> =>
  result?.kind === 'temporary' || result?.kind === 'permanent' ? { refusal: result.kind } : {};
const ACCEPTING: Behaviour = { taken: true, result: { kind: 'accepted', gatewayId: null }, answerMs: 5, arrives: true };

/** Mostly one end for all parts of a message, and sometimes another one for each. */
function finalOf(seed: number, token: string, part: number): Status {
  const random = createRandom(`final ${token}`, seed);
  const own = random.chance(0.4) ? createRandom(`final ${token} ${part}`, seed) : random;
  return own.pick(['DELIVERED', 'DELIVERED', 'DELIVERED', 'UNDELIVERABLE', 'EXPIRED']);
}

function idsOf(random: Random, attemptId: string, gatewayId: string | null) {
  const way = gatewayId === null ? 0 : random.below(3);
  if (way === 0) return { attemptId, gatewayId: null };
  return way === 1 ? { attemptId: null, gatewayId } : { attemptId, gatewayId };
}

/** A part that comes again is refused for good more often: carriers know texts that they have. */
function behaviourOf(random: Random, count: number): Behaviour {
  const answerMs = random.pick([1, 1, 5, 40, 300, 4_000, 25_000]);
  const told = (result: SubmitResult): Behaviour => ({
    taken: result.kind === 'accepted',
    result,
    answerMs,
    arrives: true,
  });
  if (count > 1 && random.chance(0.2)) return told({ kind: 'permanent', reason: 'refused' });
  const way = random.below(100);
  if (way < 62) return told({ kind: 'accepted', gatewayId: null });
  if (way < 66) return told({ kind: 'permanent', reason: 'refused' });
  if (way < 74) return told({ kind: 'temporary', reason: 'throttled' });
  if (way < 76) return told({ kind: 'temporary', reason: 'throttled', retryAfterMs: random.between(1_000, 600_000) });
  if (way < 80) return told({ kind: 'temporary', reason: 'no connection', connectorDown: true });
  if (way < 88) return { taken: true, result: null, answerMs, arrives: true };
  if (way < 92) return { taken: false, result: null, answerMs, arrives: true };
  if (way < 95) return { taken: false, result: null, answerMs, arrives: false };
  const lateMs = random.between(29_000, 200_000);
  return { ...told({ kind: 'accepted', gatewayId: null }), answerMs: lateMs };
}

export const isFinal = (status: string | null): boolean => status !== null && FINAL.has(status);
