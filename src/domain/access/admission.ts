import { customerNetwork, networkList } from '../../base/networks.ts';
import { Problem } from '../../base/problem.ts';
import type { Caller } from '../../store/caller.ts';
import { createRateLimiter, createRecentMap, type Lease, type Rate, type RateLimiter } from './rate-limiter.ts';

/**
 * Holds callers to their limits. Only failed identifications are delayed. A valid user_id behind
 * the same address is never delayed.
 */
export interface Admission {
  /** Resolves when the response to a failed identification may be sent. */
  failed(client: string, holdBack?: HoldBack): Promise<void>;
  /** `admitClient` and `admitAccount` throw Problem `too-many`, or reject with it. */
  admitClient(client: string): void | Promise<void>;
  admitAccount(account: Caller): void | Promise<void>;
  /**
   * Limits the bytes per second that are parsed for an address before its caller is known.
   * Successful calls get their bytes back. Without `bytes` it only checks that some bytes are left.
   * Throws Problem `too-many`.
   */
  admitReading(client: string, bytes?: number): void;
  readingSucceeded(client: string, bytes: number): void;
  /** Whether accounts have a rate limit. Then a call is identified before any other work. */
  readonly limitsAccounts: boolean;
}

/** Runs the wait; load shedding does not count the request meanwhile. */
export type HoldBack = (wait: () => Promise<void>) => Promise<void>;

export interface AdmissionSettings {
  readonly rateLimiter: RateLimiter;
  readonly sleep: (ms: number) => Promise<void>;
  readonly now: () => number;
  /** A rate of 0 per second means no limit. */
  readonly accountRate: Rate;
  readonly addressRate: Rate;
  /** Networks whose addresses have no limit: one address there may serve many accounts. */
  readonly unlimited: readonly string[];
}

// A worker leases 1/20 of the rate at once from the primary, for at most one second, so that it
// does not have to ask for each call and unused leases stay small.
const LEASES_PER_SECOND = 20;
const LEASE_MS = 1_000;
const LEASES_MAX = 20_000;

// Most calls are shorter than this and are always parsed. Parsing 1 MiB of the worst XML takes
// 20 ms, so an address can use 2 % of a core.
const FREE_READING_BYTES = 16_384;
const READING: Rate = { perSecond: 64, burst: 512 }; // tokens of 16 KiB: 1 MiB a second, 8 MiB at once

export function createAdmission(settings: AdmissionSettings): Admission {
  const { rateLimiter, sleep, now, accountRate, addressRate } = settings;
  const isUnlimited = networkList(settings.unlimited);
  const leases = createRecentMap<{ left: number; until: number }>(LEASES_MAX);
  const pendingLeases = new Map<string, Promise<Lease>>();
  const parsing = createRateLimiter(now); // each process limits its own work

  function spend(key: string, rate: Rate, whose: string): void | Promise<void> {
    if (spendLeased(key)) return undefined;
    if (rateLimiter.remote) return ask(key, rate, whose);
    const taken = rateLimiter.take(key, rate, 1);
    return taken instanceof Promise ? taken.then((lease) => check(lease, whose)) : check(taken, whose);
  }

  function spendLeased(key: string): boolean {
    const lease = leases.get(key);
    if (!lease || lease.left === 0 || lease.until <= now()) return false;
    lease.left -= 1;
    return true;
  }

  /**
   * Asks the primary once at a time for each key. Calls that arrive meanwhile share the lease, or
   * are rejected with it.
   */
  async function ask(key: string, rate: Rate, whose: string): Promise<void> {
    do {
      const asked = pendingLeases.get(key) ?? lease(key, rate).finally(() => pendingLeases.delete(key));
      pendingLeases.set(key, asked);
      check(await asked, whose);
    } while (!spendLeased(key));
  }

  async function lease(key: string, rate: Rate): Promise<Lease> {
    const taken = await rateLimiter.take(key, rate, Math.ceil(rate.perSecond / LEASES_PER_SECOND));
    leases.set(key, { left: taken.granted, until: now() + LEASE_MS });
    return taken;
  }

  return {
    async failed(client, holdBack = (wait) => wait()) {
      const delayMs = await rateLimiter.failed(client);
      if (delayMs > 0) await holdBack(() => sleep(delayMs));
    },
    admitClient(client) {
      if (addressRate.perSecond === 0 || isUnlimited(client)) return undefined;
      return spend(`address ${customerOf(client)}`, addressRate, 'from this address');
    },
    admitAccount(account) {
      if (accountRate.perSecond === 0) return undefined;
      return spend(`account ${account.id}`, accountRate, 'of this account');
    },
    admitReading(client, bytes) {
      const wanted = bytes === undefined ? 0 : readingCost(bytes);
      if ((bytes !== undefined && wanted === 0) || isUnlimited(client)) return;
      const key = customerOf(client);
      const { granted, waitMs } = parsing.take(key, READING, wanted || 1);
      if (wanted === 0) parsing.giveBack(key, READING, granted); // only a check
      if (granted < (wanted || 1)) throw tooMany('from this address', waitMs || 1_000);
    },
    readingSucceeded(client, bytes) {
      const taken = readingCost(bytes);
      if (taken > 0 && !isUnlimited(client)) parsing.giveBack(customerOf(client), READING, taken);
    },
    limitsAccounts: accountRate.perSecond > 0,
  };
}

/** The tokens that these bytes cost. */
const readingCost = (bytes: number): number => Math.max(0, Math.ceil(bytes / FREE_READING_BYTES) - 1);

/** A customer of a provider has a whole /64 of IPv6 addresses. */
const customerOf = (client: string): string => (client.includes(':') ? customerNetwork(client) : client);

function check({ granted, waitMs }: Lease, whose: string): void {
  if (granted === 0) throw tooMany(whose, waitMs);
}

const tooMany = (whose: string, waitMs: number): Problem =>
  new Problem('too-many', `There are too many calls ${whose}. Try again later.`, {
    retryAfterSeconds: Math.ceil(waitMs / 1_000),
  });
