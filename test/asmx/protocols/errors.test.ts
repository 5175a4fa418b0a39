import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Problem } from '../../../src/base/problem.ts';
import { createTestEndpoint } from '../../support/endpoint.ts';
import { onOneEngine } from '../../support/engines.ts';
import { assertProblem, LOOKS } from '../../support/expected-problems.ts';
import {
  envelope,
  NAMESPACE,
  operationElement,
  PROTOCOLS,
  type Protocol,
  requestOf,
  soapRequest,
} from '../../support/protocols.ts';
import { ACME, type Service, startService } from '../../support/service.ts';

const SOAP = ['soap11', 'soap12'] as const;
const profile = (protocol: Protocol) => requestOf(protocol, 'account', 'Profile', { user_id: ACME });

describe('problems that an operation meets', () => {
  // The other two are of envelopes and their headers: soap-errors.test.ts.
  const kinds = (Object.keys(LOOKS) as (keyof typeof LOOKS)[]).filter(
    (kind) => kind !== 'version' && kind !== 'must-understand',
  );
  for (const protocol of PROTOCOLS) {
    for (const kind of kinds) {
      test(`${kind} in ${protocol} has its status, its type and its code`, async () => {
        const endpoint = createTestEndpoint(async () => {
          throw new Problem(kind, 'a < b & c > d: "é"');
        });
        assertProblem(protocol, await endpoint.send(profile(protocol)), kind, 'a < b & c > d: "é"');
      });
    }

    for (const kind of ['unavailable', 'too-many'] as const) {
      test(`${kind} in ${protocol} says when to try again`, async () => {
        const fields = { 'Retry-After': '7' };
        const endpoint = createTestEndpoint(async () => {
          throw new Problem(kind, 'Later.', { retryAfterSeconds: 7, cause: new Error('disk on fire') });
        });
        assertProblem(protocol, await endpoint.send(profile(protocol)), kind, 'Later.', { fields });
        // an operator must hear of what is not the client's doing, and of nothing else
        assert.deepEqual(
          endpoint.reported.map(({ cause }) => (cause as Error).message),
          kind === 'unavailable' ? ['disk on fire'] : [],
        );
      });
    }

    test(`a message of several lines is one line in ${protocol}`, async () => {
      const endpoint = createTestEndpoint(async () => {
        throw new Problem('malformed', 'one\r\ntwo\nthree');
      });
      assertProblem(protocol, await endpoint.send(profile(protocol)), 'malformed', 'one two three');
    });

    const THROWN = [new Error('SELECT secret FROM /var/lib'), new TypeError('x is undefined'), 'text', null, undefined];
    test(`any other error that is thrown becomes an opaque internal error in ${protocol}, with the reference that is in the log`, async () => {
      for (const thrown of THROWN) {
        const endpoint = createTestEndpoint(async () => {
          throw thrown;
        });
        const answer = await endpoint.send(profile(protocol));
        const [report] = endpoint.reported;
        assert.equal(endpoint.reported.length, 1);
        assert.equal(report?.cause, thrown);
        assert.match(report?.reference ?? '', /^[0-9a-f-]{36}$/);
        assertProblem(protocol, answer, 'internal', `Internal error. Reference: ${report?.reference}`);
      }
    });
  }
});

/** One service for requests that must change nothing. */
async function withService(engine: Parameters<typeof startService>[0], work: (service: Service) => Promise<void>) {
  const service = await startService(engine);
  try {
    await work(service);
  } finally {
    await service.stop();
  }
}

