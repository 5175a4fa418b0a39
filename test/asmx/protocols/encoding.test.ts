import assert from 'node:assert/strict';
import { test } from 'node:test';
import { onOneEngine } from '../../support/engines.ts';
import { assertProblem } from '../../support/expected-problems.ts';
import { ENVELOPES, NAMESPACE, PROTOCOLS, requestOf } from '../../support/protocols.ts';
import { parse } from '../../support/schema-validator.ts';
import { ACME, startService } from '../../support/service.ts';

/** Bytes of an encoding, put together by hand. */
type Encoder = (text: string) => Buffer;
const utf8: Encoder = (text) => Buffer.from(text, 'utf8');
const utf16le: Encoder = (text) => Buffer.from(text, 'utf16le');
const utf16be: Encoder = (text) => Buffer.from(text, 'utf16le').swap16();
const latin1: Encoder = (text) => Buffer.from(text, 'latin1');
/** As latin1, with the euro sign where Windows has it. */
const windows1252: Encoder = (text) => Buffer.from(text.replaceAll('€', '\u0080'), 'latin1');
const marked =
  (encoder: Encoder): Encoder =>
  (text) =>
    encoder(`\uFEFF${text}`);

const ANY = 'é ü – 二箱 😀 \u00A0';
const WEST = 'é ü \u00A0 ß';
const EURO = 'é € ü';

interface Row {
  readonly what: string;
  /** '' for no charset in the Content-Type. */
  readonly charset: string;
  /** null for no XML declaration, '' for one without an encoding. */
  readonly declared: string | null;
  readonly encoder: Encoder;
  readonly text: string;
}
const row = (what: string, charset: string, declared: string | null, encoder: Encoder, text = ANY): Row => ({
  what,
  charset,
  declared,
  encoder,
  text,
});

const READ: readonly Row[] = [
  row('UTF-8 where nothing says so', '', null, utf8),
  row('UTF-8 where a declaration says nothing', '', '', utf8),
  row('UTF-8 by declaration', '', 'utf-8', utf8),
  row('UTF-8 by charset', 'utf-8', null, utf8),
  row('UTF-8 by a charset in capitals', 'UTF-8', null, utf8),
  row('UTF-8 by a charset in quotes', '"utf-8"', null, utf8),
  row('UTF-8 by its byte order mark', '', null, marked(utf8)),
  row('UTF-8 by charset, with a byte order mark', 'utf-8', 'utf-8', marked(utf8)),
  row('UTF-16 by its byte order mark, little end first', '', 'utf-16', marked(utf16le)),
  row('UTF-16 by its byte order mark, big end first', '', 'utf-16', marked(utf16be)),
  row('UTF-16 without mark or charset, little end first', '', 'utf-16', utf16le),
  row('UTF-16 without mark or charset, big end first', '', 'utf-16', utf16be),
  row('UTF-16 without mark, charset or declaration, little end first', '', null, utf16le),
  row('UTF-16 without mark, charset or declaration, big end first', '', null, utf16be),
  row('UTF-16 by charset, little end first', 'utf-16', 'utf-16', marked(utf16le)),
  row('UTF-16 by charset, big end first', 'UTF-16', 'utf-16', marked(utf16be)),
  row('UTF-16LE by charset', 'utf-16le', null, utf16le),
  row('UTF-16BE by charset', '"UTF-16BE"', null, utf16be),
  row('UTF-16LE by charset, with a mark', 'utf-16le', null, marked(utf16le)),
  row('UTF-16BE by charset, with a mark', 'utf-16be', null, marked(utf16be)),
  row('ISO-8859-1 by charset', 'iso-8859-1', null, latin1, WEST),
  row('ISO-8859-1 by a charset in capitals and quotes', '"ISO-8859-1"', null, latin1, WEST),
  row('ISO-8859-1 by declaration', '', 'iso-8859-1', latin1, WEST),
  row('ISO-8859-1 by declaration in capitals', '', 'ISO-8859-1', latin1, WEST),
  row('windows-1252 by charset', 'windows-1252', null, windows1252, EURO),
  row('windows-1252 by declaration', '', 'Windows-1252', windows1252, EURO),

  row('the charset before the declaration: UTF-8', 'utf-8', 'iso-8859-1', utf8),
  row('the charset before the declaration: ISO-8859-1', 'iso-8859-1', 'utf-8', latin1, WEST),
  row('the charset before the declaration: UTF-16', 'utf-16', 'utf-8', marked(utf16be)),
  row('the mark before the declaration: UTF-8', '', 'iso-8859-1', marked(utf8)),
  row('the mark before the declaration: UTF-16', '', 'utf-8', marked(utf16le)),
  row('UTF-8 that declares to be UTF-16, which it cannot be', '', 'utf-16', utf8),

  // RFC 7303 §3 and ASMX
  row('the mark before the charset: UTF-16 under UTF-8', 'utf-8', 'utf-8', marked(utf16le)),
  row('the mark before the charset: UTF-16, big end first, under UTF-16LE', 'utf-16le', null, marked(utf16be)),
  row('the mark before the charset: UTF-8 under ISO-8859-1', 'iso-8859-1', 'iso-8859-1', marked(utf8)),
  row('the mark before the charset: UTF-8 under UTF-16', 'utf-16', null, marked(utf8)),

  // Programs in C send the NUL that ends their text
  row('UTF-8 with a NUL behind it', 'utf-8', null, (text) => utf8(`${text}\0`)),
  row('UTF-8 with many NULs and white space behind it', '', null, (text) => utf8(`${text}\r\n\0\0\n\0 `)),
  row('UTF-16 with a NUL behind it', '', null, (text) => marked(utf16le)(`${text}\0`)),
  row('UTF-16BE with a NUL behind it', 'utf-16be', null, (text) => utf16be(`${text}\0`)),
  row('ISO-8859-1 with a NUL behind it', 'iso-8859-1', null, (text) => latin1(`${text}\0`), WEST),

  row('an unknown charset as absent', 'nobody-knows-it', null, utf8),
  row('an unknown charset as absent: the declaration counts', 'nobody-knows-it', 'iso-8859-1', latin1, WEST),
  row('an unknown charset as absent: the mark counts', 'nobody-knows-it', 'iso-8859-1', marked(utf16be)),
  row('an empty charset as absent', '""', 'iso-8859-1', latin1, WEST),
  row('an unknown encoding in the declaration as absent', '', 'nobody-knows-it', utf8),
];

