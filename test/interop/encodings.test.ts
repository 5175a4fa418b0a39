import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { onOneEngine } from '../support/engines.ts';
import { ENVELOPES, NAMESPACE } from '../support/protocols.ts';
import { ACME, type Service, startService } from '../support/service.ts';
import { exchangeMessage, requestBytes, statusOf, textOf } from '../support/socket.ts';
import type { Version } from './phrasing.ts';

/** Which bytes mean which text, over a socket: byte order mark, charset of the Content-Type, XML declaration, UTF-8. */

const utf8 = (text: string) => Buffer.from(text);
const utf8Marked = (text: string) => Buffer.from(`\uFEFF${text}`);
const utf16le = (text: string) => Buffer.from(text, 'utf16le');
const utf16leMarked = (text: string) => Buffer.from(`\uFEFF${text}`, 'utf16le');
const utf16beMarked = (text: string) => utf16leMarked(text).swap16();
const latin1 = (text: string) => Buffer.from(text, 'latin1');
/** windows-1252 has the euro sign where ISO 8859-1 has a control character. */
const windows = (text: string) => latin1(text.replaceAll('€', '\x80'));

interface Encoding {
  /** What follows the media type in the Content-Type. */
  readonly charset: string;
  /** The encoding in the XML declaration; null for no declaration. */
  readonly declared: string | null;
  readonly encode: (text: string) => Buffer;
  readonly text: string;
}

const WESTERN = 'Grüße à tous';
const ALL = 'Grüße, 李雷 😀';

const UNDERSTOOD: Record<string, Encoding> = {
  'charset=utf-8': { charset: '; charset=utf-8', declared: 'utf-8', encode: utf8, text: ALL },
  'charset in quotes': { charset: '; charset="utf-8"', declared: 'utf-8', encode: utf8, text: ALL },
  'charset in capitals': { charset: '; charset=UTF-8', declared: 'UTF-8', encode: utf8, text: ALL },
  'charset in capitals and quotes': { charset: '; CHARSET="UTF-8"', declared: 'UTF-8', encode: utf8, text: ALL },
  'charset without blank': { charset: ';charset=utf-8', declared: 'utf-8', encode: utf8, text: ALL },
  'charset with a blank before the semicolon': { charset: ' ; charset=utf-8', declared: null, encode: utf8, text: ALL },
  'charset and a semicolon after it': { charset: '; charset=utf-8;', declared: null, encode: utf8, text: ALL },
  'charset=utf8': { charset: '; charset=utf8', declared: null, encode: utf8, text: ALL },
  'charset in single quotes': { charset: "; charset='utf-8'", declared: 'utf-8', encode: utf8, text: ALL },
  'a charset that nobody knows': { charset: '; charset=x-unheard-of', declared: null, encode: utf8, text: ALL },
  'no charset': { charset: '', declared: 'utf-8', encode: utf8, text: ALL },
  'no charset and no declaration': { charset: '', declared: null, encode: utf8, text: ALL },
  'UTF-8 with a byte order mark': { charset: '; charset=utf-8', declared: 'utf-8', encode: utf8Marked, text: ALL },
  'UTF-8 with a byte order mark, no charset': { charset: '', declared: null, encode: utf8Marked, text: ALL },
  'UTF-16, little end first': { charset: '; charset=utf-16', declared: 'utf-16', encode: utf16leMarked, text: ALL },
  'UTF-16, big end first': { charset: '; charset=utf-16', declared: 'utf-16', encode: utf16beMarked, text: ALL },
  'UTF-16, little end first, no charset': { charset: '', declared: 'utf-16', encode: utf16leMarked, text: ALL },
  'UTF-16, big end first, no charset': { charset: '', declared: 'UTF-16', encode: utf16beMarked, text: ALL },
  'a byte order mark that contradicts charset=utf-8': {
    charset: '; charset=utf-8',
    declared: 'utf-8',
    encode: utf16leMarked,
    text: ALL,
  },
  'a byte order mark that contradicts charset=iso-8859-1': {
    charset: '; charset=iso-8859-1',
    declared: null,
    encode: utf8Marked,
    text: ALL,
  },
  'UTF-8 with a NUL behind the envelope': {
    charset: '; charset=utf-8',
    declared: null,
    encode: (text) => utf8(`${text}\0`),
    text: ALL,
  },
  'UTF-16LE without mark': { charset: '; charset=utf-16le', declared: null, encode: utf16le, text: ALL },
  'UTF-16 that nothing but its bytes tells': { charset: '', declared: null, encode: utf16le, text: ALL },
  'ISO 8859-1 by charset': { charset: '; charset=iso-8859-1', declared: null, encode: latin1, text: WESTERN },
  'ISO 8859-1 in capitals and quotes': {
    charset: '; charset="ISO-8859-1"',
    declared: null,
    encode: latin1,
    text: WESTERN,
  },
  'ISO 8859-1 by declaration': { charset: '', declared: 'iso-8859-1', encode: latin1, text: WESTERN },
  'windows-1252': { charset: '; charset=windows-1252', declared: null, encode: windows, text: '5 € für Grüße' },
  'a declaration that contradicts charset=utf-8': {
    charset: '; charset=utf-8',
    declared: 'iso-8859-1',
    encode: utf8,
    text: ALL,
  },
  'a declaration that contradicts charset=iso-8859-1': {
    charset: '; charset=iso-8859-1',
    declared: 'utf-8',
    encode: latin1,
    text: WESTERN,
  },
  // What .NET's StringWriter declares, whatever the bytes then are.
  'a declaration of UTF-16 in UTF-8 bytes': { charset: '; charset=utf-8', declared: 'utf-16', encode: utf8, text: ALL },
  'a declaration of UTF-16 in UTF-8 bytes, no charset': { charset: '', declared: 'utf-16', encode: utf8, text: ALL },
};

