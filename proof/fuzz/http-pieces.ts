import type { Random } from '../../test/support/random.ts';

/** What HTTP is made of and what it should not be, in one character a byte. */

export const VERSIONS = [
  'HTTP/1.0',
  'HTTP/1.0',
  'HTTP/2.0',
  'HTTP/0.9',
  'HTTP/1.2',
  'HTTP/3.0',
  'HTTP/11',
  'http/1.1',
  'HTTP/1.1 ',
  'HTTP/1.1\t',
  'HTTP/01.1',
  'ICY/1.0',
  '',
];

export const ODD_FIELDS = [
  ...[
    'Connection: close',
    'Connection: keep-alive',
    'Connection: Upgrade',
    'Upgrade: h2c',
    'Upgrade: websocket',
    'Connection: Close, TE',
  ],
  ...[
    'Connection: keep-alive, close',
    'Expect: 100-continue',
    'Expect: 100-Continue',
    'Expect: 200-ok',
    'Expect:',
    'TE: trailers',
  ],
  ...[
    'Host: other',
    'Host: a b',
    'Host:',
    'Host: [::1',
    'Host: x/../',
    'X-Forwarded-Host: evil',
    'X-Forwarded-For: 1',
    'Forwarded: for=x',
  ],
  ...[
    'Accept-Encoding: gzip',
    'Content-Encoding: gzip',
    'Content-Encoding: br, br',
    'Content-Encoding: __proto__',
    'Range: bytes=0-0',
  ],
  ...[
    'Content-Type: text/plain',
    'Content-Type:',
    'SOAPAction:',
    'SOAPAction: "\xE9"',
    'Cookie: a=b',
    'X: \xFF\xFE',
    'X: \t ',
    'X:',
  ],
  ...[
    'X: a\r\n folded',
    'X:\r\n\tfolded',
    ' : blank',
    ': no name',
    'no colon',
    'X : y',
    'X\t: y',
    '\tX: y',
    'X: a\rb',
    'X: a\nb: c',
  ],
  ...[
    'X: a\0b',
    'X\0: a',
    'X: \x01',
    'X: \x7F',
    'X(: y',
    'X\xE9: y',
    '__proto__: y',
    'constructor: y',
    'Trailer: X',
    'HTTP2-Settings: AAMAAABk',
  ],
  ...[
    'Content-Length: 0',
    'Content-Length: 5',
    'Transfer-Encoding: chunked',
    'If-None-Match: *',
    'Max-Forwards: 0',
    'Via: 1.1 x',
    'X: ,,,,',
  ],
];

type Framed = (body: string, random: Random) => { lines: readonly string[]; bytes: string };

const lengthOf =
  (text: (length: number) => string): Framed =>
  (body) => ({ lines: [`Content-Length: ${text(body.length)}`], bytes: body });
const codings =
  (...fields: string[]): Framed =>
  (body) => ({
    lines: fields.map((field) => field.replace('N', String(body.length))),
    bytes: `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`,
  });
const chunk =
  (write: (hex: string, body: string) => string): Framed =>
  (body) => ({ lines: ['Transfer-Encoding: chunked'], bytes: write(body.length.toString(16), body) });

