import { NAMESPACE } from '../../test/support/protocols.ts';
import type { Random } from '../../test/support/random.ts';

/** What XML is made of, in one character a byte: whole and broken, in places where it may be and where it may not. */
export const XML_PIECES: readonly string[] = [
  ...[
    '<',
    '>',
    '/',
    '&',
    ';',
    '=',
    '"',
    "'",
    ':',
    ' ',
    '\t',
    '\n',
    '\r\n',
    '\r',
    '--',
    ']]>',
    '?>',
    '/>',
    '</',
    'a:b',
    ':a',
  ],
  ...[
    '&amp;',
    '&lt;',
    '&gt;',
    '&quot;',
    '&apos;',
    '&foo;',
    '&constructor;',
    '&amp',
    '&;',
    '& ',
    '&#x41;',
    '&#65;',
    '&#0;',
  ],
  ...['&#x0;', '&#x1F;', '&#xD800;', '&#xDFFF;', '&#xFFFE;', '&#xFFFF;', '&#x10FFFF;', '&#x110000;', '&#99999999999;'],
  ...['&#x;', '&#;', '&#13;', '&#xd;&#xa;', '&#-1;', '&#x00000000000000000041;', '&#X41;', '&#1e1;', '&#x1F600;'],
  ...['<![CDATA[', '<![CDATA[x]]>', '<![CDATA[]]>', '<![CDATA[<&]]]]>', '<![cdata[x]]>', '<!--', '-->', '<!-- c -->'],
  ...[
    '<!---->',
    '<!--->',
    '<!-- -- -->',
    '<!-- --->',
    '<?pi x?>',
    '<?pi?>',
    '<?xml version="1.0"?>',
    '<?xml',
    '<?XML x?>',
  ],
  ...[
    '<?xml version="1.1"?>',
    '<?xml version="1.0" encoding="utf-16"?>',
    '<?a:b c?>',
    '<?xml-stylesheet href="x"?>',
    '<??>',
  ],
  ...['<!DOCTYPE a>', '<!DOCTYPE a [<!ENTITY b "c">]>', '<!DOCTYPE a SYSTEM "file:///etc/passwd">', '<!ENTITY b "c">'],
  ...[' xmlns="u"', ' xmlns:a="u"', ' xmlns:a=""', ' xmlns=""', ' xmlns:xml="z"', ' xmlns:xmlns="z"', ' xml:lang="en"'],
  ...[
    ' xmlns:s="urn:s"',
    ' xmlns:soap="urn:soap"',
    ` xmlns="${NAMESPACE}"`,
    ` xmlns=" ${NAMESPACE} "`,
    ' xmlns:a="a" xmlns:b="a"',
  ],
  ...[' xmlns:xml="http://www.w3.org/XML/1998/namespace"', ' xmlns:p="http://www.w3.org/2000/xmlns/"', ' xmlns:1="u"'],
  ...[
    '<a/>',
    '</a>',
    '<a>',
    '<a b="<"/>',
    '<a b=c/>',
    '<a b/>',
    '<a b="1"b="2"/>',
    '<a b = "c" / >',
    '<a:b/>',
    '<xml:a/>',
  ],
  ...[
    '<xmlns:a/>',
    '<:a/>',
    '<a:/>',
    '<a:b:c xmlns:a="u"/>',
    '<-a/>',
    '<1/>',
    '<a\0/>',
    '<\xC3\xA9/>',
    '<\xF0\x90\x80\x80/>',
  ],
  ...[
    '<string>101</string>',
    '<string/>',
    '<string xsi:nil="true"/>',
    '<user_id/>',
    '<max>-1</max>',
    '<max_count>1</max_count>',
  ],
  ...[
    '<x xmlns:p="q" xmlns:r="q" p:a="" r:a=""/>',
    '<href href="#1"/>',
    '<soap:Body/>',
    '<soap:Header/>',
    '</soap:Envelope>',
  ],
  ...[
    '\xC2\xB7',
    '\xC2\x85',
    '\xE2\x80\xA8',
    '\xEF\xBB\xBF',
    '\xEF\xBF\xBE',
    '\xED\xA0\xBD',
    '\xF0\x9F\x98\x80',
    '\x00',
    '\x0B',
  ],
];

/** A text in bytes, in an encoding that the Content-Type, a byte order mark or the declaration tells, or that nothing tells. */
export function encoded(random: Random, text: string, type: string): { type: string; body: string } {
  const of = (encoding: BufferEncoding, given: string) => Buffer.from(given, encoding).toString('latin1');
  const swapped = (given: string) => Buffer.from(given, 'utf16le').swap16().toString('latin1');
  switch (random.below(24)) {
    case 0:
      return { type, body: of('utf8', `\uFEFF${text}`) };
    case 1:
      return { type: `${type}; charset=utf-16`, body: of('utf16le', text) };
    case 2:
      return { type: `${type}; charset="UTF-16LE"`, body: of('utf16le', `\uFEFF${text}`) };
    case 3:
      return { type, body: swapped(`\uFEFF${text}`) };
    case 4:
      return { type: `${type}; charset=utf-16be`, body: swapped(text) };
    case 5:
      return { type: `${type}; charset=iso-8859-1`, body: of('latin1', text) };
    case 6:
      return {
        type,
        body: `<?xml version="1.0" encoding="windows-1252"?>${of('latin1', text.replace(/^<\?xml.*?\?>/, ''))}`,
      };
    case 7:
      return {
        type: `${type}; charset=${random.pick(['us-ascii', 'utf-7', 'utf-32', 'gb18030', 'shift_jis', 'koi8-r', 'x-user-defined'])}`,
        body: of('utf8', text),
      };
    case 8:
      return { type, body: of('utf16le', text) };
    case 9:
      return { type, body: of('utf8', text) };
    default:
      return { type: `${type}; charset=utf-8`, body: of('utf8', text) };
  }
}
