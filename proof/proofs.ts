/** What is proved by more than `npm test`: with faults, for long, or with programs of others. */
export interface Proof {
  /** What holds if it passes, in one sentence. */
  readonly proves: string;
  /** The bounded slice that `npm run proof` runs: files and folders of tests. */
  readonly slice: readonly string[];
  /** The program that goes on for long; what follows the name on the command line is for it. */
  readonly campaign?: string;
}

export const proofs: Readonly<Record<string, Proof>> = {
  chaos: {
    proves: 'Every message of processes that are killed again and again has one outcome, and the credits add up.',
    slice: ['proof/chaos'],
    campaign: 'proof/chaos/run.ts',
  },
};
