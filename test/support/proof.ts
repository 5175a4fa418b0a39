/**
 * Whether all variations are tried, as `npm run proof variations` does. `npm test` tries a part of them: what a change breaks
 * mostly shows in the first ones.
 */
export const isProof = process.env.TEST_PROOF === '1';

const PART = 10;
const RUNS_MIN = 5;

/** How often a property is tried with random values. */
export const runsOf = (whole: number): number =>
  isProof ? whole : Math.max(Math.min(whole, RUNS_MIN), Math.ceil(whole / PART));
