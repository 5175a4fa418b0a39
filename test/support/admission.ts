import assert from 'node:assert/strict';
import { Problem } from '../../src/base/problem.ts';
import { type Admission, type AdmissionSettings, createAdmission } from '../../src/domain/access/admission.ts';
import { createRateLimiter, type Lease, type RateLimiter } from '../../src/domain/access/rate-limiter.ts';
import { Caller } from '../../src/store/caller.ts';

/** Admission in several processes that ask one rate limiter. The test decides when it answers. */
export const acme = new Caller('acme', undefined, 1n);
export const globex = new Caller('globex', undefined, 2n);

export interface World {
  readonly clock: { now: number };
  readonly slept: number[];
  /** What was granted in all, by whose it is. */
  readonly granted: Map<string, number>;
  readonly asked: string[];
  /** Lets the questions that are on their way be answered, in their order. */
  answer(count?: number): Promise<void>;
  admission(settings?: Partial<AdmissionSettings>): Admission;
}

export function createWorld(perSecond: number, burst: number): World {
  const clock = { now: Date.UTC(2026, 10, 15, 12) };
  const slept: number[] = [];
  const inner = createRateLimiter(() => clock.now);
  const granted = new Map<string, number>();
  const asked: string[] = [];
  const waiting: (() => void)[] = [];
  const far: RateLimiter = {
    remote: true,
    take: (key, rate, wanted) =>
      new Promise<Lease>((resolve) => {
        asked.push(key);
        waiting.push(() => {
          const lease = inner.take(key, rate, wanted);
          granted.set(key, (granted.get(key) ?? 0) + lease.granted);
          resolve(lease);
        });
      }),
    failed: async (client) => inner.failed(client),
  };
  return {
    clock,
    slept,
    granted,
    asked,
    async answer(count = Number.POSITIVE_INFINITY) {
      for (let each = 0; each < count && waiting.length > 0; each++) {
        waiting.shift()?.();
        await settled();
      }
    },
    admission: (settings) =>
      createAdmission({
        rateLimiter: far,
        now: () => clock.now,
        sleep: async (ms) => void slept.push(ms),
        accountRate: { perSecond, burst },
        addressRate: { perSecond: 0, burst: 1 },
        unlimited: [],
        ...settings,
      }),
  };
}

export const settled = () => new Promise((resolve) => setImmediate(resolve));

/** What becomes of a call: admitted, or the seconds after which it may be tried again. */
export async function outcomeOf(admission: () => void | Promise<void>): Promise<'admitted' | string> {
  try {
    await admission();
    return 'admitted';
  } catch (thrown) {
    assert.ok(thrown instanceof Problem && thrown.kind === 'too-many', String(thrown));
    return String(thrown.details.retryAfterSeconds ?? assert.fail('it does not say when to try again'));
  }
}
export const countAdmitted = (outcomes: readonly string[]) =>
  outcomes.filter((outcome) => outcome === 'admitted').length;
