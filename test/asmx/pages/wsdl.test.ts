import assert from 'node:assert/strict';
import { test } from 'node:test';
import { contract } from '../../../src/asmx/contract/contract.ts';
import type { Config } from '../../../src/config/settings.ts';
import { caseFile, type Exchange, exchanges } from '../../support/cases.ts';
import { onOneEngine } from '../../support/engines.ts';
import { assertProblem } from '../../support/expected-problems.ts';
import { NAMESPACE, PROTOCOLS, requestOf } from '../../support/protocols.ts';
import { parse } from '../../support/schema-validator.ts';
import { ACME, type Service, startService } from '../../support/service.ts';
import { exchangeMessage } from '../../support/socket.ts';

const GROUPS = Object.keys(contract);
const RECORDED_BASE = 'http://127.0.0.1:18080';

interface Expected {
  readonly status: number;
  readonly type: string;
  readonly cache: string;
  /** Left out where what is in the body is ours alone. */
  readonly body?: string;
}

const notFound = (body: string) => ({ status: 404, type: 'text/plain; charset=utf-8', cache: 'private', body });
const ourPage = { status: 200, type: 'text/html; charset=utf-8', cache: 'private, max-age=0' };

/** Where Columba answers otherwise than the ASMX server that was recorded, and why. */
const EXCEPTIONS: Readonly<Record<string, { why: string; expected: (recorded: Expected) => Expected }>> = {
  'query-WSDL_': {
    why: 'what is not there is 404 outside SOAP: statuses say what HTTP says',
    expected: () => notFound('XML Web service description was not found.\n'),
  },
  'query-schema_x': {
    why: 'what is not there is 404 outside SOAP: statuses say what HTTP says',
    expected: () => notFound('Schema not found.\n'),
  },
  'query-schema': { why: 'the help page is our own', expected: () => ourPage },
  'query-singleWsdl': { why: 'the help page is our own', expected: () => ourPage },
  'compose-dataset-2.0': {
    why: 'recorded under another setting of the DataSet schema; ours is the default one',
    expected: (recorded) => ({ ...recorded, body: caseFile('wsdl/compose.wsdl') }),
  },
  'host-header-other': {
    why: 'of its body only the lines that differ were kept',
    expected: (recorded) => ({
      ...recorded,
      body: caseFile('wsdl/compose.wsdl').replaceAll(RECORDED_BASE, 'http://sms.example:8443'),
    }),
  },
};

function expected({ name, response }: Exchange): Expected {
  const text = response.body.toString('utf8');
  const [, file] = /^\(body: (?:the same bytes as )?(.*)\)\n/.exec(text) ?? [];
  const recorded: Expected = {
    status: Number(response.start.split(' ')[1]),
    type: response.headers['content-type'] ?? '',
    cache: response.headers['cache-control'] ?? '',
    body: file ? caseFile(`wsdl/${file}`) : text,
  };
  return EXCEPTIONS[name]?.expected(recorded) ?? recorded;
}

