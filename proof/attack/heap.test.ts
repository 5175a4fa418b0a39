import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Config } from '../../src/config/settings.ts';
import { type Engine, engines } from '../../test/support/engines.ts';
import { envelope, operationElement } from '../../test/support/protocols.ts';
import { ACME, startService } from '../../test/support/service.ts';
import { openConnection, requestBytes } from '../../test/support/socket.ts';

/** Long heads leave nothing behind: what outlives a request is a copy of the few characters that are needed. */

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;
const MIB = 2 ** 20;

async function heapInUse(): Promise<number> {
  for (let round = 0; round < 5; round++) {
    await wait(10);
    collectGarbage(); // last, so that nothing is made after it
  }
  return process.memoryUsage().heapUsed / MIB;
}

/** `npm run proof attack` sends 20,000, which is 1 GB. */
const REQUESTS = Number(process.env.ATTACK_REQUESTS ?? 1_000);
const HEAD_BYTES = 50_000;
/** If only every tenth head were kept, it would be more. What is meant to stay takes a third of it. */
const GROWTH_MAX_MIB = (REQUESTS * HEAD_BYTES) / MIB / 10;

const filler = (index: number) => `X-Filler: ${String(index).padEnd(HEAD_BYTES, 'f')}`;
const address = (index: number) => `2001:db8:${(index >> 8).toString(16)}:${(index & 255).toString(16)}::1`;
const get = (query: string, ...fields: string[]) =>
  requestBytes(`GET /api/inbox.asmx/CountUnread?${query} HTTP/1.1`, ['Host: h', ...fields]);
const post = (index: number, type: string, body: string) =>
  requestBytes('POST /api/inbox.asmx HTTP/1.1', ['Host: h', `Content-Type: ${type}`, filler(index)], body);

interface Path {
  readonly settings?: Partial<Config>;
  readonly request: (index: number) => Buffer;
}

const PROXIED: Partial<Config> = { trustedProxies: ['127.0.0.1'] };
const paths: Record<string, Path> = {
  'keys of cached responses': { request: (index) => get(`user_id=${ACME}&n=${index}`, filler(index)) },
  'keys of cached responses of SOAP': {
    request: (index) =>
      post(
        index,
        'text/xml; charset=utf-8',
        envelope('soap11', operationElement('CountUnread', { user_id: ACME, n: index })),
      ),
  },
  'client addresses that failed, behind a trusted proxy': {
    settings: PROXIED,
    request: (index) => get('user_id=nobody', `X-Forwarded-For: ${address(index)}`, filler(index)),
  },
  'client addresses that have a rate, behind a trusted proxy': {
    settings: { ...PROXIED, addressRate: 1_000, addressBurst: 1_000 },
    request: (index) => get(`user_id=${ACME}`, `X-Forwarded-For: ${address(index)}`, filler(index)),
  },
  'media types and charsets': {
    request: (index) => post(index, `text/xml; charset=unknown-${index}; profile=some-longer-parameter`, '<a/>'),
  },
  'names of header fields': {
    request: (index) => get(`user_id=${ACME}`, `X-Some-Longer-Field-Name-${index}: 1`, filler(index)),
  },
  'request ids and traces': {
    request: (index) =>
      get(
        `user_id=${ACME}`,
        `X-Request-Id: some-longer-request-id-${index}`,
        `Traceparent: 00-${String(index).padStart(32, '1')}-${'2'.repeat(16)}-01`,
        filler(index),
      ),
  },
};

async function growth({ settings = {}, request }: Path): Promise<number> {
  const service = await startService(engines[0] as Engine, 'sample', settings);
  const client = await openConnection(await service.app.start());
  try {
    const send = async (index: number) => {
      await client.send(request(index));
      await client.receive();
    };
    for (let index = 0; index < 20; index++) await send(index);
    const before = await heapInUse();
    for (let index = 20; index < REQUESTS + 20; index++) {
      await send(index);
      service.logged.length = service.slept.length = 0;
    }
    return (await heapInUse()) - before;
  } finally {
    client.close();
    await service.stop();
  }
}

describe(`${REQUESTS} requests with heads of ${HEAD_BYTES} bytes leave no head behind`, () => {
  for (const [name, path] of Object.entries(paths)) {
    test(`no head of a request stays in memory: ${name}`, async () => {
      const grown = await growth(path);
      assert.ok(grown < GROWTH_MAX_MIB, `${grown.toFixed(1)} MiB more`);
    });
  }
});
