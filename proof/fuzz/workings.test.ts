import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { readXml, type XmlElement } from '../../src/asmx/xml/reader.ts';
import { engines } from '../../test/support/engines.ts';
import { LIMITS } from '../../test/support/limits.ts';
import { createRandom } from '../../test/support/random.ts';
import { replay } from './campaign.ts';
import { readCases, writeCase } from './cases.ts';
import { answersIn } from './http-answers.ts';
import { type Framing, framingOf } from './http-framing.ts';
import { minimised } from './minimiser.ts';
import { seeds, soapSeeds } from './seeds.ts';
import { MARKER } from './service.ts';
import { demand, Finding, type Target } from './target.ts';
import { targets } from './targets.ts';
import { rewritten } from './xml-rewriting.ts';

/** That the fuzzers themselves do what they say. */

const inputs = (target: Target, seed: number) =>
  Array.from({ length: 300 }, (_, number) => JSON.stringify(target.generate(createRandom(`${number}`, seed))));

describe('inputs', () => {
  for (const [name, target] of Object.entries(targets)) {
    test(`${name} are the same for the same seed, and differ for another seed`, () => {
      assert.deepEqual(inputs(target, 1), inputs(target, 1));
      const others = new Set(inputs(target, 2));
      assert.ok(inputs(target, 1).filter((input) => others.has(input)).length < 100);
    });

    test(`${name} have one character per byte, and none contains the marker of the secret account`, () => {
      for (const input of inputs(target, 3)) {
        assert.doesNotMatch(input, /[^\0-\xFF]/);
        assert.ok(!input.includes(MARKER));
      }
    });
  }

  test('the fuzzer starts from recorded requests in all protocols', () => {
    assert.ok(soapSeeds.length > 60 && seeds.length > 200);
  });
});

describe('the end of requests by RFC 9112', () => {
  const get = 'GET / HTTP/1.1\r\nHost: h\r\n\r\n';
  const post = (field: string, body: string) => `POST / HTTP/1.1\r\nHost: h\r\n${field}\r\n\r\n${body}`;
  const chunks = (body: string) => post('Transfer-Encoding: chunked', body);
  const rows: readonly (readonly [string, number, Framing['rest'], string])[] = [
    ['nothing', 0, 'open', ''],
    ['one, and one behind it', 2, 'open', get + get],
    ['empty lines before it', 1, 'open', `\r\n\r\n${get}`],
    ['a bare line feed before it', 0, 'refused', `\n${get}`],
    ['a bare carriage return before it', 0, 'refused', `\r\r\n${get}`],
    ['the last', 1, 'closed', `${get.replace('Host', 'Connection: close\r\nHost')}${get}`],
    [
      'HTTP/1.0 with close and keep-alive',
      1,
      'closed',
      `${get.replace('1.1', '1.0').replace('Host', 'Connection: close, keep-alive\r\nHost')}${get}`,
    ],
    ['HTTP/1.0', 1, 'closed', `${get.replace('1.1', '1.0')}${get}`],
    ['a length', 2, 'open', post('Content-Length: 3', 'abc') + get],
    ['a length that is not reached', 0, 'unfinished', post('Content-Length: 4', 'abc')],
    ['a request in the body', 1, 'open', post(`Content-Length: ${get.length}`, get)],
    ['chunks', 2, 'open', chunks(`3;a=b\r\nabc\r\n0\r\nX: y\r\n\r\n${get}`)],
    ['chunks that do not end', 0, 'unfinished', chunks('3\r\nabc\r\n')],
    ['two lengths', 0, 'refused', post('Content-Length: 3\r\nContent-Length: 3', 'abc')],
    ['a list of lengths', 0, 'refused', post('Content-Length: 3, 3', 'abc')],
    ['a length with a sign', 0, 'refused', post('Content-Length: +3', 'abc')],
    ['a length and chunks', 0, 'refused', post('Content-Length: 3\r\nTransfer-Encoding: chunked', '0\r\n\r\n')],
    ['chunks that are not last', 0, 'refused', post('Transfer-Encoding: chunked, gzip', '0\r\n\r\n')],
    ['chunks twice', 0, 'refused', post('Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked', '0\r\n\r\n')],
    ['no chunks at all', 0, 'refused', post('Transfer-Encoding: identity', 'abc')],
    ['a blank before the colon', 0, 'refused', post('Transfer-Encoding : chunked', '0\r\n\r\n')],
    ['a folded field', 0, 'refused', post('X: a\r\n b', '')],
    ['a bare line feed', 0, 'refused', post('X: a\nTransfer-Encoding: chunked', '0\r\n\r\n')],
    ['a bare carriage return', 0, 'refused', post('X: a\rb', '')],
    ['U+0000 in a field', 0, 'refused', post('X: a\0b', '')],
    ['no request', 1, 'refused', `${get}nothing\r\n\r\n`],
    ['a chunk size with a sign', 0, 'broken', chunks('-1\r\na\r\n0\r\n\r\n')],
    ['a chunk size that ends in a bare line feed', 0, 'broken', chunks('1\na\r\n0\r\n\r\n')],
    ['a chunk that is longer than its size', 0, 'broken', chunks('1\r\nab\r\n0\r\n\r\n')],
    ['a length in a trailer', 0, 'broken', chunks('0\r\nContent-Length: 5\r\n\r\n')],
    ['another version', 0, 'odd', get.replace('1.1', '2.0')],
    ['HTTP/0.9', 0, 'odd', 'GET /\r\n'],
    ['a request behind one without Host', 1, 'odd', `GET / HTTP/1.1\r\n\r\n${get}`],
  ];
  for (const [what, whole, rest, bytes] of rows) {
    test(`the end of requests is found in ${what}: ${whole}, then ${rest}`, () => {
      const framing = framingOf(bytes);
      assert.deepEqual([framing.whole.length, framing.rest], [whole, rest]);
    });
  }
});

