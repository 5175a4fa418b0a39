import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type Engine, engines } from '../../test/support/engines.ts';
import { type OperatorApi, startOperatorApi } from '../../test/support/operator-api.ts';
import { type Service, startService } from '../../test/support/service.ts';
import { growthOf, RATIO_MAX } from './cpu.ts';
import { formShapes } from './form-shapes.ts';

/** What somebody without a token, a session or a user_id can make a reader of forms and queries do. */

const URLENCODED = 'application/x-www-form-urlencoded';
const QUERY_LENGTH = 60_000;

const multipartShapes: Readonly<Record<string, (bytes: number) => string>> = {
  'parts without a head': (bytes) => '--x\r\n\r\n\r\n'.repeat(bytes / 9),
  'short parts': (bytes) => '--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n\r\n'.repeat(bytes / 54),
  'one part of line ends': (bytes) =>
    `--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n${'\r\n--'.repeat(bytes / 4)}`,
  'a head without an end': (bytes) => `--x\r\n${'Content-Disposition: form-data; '.repeat(bytes / 32)}`,
};

const assertLinear = async (shape: (bytes: number) => string, send: (text: string) => unknown) => {
  const ratio = await growthOf(shape, send);
  assert.ok(ratio < RATIO_MAX, `${ratio.toFixed(1)} times the CPU for ten times the bytes`);
};

describe('the work of a form that a stranger sends to the console grows with the bytes, not with their square', () => {
  let api: OperatorApi;
  before(async () => {
    api = await startOperatorApi(engines[0] as Engine);
  });
  after(() => api.stop());

  for (const path of ['/console/sign-in', '/console/templates']) {
    const post = (type: string) => async (body: string) => {
      const headers = { 'Content-Type': type, 'Sec-Fetch-Site': 'same-origin' };
      await fetch(api.address + path, { method: 'POST', headers, body }).then(
        (reply) => reply.arrayBuffer(),
        () => {}, // the listener may close the connection before it has the whole body
      );
    };
    for (const [name, shape] of Object.entries(formShapes))
      test(`the work of a form grows with its bytes at ${path}: ${name}`, () => assertLinear(shape, post(URLENCODED)));
    for (const [name, shape] of Object.entries(multipartShapes))
      test(`the work of a multipart form grows with its bytes at ${path}: ${name}`, () =>
        assertLinear(shape, post('multipart/form-data; boundary=x')));
  }
});

describe('a query of many fields without a value is refused before it is parsed', () => {
  const query = 'a&'.repeat(QUERY_LENGTH / 2);

  test('the web listener refuses a query of many fields without a value before it is parsed', async () => {
    const api = await startOperatorApi(engines[0] as Engine);
    try {
      assert.equal((await fetch(`${api.address}/console/sign-in?${query}`)).status, 413);
      assert.equal((await api.call('GET', `/accounts?${query}`)).status, 413);
    } finally {
      await api.stop();
    }
  });

  test('a page of the contract refuses a query of many fields without a value before it is parsed', async () => {
    const service: Service = await startService(engines[0] as Engine, 'empty');
    try {
      const reply = await service.send({ method: 'GET', path: '/api/inbox.asmx', query });
      assert.equal(reply.status, 413);
    } finally {
      await service.stop();
    }
  });
});
