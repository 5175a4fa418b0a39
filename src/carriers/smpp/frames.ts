import { HEADER_OCTETS, PDU_OCTETS_MAX } from './pdu.ts';

/** The octets of a connection, told apart into PDUs by their lengths. */

/** What follows on the connection cannot be divided into PDUs any more. */
export class BadFrame extends Error {}

const LENGTH_OCTETS = 4;

/**
 * It holds at most one PDU that is not whole, and never more than what has come: a length that the
 * other side claims allocates nothing.
 */
export class FrameReader {
  /** What has come of a PDU that is not whole: the first `#length` octets of the buffer. */
  #buffer = Buffer.alloc(0);
  #length = 0;

  /** The whole PDUs that are there by these octets. Throws BadFrame. */
  push(chunk: Buffer): Buffer[] {
    const octets = this.#length === 0 ? chunk : this.#appended(chunk);
    const frames: Buffer[] = [];
    let at = 0;
    while (octets.length - at >= LENGTH_OCTETS) {
      const length = octets.readUInt32BE(at);
      if (length < HEADER_OCTETS || length > PDU_OCTETS_MAX) throw new BadFrame(faultOf(octets.subarray(at)));
      if (octets.length - at < length) break;
      frames.push(octets.subarray(at, at + length));
      at += length;
    }
    this.#keep(octets.subarray(at), at > 0 || octets === chunk);
    return frames;
  }

  /** The buffer grows by doubling, so that octets that come one by one are not copied each time. */
  #appended(chunk: Buffer): Buffer {
    const length = this.#length + chunk.length;
    if (length > this.#buffer.length) {
      const larger = Buffer.allocUnsafe(Math.max(length, 2 * this.#buffer.length));
      this.#buffer.copy(larger, 0, 0, this.#length);
      this.#buffer = larger;
    }
    chunk.copy(this.#buffer, this.#length);
    this.#length = length;
    return this.#buffer.subarray(0, length);
  }

  /** Frames that were given out share the old buffer, so what is left gets its own. */
  #keep(rest: Buffer, isElsewhere: boolean): void {
    if (isElsewhere) this.#buffer = rest.length > 0 ? Buffer.from(rest) : Buffer.alloc(0);
    this.#length = rest.length;
  }
}

/** An HTTP server answers in words, whose first four letters make a very large number. */
function faultOf(octets: Buffer): string {
  const word = octets.toString('latin1', 0, LENGTH_OCTETS);
  if (word === 'HTTP') return 'this is not an SMPP port: an HTTP server answers there';
  // A TLS server answers octets that are no TLS with an alert: 15 03 0x 00 02.
  if (octets[0] === 0x15 && octets[1] === 0x03) return 'the port expects TLS: set tls to true';
  return `this is not SMPP: a PDU of ${octets.readUInt32BE(0)} octets`;
}
