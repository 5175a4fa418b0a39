import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { attribute, readXml, type XmlElement } from '../../src/asmx/xml/reader.ts';
import { onOneEngine } from '../support/engines.ts';
import { LIMITS } from '../support/limits.ts';
import { NAMESPACE } from '../support/protocols.ts';
import { type Service, startService } from '../support/service.ts';
import { exchangeMessage, requestBytes, statusOf, textOf } from '../support/socket.ts';

/** WS-I Basic Profile 1.1: the description of each group, as a client fetches it. Row by row in docs/CONFORMANCE.md. */

const WSDL = 'http://schemas.xmlsoap.org/wsdl/';
const SOAP = 'http://schemas.xmlsoap.org/wsdl/soap/';
const XSD = 'http://www.w3.org/2001/XMLSchema';
const SOAPENC = 'http://schemas.xmlsoap.org/soap/encoding/';

interface Description {
  readonly group: string;
  readonly text: string;
  readonly root: XmlElement;
  readonly schemas: readonly XmlElement[];
  /** The binding that claims the profile. */
  readonly binding: XmlElement;
  readonly portType: XmlElement;
}

const descendants = (element: XmlElement): XmlElement[] => [element, ...element.children.flatMap(descendants)];
const all = (element: XmlElement, uri: string, local: string): XmlElement[] =>
  descendants(element).filter((each) => each.uri === uri && each.local === local);
const children = (element: XmlElement, local: string): XmlElement[] =>
  element.children.filter((child) => child.uri === WSDL && child.local === local);
const value = (element: XmlElement | undefined, name: string): string | undefined =>
  element && attribute(element, '', name);
const named = (elements: readonly XmlElement[], name: string | undefined): XmlElement =>
  elements.find((element) => value(element, 'name') === name) ?? assert.fail(`nothing is named ${name}`);
const localOf = (name: string | undefined): string => name?.replace(/^.*:/, '') ?? '';