onOneEngine('errors', (engine) => {
  for (const protocol of PROTOCOLS) {
    test(`an internal error in ${protocol} is logged with its cause and reference, and the client gets only the reference`, () =>
      withService(engine, async (service) => {
        // no database takes this for a time
        service.clock.now = Number.NaN;
        const args = { user_id: ACME, mobile: '+27825550777', sample_message: 'x' };
        const answer = await service.call(protocol, 'account', 'BlackListNumber', args);
        assertProblem(protocol, answer, 'internal', /^Internal error\. Reference: [0-9a-f-]{36}$/);
        const [reference = ''] = /[0-9a-f]{8}-[0-9a-f-]{27}/.exec(answer.text) ?? [];
        const lines = service.logged.map((line) => JSON.parse(line)).filter((line) => line.reference === reference);
        assert.equal(lines.length, 1);
        assert.equal(lines[0].level, 50);
        assert.equal(lines[0].kind, 'internal');
        assert.ok(lines[0].err.message.length > 0 && lines[0].err.stack.length > 0);
        assert.ok(!answer.text.includes(lines[0].err.message));
        assert.ok(!service.logged.join('').includes(ACME), 'a user_id is in the log');
      }));

    test(`an operation that is unknown, in another letter case, of another group or a name of every object is an unknown-operation in ${protocol}`, () =>
      withService(engine, async (service) => {
        const message = protocol.startsWith('soap')
          ? `The Body names no operation of account in the namespace ${NAMESPACE}.`
          : 'There is no such operation in account.';
        for (const name of ['Nope', 'profile', 'PROFILE', 'CountRead', 'constructor', 'toString', '__proto__']) {
          const request = requestOf(protocol, 'account', name, { user_id: ACME });
          const { soapaction: _, ...headers } = request.headers;
          assertProblem(protocol, await service.send({ ...request, headers }), 'unknown-operation', message);
        }
      }));

    test(`a bad-argument in ${protocol} names the parameter`, () =>
      withService(engine, async (service) => {
        const rows = [
          ['inbox', 'Unread', { max_count: '-1' }, 'max_count: must not be negative'],
          ['account', 'SaveMessageTemplate', { message: '' }, 'message: a template cannot be empty'],
          ['account', 'SaveMessageTemplate', { message: 'x'.repeat(2_001) }, /^message: .*2000/],
          ['account', 'DeleteContact', { contact_id: Array(1_001).fill('101') }, /^contact_id: .*1000/],
          ['account', 'BlackListNumber', { mobile: 'nobody' }, /^mobile: /],
          ['inbox', 'Read', { from: ACME, to: ACME, max_count: ACME }, /^from: /],
        ] as const;
        for (const [group, operation, args, message] of rows) {
          const answer = await service.call(protocol, group, operation, { user_id: ACME, ...args });
          assertProblem(protocol, answer, 'bad-argument', message);
        }
      }));
  }

  for (const protocol of ['get', 'post'] as const) {
    test(`a path without an operation, or with more after its name, is an unknown-operation in ${protocol}`, () =>
      withService(engine, async (service) => {
        for (const name of ['', 'Profile/', 'Profile/x', '/Profile', 'Profile%2F', 'Profile%20']) {
          const answer = await service.send(requestOf(protocol, 'account', name, { user_id: ACME }));
          assertProblem(protocol, answer, 'unknown-operation', 'There is no such operation in account.');
        }
      }));

    test(`a path of no group is answered with 404 in ${protocol}`, () =>
      withService(engine, async (service) => {
        for (const path of [
          '/api/',
          '/api',
          '/api/nope.asmx',
          '/api/constructor.asmx/Profile',
          '/account.asmx',
          '/x',
        ]) {
          const answer = await service.send({ ...profile(protocol), path });
          assertProblem(protocol, answer, 'unknown-operation', /^There is nothing here\./);
        }
      }));
  }

  test('the letter case of a group does not matter', () =>
    withService(engine, async (service) => {
      const { status } = await service.send({ ...profile('get'), path: '/API/Account.ASMX/Profile' });
      assert.equal(status, 200);
    }));

  const METHODS = ['PUT', 'DELETE', 'OPTIONS', 'PATCH', 'TRACE', 'get', 'post', 'Get', 'X'];
  test('a method of no protocol is answered with the allowed methods', () =>
    withService(engine, async (service) => {
      for (const method of [...METHODS, 'HEAD']) {
        const answer = await service.send({ ...profile('get'), method });
        const fields = { Allow: 'GET, POST' };
        assertProblem('get', answer, 'method', 'This address accepts only GET, POST.', { fields });
      }
      for (const method of METHODS) {
        for (const query of ['', 'WSDL']) {
          const answer = await service.send({ method, path: '/api/account.asmx', query });
          const fields = { Allow: 'GET, HEAD, POST' };
          assertProblem('soap11', answer, 'method', 'This address accepts only GET, HEAD, POST.', { fields });
        }
      }
    }));

  const MEDIA = [undefined, '', 'text/plain', 'application/json', 'application/xml', 'multipart/form-data; boundary=x'];
  test('a Content-Type of no protocol is unsupported', () =>
    withService(engine, async (service) => {
      const send = (protocol: Protocol, type: string | undefined) =>
        service.send({ ...profile(protocol), headers: { 'content-type': type, soapaction: `"${NAMESPACE}/Profile"` } });
      for (const type of [...MEDIA, 'application/x-www-form-urlencoded', 'text/xmlx', 'text']) {
        const message = 'The Content-Type of a SOAP call is text/xml or application/soap+xml.';
        for (const protocol of SOAP) assertProblem(protocol, await send(protocol, type), 'unsupported-media', message);
      }
      for (const type of [...MEDIA, 'text/xml', 'application/soap+xml', 'application/x-www-form-urlencodedx']) {
        const message = 'The Content-Type of this call is application/x-www-form-urlencoded.';
        assertProblem('post', await send('post', type), 'unsupported-media', message);
      }
    }));

  for (const protocol of SOAP) {
    const whole = envelope(
      protocol,
      operationElement('SaveMessageTemplate', { user_id: ACME, message: 'never saved' }),
    );
    const inside = (text: string) => whole.replace('never saved', text);
    const MALFORMED: Readonly<Record<string, string>> = {
      nothing: '',
      'white space': ' \r\n',
      text: 'user_id=x',
      JSON: '{"user_id":"x"}',
      'a part of it': whole.slice(0, -20),
      'an end tag of another name': whole.replace('</message>', '</massage>'),
      'an attribute twice': whole.replace('<message>', '<message a="1" a="2">'),
      'an attribute without quotes': whole.replace('<message>', '<message a=1>'),
      'a DOCTYPE': whole.replace('?>', '?><!DOCTYPE x>'),
      'a DOCTYPE with an entity': inside('&x;').replace(
        '?>',
        '?><!DOCTYPE x [<!ENTITY x SYSTEM "file:///etc/passwd">]>',
      ),
      'an undeclared entity': inside('&nbsp;'),
      'a bare ampersand': inside('a & b'),
      'an illegal character': inside('\u0001'),
      'a reference to an illegal character': inside('&#1;'),
      'a reference to NUL': inside('&#0;'),
      'half a surrogate pair': inside('&#xD83D;'),
      ']]> in text': inside(']]>'),
      ...Object.fromEntries(
        ['1.1', '1.01', '1.00', '1.9', '1', '2.0', ' 1.0'].map((version) => [
          `XML ${version}`,
          whole.replace('version="1.0"', `version="${version}"`),
        ]),
      ),
      'white space before the declaration': ` ${whole}`,
      'text after the Envelope': `${whole}x`,
      'a second root': `${whole}<x/>`,
      'an undeclared prefix': whole.replace('<message>', '<p:x/><message>'),
      'a Body element of an undeclared prefix': whole.replaceAll('SaveMessageTemplate', 'p:SaveMessageTemplate'),
      'no envelope': operationElement('SaveMessageTemplate', { user_id: ACME, message: 'never saved' }),
      'an Envelope without Body': whole.replaceAll('s:Body', 's:Bodies'),
      'an empty Envelope': whole.replace(/<s:Body>.*<\/s:Body>/, ''),
      'a Body of no namespace': whole.replace('<s:Body>', '<Body>').replace('</s:Body>', '</Body>'),
    };
    test(`bytes that are not XML or not an envelope are malformed in ${protocol} and change nothing`, () =>
      withService(engine, async (service) => {
        for (const [what, bytes] of Object.entries(MALFORMED)) {
          const answer = await service.send(soapRequest(protocol, 'account', bytes, 'SaveMessageTemplate'));
          assert.equal(answer.status, 400, what);
          assertProblem(protocol, answer, 'malformed', /./);
        }
        const { text } = await service.call(protocol, 'account', 'FetchSavedMessages', { user_id: ACME });
        assert.equal(text.match(/<string>/g)?.length, 3);
        assert.equal((await service.send(soapRequest(protocol, 'account', whole, 'SaveMessageTemplate'))).status, 200);
      }));
  }
});
