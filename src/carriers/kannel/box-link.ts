import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { HttpPeer } from '../../base/http-client.ts';
import { ADMIN, type BoxFrame, encodeFrame, FrameReader, octetsOf } from './box-protocol.ts';

/** One connection to bearerbox's box port, from identify to its end. */
export interface BoxLink {
  /** Returns false if the connection has ended; then nothing was written. */
  send(frame: BoxFrame): boolean;
  /** Stops or resumes reading frames. */
  hold(isHeld: boolean): void;
  close(): void;
  /** Resolves to the reason when the connection has ended. Never rejects. */
  readonly ended: Promise<string>;
}

const CONNECT_TIMEOUT_MS = 10_000;
/**
 * bearerbox accepts a connection from an address that it denies, and then closes it at once. A
 * message written before that would have an unknown outcome, so the first message waits this long.
 */
const SETTLE_MS = 200;

/** Rejects with a reason if there is no connection, or if bearerbox closes it at once. */
export async function openBoxLink(
  peer: HttpPeer,
  boxId: string,
  onFrame: (frame: BoxFrame) => void,
  sleep: (ms: number, signal?: AbortSignal) => Promise<void>,
): Promise<BoxLink> {
  const socket = await connected(peer);
  const link = linkOf(socket, onFrame);
  link.send({ type: 'admin', command: ADMIN.identify, boxId: octetsOf(boxId) });
  const settled = new AbortController();
  const early = await Promise.race([link.ended, sleep(SETTLE_MS, settled.signal)]);
  settled.abort();
  if (early !== undefined) throw new Error(`bearerbox closed the connection at once (${early})`);
  return link;
}

function connected({ host, port, tls, tlsCertificate }: HttpPeer): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const socket = tls
    ? connectTls({ host, port, servername: host, ...(tlsCertificate !== undefined && { ca: tlsCertificate }) })
    : connectTcp({ host, port, noDelay: true });
  const failed = (error: NodeJS.ErrnoException): void => {
    socket.destroy();
    reject(new Error(error.code ?? error.message));
  };
  socket.setTimeout(CONNECT_TIMEOUT_MS, () => failed(new Error('no connection in time')));
  socket.once('error', failed);
  socket.once(tls ? 'secureConnect' : 'connect', () => {
    socket.setTimeout(0);
    socket.setKeepAlive(true, 30_000);
    socket.removeListener('error', failed);
    resolve(socket);
  });
  return promise;
}

function linkOf(socket: Socket, onFrame: (frame: BoxFrame) => void): BoxLink {
  const { promise: ended, resolve } = Promise.withResolvers<string>();
  const reader = new FrameReader();
  let reason = 'closed by bearerbox';
  socket.on('error', (error: NodeJS.ErrnoException) => {
    reason = error.code ?? error.message;
  });
  socket.on('close', () => resolve(reason));
  socket.on('data', (chunk: Buffer) => {
    try {
      for (const frame of reader.push(chunk)) onFrame(frame);
    } catch (error) {
      // The rest of the stream cannot be divided into frames any more.
      socket.destroy(error instanceof Error ? error : undefined);
    }
  });
  return {
    send(frame) {
      if (!socket.writable) return false;
      socket.write(encodeFrame(frame));
      return true;
    },
    hold: (isHeld) => void (isHeld ? socket.pause() : socket.resume()),
    close: () => void socket.destroy(),
    ended,
  };
}
