import assert from 'node:assert/strict';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { after, before, test } from 'node:test';
import { brotliCompressSync, deflateRawSync, gzipSync } from 'node:zlib';
import { onOneEngine } from '../support/engines.ts';
import { assertRefusal, openScene, type Scene, said } from '../support/http-client.ts';
import { ENVELOPES, NAMESPACE } from '../support/protocols.ts';
import { ACME } from '../support/service.ts';
import { requestBytes, statusOf, textOf } from '../support/socket.ts';

/** Bodies that were made to harm. None does: each has its one answer, nothing is fetched, and others are served. */

const REFUSED = /^The request is not well-formed XML \(line \d+, column \d+\)\.\n$/;
const DOCTYPE = /^A DOCTYPE is not allowed \(line \d+, column \d+\)\.\n$/;
const CHARACTER = /^A character is not allowed in XML \(line \d+, column \d+\)\.\n$/;

type Expected = readonly [status: number, message: RegExp];
const malformed = (message: RegExp): Expected => [400, message];
const SERVED = 'served';

/** A call whose envelope begins so, and with this in its Header and as its user_id. */
const call = (prolog: string, { header = '', userId = ACME, protocol = 'soap11' as 'soap11' | 'soap12' } = {}) =>
  `${prolog}<s:Envelope xmlns:s="${ENVELOPES[protocol]}"><s:Header>${header}</s:Header><s:Body>` +
  `<CountUnread xmlns="${NAMESPACE}"><user_id>${userId}</user_id></CountUnread></s:Body></s:Envelope>`;
const doctype = (subset: string, userId = '&e;') => call(`<?xml version="1.0"?><!DOCTYPE a ${subset}>`, { userId });
const header = (content: string) => call('', { header: content });
const bytes = (...pieces: (string | number[])[]) =>
  Buffer.concat(pieces.map((piece) => (typeof piece === 'string' ? Buffer.from(piece) : Buffer.from(piece))));
/** With these bytes in the middle. */
const around = (middle: number[]) => {
  const [start = '', end = ''] = call('', { header: '<x>MARK</x>' }).split('MARK');
  return bytes(start, middle, end);
};

const xmlCases = (port: number): Record<string, readonly [body: string | Buffer, expected: Expected | 'served']> => ({
  'a billion laughs': [
    doctype(
      `[<!ENTITY z "lol">${Array.from({ length: 9 }, (_, n) => `<!ENTITY l${n} "${(n === 0 ? '&z;' : `&l${n - 1};`).repeat(10)}">`).join('')}]`,
      '&l8;',
    ),
    malformed(DOCTYPE),
  ],
  'one long entity, many times': [
    doctype(`[<!ENTITY e "${'x'.repeat(50_000)}">]`, '&e;'.repeat(50_000)),
    malformed(DOCTYPE),
  ],
  'an entity that holds itself': [doctype('[<!ENTITY e "&e;">]'), malformed(DOCTYPE)],
  'an entity from a file': [doctype('[<!ENTITY e SYSTEM "file:///etc/passwd">]'), malformed(DOCTYPE)],
  'an entity from the network': [doctype(`[<!ENTITY e SYSTEM "http://127.0.0.1:${port}/e">]`), malformed(DOCTYPE)],
  'a parameter entity from the network': [
    doctype(`[<!ENTITY % e SYSTEM "http://127.0.0.1:${port}/e"> %e;]`),
    malformed(DOCTYPE),
  ],
  'a DTD from the network': [doctype(`SYSTEM "http://127.0.0.1:${port}/d"`, ACME), malformed(DOCTYPE)],
  'a public DTD': [doctype(`PUBLIC "-//X//DTD X//EN" "http://127.0.0.1:${port}/d"`, ACME), malformed(DOCTYPE)],
  'a DOCTYPE behind a comment': [call('<!-- --><!DOCTYPE a>'), malformed(DOCTYPE)],
  'a DOCTYPE within the document': [header('<!DOCTYPE a>'), malformed(REFUSED)],
  'an entity that nobody declared': [call('', { userId: '&e;' }), malformed(REFUSED)],
  'XInclude, a schema, a style sheet': [
    call(`<?xml-stylesheet href="http://127.0.0.1:${port}/s"?>`, {
      header: `<xi:include xmlns:xi="http://www.w3.org/2001/XInclude" href="http://127.0.0.1:${port}/x"/><a xmlns:i="http://www.w3.org/2001/XMLSchema-instance" i:schemaLocation="u http://127.0.0.1:${port}/y"/>`,
    }),
    SERVED,
  ],
  'a flood of numeric references': [header(`<x>${'&#65;'.repeat(180_000)}</x>`), SERVED],
  'a reference with very many digits': [header(`<x>&#${'0'.repeat(500_000)}65;</x>`), SERVED],
  'a reference beyond Unicode': [header(`<x>&#x${'F'.repeat(500_000)};</x>`), malformed(REFUSED)],
  'a reference to NUL': [header('<x>&#0;</x>'), malformed(REFUSED)],
  'a reference to half a character': [header('<x>&#xD800;</x>'), malformed(REFUSED)],
  'a reference without end': [header(`<x>&${'a'.repeat(500_000)}</x>`), malformed(REFUSED)],
  'a very long attribute': [
    header(`<x a="${'y'.repeat(300_000)}"/>`),
    [413, /^A value in the request has more than 262144 characters\.\n$/],
  ],
  'a very long name': [
    header(`<${'y'.repeat(500_000)}/>`),
    [413, /^A name in the request has more than 1024 characters\.\n$/],
  ],
  'a very long value': [
    header(`<x>${'<![CDATA[y]]>'.repeat(20)}${'y'.repeat(262_144)}</x>`),
    [413, /^A value in the request has more than 262144 characters\.\n$/],
  ],
  'very many comments': [header('<!---->'.repeat(140_000)), SERVED],
  'very many processing instructions': [header('<?a?>'.repeat(200_000)), SERVED],
  'very many blanks in a tag': [header(`<a${' '.repeat(900_000)}/>`), SERVED],
  'attributes of very many elements, all with a prefix': [
    header(`<x xmlns:p="u">${`<y${Array.from({ length: 250 }, (_, n) => ` p:a${n}=""`).join('')}/>`.repeat(79)}</x>`),
    SERVED,
  ],
  'an attribute twice': [header('<x a="1" a="2"/>'), malformed(REFUSED)],
  'an attribute twice under two prefixes': [header('<x xmlns:p="u" xmlns:q="u" p:a="1" q:a="2"/>'), malformed(REFUSED)],
  'an attribute twice among many': [
    header(`<x xmlns:p="u" xmlns:q="u"${Array.from({ length: 200 }, (_, n) => ` p:a${n}=""`).join('')} q:a7=""/>`),
    malformed(REFUSED),
  ],
  'names of an object': [
    header('<__proto__ constructor="x"><toString/><hasOwnProperty __proto__=""/></__proto__>'),
    SERVED,
  ],
  'XML 1.1': [call('<?xml version="1.1"?>'), malformed(/^Only XML 1\.0 is understood \(line 1, column 1\)\.\n$/)],
  'a NUL': [around([0]), malformed(CHARACTER)],
  'a control code': [around([1]), malformed(CHARACTER)],
  'half of UTF-8': [around([0xc3]), malformed(/^The request is not valid utf-8 text\.\n$/)],
  'UTF-8 that is longer than it must be': [
    around([0xc0, 0xbc]),
    malformed(/^The request is not valid utf-8 text\.\n$/),
  ],
  'a surrogate in UTF-8': [around([0xed, 0xa0, 0x80]), malformed(/^The request is not valid utf-8 text\.\n$/)],
  'UTF-8 beyond Unicode': [around([0xf5, 0x80, 0x80, 0x80]), malformed(/^The request is not valid utf-8 text\.\n$/)],
  'nothing but bytes': [Buffer.alloc(500_000, 0xff), malformed(/^The request is not valid utf-8 text\.\n$/)],
  'nothing but opening brackets': ['<'.repeat(500_000), malformed(REFUSED)],
  'tags that are never closed': [
    header('<a>'.repeat(300_000)),
    [413, /^The request nests elements deeper than 64\.\n$/],
  ],
});

