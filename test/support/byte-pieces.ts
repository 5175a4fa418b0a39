import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { systemClock } from '../../src/base/clock.ts';
import type { Reply, Request } from '../../src/base/exchange.ts';
import { readConfig } from '../../src/config/settings.ts';
import { type HttpServer, listen } from '../../src/http/server.ts';
import { within } from './program.ts';
import { openReceiver } from './received-bytes.ts';

/** Answers in pieces, and a server that gives them. */
export const PIECE_BYTES = 64 * 1024;

/** Pieces that are counted as they are asked for, and told of when nobody asks any more. */
export function createPieces(count: number, piece: (index: number) => string | Buffer, failsAt = -1) {
  let asked = 0;
  let done = false;
  let finish = () => {};
  const finished = new Promise<void>((resolve) => {
    finish = resolve;
  });
  async function* pieces() {
    try {
      for (let index = 0; index < count; index++) {
        asked += 1;
        if (index === failsAt) throw new Error('a page that cannot be read');
        yield piece(index);
      }
    } finally {
      done = true;
      finish();
    }
  }
  const reply: Reply = { status: 200, headers: { 'Content-Type': 'text/plain' }, body: pieces() };
  return {
    reply,
    asked: () => asked,
    finished: () => within('nobody asks for pieces any more', finished),
    /** Nobody ever asked, or nobody does any more. */
    isOver: () => asked === 0 || done,
  };
}
export const text = (index: number): string => `${index} `.padEnd(PIECE_BYTES, 'x');
export const wholeText = (count: number): string => Array.from({ length: count }, (_, index) => text(index)).join('');

const live: Reply = { status: 200, headers: {}, body: 'live\n' };

export async function start(
  t: TestContext,
  replies: Readonly<Record<string, Reply>>,
  settings = {},
): Promise<HttpServer> {
  const handle = async ({ path }: Request) => replies[path] ?? live;
  const server = await listen(
    { ...readConfig({ COLUMBA_PORT: '0', COLUMBA_DRAIN_TIMEOUT_MS: '0' }), ...settings },
    handle,
    systemClock,
  );
  t.after(() => server.close());
  return server;
}

export const get = (path: string, ...fields: string[]) =>
  `GET ${path} HTTP/1.1\r\n${['Host: h', ...fields, '', ''].join('\r\n')}`;

export async function isLive({ address }: HttpServer): Promise<void> {
  const other = openReceiver(address);
  other.send(get('/live'));
  const [answer] = await other.answers(1);
  assert.equal(answer?.body.toString(), 'live\n');
  other.leave();
}
