import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { systemClock } from '../../src/base/clock.ts';
import { readConfig } from '../../src/config/settings.ts';
import { createAccount, type UnknownOutcomePolicy } from '../../src/domain/accounts/accounts.ts';
import { createServices, type Services } from '../../src/serve/compose/services.ts';
import { sql } from '../../test/support/opened-database.ts';
import { createRandom } from '../../test/support/random.ts';
import { check, isKnown } from '../checker/checker.ts';
import type { Event, Outcome } from '../checker/history.ts';
import { createCarrier, type SubmittedEvent, textOf, tokenOf } from './carrier.ts';
import { type ChaosNode, startNode } from './chaos-node.ts';
import type { Ask } from './protocol.ts';

/**
 * Sends and cancels messages, and opts numbers out, through nodes that are killed at random, with a carrier that misbehaves
 * and clocks that jump. After that everything is let run, and the checker judges what was seen.
 */
export interface ChaosOptions {
  readonly database: string;
  readonly seed: number;
  readonly nodes: number;
  readonly kills: number;
  /** Random acts between two kills. */
  readonly actsPerKill: number;
  readonly unknownOutcomePolicy: UnknownOutcomePolicy;
  /** Where the nodes find the database, if not where the run itself looks at it. */
  readonly nodeDatabase?: string;
  /** Kills something else than a node, such as the database server. Resolves when it serves again. */
  readonly killOther?: () => Promise<string>;
  /** How often that is killed and not a node. */
  readonly killOtherChance?: number;
  readonly progress?: (kills: number, messages: number) => void;
}
export interface ChaosResult {
  readonly faults: readonly string[];
  readonly messages: number;
  readonly kills: number;
  readonly events: readonly Event[];
}

const ACCOUNTS = ['chaos-a', 'chaos-b', 'chaos-c'];
const CREDITS = 1_000_000n;
const TIMES = { unknownOutcomeMs: 60_000, leaseMs: 20_000, submitTimeoutMs: 2_000 };
const HOUR = 3_600_000;

interface SentRow {
  text: string;
  status: string;
  captured: bigint;
  held: bigint;
  unanswered: bigint;
}
const sentRows = sql<Record<string, never>, SentRow>(
  `select text, status, (select count(*) from dispatch where dispatch.account_id = sent.account_id
     and dispatch.message_id = sent.message_id and state = 'needs-decision') as unanswered, (select coalesce(sum(amount), 0) from movement where movement.account_id = sent.account_id
     and movement.message_id = sent.message_id and kind = 'capture') as captured,
     (select coalesce(sum(case when to_side = 'held' then amount when from_side = 'held' then -amount else 0 end), 0)
      from movement where movement.account_id = sent.account_id and movement.message_id = sent.message_id) as held from sent`,
);
const scheduledRows = sql<Record<string, never>, { text: string }>('select text from scheduled');
const movingRows = sql<Record<string, never>, { total: bigint }>(
  "select count(*) as total from dispatch where state <> 'needs-decision'",
);

interface Slot {
  node: ChaosNode;
  /** Of the process that runs now: what it has submitted may be unknown after a kill. */
  submitted: SubmittedEvent[];
}
type Mutable<T> = { -readonly [K in keyof T]: T[K] };
const setAnswered = (events: readonly SubmittedEvent[], answered: boolean, answeredAt = 0): void => {
  for (const event of events as Mutable<SubmittedEvent>[]) {
    event.answered = answered;
    event.answeredAt = answeredAt;
  }
};

export async function runChaos(options: ChaosOptions): Promise<ChaosResult> {
  const run = await createRun(options);
  try {
    for (let kills = 0; kills < options.kills; kills++) {
      for (let act = 0; act < options.actsPerKill; act++) await run.act();
      await run.kill();
      options.progress?.(kills + 1, run.messages());
    }
    for (let act = 0; act < options.actsPerKill; act++) await run.act();
    await run.settle();
    return await run.judge();
  } finally {
    await run.end();
  }
}