onOneEngine('WSDL', (engine) => {
  async function withService(work: (service: Service) => Promise<void>, settings: Partial<Config> = {}) {
    const service = await startService(engine, 'sample', settings);
    try {
      await work(service);
    } finally {
      await service.stop();
    }
  }

  for (const exchange of exchanges('wsdl')) {
    test(`${exchange.name} is answered as recorded`, () =>
      withService(async (service) => {
        const { body: expectedBody, ...expectedHead } = expected(exchange);
        const address = await service.app.start();
        const { start, headers, body } = await exchangeMessage(address, exchange.raw);
        const type = headers['content-type'] ?? '';
        const head = { status: Number(start.split(' ')[1]), type, cache: headers['cache-control'] };
        assert.deepEqual(head, expectedHead);
        if (expectedBody !== undefined) assert.equal(body.toString('utf8'), expectedBody);
        if (type.startsWith('text/xml')) parse(body.toString('utf8')).dispose();
      }));
  }

  test('all recordings are replayed, and every exception names one of them', () => {
    const names = exchanges('wsdl').map(({ name }) => name);
    assert.equal(names.length, 16);
    for (const name of [...GROUPS, ...Object.keys(EXCEPTIONS)]) assert.ok(names.includes(name), name);
    const other = exchanges('wsdl').find(({ name }) => name === 'host-header-other') as Exchange;
    const lines = other.response.body
      .toString('utf8')
      .split('\n')
      .filter((line) => line.includes('location'));
    assert.equal(lines.length, 4);
    for (const line of lines) assert.ok(expected(other).body?.includes(`${line}\n`), line);
    assert.equal(Buffer.byteLength(expected(other).body ?? ''), Number(other.response.headers['content-length']));
  });

  for (const group of GROUPS) {
    test(`the WSDL of ${group} is the recorded one, also without a socket`, () =>
      withService(async (service) => {
        for (const query of ['WSDL', 'wsdl', 'WsDl', 'x=1&wsdl', 'wsdl&x=1', 'disco&wsdl']) {
          const answer = await service.send({ path: `/api/${group}.asmx`, query, base: RECORDED_BASE });
          assert.equal(answer.text, caseFile(`wsdl/${group}.wsdl`), query);
        }
      }));

    test(`the discovery document of ${group} names its WSDL and its bindings`, () =>
      withService(async (service) => {
        const compose = exchanges('wsdl')
          .find(({ name }) => name === 'query-disco')
          ?.response.body.toString('utf8');
        const answer = await service.send({ path: `/api/${group}.asmx`, query: 'DISCO', base: RECORDED_BASE });
        assert.equal(answer.text, compose?.replaceAll('compose', group));
      }));
  }

  test('any query that asks for no document gets the help page', () =>
    withService(async (service) => {
      for (const query of ['', 'x=1', 'singleWsdl', 'wsdlx', 'schema', 'op=Nope', '%77sdl2', '&&']) {
        const { status, headers } = await service.send({ path: '/api/inbox.asmx', query });
        assert.deepEqual([status, headers['Content-Type']], [200, 'text/html; charset=utf-8'], query);
      }
    }));

  test('a document with an unknown name is 404', () =>
    withService(async (service) => {
      for (const query of ['wsdl=', 'WSDL=x', 'x=1&Wsdl=1', 'schema=', 'SCHEMA=x']) {
        const answer = await service.send({ path: '/api/inbox.asmx', query });
        assertProblem('get', answer, 'unknown-operation', /not found\.$/);
      }
    }));

  test('HEAD of the WSDL returns the header fields without the body', () =>
    withService(async (service) => {
      const address = await service.app.start();
      const of = (method: string) =>
        exchangeMessage(
          address,
          Buffer.from(`${method} /api/sent.asmx?WSDL HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`),
        );
      const [head, get] = [await of('HEAD'), await of('GET')];
      const { date: _, 'x-request-id': _id, ...headers } = head.headers;
      const { date: __, 'x-request-id': __id, ...expectedHeaders } = get.headers;
      assert.deepEqual({ start: head.start, headers }, { start: get.start, headers: expectedHeaders });
      assert.equal(head.body.length, 0);
    }));

  for (const namespace of ['https://old.example/sms/v2', 'urn:example:sms']) {
    test(`another namespace (${namespace}) is used everywhere: WSDL, discovery, SOAP, GET and POST`, () =>
      withService(
        async (service) => {
          for (const group of GROUPS) {
            const wsdl = await service.send({ path: `/api/${group}.asmx`, query: 'wsdl', base: RECORDED_BASE });
            assert.equal(wsdl.text, caseFile(`wsdl/${group}.wsdl`).replaceAll(NAMESPACE, namespace));
          }
          const disco = await service.send({ path: '/api/sent.asmx', query: 'disco' });
          assert.ok(disco.text.includes(`xmlns:q1="${namespace}" binding="q1:sentSoap"`));
          for (const protocol of PROTOCOLS) {
            const there = requestOf(protocol, 'inbox', 'CountRead', { user_id: ACME });
            const here = JSON.parse(JSON.stringify(there).replaceAll(NAMESPACE, namespace));
            const { status, text } = await service.send(here);
            assert.equal(status, 200);
            const element = protocol.startsWith('soap') ? 'CountReadResponse' : 'long';
            assert.ok(text.includes(`<${element} xmlns="${namespace}">`), text);
            assert.ok(!text.includes(NAMESPACE));

            const refused = await service.send(JSON.parse(JSON.stringify(here).replace(ACME, 'nobody')));
            if (protocol.startsWith('soap')) {
              assert.ok(refused.text.includes(`<error xmlns="${namespace}"><code>denied</code>`), refused.text);
              const old = await service.send(there);
              assert.ok(old.text.includes('<code>unknown-operation</code>'), 'the default namespace still works');
            } else assert.equal(refused.status, 403);
          }
        },
        { namespace },
      ));
  }
});
