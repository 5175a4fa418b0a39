import type { Pieces } from './response-collector.ts';

/**
 * Counts streamed response bodies that still read their source. A closed socket ends its response,
 * but the page that its body is reading arrives later, and the database must stay open until then.
 */
export interface OpenBodies {
  /** The same pieces. The body counts from the first request for a piece to its end. */
  track(pieces: Pieces): Pieces;
  /** Resolves when no body reads any more. */
  ended(): Promise<void>;
}

export function createOpenBodies(): OpenBodies {
  let open = 0;
  let onEnded = () => {};

  async function* track(pieces: Pieces): AsyncGenerator<string | Uint8Array> {
    open += 1;
    try {
      yield* pieces;
    } finally {
      open -= 1;
      if (open === 0) onEnded();
    }
  }

  return {
    track,
    ended: () =>
      new Promise((resolve) => {
        onEnded = resolve;
        if (open === 0) resolve();
      }),
  };
}
