import { connect } from 'node:net';
import { type HttpMessage, parseMessage } from './cases.ts';

/** Sends raw bytes and returns all that comes back until the server closes. */
export function exchangeBytes(address: string, bytes: Uint8Array): Promise<Buffer> {
  const { hostname, port } = new URL(address);
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const socket = connect(Number(port), hostname, () => socket.write(bytes));
    socket.on('data', (chunk) => chunks.push(chunk));
    socket.on('end', () => resolve(Buffer.concat(chunks)));
    socket.on('error', reject);
    socket.setTimeout(10_000, () => socket.destroy(new Error('no answer for 10 s')));
  });
}

export const exchangeMessage = async (address: string, bytes: Uint8Array): Promise<HttpMessage> =>
  parseMessage((await exchangeBytes(address, bytes)).toString('latin1'));
