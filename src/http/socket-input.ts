import type { Socket } from 'node:net';
import type { PollBatches } from './poll-batch.ts';
import { isLineEnd } from './request-parser.ts';

/** Reads a socket: its back pressure, and the poll batch of each chunk. */
export class SocketInput {
  readonly #socket: Socket;
  readonly #batches: PollBatches;
  #isPaused = false;
  /** The chunk comes from the stream's buffer, which was filled before the pause. */
  #isResuming = false;
  /** The turn of the event loop in which the last chunk arrived. */
  #turn = 0;

  constructor(socket: Socket, batches: PollBatches) {
    this.#socket = socket;
    this.#batches = batches;
  }

  /** Takes no more from the socket: the sender waits. */
  pause(): void {
    this.#isPaused = true;
    this.#socket.pause();
  }

  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#isResuming = true;
    this.#socket.resume(); // delivers its buffer in the next tick
    process.nextTick(() => {
      this.#isResuming = false;
    });
  }

  /**
   * The poll batch of the request in a chunk; undefined unless the request had begun to arrive
   * before the poll. That is certain only for the first chunk of a turn. After a chunk of 64 KiB
   * libuv reads again, and those bytes may have been sent after the poll.
   */
  batchOf(chunk: Buffer, isInRequest: boolean): number | undefined {
    const turn = this.#batches.turn();
    const isFirst = turn !== this.#turn;
    this.#turn = turn;
    if (!isFirst || this.#isResuming || !(isInRequest || !isLineEnd(chunk[0]))) return undefined;
    return this.#batches.current();
  }
}
