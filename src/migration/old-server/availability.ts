import type { Clock } from '../../base/clock.ts';
import type { Upstream } from './upstream.ts';

/**
 * Whether Columba answers. After a call without an answer, Columba counts as down and is asked in
 * the background, so that no client waits for it.
 */
export interface Availability {
  readonly isDown: boolean;
  /** Called when a call got no answer. */
  noteFailure(): void;
  stop(): void;
}

const LOOK_EVERY_MS = 250;
const LOOK_MS_MAX = 2_000;
const LOOK = { method: 'GET', target: '/health/ready', rawHeaders: ['Host', 'localhost'] };

export function createAvailability(columba: Pick<Upstream, 'exchange'>, clock: Clock): Availability {
  let cancel = () => {};
  let isDown = false;
  let isStopped = false;

  async function look(): Promise<void> {
    const signal = clock.timeout(LOOK_MS_MAX);
    const status = await columba.exchange(LOOK, new Uint8Array(), { signal }).then(
      (answer) => answer.status,
      () => 503,
    );
    if (status < 500) isDown = false;
    else lookLater();
  }
  function lookLater(): void {
    if (!isStopped) cancel = clock.after(LOOK_EVERY_MS, look, { background: true });
  }

  return {
    get isDown() {
      return isDown;
    },
    noteFailure() {
      if (isDown) return;
      isDown = true;
      lookLater();
    },
    stop() {
      isStopped = true;
      cancel();
    },
  };
}
