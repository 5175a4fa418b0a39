import { once } from 'node:events';
import { createServer } from 'node:net';

// Below the ports that Linux (32768), macOS and Windows (49152) give to connections and to whoever asks for any port, so
// that nobody else is given this one before the program listens.
const FIRST = 10_240;
const LAST = 32_767;

/** A port that nobody listens at, for a program that cannot choose one itself. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST + Math.floor(Math.random() * (LAST - FIRST + 1));
    if (await isFree(port)) return port;
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch {
    return false;
  }
  server.close();
  await once(server, 'close');
  return true;
}
