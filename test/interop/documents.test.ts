import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { onOneEngine } from '../support/engines.ts';
import { ENVELOPES, NAMESPACE, soapRequest } from '../support/protocols.ts';
import { ACME, type Service, startService } from '../support/service.ts';
import type { Version } from './phrasing.ts';

/** XML as clients write it, and as attackers do: what may stand around an envelope, between parameters and in a value. */

const DECLARATION = '<?xml version="1.0" encoding="utf-8"?>';
const start = '<s:Envelope xmlns:s="E"><s:Body><SaveMessageTemplate xmlns="N"><user_id>U</user_id>';
const end = '</SaveMessageTemplate></s:Body></s:Envelope>';
const whole = `${start}<message>text</message>${end}`;
const saving = (value: string) => `${DECLARATION}${start}<message>${value}</message>${end}`;

/** What is then stored. */
const READ: Record<string, readonly [document: string, stored: string]> = {
  'no declaration': [whole, 'text'],
  'a declaration in single quotes': [`<?xml version='1.0' encoding='utf-8'?>${whole}`, 'text'],
  'a declaration of a standalone document': [
    `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n${whole}`,
    'text',
  ],
  'white space before an envelope without declaration': [`\r\n  ${whole}`, 'text'],
  'a line end after the envelope': [`${DECLARATION}${whole}\r\n`, 'text'],
  'zero bytes after the envelope': [`${DECLARATION}${whole}\0\0`, 'text'],
  'white space and comments after the envelope': [`${DECLARATION}${whole}\n<!-- end -->\n  <!-- of it -->`, 'text'],
  'a comment before the envelope': [`${DECLARATION}<!-- made by a tool -->${whole}`, 'text'],
  'processing instructions around the envelope': [`${DECLARATION}<?tool one?>${whole}<?tool two?>`, 'text'],
  'comments between Envelope, Body and operation': [
    `${DECLARATION}<!--a--><s:Envelope xmlns:s="E"><!--b--><s:Body><!--c--><SaveMessageTemplate xmlns="N"><!--d--><user_id>U</user_id><!--e--><message>text</message><!--f--></SaveMessageTemplate><!--g--></s:Body><!--h--></s:Envelope>`,
    'text',
  ],
  'processing instructions between parameters': [
    `${DECLARATION}${start}<?tool?><message>text</message><?tool?>${end}`,
    'text',
  ],
  CDATA: [saving('<![CDATA[1 < 2 & 3 > 2]]>'), '1 < 2 & 3 > 2'],
  'CDATA in pieces, among text': [saving('a<![CDATA[<b>]]>c<![CDATA[&amp;]]>d'), 'a<b>c&amp;d'],
  'CDATA that holds the end of CDATA': [saving('<![CDATA[x]]]]><![CDATA[>y]]>'), 'x]]>y'],
  'character references, decimal and hexadecimal': [saving('&#65;&#x42;&#xe9;&#233;'), 'ABéé'],
  'character references beyond the first plane': [saving('&#x1F600;&#128512;'), '😀😀'],
  'references to line ends and tabs': [saving('a&#13;&#10;b&#9;c'), 'a\r\nb\tc'],
  'the five entities that XML has': [saving('&lt;&gt;&amp;&apos;&quot;'), `<>&'"`],
  'white space in a value': [saving('  two  blanks\n'), '  two  blanks\n'],
  'line ends as on Windows': [saving('one\r\ntwo\rthree'), 'one\ntwo\nthree'],
};