/** Texts that are not what they say. */
const BROKEN: readonly Row[] = [
  row('ISO-8859-1 where nothing says so', '', null, latin1, WEST),
  row('ISO-8859-1 under charset UTF-8', 'utf-8', 'iso-8859-1', latin1, WEST),
  row('ISO-8859-1 that declares to be UTF-8', '', 'utf-8', latin1, WEST),
  row('UTF-16 of the other end under charset UTF-16LE', 'utf-16le', null, utf16be),
  row('a NUL before the document', 'utf-8', null, (text) => utf8(`\0${text}`)),
  row('a NUL within the document', 'utf-8', null, utf8, 'a\0b'),
  row('a NUL and text behind the document', 'utf-8', null, (text) => utf8(`${text}\0x`)),
  row('half a character at the end of UTF-16', 'utf-16le', null, (text) => utf16le(text).subarray(0, -1)),
  row('half a surrogate pair in UTF-16', 'utf-16le', null, utf16le, 'a\uD83Db'),
];

const TYPES = { soap11: 'text/xml', soap12: 'application/soap+xml' } as const;

function saving(protocol: keyof typeof TYPES, { charset, declared, encoder, text }: Row) {
  const encoding = declared ? ` encoding="${declared}"` : '';
  const declaration = declared === null ? '' : `<?xml version="1.0"${encoding}?>`;
  const xml = `${declaration}<s:Envelope xmlns:s="${ENVELOPES[protocol]}"><s:Body><SaveMessageTemplate xmlns="${NAMESPACE}"><user_id>${ACME}</user_id><message>${text}</message></SaveMessageTemplate></s:Body></s:Envelope>`;
  const type = charset ? `${TYPES[protocol]}; charset=${charset}` : TYPES[protocol];
  return { method: 'POST', path: '/api/account.asmx', headers: { 'content-type': type }, bytes: encoder(xml) };
}

