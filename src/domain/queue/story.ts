import type { Database } from '../../store/database.ts';
import { type Movement, movementsOfMessage } from '../accounts/ledger.ts';
import type { StatusChange } from '../messages/sent.ts';
import { GUARD_RULES } from '../outbound/guard.ts';
import { type Attempt, attemptsOf } from '../sending/attempts.ts';
import { OPTED_OUT } from '../sending/cancel.ts';
import { LEASE_OVER } from '../sending/claim.ts';
import { REFUSED, RELEASED } from '../sending/decide.ts';
import { LACKS_A_PART, NOT_SETTLED, type RowInQueue, rowInQueue } from '../sending/end.ts';
import { HELD, HELD_WITH_RECEIPT } from '../sending/hold.ts';

/**
 * What happened to a message, and what happens next: its statuses, its submissions with the words
 * of the carrier, and its credits, in the order of time.
 */
export interface Story {
  readonly events: readonly StoryEvent[];
  /** Where it stands in the queue; null if it has left it or is not in it yet. */
  readonly queued: Queued | null;
}
export type StoryEvent =
  | { readonly kind: 'accepted'; readonly at: number; readonly credits: bigint }
  | {
      readonly kind: 'status';
      readonly at: number;
      readonly status: string;
      readonly words: Words | null;
      readonly credits: readonly Movement[];
    }
  | {
      readonly kind: 'attempt';
      readonly at: number;
      readonly attempt: number;
      readonly connector: string;
      readonly state: string;
      readonly parts: readonly Attempt[];
      readonly words: Words | null;
    };

/** A reason, and whether it is ours or the carrier's. */
export interface Words {
  readonly text: string;
  readonly isOurs: boolean;
}

export interface Queued {
  readonly state: RowInQueue['state'];
  readonly dueAt: number;
  readonly expiresAt: number;
  readonly attempts: number;
  readonly isScheduled: boolean;
  readonly words: Words | null;
}

/** Reasons that this program gave, which no carrier said. */
const OWN: ReadonlySet<string> = new Set([
  OPTED_OUT.detail,
  'cancelled before it was submitted',
  'the person was erased',
  'no receipt',
  LEASE_OVER,
  NOT_SETTLED,
  LACKS_A_PART,
  RELEASED,
  REFUSED,
  HELD,
  HELD_WITH_RECEIPT,
]);
const OWN_STARTS = ['withheld: ', 'sent again, ', ...GUARD_RULES.map((rule) => `${rule}: `)];

export const wordsOf = (reason: string | null, isHeld = false): Words | null =>
  reason === null || reason === ''
    ? null
    : { text: reason, isOurs: isHeld || OWN.has(reason) || OWN_STARTS.some((start) => reason.startsWith(start)) };

export interface Told {
  readonly id: bigint;
  /** When it was accepted, or came from the schedule. */
  readonly acceptedAt: number;
  readonly history: readonly StatusChange[];
}

export async function storyOf(database: Database, account: bigint, told: Told): Promise<Story> {
  const { id, acceptedAt, history } = told;
  const row = await rowInQueue(database, account, id);
  const attempts = await attemptsOf(database, account, id);
  const times = [...new Set([acceptedAt, ...history.map(({ at }) => at)])];
  const movements = await movementsOfMessage(database, account, id, times);
  const held = movements.filter(({ kind }) => kind === 'hold').reduce((sum, { amount }) => sum + amount, 0n);
  const events: StoryEvent[] = [{ kind: 'accepted', at: acceptedAt, credits: held }];
  for (const [attempt, parts] of Map.groupBy(attempts, (each) => each.attempt)) {
    const [first] = parts;
    if (!first) continue;
    const words = wordsOf(parts.find(({ reason }) => reason !== null)?.reason ?? null);
    const { connector } = first;
    events.push({ kind: 'attempt', at: first.submittedAt, attempt, connector, state: worstOf(parts), parts, words });
  }
  const isFirst = ({ status, detail }: StatusChange, index: number) =>
    index === 0 && status === 'QUEUED' && detail === null;
  for (const change of history.filter((each, index) => !isFirst(each, index))) {
    const { status, at, detail } = change;
    const credits = movements.filter((each) => each.at === at && each.kind !== 'hold');
    events.push({ kind: 'status', at, status, words: wordsOf(detail), credits });
  }
  return { events: events.sort((one, other) => one.at - other.at), queued: row ? queuedOf(row) : null };
}

const STATES = ['submitting', 'unknown-outcome', 'refused', 'accepted'];
const worstOf = (parts: readonly Attempt[]): string =>
  STATES.find((state) => parts.some((each) => each.state === state)) ?? '';

const queuedOf = (row: RowInQueue): Queued => ({
  state: row.state,
  dueAt: Number(row.due_at),
  expiresAt: Number(row.expires_at),
  attempts: Number(row.attempts),
  isScheduled: row.is_scheduled === 1n,
  words: wordsOf(row.reason, row.state === 'held'),
});
