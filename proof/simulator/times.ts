/** The times of a service as it is installed. */
export const TIMES = {
  pollMs: 1_000,
  submitTimeoutMs: 30_000,
  leaseMs: 120_000,
  unknownOutcomeMs: 15 * 60_000,
  stopTimeoutMs: 10_000,
};
