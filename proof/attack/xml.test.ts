import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readXml } from '../../src/asmx/xml/reader.ts';
import { LIMITS } from '../../test/support/limits.ts';
import { growthOf, RATIO_MAX } from './cpu.ts';
import { shapes } from './xml-shapes.ts';

/** Time that a caller without a user_id can take from others. CPU is measured, because other programs disturb it least. */

function read(text: string): void {
  try {
    readXml(text, LIMITS);
  } catch {} // a refusal is work too
}

describe('the work of reading XML grows with the bytes, not with their square', () => {
  for (const [name, shape] of Object.entries(shapes)) {
    test(`the work of reading XML grows with the bytes: ${name}`, async () => {
      const ratio = await growthOf(shape, read);
      assert.ok(ratio < RATIO_MAX, `${ratio.toFixed(1)} times the CPU for ten times the bytes`);
    });
  }
});

describe('what XML may repeat is bounded', () => {
  const element = (attributes: string) => `<a ${attributes}/>`;

  test('a namespace name has at most 2,048 characters', () => {
    const named = (length: number) => element(`xmlns:p="${'n'.repeat(length)}"`);
    assert.equal(readXml(named(2_048), LIMITS).local, 'a');
    assert.throws(() => readXml(named(2_049), LIMITS), { kind: 'too-large' });
  });

  test('a request has at most 20,000 attributes', () => {
    const attributes = Array.from({ length: 200 }, (_, index) => `a${index}=""`).join(' ');
    const document = (elements: number) => `<r>${`<e ${attributes}/>`.repeat(elements)}</r>`;
    const different = (elements: number) =>
      `<r>${Array.from({ length: elements }, (_, index) => `<e${index} ${attributes}/>`).join('')}</r>`;
    for (const make of [document, different]) assert.equal(readXml(make(100), LIMITS).children.length, 100);
    assert.throws(() => readXml(different(101), LIMITS), { kind: 'too-large' });
  });

  test('namespaces that differ in U+00A0 or U+FEFF at an end are two namespaces', () => {
    for (const blank of ['\u00a0', '\ufeff']) {
      const { attributes } = readXml(element(`xmlns:p="urn:x" xmlns:q="urn:x${blank}" p:b="" q:b=""`), LIMITS);
      assert.equal(attributes.length, 4);
    }
    assert.throws(() => readXml(element('xmlns:p="urn:x" xmlns:q=" urn:x&#10;" p:b="" q:b=""'), LIMITS), {
      kind: 'malformed',
    });
  });

  test('an attribute is found twice in its namespace whatever the prefixes, in few and in many', () => {
    const others = (count: number) => Array.from({ length: count }, (_, index) => `o:o${index}=""`).join(' ');
    for (const count of [0, 1, 40, 200]) {
      const twice = `xmlns:o="urn:o" xmlns:p="urn:x" xmlns:q="urn:x" p:b="" ${others(count)} q:b=""`;
      assert.throws(() => readXml(element(twice), LIMITS), { kind: 'malformed' });
      assert.equal(readXml(element(twice.replace('q:b', 'q:c')), LIMITS).local, 'a');
    }
  });

  test('a prefix means what the innermost element around it declares, in siblings and after them', () => {
    const text =
      '<r xmlns:p="urn:1"><a xmlns:p="urn:2"><p:x/></a><p:x/><b xmlns:p="urn:3"><c xmlns:p="urn:4"><p:x/></c><p:x/></b><p:x/></r>';
    const found: string[] = [];
    const visit = (each: ReturnType<typeof readXml>) => {
      if (each.local === 'x') found.push(each.uri);
      each.children.forEach(visit);
    };
    for (let run = 0; run < 2; run++) visit(readXml(text, LIMITS)); // once read, once known
    assert.deepEqual(found, ['urn:2', 'urn:1', 'urn:4', 'urn:3', 'urn:1', ...found.slice(5)]);
    assert.deepEqual(found.slice(5), found.slice(0, 5));
  });
});
