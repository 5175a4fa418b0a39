import { writeSync } from 'node:fs';

/**
 * Log lines on their way out, for a process that serves: one a call is too many for a write each. pino's own stream for this
 * takes 2 µs a line, and does not let a process end whose standard error nobody reads any more.
 */
export interface LogOutput {
  /** Goes out at once, and with it what waits. */
  write(line: string): void;
  /** Waits for others to go with, a second at most. */
  writeLater(line: string): void;
  /** Puts out all there is, before the process ends. */
  flush(): void;
  /** Lines that are gone, because they were not read for too long. */
  readonly lost: number;
}

// Where others write to the same pipe it is PIPE_BUF of POSIX: so many bytes go there in one piece.
const CHUNK_BYTES_MAX = 16_384;
const SHARED_CHUNK_BYTES_MAX = 4_096;
const CHUNKS_MAX = 256;
const DELAY_MAX_MS = 1_000;
// A reader that is slow; at the end it is waited for, 1 s in all.
const RETRY_MS = 20;
const LAST_RETRIES_MAX = 50;

/** `fd` is a file, or it does not block: a reader that has stopped must not stop the service. */
export function createLogOutput(isShared: boolean, fd = standardError()): LogOutput {
  const chunkBytesMax = isShared ? SHARED_CHUNK_BYTES_MAX : CHUNK_BYTES_MAX;
  const chunks: Buffer[] = [];
  let waiting = '';
  let lost = 0;
  let retry: NodeJS.Timeout | undefined;

  function add(line: string): void {
    if (waiting.length + line.length > chunkBytesMax) pass();
    waiting += line;
  }

  function pass(): void {
    if (waiting === '') return;
    if (chunks.length < CHUNKS_MAX) chunks.push(Buffer.from(waiting));
    else lost += waiting.split('\n').length - 1;
    waiting = '';
    if (!retry) writeAll();
  }

  function writeAll(): void {
    retry = undefined;
    if (!writeSome()) retry = setTimeout(writeAll, RETRY_MS).unref();
  }

  /** False where there is more, and it is not taken now. */
  function writeSome(): boolean {
    for (let chunk = chunks[0]; chunk; chunk = chunks[0]) {
      try {
        const bytes = writeSync(fd, chunk);
        if (bytes < chunk.length) chunks[0] = chunk.subarray(bytes);
        else chunks.shift();
      } catch (thrown) {
        if ((thrown as NodeJS.ErrnoException).code === 'EAGAIN') return false;
        chunks.length = 0; // it is closed, and there is no other place to say so
      }
    }
    return true;
  }

  setInterval(pass, DELAY_MAX_MS).unref();
  return {
    write(line) {
      add(line);
      pass();
    },
    writeLater: add,
    flush() {
      pass();
      clearTimeout(retry);
      for (let tries = 0; !writeSome() && tries < LAST_RETRIES_MAX; tries++) pause(RETRY_MS);
    },
    get lost() {
      return lost;
    },
  };
}

/** Node makes it one that does not block when it is first looked at, if it is a pipe or a socket. */
const standardError = (): number => process.stderr.fd;

const pause = (ms: number) => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
