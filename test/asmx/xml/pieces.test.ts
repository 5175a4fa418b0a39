import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { type PieceLimits, type Treatment, type XmlPiece, XmlPieces } from '../../../src/asmx/xml/pieces.ts';
import { readXml, type XmlElement } from '../../../src/asmx/xml/reader.ts';
import { runsOf } from '../../support/proof.ts';

/** A document that comes in parts is read as one that comes whole, and a bounded part of it is held. */

const LIMITS: PieceLimits = {
  xmlDepthMax: 16,
  xmlElementsMax: 1_000,
  xmlAttributesMax: 8,
  nameLengthMax: 64,
  textLengthMax: 1_000,
  pieceLengthMax: 2_000,
  openElementsMax: 10,
};
/** The root is opened, and the children of `rows` come one by one. */
const treat = (path: readonly XmlElement[]): Treatment =>
  path.length === 1 ? 'open' : path.at(-1)?.local === 'rows' ? 'rows' : 'whole';

const readParts = (parts: Iterable<string>, limits = LIMITS): XmlPiece[] => {
  const pieces = new XmlPieces(limits, treat);
  const found = [...parts].flatMap((part) => [...pieces.read(part)]);
  pieces.finish();
  return found;
};
const rowsOf = (pieces: readonly XmlPiece[]): readonly XmlElement[] =>
  pieces.filter(({ parents }) => parents.at(-1)?.local === 'rows').flatMap(({ elements }) => elements);

const DOCUMENT = `<?xml version="1.0" encoding="utf-8"?>\r\n<!-- before --><a:root xmlns:a="urn:a" x='1 > "0"'>
  <head note="a/>b">one<![CDATA[</head><rows>]]></head><empty />
  <rows xmlns="urn:r" xmlns:b="urn:b"> <!-- <row> -->
    <row b:id="1"><t>é 😀 &lt;&#10;</t><u/></row>\r\n<?pi <row>?><row b:id='2>'><row>inner</row></row><row/><other>4</other>
  </rows>
  <a:tail/></a:root>\n<!-- after --> `;

describe('XML in pieces', () => {
  test('a document that is cut anywhere gives the elements that it gives as a whole', () => {
    const whole = readXml(DOCUMENT, LIMITS);
    const rows = whole.children.find(({ local }) => local === 'rows')?.children;
    for (let first = 0; first <= DOCUMENT.length; first++) {
      const pieces = readParts([DOCUMENT.slice(0, first), DOCUMENT.slice(first)]);
      assert.deepEqual(rowsOf(pieces), rows);
      const others = pieces.filter(({ parents }) => parents.length === 1).flatMap(({ elements }) => elements);
      assert.deepEqual(
        others,
        whole.children.filter(({ local }) => local !== 'rows'),
      );
    }
    assert.deepEqual(rowsOf(readParts(DOCUMENT)), rows, 'character by character');
  });

  test('a document that a whole reading refuses is refused in parts', () => {
    const lengths = fc.array(fc.nat(40), { minLength: 1, maxLength: 20 });
    const edit = fc.tuple(fc.nat(DOCUMENT.length), fc.nat(3), fc.constantFrom('', '<', '>', '&', '"', '</row>', '<x>'));
    fc.assert(
      fc.property(edit, lengths, ([at, removed, added], sizes) => {
        const text = DOCUMENT.slice(0, at) + added + DOCUMENT.slice(at + removed);
        const accepts = (read: () => unknown) => {
          try {
            read();
            return true;
          } catch {
            return false;
          }
        };
        const parts: string[] = [];
        for (let from = 0, turn = 0; from < text.length; turn++) {
          const to = from + 1 + (sizes[turn % sizes.length] as number);
          parts.push(text.slice(from, to));
          from = to;
        }
        assert.equal(
          accepts(() => readParts(parts)),
          accepts(() => readXml(text, LIMITS)),
          text,
        );
      }),
      { numRuns: runsOf(3_000) },
    );
  });

  const refused: [string, string, RegExp][] = [
    ['ends in a row', '<root><rows><row>', /ends before/],
    ['ends after a row', '<root><rows><row/>', /ends before/],
    ['ends before its root does', '<root><rows><row/></rows>', /ends before/],
    ['is empty', '', /ends before/],
    ['has two roots', '<root></root><root></root>', /more than one root/],
    ['has a text behind its root', '<root></root>text', /not well-formed/],
    ['ends an element that is not open', '</root>', /end tag/],
    ['ends an opened element by another name', '<root><rows></row></root>', /not well-formed/],
    ['has a DOCTYPE', '<!DOCTYPE root><root></root>', /DOCTYPE/],
    ['has a DOCTYPE in its rows', '<root><rows><!DOCTYPE a></rows></root>', /DOCTYPE/],
    ['nests a row too deep', `<root><rows>${'<a>'.repeat(20)}${'</a>'.repeat(20)}</rows></root>`, /deeper/],
    ['has a row without an end', `<root><rows><row>${'<a>b</a>'.repeat(400)}`, /more than 2000 characters/],
    ['has a tag without an end', `<root><rows><row a="${'b'.repeat(4_000)}`, /more than 2000 characters/],
    ['has a comment without an end', `<root><rows><!--${'b'.repeat(4_000)}`, /more than 2000 characters/],
    ['has a long text between rows', `<root><rows>${' '.repeat(4_000)}`, /more than 2000 characters/],
    ['has many elements outside of rows', `<root>${'<a/>'.repeat(20)}</root>`, /more than 10 elements/],
    ['has an undeclared prefix', '<root><rows><b:row/></rows></root>', /not well-formed/],
  ];
  for (const [what, text, reason] of refused) {
    test(`a document is refused that ${what}`, () => {
      assert.throws(() => readParts(text.match(/[\s\S]{1,7}/g) ?? []), reason);
      assert.throws(() => readParts([text]), reason);
    });
  }

  test('of a document of 20,000 rows, only the incomplete row is held', () => {
    const pieces = new XmlPieces(LIMITS, treat);
    let rows = 0;
    let held = 0;
    const take = (part: string) => {
      rows += rowsOf([...pieces.read(part)]).length;
      held = Math.max(held, pieces.held);
    };
    take('<root><rows>');
    // Each part ends in the middle of a row.
    for (let row = 0; row < 20_000; row++) take(`${row === 0 ? '' : `${row}</a></row>`}<row><a>`);
    take('</a></row></rows></root>');
    pieces.finish();
    assert(held < 200, `${held} characters`);
    assert.equal(rows, 20_000);
  });
});
