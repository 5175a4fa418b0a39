import { monitorEventLoopDelay } from 'node:perf_hooks';

/**
 * Loaded into Columba by --import: how long its event loop was held up at worst since it was last asked. It looks every
 * millisecond, which is part of what it finds.
 */
const RESOLUTION_MS = 1;
const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
delay.enable();

// After the timer that looks has had its turn: what has just held up the loop counts too.
const TELL_AFTER_MS = 5;

process.on('message', () => setTimeout(tell, TELL_AFTER_MS));
process.channel?.unref();

function tell(): void {
  const maxMs = Math.max(0, delay.max / 1e6 - RESOLUTION_MS);
  delay.reset();
  process.send?.({ maxMs });
}
