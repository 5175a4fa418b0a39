/**
 * More load than can be served: better to refuse some requests at once than to answer all of them late. Two signs decide:
 * how long the requests that were read in one turn of the event loop have kept the process busy already, and how many wait
 * for their answer, be it for the disk or for the database.
 */
export interface Overload {
  /** Whether a request that has just come is to be refused. */
  refuses(): boolean;
  started(): void;
  ended(): void;
  readonly waiting: number;
  /** Since the start. */
  readonly refused: number;
}

export interface OverloadSettings {
  readonly turnMaxMs: number;
  readonly waitingMax: number;
}

export function createOverload({ turnMaxMs, waitingMax }: OverloadSettings): Overload {
  let turnStartedAt = 0;
  let waiting = 0;
  let refused = 0;
  const endTurn = () => {
    turnStartedAt = 0;
  };
  return {
    refuses() {
      const now = performance.now();
      if (turnStartedAt === 0) {
        turnStartedAt = now;
        setImmediate(endTurn); // after all that can be read in this turn
      }
      if (now - turnStartedAt <= turnMaxMs && waiting < waitingMax) return false;
      refused += 1;
      return true;
    },
    started: () => void waiting++,
    ended: () => void waiting--,
    get waiting() {
      return waiting;
    },
    get refused() {
      return refused;
    },
  };
}