onOneEngine('WS-I Basic Profile 1.1: descriptions', (engine) => {
  let service: Service;
  let descriptions: Description[];
  before(async () => {
    service = await startService(engine);
    const address = await service.app.start();
    descriptions = [];
    for (const group of ['account', 'inbox', 'sent', 'compose']) {
      const start = `GET /api/${group}.asmx?WSDL HTTP/1.1`;
      const answer = await exchangeMessage(address, requestBytes(start, ['Host: sms.example', 'Connection: close']));
      assert.equal(statusOf(answer), 200);
      const root = readXml(textOf(answer), LIMITS);
      const binding = named(children(root, 'binding'), `${group}Soap`);
      const portType = named(children(root, 'portType'), localOf(value(binding, 'type')));
      descriptions.push({ group, text: textOf(answer), root, schemas: all(root, XSD, 'schema'), binding, portType });
    }
  });
  after(() => service.stop());

  /** Something that holds for the description of every group. */
  const describes = (name: string, check: (description: Description) => void) =>
    test(name, () => {
      assert.equal(descriptions.length, 4);
      for (const description of descriptions) check(description);
    });
  /** Messages of the operations of the SOAP binding, with the bodies that bind them. */
  const bound = ({ root, binding, portType }: Description) =>
    children(binding, 'operation').flatMap((operation) =>
      ['input', 'output'].map((way) => {
        const abstract = named(children(portType, 'operation'), value(operation, 'name'));
        const message = localOf(value(children(abstract, way)[0], 'message'));
        const [body, ...more] = children(operation, way)[0]?.children ?? [];
        assert.deepEqual([body?.uri, body?.local, more.length], [SOAP, 'body', 0]);
        return { body: body as XmlElement, message: named(children(root, 'message'), message) };
      }),
    );

  describes('R0001: the description is there for whoever asks', ({ root }) => {
    assert.deepEqual([root.uri, root.local], [WSDL, 'definitions']);
  });
  describes('R4003, R4004, R4005: it is XML 1.0 in UTF-8, and declares no xml prefix', ({ text }) => {
    assert.match(text, /^<\?xml version="1\.0" encoding="utf-8"\?>/);
    assert.doesNotMatch(text, /xmlns:xml=/);
  });
  describes('R2001, R2002, R2003: WSDL imports nothing, and schemas only within types', ({ root, schemas }) => {
    assert.deepEqual(all(root, WSDL, 'import'), []);
    const imports = all(root, XSD, 'import');
    assert.deepEqual(
      schemas.flatMap((schema) => all(schema, XSD, 'import')),
      imports,
    );
    assert.ok(schemas.every((schema) => children(root, 'types')[0]?.children.includes(schema)));
  });
  describes('R2004: an import of a schema leads to no document', ({ root }) => {
    for (const element of all(root, XSD, 'import')) assert.equal(value(element, 'schemaLocation'), undefined);
  });
  describes('R2022, R2023: types come first', ({ root }) => {
    const names = root.children.map(({ local }) => local);
    assert.deepEqual([names.indexOf('types'), names.lastIndexOf('types')], [0, 0]);
  });
  describes('R2025, R2026: no extension is required', ({ root }) => {
    for (const element of descendants(root)) assert.equal(attribute(element, WSDL, 'required'), undefined);
  });
  describes('R2101: names lead to what the description defines', ({ root }) => {
    const [messages, types] = [children(root, 'message'), children(root, 'portType')];
    for (const element of descendants(root)) {
      if (element.uri !== WSDL) continue;
      const message = value(element, 'message');
      if (message) named(messages, message.replace(/^tns:/, ''));
      if (element.local === 'binding') named(types, value(element, 'type')?.replace(/^tns:/, ''));
      if (element.local === 'port') {
        named(children(root, 'binding'), value(element, 'binding')?.replace(/^tns:/, ''));
      }
    }
    assert.equal(value(root, 'targetNamespace'), NAMESPACE);
  });
  test('R2102: the only names that lead out of a schema without import are of s:schema, in DataSets', () => {
    for (const { root } of descriptions) {
      const references = all(root, XSD, 'element').flatMap((element) => value(element, 'ref') ?? []);
      assert.ok(references.length > 0);
      assert.deepEqual([...new Set(references)], ['s:schema']);
    }
  });
  describes('R2105: every schema has a target namespace', ({ schemas }) => {
    for (const schema of schemas) assert.match(value(schema, 'targetNamespace') ?? '', /^http:\/\/./);
  });
  test('R2110: soapenc:Array is restricted only for the lists of GET and POST', () => {
    for (const description of descriptions) {
      const restrictions = all(description.root, XSD, 'restriction').map((element) => value(element, 'base'));
      assert.deepEqual(restrictions, description.group === 'account' ? ['soapenc:Array'] : []);
      for (const { message } of bound(description)) {
        for (const part of message.children) assert.equal(value(part, 'type'), undefined);
      }
    }
  });
  describes('R2111: no type has a wsdl:arrayType', ({ root }) => {
    for (const element of descendants(root)) {
      assert.equal(attribute(element, WSDL, 'arrayType'), undefined);
      assert.equal(attribute(element, SOAPENC, 'arrayType'), undefined);
    }
  });
  test('R2112: lists are named ArrayOf and their item', () => {
    const items = ['Contact', 'Group', 'String', 'ReceivedMessage', 'DeliveryStatus'];
    for (const kind of ['complexType', 'element']) {
      const names = descriptions.flatMap(({ root }) =>
        all(root, XSD, kind).flatMap((each) => value(each, 'name') ?? []),
      );
      const arrays = names.filter((name) => name.startsWith('ArrayOf'));
      assert.deepEqual(new Set(arrays), new Set(items.map((item) => `ArrayOf${item}`)));
    }
  });
  describes('R2114: service and schema share a namespace', ({ schemas }) => {
    assert.equal(value(schemas[0], 'targetNamespace'), NAMESPACE);
  });
  describes('R2201, R2209, R2210: a body binds the one part of its message', (description) => {
    for (const { body, message } of bound(description)) {
      assert.equal(value(body, 'parts'), undefined);
      assert.equal(message.children.length, 1);
    }
  });
  describes('R2204, R2206: that part is an element that the schema declares at its top', (description) => {
    const declared = description.schemas[0]?.children.filter(({ local }) => local === 'element') ?? [];
    for (const { message } of bound(description)) {
      const element = value(message.children[0], 'element');
      assert.match(element ?? '', /^tns:/);
      named(declared, localOf(element));
    }
  });
  describes('R2303: every operation has an input and then an output', ({ portType }) => {
    for (const operation of portType.children) {
      assert.deepEqual(
        operation.children.map(({ local }) => local),
        ['input', 'output'],
      );
    }
  });
  describes('R2304, R2710: operations have names and elements of their own', (description) => {
    const names = description.portType.children.map((operation) => value(operation, 'name'));
    assert.equal(new Set(names).size, names.length);
    const elements = bound(description).map(({ message }) => value(message.children[0], 'element'));
    assert.equal(new Set(elements).size, elements.length);
  });
  describes('R2305: no operation has a parameterOrder', ({ portType }) => {
    for (const operation of portType.children) assert.equal(value(operation, 'parameterOrder'), undefined);
  });
  describes('R2306: a part has an element or a type, not both', ({ root }) => {
    for (const part of all(root, WSDL, 'part')) {
      assert.equal([value(part, 'element'), value(part, 'type')].filter(Boolean).length, 1);
    }
  });
  describes('R2401: beside the SOAP 1.1 binding there are those of SOAP 1.2, GET and POST', ({ group, root }) => {
    const names = children(root, 'binding').map((binding) => value(binding, 'name'));
    assert.deepEqual(
      names,
      ['Soap', 'Soap12', 'HttpGet', 'HttpPost'].map((suffix) => group + suffix),
    );
  });
  describes('R2701, R2702: the binding names HTTP as its transport', ({ binding }) => {
    const [soap] = all(binding, SOAP, 'binding');
    assert.equal(value(soap, 'transport'), 'http://schemas.xmlsoap.org/soap/http');
  });
  describes('R2705, R2706: the binding is document and literal throughout', (description) => {
    const operations = all(description.binding, SOAP, 'operation');
    assert.deepEqual([...new Set(operations.map((operation) => value(operation, 'style')))], ['document']);
    assert.deepEqual([...new Set(bound(description).map(({ body }) => value(body, 'use')))], ['literal']);
  });
  describes('R2711: the two SOAP ports have the same address', ({ group, root }) => {
    const ports = all(root, WSDL, 'port').map((port) => [value(port, 'name'), value(port.children[0], 'location')]);
    assert.deepEqual(
      ports,
      ['Soap', 'Soap12', 'HttpGet', 'HttpPost'].map((suffix) => [
        group + suffix,
        `http://sms.example/api/${group}.asmx`,
      ]),
    );
  });
  describes('R2716: a body has no namespace attribute', (description) => {
    for (const { body } of bound(description)) assert.equal(value(body, 'namespace'), undefined);
  });
  describes('R2718: the binding has the operations of its port type', ({ binding, portType }) => {
    const names = (element: XmlElement) => children(element, 'operation').map((operation) => value(operation, 'name'));
    assert.deepEqual(names(binding), names(portType));
  });
  describes('R2740: faults are not described', ({ root }) => {
    assert.deepEqual(all(root, WSDL, 'fault'), []);
  });
  describes('R2744: every operation has a soapAction, the namespace and its name', ({ binding }) => {
    for (const operation of children(binding, 'operation')) {
      const action = value(all(operation, SOAP, 'operation')[0], 'soapAction');
      assert.equal(action, `${NAMESPACE}/${value(operation, 'name')}`);
    }
  });
  describes('R2801: types are those of XML Schema 1.0', ({ schemas }) => {
    for (const schema of schemas) {
      const names = descendants(schema).flatMap((element) => value(element, 'type') ?? []);
      for (const name of names) assert.match(name, /^(tns:\w+|s:(string|int|long|boolean|dateTime))$/);
    }
  });
});
