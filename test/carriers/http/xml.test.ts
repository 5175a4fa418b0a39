import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { XmlDocument } from 'libxml2-wasm';
import { xmlElements, xmlEscaped, xmlOf, xmlTemplateFault, xmlText } from '../../../src/carriers/http/xml.ts';
import { configOf } from '../../support/provider.ts';

const read = (text: string, path: string, charset: BufferEncoding = 'utf8') => {
  const document = xmlOf(Buffer.from(text, charset));
  return document && xmlText(document, path);
};

/** A provider that speaks XML alone, whose examples run when it is saved. */
const FILE = {
  title: 'XML',
  settings: ['user'],
  secrets: ['password', 'key'],
  request: {
    method: 'POST',
    url: 'https://provider.example/xml',
    xml: '<sms xmlns="http://provider.example/2026/11/messages" ref="{attemptId}"><login user="{setting.user}" password="{secret.password}"/><to>{recipient|noplus}</to><from>{sender}</from><body>{text}</body></sms>',
  },
  answer: [
    { when: { 'xml:/answer/@status': 'OK' }, result: 'accepted', gatewayId: 'xml:/answer/sms/@id' },
    { when: { 'xml:/answer/error/@code': ['10', '17'] }, result: 'down', reason: 'xml:/answer/error' },
    { when: { 'xml:/answer/error': { present: true } }, result: 'permanent', reason: 'xml:/answer/error' },
  ],
  callbacks: [
    {
      path: 'receipt',
      is: 'receipt',
      methods: ['POST'],
      body: 'xml',
      each: '/reports/report',
      check: { kind: 'header', name: 'X-Key', secret: 'key' },
      read: { attemptId: 'xml:/@ref', gatewayId: 'xml:/@id', status: 'xml:/state' },
      map: { DLVD: 'DELIVERED', FAIL: 'UNDELIVERABLE' },
      answer: { status: 200, type: 'text/xml', body: '<ok/>' },
    },
    {
      path: 'incoming',
      is: 'incoming',
      methods: ['POST'],
      body: 'xml',
      check: { kind: 'header', name: 'X-Key', secret: 'key' },
      read: { sender: 'xml:/in/from', destination: 'xml:/in/to', text: 'xml:/in/text' },
      answer: { status: 200 },
    },
  ],
  examples: {
    answers: [
      {
        status: 200,
        body: '<?xml version="1.0"?>\n<n:answer xmlns:n="urn:n" status="OK">\n <sms id=" Z-1 "/></n:answer>',
        expect: { result: 'accepted', gatewayId: ' Z-1 ' },
      },
      {
        status: 200,
        body: '<answer><error code="17">No &lt;credit&gt;</error></answer>',
        expect: { result: 'down', reason: 'No <credit>' },
      },
      { status: 200, body: '<answer><error>\n21 \n</error></answer>', expect: { result: 'permanent', reason: '21' } },
      { status: 200, body: '<answer status="OK"><sms id="1">', expect: { result: 'unknown' } },
    ],
    callbacks: [
      {
        path: 'receipt',
        text: '<reports><report ref="a" id="1"><state>DLVD</state></report><report id="2"><state>FAIL</state></report></reports>',
        expect: [
          { attemptId: 'a', gatewayId: '1', status: 'DELIVERED' },
          { attemptId: null, gatewayId: '2', status: 'UNDELIVERABLE' },
        ],
      },
      {
        path: 'incoming',
        text: '<in><from>+27825550201</from><to>31234</to><text>I&apos;m at O&amp;M &#x20AC;5 <![CDATA[<b>]]> 😀</text></in>',
        expect: [{ sender: '+27825550201', destination: '31234', text: "I'm at O&M €5 <b> 😀" }],
      },
    ],
  },
};

