import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { contract } from '../../../src/asmx/contract/contract.ts';
import {
  describeBoolean,
  describeParameter,
  describeResult,
  resultFields,
} from '../../../src/asmx/contract/descriptions.ts';
import { errorsOf } from '../../../src/asmx/contract/errors.ts';
import type { Operation, ParameterType } from '../../../src/asmx/contract/types.ts';
import type { Config } from '../../../src/config/settings.ts';
import { type Engine, onFirstEngine } from '../../support/engines.ts';
import { codeBlocks, message, rows, section, textOf } from '../../support/markup.ts';
import { ENVELOPES, NAMESPACE } from '../../support/protocols.ts';
import { validateResult } from '../../support/schema-validator.ts';
import { ACME, type Service, startService } from '../../support/service.ts';
import { exchangeMessage } from '../../support/socket.ts';

const OPERATIONS = Object.entries(contract).flatMap(([group, operations]) =>
  Object.entries<Operation>(operations).map(([name, operation]) => ({ group, name, operation })),
);
const TITLES = ['SOAP 1.1', 'SOAP 1.2', 'HTTP GET', 'HTTP POST'];

/** Where a service is reached: as the request says, or as the operator says. */
interface Place {
  readonly where: string;
  readonly settings: Partial<Config>;
  readonly path: string;
  readonly host: (address: string) => string;
  /** What addresses on the pages start with. */
  readonly base: (address: string) => string;
  readonly namespace: string;
}
const PLACES: readonly Place[] = [
  {
    where: 'at the root',
    settings: {},
    path: '',
    namespace: NAMESPACE,
    host: (address) => new URL(address).host,
    base: (address) => address,
  },
  {
    where: 'under a path, in a namespace of its own',
    path: '/some/gateway',
    namespace: 'urn:example:sms',
    settings: { baseUrl: 'https://sms.example:8443/some/gateway', namespace: 'urn:example:sms' },
    host: () => 'sms.example:8443',
    base: () => 'https://sms.example:8443/some/gateway',
  },
];

const typeOf = (type: ParameterType): string => (type.kind === 'list' ? `list of ${type.item.name}` : type.name);
const hasList = ({ parameters }: Operation) => Object.values(parameters).some(({ kind }) => kind === 'list');

onFirstEngine('pages of operations', (engine) => {
  test('the pages show 32 operations', () => assert.equal(OPERATIONS.length, 32));
  for (const place of PLACES) describe(place.where, () => suite(engine, place));
});

