import { neighbourhood, networkList } from '../networks.ts';
import { Problem } from '../problem.ts';
import type { Caller } from '../store/database.ts';
import { type Authority, createMemory, type Lease, type Rate } from './limits.ts';

/** Keeps callers within their limits. Only failures wait: who is known behind the same address never does. */
export interface Guard {
  /** Resolves when the failed identification may be answered. */
  failed(client: string, holdBack?: HoldBack): Promise<void>;
  /** These throw Problem `too-many`, now or later. */
  admitClient(client: string): void | Promise<void>;
  admitAccount(account: Caller): void | Promise<void>;
  /** Whether accounts have a limit: then it must be known whose a call is before anything is done. */
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

// What is asked for ahead is spent soon or never: enough not to ask for each call, little enough to count together.
const LEASES_PER_SECOND = 20;
const LEASE_MS = 1_000;
const LEASES_MAX = 20_000;

export function createGuard(settings: GuardSettings): Guard {
  const { authority, sleep, now, accountRate, addressRate } = settings;
  const isUnlimited = networkList(settings.unlimited);
  const leases = createMemory<{ left: number; until: number }>(LEASES_MAX);
  const asking = new Map<string, Promise<Lease>>();

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

  /** One question at a time for each key: calls that come meanwhile share what it brings, or are refused with it. */
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
      // A customer of a provider has a whole /64 of IPv6 addresses.
      const whose = client.includes(':') ? neighbourhood(client) : client;
      return spend(`address ${whose}`, addressRate, 'from this address');
    },
    admitAccount(account) {
      if (accountRate.perSecond === 0) return undefined;
      return spend(`account ${account.id}`, accountRate, 'of this account');
    },
    limitsAccounts: accountRate.perSecond > 0,
  };
}

function check({ granted, waitMs }: Lease, whose: string): void {
  if (granted === 0) throw tooMany(whose, waitMs);
}

const tooMany = (whose: string, waitMs: number): Problem =>
  new Problem('too-many', `There are too many calls ${whose}. Try again later.`, {
    headers: { 'Retry-After': String(Math.ceil(waitMs / 1_000)) },
  });
