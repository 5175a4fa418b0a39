import { createRandom } from '../../test/support/random.ts';

/**
 * Outbound routes of a simulated world: half of the worlds have two ways for some numbers of some
 * accounts. The second way costs more.
 */
export const ROUTED_ACCOUNTS = ['plain', 'again'];
const PRICES: Readonly<Record<string, number>> = { alpha: 1, beta: 2 };
interface Routed {
  readonly isRouted: boolean;
}
/** Half of the numbers of numberOf. */
const PREFIXES = ['+2782555101', '+27825551007', '+27825551008', '+27825551009'];

export const hasRoutes = (seed: number): boolean => createRandom('routes', seed).chance(0.5);

export const routeOf = (username: string) => ({
  username,
  prefixes: PREFIXES,
  mode: 'order',
  onThrottle: 'next',
  ways: Object.entries(PRICES).map(([connector, price]) => ({ connector, price, ifRefused: ['refused'] })),
});

/** Credits for a part; null where no route has a say. */
export function priceByRoute({ isRouted }: Routed, username: string, number: string, connector: string): number | null {
  const isMeant =
    isRouted && ROUTED_ACCOUNTS.includes(username) && PREFIXES.some((prefix) => number.startsWith(prefix));
  return isMeant ? (PRICES[connector] ?? null) : null;
}

/** What is held for a part, so that it suffices for each way. */
export const dearestPrice = (setting: Routed, username: string, number: string): number =>
  Math.max(1, ...Object.keys(PRICES).map((connector) => priceByRoute(setting, username, number, connector) ?? 1));
