import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { readXml, type XmlElement } from '../../../src/asmx/xml/reader.ts';
import { LIMITS } from '../../support/limits.ts';

/** Start tags are remembered for limits, so limits of its own are a reader that remembers nothing. */
const readAnew = (text: string): XmlElement => readXml(text, { ...LIMITS });

/** Reads them one after the other, and each is what it is when nothing was read before. */
function assertUnchanged(documents: readonly string[]): void {
  const own = { ...LIMITS };
  for (const text of [...documents, ...documents]) assert.deepEqual(readXml(text, own), readAnew(text), text);
}

const LONG = 'x'.repeat(2_000);

describe('cached start tags', () => {
  test('a repeated start tag is another element where its prefixes mean other namespaces', () => {
    const inside = '<p:b q:c="1" c="2"><d/></p:b><p:b q:c="1" c="2"/>';
    assertUnchanged([
      `<a xmlns:p="urn:1" xmlns:q="urn:2">${inside}</a>`,
      `<a xmlns:p="urn:2" xmlns:q="urn:1">${inside}</a>`,
      `<a xmlns:p="urn:1" xmlns:q="urn:2" xmlns="urn:3">${inside}</a>`,
      `<a xmlns:p="urn:1" xmlns:q="urn:2"><p:b q:c="1" c="2" xmlns:p="urn:4"><d/></p:b>${inside}</a>`,
      `<p:a xmlns:p="urn:1"><p:a xmlns:p="urn:2"><p:a xmlns:p="urn:1"/></p:a></p:a>`,
    ]);
    const own = { ...LIMITS };
    readXml('<a xmlns:p="urn:1"><p:b/></a>', own);
    assert.throws(() => readXml('<p:b/>', own), { kind: 'malformed' });
  });

  test('repeated start tags are read as they were the first time: empty, with blanks, references and signs, long, in any script', () => {
    assertUnchanged([
      ...['<a/>', '<a />', '<a></a>', '<a ></a >', '<a\n/>', '<a b="&lt;&#65;"/>', '<a b="1"/>', "<a b='1'/>"],
      ...['<a b=">"/>', '<a b=">">c</a>', '<a b="/>"/>', `<a b='">' c=">"/>`, '<a b="1>2" c="3"/>'],
      ...[`<a b="${LONG}"/>`, `<a b="${LONG}"><c/><c/></a>`, '<é b="字"/>', '<字/>', '<a><字>é</字></a>'],
      ...['<a><!--<a>--><a/></a>', '<a><![CDATA[<a>]]><a/></a>', '<a>1</a>', '<a>2</a>', '<a>1<a>2</a>3</a>'],
    ]);
  });

  test('an incomplete or malformed start tag is refused each time it comes', () => {
    const own = { ...LIMITS };
    readXml('<a b="1"><c/></a>', own);
    for (const text of ['<a b="1"', '<a b="1', '<a b="1"><c', '<a b="1">', '<a b="1" b="1">', '<a b="1"></b>', '<>']) {
      for (const _ of [1, 2]) assert.throws(() => readXml(text, own), { kind: 'malformed' }, text);
    }
  });

  test('a cached start tag is checked against the limits of the present request', () => {
    const text = '<abc def="ghi"><abc def="ghi"/></abc>';
    readXml(text, LIMITS);
    for (const limit of [{ nameLengthMax: 2 }, { textLengthMax: 2 }, { xmlAttributesMax: 0 }, { xmlDepthMax: 1 }]) {
      const narrow = { ...LIMITS, ...limit };
      for (const _ of [1, 2]) assert.throws(() => readXml(text, narrow), { kind: 'too-large' }, JSON.stringify(limit));
    }
    const few = { ...LIMITS, xmlElementsMax: 1 };
    for (const _ of [1, 2]) assert.throws(() => readXml(text, few), { kind: 'too-large' });
  });

  test('very many different start tags take little memory, and none keeps its document', () => {
    setFlagsFromString('--expose-gc');
    const collectGarbage = runInNewContext('gc') as () => void;
    const own = { ...LIMITS, textLengthMax: 20_000 };
    const text = 'y'.repeat(20_000);
    collectGarbage();
    const before = process.memoryUsage().heapUsed;
    for (let count = 0; count < 20_600; count++) {
      const uri = `urn:one:of:very:many:${count}`;
      const around = count % 2 === 0 ? `<r xmlns:around="${uri}" a="${LONG}">` : '<r>';
      const { children } = readXml(`${around}<n${count} xmlns="${uri}"><b/>${text}</n${count}></r>`, own);
      assert.equal(children[0]?.local, `n${count}`);
      assert.equal(children[0]?.children[0]?.uri, uri);
    }
    collectGarbage();
    const taken = process.memoryUsage().heapUsed - before;
    const short = '<r><n1 xmlns="urn:1"/></r>';
    assert.deepEqual(readXml(short, own), readAnew(short)); // so that what is remembered was there until now
    assert.ok(taken < 1_500_000, `${taken} bytes`);
  });
});