function suite(engine: Engine, place: Place): void {
  let service: Service;
  let address: string;
  before(async () => {
    service = await startService(engine, 'sample', place.settings);
    address = await service.app.start();
  });
  after(() => service.stop());

  async function pageOf(group: string, name: string): Promise<string> {
    const reply = await fetch(`${address}${place.path}/api/${group}.asmx?op=${name}`);
    assert.equal(reply.status, 200);
    assert.equal(reply.headers.get('content-type'), 'text/html; charset=utf-8');
    return reply.text();
  }

  for (const { group, name, operation } of OPERATIONS) {
    test(`the page of ${group}.${name} has its summary, its parameters with types and descriptions, and its result`, async () => {
      const html = await pageOf(group, name);
      assert.match(html, new RegExp(`<h1>${name}</h1>`));
      assert.ok(textOf(html).includes(operation.summary));
      const parameters = rows(section(html, 'Parameters'));
      assert.deepEqual(
        parameters,
        Object.entries(operation.parameters).map(([key, type]) => [
          `${key}: ${typeOf(type)}`,
          describeParameter(key).description,
        ]),
      );
      for (const [, description] of parameters) assert.match(description, /^[A-Z].+\.$/);
      checkResult(section(html, 'Result'), group, name, operation);
      assert.deepEqual(
        rows(section(html, 'Errors')).map(([kind]) => kind),
        errorsOf(group, name, operation).map(({ kind }) => kind),
      );
    });

    test(`the page of ${group}.${name} has ${hasList(operation) ? 'a command to fill in instead of a form' : 'a form with a field for each parameter'}`, async () => {
      const trial = section(await pageOf(group, name), 'Try it');
      const line = codeBlocks(trial).get(`${name} with curl`) ?? '';
      assert.ok(line.startsWith(`curl '${place.base(address)}/api/${group}.asmx/${name}' \\\n`), line);
      const given = [...line.matchAll(/--data-urlencode '(\w+)=/g)].map(([, key]) => key);
      assert.deepEqual([...new Set(given)], Object.keys(operation.parameters));
      if (hasList(operation)) {
        assert.doesNotMatch(trial, /<(form|input|button)/);
        assert.match(textOf(trial), /There is no form for this operation, because it takes a list\. Fill in this line/);
        assert.ok(given.filter((key) => key === 'contact_id').length > 1);
      } else {
        assert.match(trial, new RegExp(`<form method="post" action="${group}\\.asmx/${name}">`));
        const labels = [...trial.matchAll(/<label for="field-(\w+)">(\w+)/g)].map(([, ...names]) => names);
        const fields = [...trial.matchAll(/<input id="field-(\w+)" name="(\w+)" inputmode/g)].map(
          ([, ...names]) => names,
        );
        const expected = Object.keys(operation.parameters).map((key) => [key, key]);
        assert.deepEqual([labels, fields], [expected, expected]);
        assert.match(trial, new RegExp(`<button>Call ${name}</button>`));
      }
    });

    test(`the page of ${group}.${name} has samples in four protocols, whose requests succeed and whose responses look like the answers`, async () => {
      const blocks = codeBlocks(section(await pageOf(group, name), 'On the wire'));
      assert.deepEqual(
        [...blocks.keys()],
        TITLES.flatMap((title) => [`${title} request`, `${title} response`]),
      );
      for (const title of TITLES) {
        const request = blocks.get(`${title} request`) as string;
        checkRequest(title, group, name, Object.keys(operation.parameters), request);
        const answer = await exchangeMessage(address, asSent(request));
        assert.equal(answer.start, 'HTTP/1.1 200 OK', `${title}: ${answer.body}`);

        const { head, body } = message(blocks.get(`${title} response`) as string);
        assert.deepEqual(head, [
          'HTTP/1.1 200 OK',
          `Content-Type: ${answer.headers['content-type']}`,
          'Content-Length: length',
        ]);
        assert.equal(resultTag(body), resultTag(answer.body.toString('utf8')), title);
        if (place.namespace === NAMESPACE) validateResult(group, body);
      }
    });
  }

  /** The head to the letter; of the body, what it is in and that every parameter is in it, a list as several. */
  function checkRequest(title: string, group: string, name: string, parameters: string[], request: string): void {
    const { head, body } = message(request);
    const path = `${place.path}/api/${group}.asmx`;
    const query = /\?(\S*)/.exec(head[0] ?? '')?.[1] ?? '';
    const fields: Record<string, string[]> = {
      'SOAP 1.1': ['Content-Type: text/xml; charset=utf-8', `SOAPAction: "${place.namespace}/${name}"`],
      'SOAP 1.2': ['Content-Type: application/soap+xml; charset=utf-8'],
      'HTTP GET': [],
      'HTTP POST': ['Content-Type: application/x-www-form-urlencoded'],
    };
    const starts: Record<string, string> = {
      'HTTP GET': `GET ${path}/${name}?${query} HTTP/1.1`,
      'HTTP POST': `POST ${path}/${name} HTTP/1.1`,
    };
    const length = title === 'HTTP GET' ? [] : ['Content-Length: length'];
    assert.deepEqual(
      [head[0], ...head.slice(1).sort()],
      [
        starts[title] ?? `POST ${path} HTTP/1.1`,
        ...[`Host: ${place.host(address)}`, ...(fields[title] as string[]), ...length].sort(),
      ],
    );

    const soap = ({ 'SOAP 1.1': ENVELOPES.soap11, 'SOAP 1.2': ENVELOPES.soap12 } as Record<string, string>)[title];
    if (soap !== undefined) assert.ok(body.includes(`<soap:Envelope xmlns:soap="${soap}"`), title);
    const element = new RegExp(`<${name} xmlns="${place.namespace}">([\\s\\S]*)</${name}>`).exec(body)?.[1] ?? '';
    const sent = soap
      ? [...element.matchAll(/<(\w+)>/g)].flatMap(([, tag = '']) => (tag === 'string' ? [] : [tag]))
      : [...new URLSearchParams(query || body).keys()];
    assert.deepEqual([...new Set(sent)], parameters, title);
    if (!parameters.includes('contact_id')) return;
    const items = soap ? element.match(/<string>/g) : sent.filter((key) => key === 'contact_id');
    assert.ok((items?.length ?? 0) > 1, title);
  }
}

/** Each field with its description, and whether it may be absent; of a boolean, what true and false say. */
function checkResult(html: string, group: string, name: string, operation: Operation): void {
  const boolean = describeBoolean(group, name);
  assert.equal(boolean !== undefined, operation.result.kind === 'scalar' && operation.result.name === 'boolean');
  if (boolean) {
    assert.deepEqual(rows(html), Object.entries(boolean));
    return;
  }
  assert.ok(textOf(html).includes(describeResult(operation)));
  const fields = resultFields(operation.result);
  const inner = operation.result.kind === 'list' ? operation.result.item : operation.result;
  const declared = inner.kind === 'record' ? inner.fields : inner.kind === 'dataSet' ? inner.columns : {};
  assert.deepEqual(
    fields.map((field) => field.name),
    Object.keys(declared),
  );
  assert.deepEqual(
    rows(html),
    fields.map((field) => [
      `${field.name}: ${field.type.name}`,
      `${field.description}${field.mayBeAbsent ? ' May be absent.' : ''}`,
    ]),
  );
  for (const { description } of fields) assert.match(description, /^[A-Z].+\.$/);
}

/** The sample as a client would send it, acting as the account of the sample data. */
function asSent(sample: string): Buffer {
  const { head, body } = message(sample.replace('USER_ID', ACME));
  const fields = head.map((line) =>
    line.startsWith('Content-Length: ') ? `Content-Length: ${Buffer.byteLength(body)}` : line,
  );
  return Buffer.from([...fields, 'Connection: close', '', body].join('\r\n'));
}

/** The start tag of the result in a bare document or an envelope, prefixes of XML Schema included. */
const resultTag = (xml: string): string | undefined => {
  const element = /<soap:Body>\s*<\w+Response [^>]*>\s*(<\w+)/.exec(xml) ?? /\?>\s*(<\w+[^>]*>)/.exec(xml);
  return element?.[1];
};
