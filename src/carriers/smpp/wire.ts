import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { type BindKind, peerOf, type SmppConfig } from './config.ts';

/** One connection to an SMSC, below SMPP. A test may put another one in its place. */
export interface Wire {
  write(octets: Uint8Array): void;
  /** Written, and not taken by the other side yet. */
  readonly unsentOctets: number;
  /** Nothing is read while it is true: TCP then slows the SMSC down. */
  hold(isHeld: boolean): void;
  /** After what is written has left. */
  close(): void;
}
export interface WireEvents {
  onOctets(chunk: Buffer): void;
  /** Everything that was written has left. */
  onDrained(): void;
  /** Once, with the reason. */
  onEnd(reason: string): void;
}
/** Rejects where there is no connection; the message of the error is the reason. */
export type OpenWire = (config: SmppConfig, kind: BindKind, events: WireEvents) => Promise<Wire>;

const reasonOf = (error: NodeJS.ErrnoException): string => error.code ?? error.message;

const KEEP_ALIVE_MS = 30_000;

export const openSocket: OpenWire = async (config, kind, events) => {
  const socket = await connected(config, kind);
  let reason = 'closed by the SMSC';
  socket.on('error', (error) => {
    reason = reasonOf(error);
  });
  socket.on('close', () => events.onEnd(reason));
  socket.on('data', events.onOctets);
  socket.on('drain', events.onDrained);
  return {
    write: (octets) => void socket.write(octets),
    get unsentOctets() {
      return socket.writableLength;
    },
    hold: (isHeld) => void (isHeld ? socket.pause() : socket.resume()),
    close: () => socket.destroySoon(),
  };
};

function connected(config: SmppConfig, kind: BindKind): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const socket = config.tls ? connectTls(tlsOptions(config, kind)) : connectTcp(peerOf(config, kind));
  const failed = (error: Error): void => {
    socket.destroy();
    reject(new Error(reasonOf(error)));
  };
  let isConnected = false;
  socket.once('connect', () => {
    isConnected = true;
  });
  socket.setTimeout(config.bindSeconds * 1_000, () =>
    failed(new Error(isConnected ? 'no TLS in time' : 'no connection in time')),
  );
  socket.once('error', failed);
  socket.once(config.tls ? 'secureConnect' : 'connect', () => {
    socket.setTimeout(0);
    socket.setNoDelay(true);
    socket.setKeepAlive(true, KEEP_ALIVE_MS);
    socket.removeListener('error', failed);
    resolve(socket);
  });
  return promise;
}

function tlsOptions(config: SmppConfig, kind: BindKind) {
  const { host, port } = peerOf(config, kind);
  const { tlsCertificate: ca, tlsClientCertificate: cert, tlsClientKey: key, tlsServerName } = config;
  const servername = tlsServerName ?? (isIP(host) === 0 ? host : undefined);
  return {
    host,
    port,
    ...(servername !== undefined && { servername }),
    ...(ca !== undefined && { ca }),
    ...(cert !== undefined && { cert, key }),
  };
}
