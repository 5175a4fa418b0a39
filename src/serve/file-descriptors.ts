import { closeSync, openSync } from 'node:fs';
import { devNull } from 'node:os';
import type { Clock } from '../base/clock.ts';
import { createRepeat, type Repeat } from '../base/repeat.ts';
import type { Log } from './telemetry/log.ts';

/**
 * Warns when the process can open nothing more. libuv then accepts new connections and closes them
 * at once, without telling Node, so no listener gets an error; only an attempt to open a file shows
 * it.
 */
const WARNINGS: Readonly<Record<string, string>> = {
  EMFILE:
    'this process has no file descriptors left, so it closes new connections without an answer; raise its limit with LimitNOFILE in the unit for systemd, or with ulimit -n in the shell that starts it',
  ENFILE:
    'this machine has no file descriptors left, so new connections are closed without an answer; raise its limit with sysctl fs.file-max, or end the program that has too many files open',
};

/** An attempt takes 10 µs. */
const LOOK_EVERY_MS = 1_000;
const WARN_EVERY_MS = 60_000;

export interface DescriptorParts {
  readonly log: Pick<Log, 'warn'>;
  readonly clock: Pick<Clock, 'after' | 'monotonic'>;
  readonly open?: () => void;
}

export function createDescriptorCheck({ log, clock, open = openAnything }: DescriptorParts): Repeat {
  let warnedAt = Number.NEGATIVE_INFINITY;
  const failed = (thrown: unknown): void => {
    const { code = '' } = thrown as NodeJS.ErrnoException;
    const warning = WARNINGS[code];
    if (warning === undefined || clock.monotonic() - warnedAt < WARN_EVERY_MS) return;
    warnedAt = clock.monotonic();
    log.warn({ code, pid: process.pid }, warning);
  };
  return createRepeat({ clock, everyMs: LOOK_EVERY_MS, work: async () => open(), failed });
}

const openAnything = (): void => closeSync(openSync(devNull, 'r'));
