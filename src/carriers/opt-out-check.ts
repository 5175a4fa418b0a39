import { isOutage } from '../base/problem.ts';
import type { ClaimedMessage, Claiming } from '../domain/sending/claim.ts';
import { NOT_TOLD, type SubmitResult, WITHHELD } from './connector.ts';

/**
 * Looks at the blacklist once more for messages of a claim that have waited for their turn. One
 * question is about the messages that leave next. A question for each message was 6 % of the
 * profile of sending by SMPP with a window of 100.
 */
export interface OptOutCheckParts {
  readonly claiming: Pick<Claiming, 'optedOutAmong'>;
  readonly now: () => number;
  readonly failed: (thrown: unknown) => void;
}

/** A claim has looked at the blacklist, and what it saw counts for so long. */
const FRESH_MS = 50;
/** The messages of one question. At 3,000 messages a second so many of an account leave in time. */
const NEXT = 64;

interface OfAccount {
  /** In the order in which they leave. */
  readonly waiting: Set<ClaimedMessage>;
  /** The question that is open now. */
  asking: { readonly at: number; readonly told: Promise<boolean> } | undefined;
}

/** For the messages of one claim: why a message must not leave now, or null if it may. */
export function createOptOutCheck(
  messages: readonly ClaimedMessage[],
  claimedAt: number,
  { claiming, now, failed }: OptOutCheckParts,
): (message: ClaimedMessage) => Promise<SubmitResult | null> {
  const accounts = new Map<bigint, OfAccount>();
  const lookedAt = new Map<ClaimedMessage, number>();
  const optedOut = new Set<ClaimedMessage>();
  for (const message of messages) accountOf(message).waiting.add(message);

  function accountOf({ account }: ClaimedMessage): OfAccount {
    const known = accounts.get(account) ?? { waiting: new Set(), asking: undefined };
    accounts.set(account, known);
    return known;
  }

  const isFresh = (at: number): boolean => Math.abs(now() - at) < FRESH_MS;

  /** Resolves with whether the database told it. */
  async function ask(asked: readonly ClaimedMessage[], at: number): Promise<boolean> {
    try {
      const found = await claiming.optedOutAmong(asked);
      for (const message of asked) lookedAt.set(message, at);
      for (const message of found) optedOut.add(message);
      return true;
    } catch (thrown) {
      if (!isOutage(thrown)) failed(thrown); // the claims of this dispatcher report an outage once for all messages
      return false;
    }
  }

  async function isTold(message: ClaimedMessage, own: OfAccount): Promise<boolean> {
    if (own.asking && isFresh(own.asking.at)) {
      const isAnswered = await own.asking.told;
      if (!isAnswered || lookedAt.has(message)) return isAnswered;
    }
    const asked = [...new Set([message, ...own.waiting.values().take(NEXT)])];
    const at = now();
    const asking = { at, told: ask(asked, at) };
    own.asking = asking;
    const isAnswered = await asking.told;
    if (own.asking === asking) own.asking = undefined;
    return isAnswered;
  }

  return async (message) => {
    const own = accountOf(message);
    own.waiting.delete(message);
    if (!isFresh(lookedAt.get(message) ?? claimedAt) && !(await isTold(message, own))) return NOT_TOLD;
    return optedOut.has(message) ? WITHHELD : null;
  };
}
