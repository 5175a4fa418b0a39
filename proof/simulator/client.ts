import type { Random } from '../../test/support/random.ts';
import type { Setting, SimulatedAccount } from './setup.ts';
import type { Answer } from './slot.ts';
import type { World } from './world.ts';

export type ApiAnswer = Answer<{ status: number; body: unknown }>;

export interface KnownMessage {
  readonly token: string;
  readonly account: SimulatedAccount;
  readonly id: string;
}

/** What every act works with. */
export interface Client {
  readonly world: World;
  readonly setting: Setting;
  /** Messages whose acceptance was acknowledged. */
  readonly known: KnownMessage[];
  /** To whom messages were sent last, so that opt-outs meet them on their way. */
  readonly recent: { readonly account: SimulatedAccount; readonly number: string }[];
  readonly wait: (ms: number) => Promise<void>;
  readonly api: (method: string, path: string, body?: unknown, idempotencyKey?: string) => Promise<ApiAnswer>;
  /** One row as the database has it now. */
  readonly look: (text: string, ...values: (string | bigint | number)[]) => Record<string, unknown> | undefined;
}

/** Whether the request was certainly done, was certainly refused, or neither is known. */
export const verdict = (answer: ApiAnswer): 'done' | 'refused' | 'unknown' => {
  if (answer.kind === 'lost' || answer.value.status >= 500 || answer.value.status === 429) return 'unknown';
  return answer.value.status < 300 ? 'done' : 'refused';
};
export const bodyOf = (answer: ApiAnswer): Record<string, unknown> =>
  answer.kind === 'done' ? ((answer.value.body ?? {}) as Record<string, unknown>) : {};

export const HOUR = 3_600_000;

/** Few, so that opt-outs and erasures meet messages. */
export const numberOf = (random: Random): string => `+2782555${String(1_000 + random.below(14))}`;