onOneEngine('encoding of SOAP requests', (engine) => {
  for (const protocol of ['soap11', 'soap12'] as const) {
    test(`${protocol} is read in the encoding of its byte order mark, else its charset, else its declaration, else UTF-8, without NULs at the end`, async () => {
      const service = await startService(engine, 'sample');
      const templates = async () => {
        const answer = await service.call(protocol, 'account', 'FetchSavedMessages', { user_id: ACME });
        assert.equal(answer.headers['Content-Type'], `${TYPES[protocol]}; charset=utf-8`);
        return [...answer.text.matchAll(/<string>([^<]*)<\/string>/g)].map(([, text]) => text);
      };
      try {
        for (const row of READ) {
          const answer = await service.send(saving(protocol, row));
          assert.equal(answer.status, 200, `${row.what}: ${answer.text}`);
          assert.equal((await templates()).at(-1), row.text, row.what);
          const args = { user_id: ACME, message: row.text };
          const deleted = await service.call(protocol, 'account', 'DeleteMessageTemplate', args);
          assert.match(deleted.text, />true</, row.what);
        }
      } finally {
        await service.stop();
      }
    });

    test(`${protocol} that is not valid in its encoding is malformed, and nothing is saved`, async () => {
      const service = await startService(engine, 'sample');
      try {
        for (const row of BROKEN) {
          const answer = await service.send(saving(protocol, row));
          assert.equal(answer.status, 400, `${row.what}: ${answer.text}`);
          assertProblem(protocol, answer, 'malformed', /./);
        }
        const { text } = await service.send(requestOf(protocol, 'account', 'FetchSavedMessages', { user_id: ACME }));
        assert.equal(text.match(/<string>/g)?.length, 3);
      } finally {
        await service.stop();
      }
    });

    const INVALID: Readonly<Record<string, number[]>> = {
      'a lone continuation byte': [0x80],
      'a character that breaks off': [0xc3, 0x20],
      'an overlong form': [0xc0, 0xaf],
      'half a surrogate pair': [0xed, 0xa0, 0xbd],
      'a character beyond the last': [0xf4, 0x90, 0x80, 0x80],
      'a byte that UTF-8 has not': [0xff],
    };
    test(`${protocol} with bytes that are not UTF-8 is malformed, not repaired`, async () => {
      const service = await startService(engine, 'sample');
      try {
        for (const [what, bytes] of Object.entries(INVALID)) {
          const encoder: Encoder = (xml) => {
            const [before = '', after = ''] = xml.split('HERE');
            return Buffer.concat([Buffer.from(before), Buffer.from(bytes), Buffer.from(after)]);
          };
          for (const charset of ['utf-8', '']) {
            const answer = await service.send(saving(protocol, row(what, charset, null, encoder, 'aHEREb')));
            assert.equal(answer.status, 400, what);
            assertProblem(protocol, answer, 'malformed', 'The request is not valid utf-8 text.');
          }
        }
      } finally {
        await service.stop();
      }
    });
  }

  /** Characters at the edges of what XML 1.0 can carry, and those that something on the way likes to change. */
  const CHARACTERS = [
    '\t\n\r\r\n ',
    '!"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~',
    ']]> <![CDATA[x]]> <!-- --> &amp; &#65; %41 %u0041 +',
    '\u007F\u0080\u0085\u009F\u00A0\u00AD',
    'e\u0301 é \u2028\u2029\u200B\u202E',
    '\uFEFFa\uFEFF',
    '\uD7FF\uE000\uFDD0\uFFFD',
    '\u{10000}\u{1F600}\u{1FFFE}\u{10FFFF}',
  ];
  for (const protocol of PROTOCOLS) {
    test(`every character that XML can carry survives in ${protocol}, in and out`, async () => {
      const service = await startService(engine, 'sample');
      try {
        for (const message of CHARACTERS) {
          const saved = await service.call(protocol, 'account', 'SaveMessageTemplate', { user_id: ACME, message });
          assert.match(saved.text, />true</);
          const { text } = await service.call(protocol, 'account', 'FetchSavedMessages', { user_id: ACME });
          const document = parse(text);
          const strings = document.find('//*[local-name()="string"]').map(({ content }) => content);
          document.dispose();
          assert.equal(strings.at(-1), message);
        }
      } finally {
        await service.stop();
      }
    });
  }
});
