import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { readXml, type XmlElement } from '../../src/asmx/xml/reader.ts';
import type { HttpMessage } from '../support/cases.ts';
import { onOneEngine } from '../support/engines.ts';
import { LIMITS } from '../support/limits.ts';
import { type Arguments, ENVELOPES, envelope, NAMESPACE, operationElement } from '../support/protocols.ts';
import { ACME, type Service, startService } from '../support/service.ts';
import { exchangeMessage, requestBytes, statusOf, textOf } from '../support/socket.ts';

/** WS-I Basic Profile 1.1: messages and HTTP, over a socket. Row by row in docs/CONFORMANCE.md. */

const SOAP = ENVELOPES.soap11;
const XML = ['Host: sms.example', 'Connection: close', 'Content-Type: text/xml; charset=utf-8'];
const block = (attributes: string) =>
  `<s:Header><h:Strange xmlns:h="urn:strange" ${attributes}>1</h:Strange></s:Header>`;
const MANDATORY = block('s:mustUnderstand="1"');
const call = (operation: string, args: Arguments = {}, header = '') =>
  envelope('soap11', operationElement(operation, { user_id: ACME, ...args }), header);

/** One answer of each shape: every kind of result, every kind of fault. */
const RESULTS: readonly (readonly [group: string, operation: string, args: Arguments])[] = [
  ['inbox', 'CountUnread', {}],
  ['inbox', 'MarkMessageAsRead', { message_id: '1003' }],
  ['inbox', 'Unread', { max_count: 10 }],
  ['inbox', 'Unread', { max_count: 0 }],
  ['inbox', 'InboxDS', { max_count: 10 }],
  ['account', 'Profile', {}],
  ['account', 'FetchContact', { mobile: 'nobody' }],
  ['account', 'FetchSavedMessages', {}],
];
const FAULTS: Record<string, string> = {
  denied: call('CountUnread', { user_id: 'nobody' }),
  'bad-argument': call('Unread', { max_count: -1 }),
  'unknown-operation': call('Nothing'),
  'must-understand': call('CountUnread', {}, MANDATORY),
  version: call('CountUnread').replace(SOAP, 'urn:other'),
};

const attributesIn = (elements: readonly XmlElement[], uri: string, local?: string) =>
  elements.flatMap(({ attributes }) =>
    attributes.filter((a) => a.uri === uri && (local === undefined || a.local === local)),
  );
const descendants = (element: XmlElement): XmlElement[] =>
  element.children.flatMap((child) => [child, ...descendants(child)]);

