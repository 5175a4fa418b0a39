import type { Mutation } from './hooks.ts';

/**
 * Planted faults: each is one line of the program that is wrong. The checker is proved by finding
 * them: `npm run simulate -- --planted` runs all, `--planted NAME` one of them.
 */
export interface PlantedFault extends Mutation {
  readonly name: string;
  /** What not even 100 seeds find has an ordinary test, which is named here. */
  readonly ordinaryTest?: string;
}

export const SENDING = 'src/domain/sending';
export const KNOWN_PARTS = 'test/domain/sending/known-parts.test.ts';
export const fault = (
  name: string,
  file: string,
  before: string,
  after: string,
  ordinaryTest?: string,
): PlantedFault => ({
  name,
  file,
  before,
  after,
  ...(ordinaryTest !== undefined && { ordinaryTest }),
});