describe('answers', () => {
  const right = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab';
  test('responses on one connection are split correctly, with and without a body', () => {
    const head = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n';
    const all = answersIn(`HTTP/1.1 100 Continue\r\n\r\n${right}${head}${right}`, ['GET', 'HEAD', 'GET']);
    assert.deepEqual(
      all.map(({ status, text }) => [status, text]),
      [
        [100, ''],
        [200, 'ab'],
        [200, ''],
        [200, 'ab'],
      ],
    );
  });

  for (const wrong of [
    `${right}c`,
    right.slice(0, -1),
    right.replace(': 2', ': x'),
    right.replace('200', '20'),
    `${right}\r\n`,
  ]) {
    test(`bytes that are no HTTP answer are a finding: ${JSON.stringify(wrong.slice(0, 60))}`, () => {
      assert.throws(() => answersIn(wrong, ['GET']), Finding);
    });
  }
});

test('another spelling of a document is the same document', () => {
  const tree = ({ uri, local, text, commented, attributes, children }: XmlElement): unknown => [
    uri,
    local,
    text,
    commented,
    attributes
      .filter((each) => !each.uri.endsWith('/xmlns/'))
      .map((each) => [each.uri, each.local, each.value])
      .sort(),
    children.map(tree),
  ];
  for (const { body } of soapSeeds) {
    const given = readXml(Buffer.from(body, 'latin1').toString('utf8'), LIMITS);
    assert.deepEqual(tree(readXml(rewritten(given) as string, LIMITS)), tree(given));
  }
});

/** Its rule: no input holds an x behind a y of an earlier one. */
const toy: Target<string> = {
  name: 'toy',
  generate: () => '',
  without: () => [],
  texts: (input) => [{ text: input, with: (text) => text }],
  async open() {
    let seen = '';
    return {
      async examine(input) {
        demand(!(seen.includes('y') && input.includes('x')), 'an x behind a y', () => input);
        seen += input;
        return '';
      },
      finish: async () => {},
      isChanged: () => seen !== '',
      close: async () => {},
    };
  },
};

test('a finding is reduced to the shortest input, with the inputs that must come before it', async () => {
  const engine = engines[0] ?? assert.fail();
  const sequence = ['abc', 'some y here', 'z', 'yy', 'and an x at last'];
  const finding = (await replay(toy, engine, sequence)) ?? assert.fail('nothing was found');
  const found = await minimised(toy, engine, finding, sequence);
  assert.equal(found.rule, 'an x behind a y');
  assert.equal(found.inputs.at(-1), 'x');
  assert.equal(found.inputs.length, 2);
  assert.equal(await replay(toy, engine, ['x', 'y']), null);
});

test('an input that never ends is reported and stopped', () => {
  const program = `import { createHangWatch } from ${JSON.stringify(new URL('./hang.ts', import.meta.url).href)};
    const watch = await createHangWatch(500); watch.next('input 7 of it'); for (;;) {}`;
  const options = ['--disable-warning=ExperimentalWarning', '--input-type=module-typescript', '--eval', program];
  const { signal, stderr } = spawnSync(process.execPath, options, { encoding: 'utf8', timeout: 60_000 });
  assert.deepEqual([signal, stderr], ['SIGKILL', 'no end after 0.5 s: input 7 of it\n']);
});

describe('npm run proof fuzz', () => {
  const folder = mkdtempSync(join(tmpdir(), 'columba-fuzz-'));
  const run = (...given: string[]) => {
    const program = fileURLToPath(new URL('./run.ts', import.meta.url));
    const options = ['--disable-warning=ExperimentalWarning', program, ...given];
    return spawnSync(process.execPath, options, { encoding: 'utf8', timeout: 60_000 });
  };

  test('npm run proof fuzz ends with 0 after the requested number of inputs, and prints the number', () => {
    const { status, stdout, stderr } = run('--target', 'forms', '--seed', '5', '--inputs', '40');
    assert.equal(status, 0, stderr + stdout);
    assert.match(stdout, /^seed 5, sqlite, forms\nforms 40 inputs, \d+\/s, slowest .* findings 0; /);
  });

  test('npm run proof fuzz refuses unknown options', () => {
    for (const wrong of [['--target', 'x'], ['--engine', 'x'], ['--seed', 'x'], ['--x']]) {
      const { status, stderr } = run(...wrong);
      assert.equal(status, 2);
      assert.match(stderr, /--target NAME/);
    }
  });

  test('npm run proof fuzz writes a finding as a case that it can read again', () => {
    try {
      const input = { pieces: ['a\0\xFF\n'], ending: 'end' };
      writeCase(folder, 'http', { rule: 'It breaks', what: 'in\ntwo lines', inputs: [input] });
      const [{ name, ...written } = assert.fail()] = readCases(folder);
      assert.match(name, /^http\.it-breaks\.[0-9a-f]{8}$/);
      assert.deepEqual(written, { what: 'It breaks: in | two lines', target: 'http', inputs: [input] });
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
