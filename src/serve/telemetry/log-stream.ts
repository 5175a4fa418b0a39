import { writeSync } from 'node:fs';
import type { Clock } from '../../base/clock.ts';
import { createRepeat } from '../../base/repeat.ts';

/**
 * Buffers log lines of a process that serves: a write per call would be too many. pino's own buffer
 * takes 2 µs per line, and it keeps a process alive whose standard error nobody reads.
 */
export interface LogStream {
  /** Writes the line and the buffered ones at once. */
  write(line: string): void;
  /** Buffers the line, for at most one second. */
  writeLater(line: string): void;
  /** Writes the whole buffer, before the process ends. */
  flush(): void;
  /** Lines that were dropped because the reader was too slow. */
  readonly lost: number;
}

// Where several processes share a pipe: PIPE_BUF of POSIX, below which a write is atomic.
const CHUNK_BYTES_MAX = 16_384;
const SHARED_CHUNK_BYTES_MAX = 4_096;
const CHUNKS_MAX = 256;
const DELAY_MAX_MS = 1_000;
// A write that a slow reader does not take is repeated. At the end of the process, for 1 s in all.
const RETRY_MS = 20;
const LAST_RETRIES_MAX = 50;

/** `fd` is a file or non-blocking: a reader that has stopped must not stop the service. */
export function createLogStream(isShared: boolean, clock: Pick<Clock, 'after'>, fd = standardError()): LogStream {
  const chunkBytesMax = isShared ? SHARED_CHUNK_BYTES_MAX : CHUNK_BYTES_MAX;
  const chunks: Buffer[] = [];
  let lines = '';
  let lost = 0;
  let cancelRetry: (() => void) | undefined;

  function add(line: string): void {
    if (lines.length + line.length > chunkBytesMax) flushLines();
    lines += line;
  }

  function flushLines(): void {
    if (lines === '') return;
    if (chunks.length < CHUNKS_MAX) chunks.push(Buffer.from(lines));
    else lost += lines.split('\n').length - 1;
    lines = '';
    if (!cancelRetry) writeAll();
  }

  function writeAll(): void {
    cancelRetry = undefined;
    if (!writeSome()) cancelRetry = clock.after(RETRY_MS, writeAll, { background: true });
  }

  /** False if the reader does not take more now. */
  function writeSome(): boolean {
    for (let chunk = chunks[0]; chunk; chunk = chunks[0]) {
      try {
        const bytes = writeSync(fd, chunk);
        if (bytes < chunk.length) chunks[0] = chunk.subarray(bytes);
        else chunks.shift();
      } catch (thrown) {
        if ((thrown as NodeJS.ErrnoException).code === 'EAGAIN') return false;
        chunks.length = 0; // the pipe is closed, and there is no other place to log to
      }
    }
    return true;
  }

  createRepeat({ clock, everyMs: DELAY_MAX_MS, work: async () => flushLines(), failed: () => {} }).start();
  return {
    write(line) {
      add(line);
      flushLines();
    },
    writeLater: add,
    flush() {
      flushLines();
      cancelRetry?.();
      for (let tries = 0; !writeSome() && tries < LAST_RETRIES_MAX; tries++) pause(RETRY_MS);
    },
    get lost() {
      return lost;
    },
  };
}

/** Node makes a pipe or a socket non-blocking when `process.stderr` is first read. */
const standardError = (): number => process.stderr.fd;

const pause = (ms: number) => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
