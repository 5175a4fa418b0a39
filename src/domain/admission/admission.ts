import { neighbourhood, networkList } from '../../networks.ts';
import { Problem } from '../../problem.ts';
import type { Caller } from '../../store/database.ts';
import { type Authority, createAuthority, createMemory, type Lease, type Rate } from './rate-limiter.ts';

/**
 * Keeps callers within their limits. Only failures wait: who is known behind the same address never
 * does.
 */
export interface Guard {
  /** Resolves when the failed identification may be answered. */
  failed(client: string, holdBack?: HoldBack): Promise<void>;
  /** These throw Problem `too-many`, now or later. */
  admitClient(client: string): void | Promise<void>;
  admitAccount(account: Caller): void | Promise<void>;
  /**
   * Reading a request costs something before it is known whose it is. An address may cost so many
   * bytes a second; none, if its calls succeed. Without bytes: whether anything is left. Throws
   * Problem `too-many`.
   */
  admitReading(client: string, bytes?: number): void;
  readingSucceeded(client: string, bytes: number): void;
  /**
   * Whether accounts have a limit: then it must be known whose a call is before anything is done.
   */
  readonly limitsAccounts: boolean;
}

/** Around a wait. */
export type HoldBack = (wait: () => Promise<void>) => Promise<void>;

export interface GuardSettings {
  readonly authority: Authority;
  readonly sleep: (ms: number) => Promise<void>;
  readonly now: () => number;
  /** No limit where none come in. */
  readonly accountRate: Rate;
  readonly addressRate: Rate;
  /** Networks whose addresses have no limit of their own: many accounts may be behind one. */
  readonly unlimited: readonly string[];
}

// What is asked for ahead is spent soon or never: enough not to ask for each call, little enough to
// count together.
const LEASES_PER_SECOND = 20;
const LEASE_MS = 1_000;
const LEASES_MAX = 20_000;

// Calls as a rule are shorter and always read. 1 MiB of the worst XML takes 20 ms: an address can
// take 2 % of a core.
const FREE_READING_BYTES = 16_384;
const READING: Rate = { perSecond: 64, burst: 512 }; // of 16 KiB each: 1 MiB a second, and 8 MiB at once

export function createGuard(settings: GuardSettings): Guard {
  const { authority, sleep, now, accountRate, addressRate } = settings;
  const isUnlimited = networkList(settings.unlimited);
  const leases = createMemory<{ left: number; until: number }>(LEASES_MAX);
  const asking = new Map<string, Promise<Lease>>();
  const reading = createAuthority(now); // each process bounds its own work

  function spend(key: string, rate: Rate, whose: string): void | Promise<void> {
    if (spendLeased(key)) return undefined;
    if (authority.remote) return ask(key, rate, whose);
    const taken = authority.take(key, rate, 1);
    return taken instanceof Promise ? taken.then((lease) => check(lease, whose)) : check(taken, whose);
  }

  function spendLeased(key: string): boolean {
    const lease = leases.get(key);
    if (!lease || lease.left === 0 || lease.until <= now()) return false;
    lease.left -= 1;
    return true;
  }

  /**
   * One question at a time for each key: calls that come meanwhile share what it brings, or are
   * refused with it.
   */
  async function ask(key: string, rate: Rate, whose: string): Promise<void> {
    do {
      const asked = asking.get(key) ?? lease(key, rate).finally(() => asking.delete(key));
      asking.set(key, asked);
      check(await asked, whose);
    } while (!spendLeased(key));
  }

  async function lease(key: string, rate: Rate): Promise<Lease> {
    const taken = await authority.take(key, rate, Math.ceil(rate.perSecond / LEASES_PER_SECOND));
    leases.set(key, { left: taken.granted, until: now() + LEASE_MS });
    return taken;
  }

  return {
    async failed(client, holdBack = (wait) => wait()) {
      const delayMs = await authority.failed(client);
      if (delayMs > 0) await holdBack(() => sleep(delayMs));
    },
    admitClient(client) {
      if (addressRate.perSecond === 0 || isUnlimited(client)) return undefined;
      return spend(`address ${customer(client)}`, addressRate, 'from this address');
    },
    admitAccount(account) {
      if (accountRate.perSecond === 0) return undefined;
      return spend(`account ${account.id}`, accountRate, 'of this account');
    },
    admitReading(client, bytes) {
      const wanted = bytes === undefined ? 0 : readingCost(bytes);
      if ((bytes !== undefined && wanted === 0) || isUnlimited(client)) return;
      const key = customer(client);
      const { granted, waitMs } = reading.take(key, READING, wanted || 1);
      if (wanted === 0) reading.giveBack(key, READING, granted); // it was only asked
      if (granted < (wanted || 1)) throw tooMany('from this address', waitMs || 1_000);
    },
    readingSucceeded(client, bytes) {
      const taken = readingCost(bytes);
      if (taken > 0 && !isUnlimited(client)) reading.giveBack(customer(client), READING, taken);
    },
    limitsAccounts: accountRate.perSecond > 0,
  };
}

/** In tokens of the bucket. */
const readingCost = (bytes: number): number => Math.max(0, Math.ceil(bytes / FREE_READING_BYTES) - 1);

/** A customer of a provider has a whole /64 of IPv6 addresses. */
const customer = (client: string): string => (client.includes(':') ? neighbourhood(client) : client);

function check({ granted, waitMs }: Lease, whose: string): void {
  if (granted === 0) throw tooMany(whose, waitMs);
}

const tooMany = (whose: string, waitMs: number): Problem =>
  new Problem('too-many', `There are too many calls ${whose}. Try again later.`, {
    retryAfterSeconds: Math.ceil(waitMs / 1_000),
  });