async function createRun(options: ChaosOptions) {
  const { database, seed, unknownOutcomePolicy, nodeDatabase = database, killOtherChance = 0.2 } = options;
  const random = createRandom('acts', seed);
  const events: Event[] = [];
  const record = (event: Event) => void events.push(event);
  const config = readConfig({ COLUMBA_DATABASE: database });
  const services = await createServices(config, { clock: systemClock, log: pino({ level: 'silent' }) });
  for (const username of ACCOUNTS) {
    await createAccount(
      services.database,
      { username, passwordHash: null, credits: CREDITS, unknownOutcomePolicy },
      Date.now(),
    );
  }
  let offsetMs = 0;
  let tokens = 0;
  const slots: Slot[] = [];
  const underWay = new Set<Promise<unknown>>();
  const waiting: { token: string; account: string; id: string }[] = [];
  /** Recipients of the next messages. One that opts out is replaced. */
  const numbers = Array.from({ length: 4 }, (_, index) => `+2782555${1_000 + index}`);
  let numbersMade = numbers.length;

  const anyNode = () => random.pick(slots).node;
  const carrier = createCarrier({
    random: createRandom('carrier', seed),
    record,
    sendReceipt: async (attemptId, status) =>
      (await anyNode().ask({ kind: 'receipt', attemptId, status })).kind === 'done',
  });

  async function launch(): Promise<Slot> {
    const submitted: SubmittedEvent[] = [];
    const node = await startNode({ database: nodeDatabase, times: TIMES }, (parts, onHeard) => {
      const own: SubmittedEvent[] = [];
      onHeard(() => setAnswered(own, true, events.length));
      return carrier.submit(parts, (event) => {
        own.push(event);
        submitted.push(event);
        record(event);
      });
    });
    await node.ask({ kind: 'clock', offsetMs });
    return { node, submitted };
  }
  for (let count = 0; count < options.nodes; count++) slots.push(await launch());

  const background = (work: Promise<unknown>) => {
    const tracked = work.finally(() => underWay.delete(tracked));
    underWay.add(tracked);
  };
  const send = async (): Promise<void> => {
    const token = String(++tokens).padStart(6, '0');
    const account = random.pick(ACCOUNTS);
    const isLong = random.chance(0.2);
    const delayMs = random.pick([null, null, 200, 1_000, HOUR]);
    const number = random.pick(numbers);
    record({ kind: 'send-asked', token, account, number, parts: isLong ? 2 : 1 });
    const validMs = random.pick([null, null, null, 300, 3_000]);
    const text = textOf(token, isLong ? 25 : 1);
    const answer = await anyNode().ask({ kind: 'send', account, number, text, delayMs, validMs });
    if (answer.kind === 'refused') record({ kind: 'refused', token });
    if (answer.kind !== 'done') return;
    const id = answer.values.id as string;
    record({ kind: 'accepted', token, id });
    waiting.push({ token, account, id });
  };
  const cancel = async (): Promise<void> => {
    const [message] = waiting.splice(random.below(waiting.length), 1);
    if (!message) return;
    const { token, account, id } = message;
    record({ kind: 'cancel-asked', token });
    const answer = await anyNode().ask({ kind: 'cancel', account, id });
    if (answer.kind === 'done') record({ kind: 'cancelled', token });
    if (answer.kind === 'refused') record({ kind: 'cancel-refused', token });
  };
  const optOut = async (): Promise<void> => {
    const place = random.below(numbers.length);
    const number = numbers[place] as string;
    numbers[place] = `+2782555${1_000 + numbersMade++}`;
    const account = random.pick(ACCOUNTS);
    record({ kind: 'opt-out-asked', account, number });
    const answer = await anyNode().ask({ kind: 'opt-out', account, number });
    if (answer.kind !== 'done') return;
    const claimed = (JSON.parse(answer.values.claimed ?? '[]') as string[]).map(tokenOf);
    record({ kind: 'opted-out', account, number, claimed });
  };
  const balances = async (account: string): Promise<void> => {
    const answer = await anyNode().ask({ kind: 'balances', account });
    if (answer.kind !== 'done') return;
    const { free = '', held = '', used = '' } = answer.values;
    record({
      kind: 'balances',
      account,
      granted: CREDITS,
      free: BigInt(free),
      held: BigInt(held),
      used: BigInt(used),
    });
  };
  const tellAll = (ask: Ask) => Promise.all(slots.map(({ node }) => node.ask(ask)));
  /**
   * While PostgreSQL is away a node keeps its answers. A clock that jumps past the leases then would
   * allow another submission. So the answers are written first where the policy allows that one.
   */
  const jump = async (byMs: number): Promise<void> => {
    record({ kind: 'clock-jumped' });
    if (unknownOutcomePolicy === 'submit-again') await tellAll({ kind: 'settle' });
    offsetMs += byMs;
    await tellAll({ kind: 'clock', offsetMs });
  };

  async function untilNothingMoves(): Promise<void> {
    for (let looks = 0; ; looks++) {
      if (looks > 600) throw new Error('messages are still moving');
      await jump(20 * 60_000);
      await sleep(100);
      await carrier.settled();
      if (((await services.database.first(movingRows, {}))?.total ?? 0n) === 0n) return;
    }
  }

  return {
    messages: () => tokens,

    async act(): Promise<void> {
      const way = random.below(100);
      if (way < 62) background(send());
      else if (way < 77) background(cancel());
      else if (way < 81) background(optOut());
      else if (way < 92) background(balances(random.pick(ACCOUNTS)));
      else await jump(random.below(60_000) - 20_000);
      if (random.chance(0.3)) await sleep(random.below(15));
    },

    async kill(): Promise<void> {
      if (options.killOther && random.chance(killOtherChance)) {
        record({ kind: 'killed', what: await options.killOther() });
        return;
      }
      const place = random.below(slots.length);
      const slot = slots[place] as Slot;
      await slot.node.kill();
      record({ kind: 'killed', what: `node ${place}` });
      // Nobody knows which of its answers it has written down.
      setAnswered(slot.submitted, false);
      slots[place] = await launch();
    },

    /**
     * Lets the time pass until nothing moves any more. A node may still have an answer that it could
     * not write while PostgreSQL was away. So each one is stopped, which writes it, and started.
     */
    async settle(): Promise<void> {
      await Promise.all(underWay);
      await untilNothingMoves();
      for (const [place, { node }] of slots.entries()) {
        await node.stop();
        slots[place] = await launch();
      }
      await untilNothingMoves();
    },

    async judge(): Promise<ChaosResult> {
      for (const account of ACCOUNTS) await balances(account);
      const outcomes = await outcomesOf(services);
      const unanswered = unansweredTokens(events);
      const statuses = new Map(outcomes.map(({ token, status }) => [token, status]));
      const faults = check({
        events,
        outcomes,
        unknownOutcomePolicy,
        pendingReason: (token) => {
          if (carrier.silent.has(token)) return 'the carrier sends no receipt';
          const needsDecision = statuses.get(token) === 'UNKNOWN' && unanswered.has(token);
          return needsDecision ? 'an operator decides' : null;
        },
      });
      const { discrepancies } = await services.ledger.check();
      const ledger = discrepancies.map(
        ({ username, side, stored, counted }) => `${username}: ${side} ${stored}, ${counted}`,
      );
      const kills = events.filter(({ kind }) => kind === 'killed').length;
      return { faults: [...faults.map(({ text }) => text), ...ledger], messages: tokens, kills, events };
    },

    async end(): Promise<void> {
      await Promise.all(slots.map(({ node }) => node.stop()));
      await services.stop();
    },
  };
}