const MALFORMED: Record<string, string> = {
  'text after the envelope': `${DECLARATION}${whole}x`,
  'a second envelope': `${DECLARATION}${whole}${whole}`,
  'text behind a zero byte after the envelope': `${DECLARATION}${whole}\0x`,
  'a zero byte before the envelope': `\0${DECLARATION}${whole}`,
  'a second declaration': `${DECLARATION}${DECLARATION}${whole}`,
  'white space before the declaration': ` ${DECLARATION}${whole}`,
  'a comment in a value': saving('te<!-- -->xt'),
  'a comment at the start of a value': saving('<!-- -->text'),
  'a processing instruction in a value': saving('te<?tool?>xt'),
  'an element in a value': saving('te<b>x</b>t'),
  'an entity that nothing declares': saving('caf&eacute;'),
  'a bare ampersand': saving('fish & chips'),
  'a reference to a character that XML cannot carry': saving('a&#1;b'),
  'a reference to half a surrogate pair': saving('a&#xD83D;b'),
  'a control character': saving('a\x01b'),
  'the end of CDATA in text': saving('a]]>b'),
  'a DOCTYPE': `${DECLARATION}<!DOCTYPE s:Envelope>${whole}`,
  'a DOCTYPE with entities': `${DECLARATION}<!DOCTYPE x [<!ENTITY e "text">]>${saving('&e;').slice(DECLARATION.length)}`,
  'a DOCTYPE somewhere else': `${DECLARATION}<!DOCTYPE x SYSTEM "http://127.0.0.1:9/x.dtd">${whole}`,
  'an entity somewhere else': `${DECLARATION}<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/hostname">]>${saving('&e;').slice(DECLARATION.length)}`,
  'XML 1.1': `<?xml version="1.1" encoding="utf-8"?>${whole}`,
  'an envelope that is not closed': `${DECLARATION}${whole.slice(0, -5)}`,
  'elements that overlap': `${DECLARATION}${start}<message>text</user_id>${end}`,
  'an attribute twice': `${DECLARATION}${whole.replace('<user_id>', '<user_id a="1" a="2">')}`,
  nothing: '',
  'white space alone': ' \r\n ',
  'something that is no XML': 'user_id=1&message=text',
  JSON: '{"user_id":"1"}',
  'another document': `${DECLARATION}<html/>`,
  'an operation without envelope': `${DECLARATION}<SaveMessageTemplate xmlns="N"><user_id>U</user_id></SaveMessageTemplate>`,
};

const filled = (document: string, version: Version): string =>
  document.replace('"E"', `"${ENVELOPES[version]}"`).replaceAll('"N"', `"${NAMESPACE}"`).replaceAll('>U<', `>${ACME}<`);

onOneEngine('XML as clients write it', (engine) => {
  let service: Service;
  let saved: string;
  before(async () => {
    service = await startService(engine);
    saved = (await service.call('get', 'account', 'FetchSavedMessages', { user_id: ACME })).text;
  });
  after(() => service.stop());
  const templates = async () => (await service.call('get', 'account', 'FetchSavedMessages', { user_id: ACME })).text;

  for (const version of ['soap11', 'soap12'] as const) {
    for (const [what, [document, stored]] of Object.entries(READ)) {
      test(`a request with ${what} is understood (${version})`, async () => {
        const { status, text } = await service.send(soapRequest(version, 'account', filled(document, version)));
        assert.equal(status, 200, text);
        const undo = await service.call('get', 'account', 'DeleteMessageTemplate', { user_id: ACME, message: stored });
        assert.match(undo.text, />true</, await templates());
      });
    }
    for (const [what, document] of Object.entries(MALFORMED)) {
      test(`a request with ${what} is malformed, and nothing is stored (${version})`, async () => {
        const { status, headers } = await service.send(soapRequest(version, 'account', filled(document, version)));
        assert.equal(status, 400);
        assert.equal(headers['Content-Type'], 'text/plain; charset=utf-8');
        assert.equal(await templates(), saved);
      });
    }
  }

  test('control characters that came by GET are returned as U+FFFD in every protocol', async () => {
    const { text } = await service.send({
      path: '/api/account.asmx/SaveMessageTemplate',
      query: `user_id=${ACME}&message=a%01b%0Bc%1Fd%EF%BF%BEe`,
    });
    assert.match(text, />true</);
    for (const protocol of ['soap11', 'soap12', 'get', 'post'] as const) {
      const answer = await service.call(protocol, 'account', 'FetchSavedMessages', { user_id: ACME });
      assert.match(answer.text, /<string>a\uFFFDb\uFFFDc\uFFFDd\uFFFDe<\/string>/);
    }
    // And they are still in the store: the template is deleted by the text that was saved, not by what is shown of it.
    const shown = await service.call('get', 'account', 'DeleteMessageTemplate', {
      user_id: ACME,
      message: 'a\uFFFDb\uFFFDc\uFFFDd\uFFFDe',
    });
    assert.match(shown.text, />false</);
    const { text: removed } = await service.send({
      path: '/api/account.asmx/DeleteMessageTemplate',
      query: `user_id=${ACME}&message=a%01b%0Bc%1Fd%EF%BF%BEe`,
    });
    assert.match(removed, />true</);
  });
});