describe('a provider that speaks XML', () => {
  test('a file describes the requests, answers and callbacks of a provider that speaks XML', () => {
    assert.ok(configOf(FILE, 'https://provider.example'));
  });

  test('whatever a value is, another parser reads it back from an element and an attribute, or it is refused', () => {
    const value = fc.string({
      unit: fc.oneof(
        fc.constantFrom('<', '>', '&', '"', "'", ']]>', '\t', '\n', '\r', '\0'),
        fc.string({ unit: 'binary' }),
      ),
    });
    fc.assert(
      fc.property(value, (given) => {
        const escaped = xmlEscaped(given);
        if (escaped === undefined) return /[^\t\n\r\P{Cc}]|[\ufffe\uffff]/u.test(given);
        const document = XmlDocument.fromString(`<a b="${escaped}">x${escaped}</a>`);
        try {
          const { content } = document.root;
          return content === `x${given}` && document.root.attr('b')?.value === given;
        } finally {
          document.dispose();
        }
      }),
      { numRuns: 100 },
    );
  });

  test('the first of several elements counts, unless a number or a list asks for others', () => {
    const text = '<r><m id="1"><a>x</a></m><m id="2"><a>y</a><a>z</a></m></r>';
    assert.deepEqual(
      ['/r/m/a', '/r/m/1/a', '/r/m/1/a/1', '/r/m/@id', '/r/m/1/@id', '/r/m/2/a', '/r/x', '/r/m/a/b', '/r'].map((path) =>
        read(text, path),
      ),
      ['x', 'y', 'z', '1', '2', undefined, undefined, undefined, ''],
    );
    const document = xmlOf(Buffer.from(text));
    assert.equal(document && xmlElements(document, '/r/m').length, 2);
  });

  test('a document is read in the charset that it declares', () => {
    const text = '<?xml version="1.0" encoding="ISO-8859-1"?><a>é</a>';
    assert.equal(read(text, '/a', 'latin1'), 'é');
    assert.equal(read('\ufeff<a>é</a>', '/a'), 'é');
    assert.equal(read('<a>é</a>', '/a', 'latin1'), undefined, 'no UTF-8');
    assert.equal(read('<?xml version="1.0" encoding="nonsense"?><a>x</a>', '/a'), undefined);
  });

  test('a document type, depth without end and a wrong document are not read', () => {
    const bomb = '<!DOCTYPE a [<!ENTITY b "bbbb"><!ENTITY c "&b;&b;">]><a>&c;</a>';
    const deep = `${'<a>'.repeat(40)}x${'</a>'.repeat(40)}`;
    const many = `<a>${'<b/>'.repeat(20_001)}</a>`;
    for (const text of ['', 'OK 17', '<a>', '<a></b>', '<a>&nbsp;</a>', '<a/><b/>', bomb, deep, many]) {
      assert.equal(xmlOf(Buffer.from(text)), undefined, text.slice(0, 40));
    }
    assert.equal(read('<__proto__><constructor>x</constructor></__proto__>', '/__proto__/constructor'), 'x');
    assert.equal(read('<a/>', '/constructor'), undefined);
  });

  test('a value of a template stands in an element or in a quoted attribute, nowhere else', () => {
    const WRONG: readonly (readonly [template: string, words: RegExp])[] = [
      ['<a b b/>', /not well-formed/],
      ['<a b=a b/>', /not well-formed/],
      ['<a b/>', /not well-formed/],
      ['<a>', /not well-formed/],
      ['<a><![CDATA[a b]]></a>', /CDATA is not allowed/],
      ['<a><!--a b--></a>', /a comment is not allowed/],
      ['<?php a b?><a/>', /a processing instruction is not allowed/],
      ['<!DOCTYPE a><a/>', /a document type is not allowed/],
      ['<?xml version="1.0" encoding="ISO-8859-1"?><a/>', /UTF-8/],
    ];
    for (const [template, words] of WRONG) assert.match(xmlTemplateFault(template) ?? '', words, template);
    assert.equal(xmlTemplateFault('<?xml version="1.0" encoding="utf-8"?><a b="a b">a b</a>'), null);
  });
});
