import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readXml, type XmlElement } from '../../../src/asmx/xml/reader.ts';
import { Problem } from '../../../src/base/problem.ts';
import { exchanges } from '../../support/cases.ts';
import { LIMITS } from '../../support/limits.ts';
import { readWithSaxes, saxesTrims } from '../../support/saxes.ts';
import { XML_PIECES } from '../../support/xml-pieces.ts';

/**
 * Our reader and a general parser take the same documents, make the same tree of them and refuse the same ones. `FUZZ_RUNS`
 * raises the number of documents, `SEED` repeats a run.
 */
const runs = Number(process.env.FUZZ_RUNS ?? 1_000);
const seed = Number(process.env.SEED ?? (process.env.CI ? 1 : Date.now() % 1_000_000)); // CI repeats one, everybody else explores

/** Documents with a piece too many or too few. Attributes follow each other with blanks between them, and without. */
const PIECES = [...XML_PIECES, ...XML_PIECES.filter((piece) => piece.startsWith(' ')).map((piece) => piece.trim())];

/** mulberry32: small, and the same everywhere. */
function randomFrom(start: number): () => number {
  let state = start;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

function* documents(count: number): Generator<string> {
  const random = randomFrom(seed);
  const below = (limit: number) => Math.floor(random() * limit);
  const pick = (list: readonly string[]) => list[below(list.length)] as string;
  const recorded = exchanges('ops')
    .filter(({ name }) => name.includes('.soap'))
    .map(({ request }) => request.body.toString('utf8'));
  for (let number = 0; number < count; number++) {
    if (random() < 0.5) {
      const pieces = Array.from({ length: 1 + below(8) }, () => pick(PIECES)).join('');
      yield pick([pieces, `<a>${pieces}</a>`, `<a ${pieces}/>`, `<a ${pieces}></a>`]);
      continue;
    }
    let text = pick(recorded);
    for (let change = 0; change <= below(4); change++) {
      const at = below(text.length + 1);
      const kind = random();
      if (kind < 0.5) text = text.slice(0, at) + pick(PIECES) + text.slice(at);
      else if (kind < 0.75) text = text.slice(0, at) + text.slice(at + below(8));
      else text = text.slice(0, at) + text.slice(below(at + 1), at) + text.slice(at);
    }
    // What comes in is decoded and so has no half of a pair; cutting may have made one.
    yield text.toWellFormed();
  }
}

const tree = ({ uri, local, text, commented, attributes, children }: XmlElement): unknown => [
  ...[uri, local, text, commented, attributes.map((each) => [each.uri, each.local, each.value]).sort()],
  children.map(tree),
];

function outcome(read: (text: string) => XmlElement, text: string): string {
  try {
    return JSON.stringify(tree(read(text)));
  } catch (thrown) {
    assert.ok(thrown instanceof Problem, `${JSON.stringify(text)}: ${thrown}`);
    return thrown.kind;
  }
}

/** What saxes takes and the specifications refuse. */
const LENIENCIES: readonly { readonly clause: string; readonly pattern: RegExp }[] = [
  { clause: 'Namespaces 1.0, production 4: a prefix is a name', pattern: /xmlns:[^\p{L}_]/u },
  { clause: 'Namespaces 1.0, production 7: a local part is a name', pattern: /[<\s][\p{L}_][^\s<>=/:"']*:[^\p{L}_]/u },
  {
    clause: 'XML 1.0, production 16: after its target an instruction has a blank or ends',
    pattern: /<\?[^\s?]+\?[^>]/,
  },
  { clause: 'XML 1.0, appendix F: a byte order mark is of the encoding, and removed with it', pattern: /^\uFEFF/ },
];
const isLeniency = (text: string) => LENIENCIES.some(({ pattern }) => pattern.test(text));

test(`our reader agrees with saxes on ${runs} documents (seed ${seed})`, (t) => {
  let read = 0;
  let exempt = 0;
  for (const text of documents(runs)) {
    const ours = outcome((given) => readXml(given, LIMITS), text);
    const theirs = outcome(readWithSaxes, text);
    if (ours === theirs) {
      if (ours !== 'malformed') read += 1;
      continue;
    }
    if ((ours === 'malformed' && isLeniency(text)) || saxesTrims(text)) exempt += 1;
    else assert.equal(ours, theirs, `seed ${seed}: ${JSON.stringify(text)}`);
  }
  t.diagnostic(`${read} were read, ${runs - read} refused, ${exempt} of them that saxes takes`);
  assert.ok(read > runs / 20, 'too few documents were well-formed to tell anything');
});