onOneEngine('WS-I Basic Profile 1.1: messages, over a socket', (engine) => {
  let service: Service;
  let address: string;
  let results: HttpMessage[];
  let faults: HttpMessage[];
  let roots: XmlElement[];
  before(async () => {
    service = await startService(engine);
    address = await service.app.start();
    results = [];
    for (const [group, operation, args] of RESULTS) results.push(await post(call(operation, args), [], group));
    faults = [];
    for (const body of Object.values(FAULTS)) faults.push(await post(body));
    roots = [...results, ...faults].map((answer) => readXml(textOf(answer), LIMITS));
  });
  after(() => service.stop());

  const post = (body: string, fields: readonly string[] = [], group = 'inbox', start = 'POST', version = '1.1') =>
    exchangeMessage(address, requestBytes(`${start} /api/${group}.asmx HTTP/${version}`, [...XML, ...fields], body));
  const bodyOf = (root: XmlElement) => root.children.find(({ local }) => local === 'Body') as XmlElement;
  const faultCode = async (answer: Promise<HttpMessage>) => /<faultcode>soap:(\w+)</.exec(textOf(await answer))?.[1];
  const unread = async () => /<CountUnreadResult>(\d+)</.exec(textOf(await post(call('CountUnread'))))?.[1];

  test('R9980: an answer is an Envelope with a Body, and before it at most a Header', () => {
    for (const root of roots) {
      assert.deepEqual([root.uri, root.local], [SOAP, 'Envelope']);
      const names = root.children.map(({ uri, local }) => (uri === SOAP ? local : `{${uri}}${local}`));
      assert.match(names.join(' '), /^(Header )?Body$/);
    }
  });
  test('R9981: the Body of an answer holds one element', () => {
    for (const root of roots) assert.equal(bodyOf(root).children.length, 1);
  });
  test('R1014: what is in the Body is in a namespace', () => {
    for (const root of roots) assert.match(bodyOf(root).children[0]?.uri ?? '', /./);
  });
  test('R1011: nothing follows the Body', () => {
    for (const root of roots) assert.equal(root.children.at(-1)?.local, 'Body');
  });
  test('R1032, R1005: Envelope, Header and Body have no attributes of SOAP', () => {
    for (const root of roots) assert.deepEqual(attributesIn([root, ...root.children], SOAP), []);
  });
  test('R1006: what is in the Body has no encodingStyle', () => {
    for (const root of roots) assert.deepEqual(attributesIn(descendants(root), SOAP, 'encodingStyle'), []);
  });
  test('R2113: an answer has no arrayType of SOAP encoding', () => {
    const uri = 'http://schemas.xmlsoap.org/soap/encoding/';
    for (const root of roots) assert.deepEqual(attributesIn(descendants(root), uri), []);
  });
  test('R1008, R1009: an answer has neither a document type nor a processing instruction', () => {
    for (const answer of [...results, ...faults]) {
      assert.match(textOf(answer), /^<\?xml [^?]*\?>(?!.*(<!DOCTYPE|<\?))/s);
    }
  });
  test('R1010: a request with an XML declaration is accepted', async () => {
    assert.match(call('CountUnread'), /^<\?xml version="1.0"/);
    assert.equal(statusOf(await post(call('CountUnread'))), 200);
  });
  test('R1012, R1018: an answer is in UTF-8, and its charset says so', () => {
    for (const answer of [...results, ...faults]) {
      assert.equal(answer.headers['content-type'], 'text/xml; charset=utf-8');
      new TextDecoder('utf-8', { fatal: true }).decode(answer.body);
    }
  });
  test('R1013: an answer has no mustUnderstand', () => {
    for (const root of roots) assert.deepEqual(attributesIn(descendants(root), SOAP, 'mustUnderstand'), []);
  });
  test('R1015: a document that is no Envelope is refused with 400 in place of a fault', async () => {
    const answer = await post('<Body/>');
    assert.equal(statusOf(answer), 400);
    assert.equal(answer.headers['content-type'], 'text/plain; charset=utf-8');
  });
  test('R1017: nobody has to send xsi:type', async () => {
    assert.doesNotMatch(call('Unread', { max_count: 1 }), /xsi:type/);
    assert.equal(statusOf(await post(call('Unread', { max_count: 1 }))), 200);
  });
  test('R1025: mandatory blocks are looked at before anything is done', async () => {
    const count = await unread();
    assert.equal(await faultCode(post(call('DeleteAllMessages', {}, MANDATORY))), 'MustUnderstand');
    assert.equal(await unread(), count);
    assert.notEqual(count, '0');
  });
  test('R1027: a mandatory block for us that we do not know is a MustUnderstand fault', async () => {
    const next = 's:actor="http://schemas.xmlsoap.org/soap/actor/next"';
    for (const [attributes, code] of [
      ['s:mustUnderstand="1"', 'MustUnderstand'],
      [`s:mustUnderstand="1" ${next}`, 'MustUnderstand'],
      ['s:mustUnderstand="true"', 'MustUnderstand'],
      ['s:mustUnderstand="0"', undefined],
      [next, undefined],
      ['s:mustUnderstand="1" s:actor="urn:another"', undefined],
    ] as const) {
      assert.equal(await faultCode(post(call('CountUnread', {}, block(attributes)))), code, attributes);
    }
  });
  test('R1028: what ends in a fault has changed nothing', async () => {
    const count = await unread();
    await post(call('DeleteMessage', { message_id: '1004' }), ['SOAPAction: "urn:another"']);
    await post(call('DeleteAllMessages', { user_id: 'nobody' }));
    assert.equal(await unread(), count);
  });
  test('R1029: a fault takes the place of the response', () => {
    for (const root of roots.slice(results.length)) {
      assert.deepEqual(
        bodyOf(root).children.map(({ uri, local }) => [uri, local]),
        [[SOAP, 'Fault']],
      );
    }
  });
  test('R1000, R1001: a fault has faultcode, faultstring and detail, in no namespace', () => {
    for (const root of roots.slice(results.length)) {
      const children = bodyOf(root).children[0]?.children ?? [];
      assert.match(children.map(({ uri, local }) => uri + local).join(' '), /^faultcode faultstring( detail)?$/);
    }
  });
  test('R1004, R1031: a faultcode is one of SOAP 1.1, without a dot', () => {
    const codes = faults.map((answer) => /<faultcode>([^<]*)</.exec(textOf(answer))?.[1]);
    const expected = ['Client', 'Client', 'Client', 'MustUnderstand', 'VersionMismatch'];
    assert.deepEqual(
      codes,
      expected.map((code) => `soap:${code}`),
    );
  });
  test('R2742: the detail of a fault is in the namespace of the service', () => {
    const details = roots
      .slice(results.length)
      .flatMap((root) => bodyOf(root).children[0]?.children[2]?.children ?? []);
    assert.deepEqual([...new Set(details.map(({ uri, local }) => `${uri} ${local}`))], [`${NAMESPACE} error`]);
  });
  test('R2712: the Body of an answer holds the element that the WSDL names', () => {
    for (const [index, [, operation]] of RESULTS.entries()) {
      const element = bodyOf(roots[index] as XmlElement).children[0];
      assert.deepEqual([element?.uri, element?.local], [NAMESPACE, `${operation}Response`]);
    }
  });
  test('R2724: an envelope that does not fit the WSDL is a Client fault', async () => {
    const noNumber = call('Unread', { max_count: 'many' });
    const nothing = call('Unread').replace(/<Unread.*Unread>/, '');
    for (const body of [noNumber, nothing, call('Nothing')]) assert.equal(await faultCode(post(body)), 'Client');
  });
  test('R2725: VersionMismatch comes before MustUnderstand, and that before Client', async () => {
    const all = call('Nothing', {}, MANDATORY);
    assert.equal(await faultCode(post(all.replace(SOAP, 'urn:other'))), 'VersionMismatch');
    assert.equal(await faultCode(post(all)), 'MustUnderstand');
    assert.equal(await faultCode(post(call('Nothing'))), 'Client');
  });

  test('R1140, R1141: HTTP/1.1 is spoken, and HTTP/1.0 understood', async () => {
    for (const version of ['1.1', '1.0']) {
      const answer = await post(call('CountUnread'), [], 'inbox', 'POST', version);
      assert.equal(answer.start, 'HTTP/1.1 200 OK');
    }
  });
  test('R1108: an answer has no fields of the HTTP Extension Framework', () => {
    for (const { headers } of [...results, ...faults]) {
      assert.deepEqual(
        Object.keys(headers).filter((name) => /^(man|opt|c-man|c-opt|ext|c-ext)$/.test(name)),
        [],
      );
    }
  });
  test('R1109, R2744: a quoted SOAPAction that is the one of the WSDL is served', async () => {
    const answer = await post(call('CountUnread'), [`SOAPAction: "${NAMESPACE}/CountUnread"`]);
    assert.equal(statusOf(answer), 200);
  });
  test('R1119, R1127: SOAPAction need be neither quoted nor there', async () => {
    for (const fields of [[`SOAPAction: ${NAMESPACE}/CountUnread`], ['SOAPAction: ""'], []]) {
      assert.equal(statusOf(await post(call('CountUnread'), fields)), 200);
    }
  });
  test('R1124, R1111: an answer without fault has status 200', () => {
    assert.deepEqual([...new Set(results.map(statusOf))], [200]);
  });
  test('R1126: a fault has status 500', () => {
    assert.deepEqual([...new Set(faults.map(statusOf))], [500]);
  });
  test('R1125, R1113: a request that is malformed is refused with 400', async () => {
    for (const body of ['', '<a', '<a/>', `${call('CountUnread')}x`]) assert.equal(statusOf(await post(body)), 400);
  });
  test('R1132, R1114: a method other than POST is refused with 405', async () => {
    for (const method of ['PUT', 'DELETE', 'PATCH', 'OPTIONS']) {
      const answer = await post(call('CountUnread'), [], 'inbox', method);
      assert.equal(statusOf(answer), 405, method);
      assert.equal(answer.headers.allow, 'GET, HEAD, POST');
    }
  });
  test('R1115: another Content-Type is refused with 415', async () => {
    const fields = ['Host: h', 'Connection: close', 'Content-Type: application/xml'];
    const bytes = requestBytes('POST /api/inbox.asmx HTTP/1.1', fields, call('CountUnread'));
    assert.equal(statusOf(await exchangeMessage(address, bytes)), 415);
  });
  test('R1121: no cookie is set, and none wanted', () => {
    for (const { headers } of [...results, ...faults]) assert.equal(headers['set-cookie'], undefined);
  });
});