const BROKEN: Record<string, Pick<Encoding, 'charset' | 'declared' | 'encode'>> = {
  'ISO 8859-1 bytes under charset=utf-8': { charset: '; charset=utf-8', declared: 'utf-8', encode: latin1 },
  'ISO 8859-1 bytes that nothing declares': { charset: '', declared: null, encode: latin1 },
  'UTF-16 that ends within a character': {
    charset: '; charset=utf-16',
    declared: null,
    encode: (text) => utf16leMarked(text).subarray(0, -1),
  },
};

const TYPES: Record<Version, string> = { soap11: 'text/xml', soap12: 'application/soap+xml' };

onOneEngine('encodings of requests, over a socket', (engine) => {
  let service: Service;
  let address: string;
  before(async () => {
    service = await startService(engine);
    address = await service.app.start();
  });
  after(() => service.stop());

  const save = (version: Version, { charset, declared, encode, text }: Encoding) => {
    const declaration = declared === null ? '' : `<?xml version="1.0" encoding="${declared}"?>`;
    const body = `${declaration}<s:Envelope xmlns:s="${ENVELOPES[version]}"><s:Body><SaveMessageTemplate xmlns="${NAMESPACE}"><user_id>${ACME}</user_id><message>${text}</message></SaveMessageTemplate></s:Body></s:Envelope>`;
    const fields = ['Host: sms.example', 'Connection: close', `Content-Type: ${TYPES[version]}${charset}`];
    return exchangeMessage(address, requestBytes('POST /api/account.asmx HTTP/1.1', fields, encode(body)));
  };
  /** Deleting goes by the exact text: true, if it was stored as exactly this. */
  const deleted = async (text: string) =>
    (await service.call('get', 'account', 'DeleteMessageTemplate', { user_id: ACME, message: text })).text;

  for (const version of ['soap11', 'soap12'] as const) {
    for (const [name, encoding] of Object.entries(UNDERSTOOD)) {
      test(`${name} is read as what was meant, and answered in UTF-8 (${version})`, async () => {
        const answer = await save(version, encoding);
        assert.equal(statusOf(answer), 200, textOf(answer));
        assert.equal(answer.headers['content-type'], `${TYPES[version]}; charset=utf-8`);
        assert.match(await deleted(encoding.text), />true</);
      });
    }
    for (const [name, encoding] of Object.entries(BROKEN)) {
      test(`${name} is malformed, and nothing is stored (${version})`, async () => {
        const before = await service.call('get', 'account', 'FetchSavedMessages', { user_id: ACME });
        const answer = await save(version, { ...encoding, text: WESTERN });
        assert.equal(statusOf(answer), 400);
        assert.equal(answer.headers['content-type'], 'text/plain; charset=utf-8');
        const { text } = await service.call('get', 'account', 'FetchSavedMessages', { user_id: ACME });
        assert.equal(text, before.text);
      });
    }
  }

  test('a form is read in the charset of its Content-Type, or in UTF-8 without one', async () => {
    for (const [charset, value] of [
      ['; charset=iso-8859-1', 'Gr%FC%DFe'],
      ['; charset="UTF-8"', 'Gr%C3%BC%C3%9Fe'],
      ['', 'Gr%C3%BC%C3%9Fe'],
    ]) {
      const fields = ['Host: h', 'Connection: close', `Content-Type: application/x-www-form-urlencoded${charset}`];
      const start = 'POST /api/account.asmx/SaveMessageTemplate HTTP/1.1';
      const answer = await exchangeMessage(address, requestBytes(start, fields, `user_id=${ACME}&message=${value}`));
      assert.equal(statusOf(answer), 200, textOf(answer));
      assert.match(await deleted('Grüße'), />true</, charset);
    }
  });
});
