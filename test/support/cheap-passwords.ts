import { replacePasswordCost } from '../../src/domain/accounts/credentials.ts';

/**
 * Loaded into every process of tests: many tests need a password, and a hash at its full cost takes 40 ms of CPU. The cost is
 * part of each hash, so programs that tests start may have the full one. Proofs have it too.
 */
const MEMORY_KIB = 64;
const PASSES = 1;

const restore = replacePasswordCost(MEMORY_KIB, PASSES);

export async function atFullCost<T>(work: () => Promise<T>): Promise<T> {
  restore();
  return work().finally(() => replacePasswordCost(MEMORY_KIB, PASSES));
}