async function outcomesOf({ database }: Services): Promise<Outcome[]> {
  const sent = await database.all(sentRows, {});
  const scheduled = await database.all(scheduledRows, {});
  return [
    ...sent.map(({ text, status, captured, held, unanswered }) => {
      const needsDecision = unanswered > 0n;
      const credits = { captured: Number(captured), held: Number(held) };
      return { token: tokenOf(text), list: 'sent' as const, status, ...credits, needsDecision };
    }),
    ...scheduled.map(({ text }) => ({ token: tokenOf(text), list: 'scheduled' as const, status: null, captured: 0 })),
  ];
}

/**
 * Messages of which a node that was killed, or a lost answer, leaves open whether they were taken; or an answer that was on
 * disk only after the clock had jumped, when its lease may have ended: a connection that breaks at a commit delays it.
 */
function unansweredTokens(events: readonly Event[]): Set<string> {
  const hasKills = events.some(({ kind }) => kind === 'killed');
  const submitted = events.flatMap((event, order) => (event.kind === 'submitted' ? [{ ...event, order }] : []));
  const open = new Set(submitted.filter((each) => !isKnown(each, events)).map(({ token }) => token));
  // A node that was killed, or lost its connection, between its claim and the submission leaves no trace at the carrier. It
  // claims again what was refused before.
  const taken = new Set(submitted.filter((each) => isKnown(each, events) && each.taken === 'yes').map(keyOf));
  const asked = events.filter((event) => event.kind === 'send-asked');
  const mayBeClaimed = ({ token, parts }: (typeof asked)[number]) =>
    Array.from({ length: parts }, (_, index) => keyOf({ token, part: index + 1 })).some((key) => !taken.has(key));
  return new Set(
    asked.filter((each) => open.has(each.token) || (hasKills && mayBeClaimed(each))).map(({ token }) => token),
  );
}

const keyOf = ({ token, part }: { readonly token: string; readonly part: number }): string => `${token}, part ${part}`;