/** Bodies whose length is wrong or in doubt. */
export const FRAMINGS: readonly Framed[] = [
  ...[
    '+N',
    '-N',
    '0xN',
    'N, N',
    'N,0',
    'N N',
    '',
    ' ',
    'NaN',
    '1e1',
    'N.0',
    '0N',
    '9223372036854775808',
    '18446744073709551616',
    '99999999999999999999',
    '"N"',
    'N;',
    'N\r\n 0',
    'N\x0B',
    '\xD9\xA3',
  ].map((text) => lengthOf((length) => text.replaceAll('N', String(length)))),
  ...[1, 5, 4_000_000].map((more) => lengthOf((length) => String(length + more))),
  lengthOf((length) => String(length >> 1)),
  codings('Content-Length: N', 'Transfer-Encoding: chunked'),
  codings('Transfer-Encoding: chunked', 'Content-Length: N'),
  codings('Content-Length: 0', 'Content-Length: N'),
  codings('Content-Length: N', 'Content-Length: N'),
  codings('Transfer-Encoding: chunked', 'Transfer-Encoding: chunked'),
  codings('Transfer-Encoding: chunked', 'Transfer-Encoding: identity'),
  codings('Transfer-Encoding: identity', 'Transfer-Encoding: chunked'),
  codings('Transfer-Encoding: identity, chunked', 'Content-Length: 4'),
  ...[
    'identity',
    'chunked, gzip',
    'chunked, chunked',
    'xchunked',
    'chunkedx',
    'Chunked',
    ' chunked',
    'chunked ',
    '\tchunked',
    '\x0Bchunked',
    'chunked;x',
    '"chunked"',
    'gzip',
    '',
    ',chunked',
    'chunked,',
    'chun\r\n ked',
    '\r\n chunked',
    'chunked\0',
  ].map((coding) => codings(`Transfer-Encoding: ${coding}`)),
  codings('Transfer-Encoding : chunked'),
  codings('Transfer_Encoding: chunked'),
  codings(' Transfer-Encoding: chunked'),
  codings('X: y\nTransfer-Encoding: chunked'),
  codings('X: y\rContent-Length: 5'),
  chunk((hex, body) => `${hex}\n${body}\r\n0\r\n\r\n`),
  chunk((hex, body) => `${hex}\r\n${body}\n0\r\n\r\n`),
  chunk((hex, body) => `${hex}\r\n${body}0\r\n\r\n`),
  chunk((hex, body) => `${hex} \r\n${body}\r\n0\r\n\r\n`),
  chunk((hex, body) => ` ${hex}\r\n${body}\r\n0\r\n\r\n`),
  chunk((hex, body) => `0x${hex}\r\n${body}\r\n0\r\n\r\n`),
  chunk((hex, body) => `+${hex}\r\n${body}\r\n0\r\n\r\n`),
  chunk((hex, body) => `-${hex}\r\n${body}\r\n0\r\n\r\n`),
  chunk((hex, body) => `${'0'.repeat(20)}${hex}\r\n${body}\r\n0\r\n\r\n`),
  chunk((_, body) => `7FFFFFFFFFFFFFFF\r\n${body}\r\n0\r\n\r\n`),
  chunk((_, body) => `FFFFFFFFFFFFFFFF\r\n${body}\r\n0\r\n\r\n`),
  chunk((_, body) => `1FFFFFFFFFFFFFFFF\r\n${body}\r\n0\r\n\r\n`),
  chunk((hex, body) => `${hex};\n\r\n${body}\r\n0\r\n\r\n`),
  chunk((hex, body) => `${hex};a\rb\r\n${body}\r\n0\r\n\r\n`),
  chunk((hex, body) => `${hex};${'x'.repeat(20_000)}\r\n${body}\r\n0\r\n\r\n`),
  chunk((hex, body) => `${hex}\r\n${body}\r\n0\r\nContent-Length: 5\r\n\r\n`),
  chunk((hex, body) => `${hex}\r\n${body}\r\n0\r\nbad trailer\r\n\r\n`),
  chunk((hex, body) => `${hex}\r\n${body}\r\n0\n\n`),
  chunk((hex, body) => `${hex}\r\n${body}\r\n\r\n`),
  chunk((_, body) => body),
];

/** A right body in chunks, of any size, with extensions and a trailer now and then. */
export function chunkedBody(random: Random, body: string): string {
  let bytes = '';
  for (let at = 0; at < body.length; ) {
    const size = 1 + random.below(random.chance(0.5) ? 20 : 2_000);
    const piece = body.slice(at, at + size);
    const hex = random.chance(0.5) ? piece.length.toString(16) : `0${piece.length.toString(16).toUpperCase()}`;
    const extension = random.chance(0.8) ? '' : random.pick([';a', ';a=b', ';a="b c"', '; a = b']);
    bytes += `${hex}${extension}\r\n${piece}\r\n`;
    at += size;
  }
  return `${bytes}0\r\n${random.chance(0.9) ? '' : 'X-Trailer: y\r\n'}\r\n`;
}

export const HTTP_PIECES = [
  ...[
    '\r\n',
    '\n',
    '\r',
    '\r\n\r\n',
    '\0',
    ' ',
    '\t',
    ':',
    '\x0B',
    '\x7F',
    '\xFF',
    '0\r\n\r\n',
    '\r\n ',
    'HTTP/1.1',
    'HTTP/1.0',
    'GET / ',
    '%',
    '?',
  ],
  ...ODD_FIELDS.map((field) => `${field}\r\n`),
  ...ODD_FIELDS.map((field) => `\r\n${field}`),
];
