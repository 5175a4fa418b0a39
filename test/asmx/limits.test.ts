import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Config } from '../../src/config/settings.ts';
import { onOneEngine } from '../support/engines.ts';
import { assertProblem } from '../support/expected-problems.ts';
import {
  ENVELOPES,
  envelope,
  NAMESPACE,
  operationElement,
  PROTOCOLS,
  requestOf,
  soapRequest,
} from '../support/protocols.ts';
import { ACME, type Service, startService } from '../support/service.ts';
import { exchangeMessage } from '../support/socket.ts';

const SOAP = ['soap11', 'soap12'] as const;

onOneEngine('limits', (engine) => {
  async function withService(work: (service: Service) => Promise<void>, settings: Partial<Config> = {}) {
    const service = await startService(engine, 'sample', settings);
    try {
      await work(service);
    } finally {
      await service.stop();
    }
  }

  /** A form or a SOAP call of exactly so many bytes, as bytes of HTTP. */
  function post(protocol: 'soap11' | 'soap12' | 'post', bytes: number, transfer: 'length' | 'chunked'): Buffer {
    const pad = (filler: string[]) => requestOf(protocol, 'account', 'Profile', { user_id: ACME, filler });
    const most = Array<string>(Math.floor(bytes / 100_000)).fill('x'.repeat(90_000)); // a value has a limit of its own
    const { path, headers, bytes: body } = pad([...most, 'x'.repeat(bytes - pad([...most, '']).bytes.length)]);
    assert.equal(body.length, bytes);
    const fields = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    const start = `POST ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${fields.join('')}`;
    if (transfer === 'length') return Buffer.from(`${start}Content-Length: ${bytes}\r\n\r\n${body}`);
    const chunks = (body.match(/[\s\S]{1,1000}/g) ?? []).map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`);
    return Buffer.from(`${start}Transfer-Encoding: chunked\r\n\r\n${chunks.join('')}0\r\n\r\n`);
  }
  async function statusAndText(address: string, bytes: Buffer) {
    const { start, headers, body } = await exchangeMessage(address, bytes);
    return { status: start.split(' ')[1], type: headers['content-type'], text: body.toString('utf8') };
  }
  const tooLarge = (bytes: number) => ({
    status: '413',
    type: 'text/plain; charset=utf-8',
    text: `A request body has at most ${bytes} bytes.\n`,
  });

  for (const protocol of ['soap11', 'soap12', 'post'] as const) {
    for (const transfer of ['length', 'chunked'] as const) {
      test(`a body in ${protocol} (${transfer}) may have as many bytes as the setting says, and no more`, () =>
        withService(
          async (service) => {
            const address = await service.app.start();
            const { status, text } = await statusAndText(address, post(protocol, 2_000, transfer));
            assert.equal(status, '200', text);
            for (const bytes of [2_001, 4_000, 200_000]) {
              assert.deepEqual(await statusAndText(address, post(protocol, bytes, transfer)), tooLarge(2_000));
            }
          },
          { bodyBytesMax: 2_000 },
        ));
    }
  }

  test('a body has at most 1 MiB unless the setting says otherwise', () =>
    withService(async (service) => {
      const address = await service.app.start();
      assert.equal((await statusAndText(address, post('post', 2 ** 20, 'length'))).status, '200');
      for (const transfer of ['length', 'chunked'] as const) {
        assert.deepEqual(await statusAndText(address, post('soap11', 2 ** 20 + 1, transfer)), tooLarge(2 ** 20));
      }
    }));

  test('a client that sends all of a much too large body before it reads still gets the answer', () =>
    withService(async (service) => {
      const address = await service.app.start();
      for (const transfer of ['length', 'chunked'] as const) {
        assert.deepEqual(await statusAndText(address, post('post', 2 ** 24, transfer)), tooLarge(2 ** 20));
      }
    }));

  test('a client that announces too large a body is refused before it sends it, and the connection is closed', () =>
    withService(async (service) => {
      const address = await service.app.start();
      const head = `POST /api/account.asmx HTTP/1.1\r\nHost: x\r\nContent-Type: text/xml\r\nContent-Length: 999999999\r\n\r\n<`;
      const { start, headers } = await exchangeMessage(address, Buffer.from(head));
      assert.equal(start.split(' ')[1], '413');
      assert.equal(headers.connection, 'close');
    }));

  for (const protocol of SOAP) {
    const body = operationElement('Profile', { user_id: ACME });
    const send = (service: Service, bytes: string) => service.send(soapRequest(protocol, 'account', bytes, 'Profile'));

    test(`elements in ${protocol} may be 64 deep, and no deeper`, () =>
      withService(async (service) => {
        // the Envelope and its Header are two
        const nested = (depth: number) =>
          envelope(protocol, body, `<s:Header>${'<a>'.repeat(depth - 2)}${'</a>'.repeat(depth - 2)}</s:Header>`);
        assert.equal((await send(service, nested(64))).status, 200);
        for (const depth of [65, 1_000, 20_000]) {
          const answer = await send(service, nested(depth));
          assertProblem(protocol, answer, 'too-large', 'The request nests elements deeper than 64.');
        }
      }));

    test(`a request in ${protocol} may have 10000 elements, and no more`, () =>
      withService(async (service) => {
        // Envelope, Header, Body, Profile and user_id are five
        const many = (count: number) => envelope(protocol, body, `<s:Header>${'<a/>'.repeat(count - 5)}</s:Header>`);
        assert.equal((await send(service, many(10_000))).status, 200);
        for (const count of [10_001, 100_000]) {
          const answer = await send(service, many(count));
          assertProblem(protocol, answer, 'too-large', 'The request has more than 10000 elements.');
        }
      }));

    test(`an element in ${protocol} has at most 256 attributes`, () =>
      withService(async (service) => {
        const attributes = Array.from({ length: 257 }, (_, number) => `a${number}="1"`).join(' ');
        const answer = await send(service, envelope(protocol, body, `<s:Header><a ${attributes}/></s:Header>`));
        assertProblem(protocol, answer, 'too-large', 'An element of the request has more than 256 attributes.');
      }));

    test(`an entity bomb in ${protocol} is refused because it needs a DOCTYPE`, () =>
      withService(async (service) => {
        const bomb = `<?xml version="1.0"?><!DOCTYPE b [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]><s:Envelope xmlns:s="${ENVELOPES[protocol]}"><s:Body><Profile xmlns="${NAMESPACE}"><user_id>&b;</user_id></Profile></s:Body></s:Envelope>`;
        assertProblem(protocol, await send(service, bomb), 'malformed', /^A DOCTYPE is not allowed/);
      }));
  }

  for (const protocol of ['get', 'post'] as const) {
    test(`a call in ${protocol} has at most 2000 parameters`, () =>
      withService(async (service) => {
        const filler = (count: number) => ({ user_id: ACME, filler: Array(count - 1).fill('x') });
        assert.equal((await service.call(protocol, 'account', 'Profile', filler(2_000))).status, 200);
        const answer = await service.call(protocol, 'account', 'Profile', filler(2_001));
        assertProblem(protocol, answer, 'too-large', 'There are more than 2000 parameters.');
      }));
  }

  for (const protocol of PROTOCOLS) {
    test(`a list in ${protocol} may have 1000 items`, () =>
      withService(async (service) => {
        const args = { user_id: ACME, contact_id: Array(1_000).fill('101') };
        assert.match((await service.call(protocol, 'account', 'DeleteContact', args)).text, />true</);
      }));
  }
});
