import type { Clock } from '../base/clock.ts';

/**
 * Time-outs of all connections. One timer serves all of them, because a timer per connection would
 * cost every request. It counts ticks instead of time, so that no client times out because this
 * process was blocked.
 */
export interface TimeoutSettings {
  readonly headersTimeoutMs: number;
  readonly requestTimeoutMs: number;
  readonly sendTimeoutMs: number;
  readonly idleTimeoutMs: number;
}

export interface Timeouts {
  /** The number of ticks since the start. */
  now(): number;
  readonly ticks: TimeoutTicks;
  start(onTick: () => void): void;
  stop(): void;
}

/** How many ticks a connection may spend in each phase. */
export interface TimeoutTicks {
  /** From the first byte of a request, or from the connection's start, to the end of its head. */
  readonly head: number;
  /** To the end of the request's body. */
  readonly body: number;
  /** Between a response and the next request. */
  readonly idle: number;
  /** Until the client has read a response. */
  readonly writing: number;
  /** Reading on after the last response. */
  readonly closing: number;
  /** Without a request, before the connection may be closed to make room for another one. */
  readonly evictable: number;
  /** After a rejection, before another rejection is sent without a delay. */
  readonly retry: number;
}

// How long we read on after the last response, so that the client can take it (RFC 9112 §9.6).
const LINGER_MS = 1_000;
const IDLE_GRACE_MS = 1_000;
// A client that was just answered may be sending its next request, which closing would lose.
const EVICTABLE_AFTER_MS = 1_000;
const TICK_MS_MAX = 500;

export function createTimeouts(settings: TimeoutSettings, retryAfterMs: number, clock: Pick<Clock, 'after'>): Timeouts {
  const { headersTimeoutMs, requestTimeoutMs, sendTimeoutMs, idleTimeoutMs } = settings;
  const shortest = Math.min(headersTimeoutMs, requestTimeoutMs, sendTimeoutMs, idleTimeoutMs);
  const tickMs = Math.min(TICK_MS_MAX, Math.ceil(shortest / 4));
  const ticksOf = (ms: number) => Math.ceil(ms / tickMs);
  let now = 0;
  let cancel = () => {};
  return {
    now: () => now,
    ticks: {
      head: ticksOf(Math.min(headersTimeoutMs, requestTimeoutMs)),
      body: ticksOf(requestTimeoutMs),
      // Longer than Keep-Alive says, because a request that was sent at the last moment is still on
      // its way.
      idle: ticksOf(idleTimeoutMs + IDLE_GRACE_MS),
      writing: ticksOf(sendTimeoutMs),
      closing: ticksOf(LINGER_MS),
      evictable: ticksOf(EVICTABLE_AFTER_MS),
      retry: ticksOf(retryAfterMs),
    },
    start(onTick) {
      const wait = () => {
        cancel = clock.after(tickMs, tick, { background: true });
      };
      const tick = () => {
        wait();
        now += 1;
        onTick();
      };
      wait();
    },
    stop: () => cancel(),
  };
}
