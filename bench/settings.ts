/** How much is measured: by environment variables, whole numbers above 0. */
export function numberFrom(variable: string, otherwise: number): number {
  const text = process.env[variable] || String(otherwise);
  if (!/^[1-9]\d*$/.test(text)) throw new Error(`${variable}: expected a whole number above 0, not ${text}`);
  return Number(text);
}

/** Rounds that count; one more comes before them, to warm up. */
export const ROUNDS = numberFrom('ROUNDS', 7);
/** PEERS=0 leaves out the servers on toolkits of others. */
export const WITH_PEERS = process.env.PEERS !== '0';
