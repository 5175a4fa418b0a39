import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { onEveryEngine } from '../support/engines.ts';
import { requestOf } from '../support/protocols.ts';
import { parse } from '../support/schema-validator.ts';
import { ACME, type Answer, GLOBEX, type Service, startService } from '../support/service.ts';
import { runs } from './arbitraries.ts';
import { anyRequest, oddArguments, xmlRequest } from './noise.ts';
import { type AnyRequest, damagedCall, rightCall } from './requests.ts';

const TYPES =
  /^(text\/plain; charset=utf-8|text\/xml; charset=utf-8|application\/soap\+xml; charset=utf-8|text\/html; charset=utf-8)$/;
const FAULT_CODES = ['bad-argument', 'denied', 'unknown-operation', 'version'];

/** Every answer is one of those that docs/COMPATIBILITY.md lists; none is an internal error, and none gives a user_id away. */
function assertKnown({ status, headers, text }: Answer, service: Service): void {
  const type = String(headers['Content-Type'] ?? '');
  assert.match(type, TYPES);
  const isXml = /xml/.test(type);
  if (isXml) parse(text).dispose();

  if (status === 500) {
    assert.ok(isXml, text);
    const code = /<error xmlns="[^"]*"><code>([^<]*)</.exec(text)?.[1];
    if (code === undefined) assert.match(text, /:MustUnderstand</);
    else assert.ok(FAULT_CODES.includes(code), text);
  } else if (status !== 200) {
    assert.ok([400, 403, 404, 405, 413, 415, 429].includes(status), `status ${status}`);
    if (/plain/.test(type)) assert.match(text, /^[^\r\n]+\n$/);
  }
  if (status === 405) assert.ok(headers.Allow);
  if (status !== 200) for (const userId of [ACME, GLOBEX]) assert.ok(!text.includes(userId), 'it repeats a user_id');
  assert.deepEqual(service.logged, []);
}

onEveryEngine('any request', (engine) => {
  const kinds: Record<string, { requests: fc.Arbitrary<AnyRequest>; count: number }> = {
    'noise in all places': { requests: anyRequest, count: 1_000 },
    'a right call with damage to its bytes': { requests: damagedCall, count: 1_000 },
    'an envelope with any elements in it': { requests: xmlRequest, count: 1_000 },
    'an operation with any elements in it': { requests: oddArguments, count: 1_000 },
  };
  for (const [name, { requests, count }] of Object.entries(kinds)) {
    test(`${name} gets an answer that clients understand`, async () => {
      const service = await startService(engine);
      try {
        const known = fc.asyncProperty(requests, async ({ body, ...request }) => {
          service.logged.length = 0;
          assertKnown(await service.send({ ...request, bytes: Buffer.from(body, 'latin1') }), service);
        });
        await fc.assert(known, runs(count, engine));
      } finally {
        await service.stop();
      }
    });
  }

  test('a call with arguments of the right types succeeds, or its error names the wrong argument', async () => {
    const service = await startService(engine);
    try {
      const answered = fc.asyncProperty(rightCall, async ({ protocol, group, operation, args }) => {
        service.logged.length = 0;
        const answer = await service.send(requestOf(protocol, group, operation, args));
        assertKnown(answer, service);
        if (answer.status === 200) return;
        const denied = args.user_id !== ACME && args.user_id !== GLOBEX;
        assert.match(
          answer.text,
          denied ? /The user_id is not valid\./ : /(contact_id|message|mobile|max|max_count): /,
        );
      });
      await fc.assert(answered, runs(1_000, engine));
    } finally {
      await service.stop();
    }
  });

  test('every large request is answered', async () => {
    const service = await startService(engine);
    const soap = { method: 'POST', path: '/api/inbox.asmx', headers: { 'content-type': 'text/xml' } };
    const protocol = { method: 'POST', headers: { 'content-type': 'application/x-www-form-urlencoded' } };
    const units = [
      '<a>',
      '<a/>',
      '<a b="c"/>',
      '&amp;',
      '&#x41;',
      'a',
      ' ',
      '<!-- -->',
      '<![CDATA[]]>',
      '\0',
      ']]>',
      '<',
      '"',
    ];
    const pairs = ['a=b&', '&', '=', '%', '%41', '%u0041', '+', 'user_id=a&', 'contact_id=1&', '\u00e9', 'a'];
    try {
      for (const unit of units) {
        for (const start of ['', `<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/">`]) {
          const bytes = start + unit.repeat(900_000 / unit.length);
          assertKnown(await service.send({ ...soap, bytes }), service);
        }
      }
      for (const unit of [';', '; ', ';a', ';a=', ';a="', ' ', '"', '\\', '%', 'a']) {
        const headers = {
          'content-type': `text/xml${unit.repeat(60_000 / unit.length)}`,
          soapaction: unit.repeat(60_000),
        };
        assertKnown(await service.send({ ...soap, headers, bytes: '<a/>' }), service);
      }
      for (const unit of pairs) {
        const text = unit.repeat(900_000 / unit.length);
        assertKnown(await service.send({ ...protocol, path: '/api/account.asmx/DeleteContact', bytes: text }), service);
        assertKnown(
          await service.send({ path: '/api/account.asmx/DeleteContact', query: text.slice(0, 60_000) }),
          service,
        );
      }
    } finally {
      await service.stop();
    }
  });
});