const MIB = 2 ** 20;
const INFLATED: Expected = [413, /^A request body has at most 1048576 bytes when it is decompressed\.\n$/];
const UNKNOWN: Expected = [415, /^The Content-Encoding of a request is one of gzip, x-gzip, deflate, br, or none\.\n$/];
const BOMB = Buffer.alloc(64 * MIB, ' ');

const packedCases: Record<string, readonly [coding: string, body: Buffer, expected: Expected]> = {
  'a bomb in br': ['br', brotliCompressSync(BOMB), INFLATED],
  'a bomb in raw deflate': ['deflate', deflateRawSync(BOMB), INFLATED],
  'a bomb of many gzip members': [
    'gzip',
    Buffer.concat(Array<Buffer>(100).fill(gzipSync(Buffer.alloc(MIB / 4)))),
    INFLATED,
  ],
  'a bomb in a bomb': ['gzip, gzip', gzipSync(gzipSync(BOMB)), UNKNOWN],
  'a bomb in several codings': ['br, gzip', gzipSync(brotliCompressSync(BOMB)), UNKNOWN],
  'a coding that nobody knows': ['zstd', gzipSync('x'), UNKNOWN],
  'gzip with garbage behind it': [
    'gzip',
    Buffer.concat([gzipSync(call('')), Buffer.from('garbage')]),
    [400, /^The request body is not gzip as its Content-Encoding says\.\n$/],
  ],
  'half of br': ['br', brotliCompressSync(call('')).subarray(0, 50), [400, /^The request body is not br as/]],
};

onOneEngine('hostile bodies', (engine) => {
  let present: Scene;
  let canary: Server;
  let visits = 0;
  before(async () => {
    present = await openScene(engine);
    canary = createServer((socket) => {
      visits += 1;
      socket.end();
    });
    await new Promise<void>((resolve) => {
      canary.listen(0, '127.0.0.1', resolve);
    });
  });
  after(async () => {
    canary.close();
    await present.close();
  });

  const ask = async (body: string | Buffer, fields: readonly string[] = []) => {
    const head = ['Host: h', 'Content-Type: text/xml', 'Connection: close', ...fields];
    const [answer, ...more] = await said(present.address, requestBytes('POST /api/inbox.asmx HTTP/1.1', head, body));
    assert.equal(more.length, 0);
    await present.neighbour.call();
    return answer;
  };

  for (const name of Object.keys(xmlCases(0))) {
    test(`${name} gets one answer, fetches nothing, and does not affect other clients`, async () => {
      const [body, expected] = xmlCases((canary.address() as AddressInfo).port)[name] as [string, Expected | 'served'];
      const answer = await ask(body);
      if (expected === SERVED) {
        assert.equal(answer && statusOf(answer), 200, answer && textOf(answer));
        assert.match(answer ? textOf(answer) : '', /<CountUnreadResult>4</);
      } else {
        assertRefusal(answer, ...expected);
      }
      assert.equal(visits, 0);
    });
  }

  for (const [name, [coding, body, expected]] of Object.entries(packedCases)) {
    test(`${name} gets ${expected[0]}, and does not affect other clients`, async () => {
      assertRefusal(await ask(body, [`Content-Encoding: ${coding}`]), ...expected);
    });
  }
});
