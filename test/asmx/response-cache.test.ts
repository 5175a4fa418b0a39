import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { contract } from '../../src/asmx/contract/contract.ts';
import type { Operation } from '../../src/asmx/contract/types.ts';
import { Problem, type ProblemKind } from '../../src/base/problem.ts';
import { type CachedEndpoint, createCachedEndpoint, lookup, type Sent } from '../support/cached-endpoint.ts';
import { type Arguments, NAMESPACE, PROTOCOLS, requestOf } from '../support/protocols.ts';
import type { Answer } from '../support/service.ts';

/** Everything that a client sees of a response. */
const shown = ({ status, headers, text }: Answer) => ({ status, headers, text });

async function askedTwice(endpoint: CachedEndpoint, request: Sent): Promise<void> {
  const answers = [await endpoint.send(request), await endpoint.send(request)].map(shown);
  assert.equal(endpoint.asked.length, 2);
  assert.deepEqual(answers[1], answers[0]);
}

const dated = Object.entries(contract).flatMap(([group, operations]) =>
  Object.entries<Operation>(operations)
    .filter(([, { parameters }]) =>
      Object.values(parameters).some((type) => type.kind === 'scalar' && type.name === 'dateTime'),
    )
    .map(([operation]) => [group, operation] as const),
);
const ARGUMENTS: Arguments = { user_id: 'one', from: '2026-10-01', to: '2026-10-02', max_count: 1 };

describe('response cache', () => {
  for (const protocol of PROTOCOLS) {
    test(`a repeated request gets the same bytes, and no operation is called (${protocol})`, async () => {
      const endpoint = createCachedEndpoint();
      const answers: Answer[] = [];
      for (let count = 0; count < 3; count++) answers.push(await endpoint.send(lookup(protocol)));
      assert.equal(endpoint.asked.length, 1);
      assert.match(answers[0]?.text ?? '', /<mobile>1<\/mobile>/);
      for (const answer of answers.slice(1)) assert.deepEqual(shown(answer), shown(answers[0] as Answer));
    });

    test(`a change of the account ends the cached response, and the next one is cached (${protocol})`, async () => {
      let name = 'before';
      const answer = () => ({ name, surname: null, id: '1', mobile: null, groupid: null });
      const endpoint = createCachedEndpoint({ answer });
      await endpoint.send(lookup(protocol));
      name = 'after';
      endpoint.versions.set('one', 2);
      for (const _ of [1, 2]) assert.match((await endpoint.send(lookup(protocol))).text, />after</);
      assert.equal(endpoint.asked.length, 2);
    });

    test(`a cached response is observed as the first one, but without its call (${protocol})`, async () => {
      const endpoint = createCachedEndpoint();
      for (const _ of [1, 2]) await endpoint.send(lookup(protocol));
      const [first, again] = endpoint.observed.map(({ reply, request, call, durationMs, ...seen }) => ({ ...seen }));
      assert.deepEqual(again, {
        kind: 'ok',
        protocol: protocol,
        group: 'account',
        operation: 'LookupContact',
        account: { userId: 'one', version: 1 },
      });
      assert.deepEqual(first, again);
      assert.deepEqual(
        endpoint.observed.map(({ call }) => call?.operation),
        ['LookupContact', undefined],
      );
      assert.deepEqual(
        endpoint.observed.map(({ request }) => request.method),
        [lookup(protocol).method, lookup(protocol).method],
      );
    });
  }

  test('a change of one account keeps the cached responses of others', async () => {
    const endpoint = createCachedEndpoint();
    for (const account of ['one', 'two']) await endpoint.send(lookup('get', '1', account));
    endpoint.versions.set('two', 2);
    for (const account of ['one', 'two']) await endpoint.send(lookup('get', '1', account));
    assert.deepEqual(
      endpoint.asked.map((call) => call.arguments.user_id),
      ['one', 'two', 'two'],
    );
  });

  test('a response is not cached if its account changed while it was made', async () => {
    const meanwhile = (versions: CachedEndpoint['versions'], account: string) =>
      versions.set(account, (versions.get(account) ?? 1) + 1);
    await askedTwice(createCachedEndpoint({ meanwhile }), lookup('get'));
  });

  test('a response is not cached if the database cannot tell the version', async () => {
    const endpoint = createCachedEndpoint();
    endpoint.versions.set('one', undefined);
    await askedTwice(endpoint, lookup('get'));
  });

  test('a cached response is not used if the database cannot tell the version', async () => {
    const endpoint = createCachedEndpoint();
    await endpoint.send(lookup('get'));
    endpoint.versions.set('one', undefined);
    await endpoint.send(lookup('get'));
    assert.equal(endpoint.asked.length, 2);
  });

  for (const kind of ['denied', 'bad-argument', 'unavailable', 'too-many'] satisfies ProblemKind[]) {
    test(`a problem is not cached: ${kind}`, async () => {
      const answer = () => Promise.reject(new Problem(kind, 'no'));
      for (const protocol of PROTOCOLS) await askedTwice(createCachedEndpoint({ answer }), lookup(protocol));
    });
  }

  test('an internal error is not cached', async () => {
    let fails = true;
    const answer = () => {
      if (fails) throw new Error('a bug');
      return { name: 'right', surname: null, id: '1', mobile: null, groupid: null };
    };
    const endpoint = createCachedEndpoint({ answer });
    assert.equal((await endpoint.send(lookup('get'))).status, 500);
    fails = false;
    assert.match((await endpoint.send(lookup('get'))).text, />right</);
  });

  const long = (unit: string, bytes: number) => () => {
    const name = unit.repeat(Math.ceil(bytes / Buffer.byteLength(unit)));
    return { name, surname: null, id: '1', mobile: null, groupid: null };
  };
  // The envelope and the record around the name take less than 1 KB.
  test('a response of nearly 64 KB is cached', async () => {
    const endpoint = createCachedEndpoint({ answer: long('x', 63 * 1024) });
    for (const _ of [1, 2]) await endpoint.send(lookup('soap11'));
    assert.equal(endpoint.asked.length, 1);
  });
  for (const [what, unit] of Object.entries({ ASCII: 'x', 'characters of three bytes': '字', emoji: '😀' })) {
    test(`a response of more than 64 KB is not cached: ${what}`, () =>
      askedTwice(createCachedEndpoint({ answer: long(unit, 64 * 1024) }), lookup('soap11')));
  }

  test('the response to a request of more than 4,096 characters is not cached', () =>
    askedTwice(createCachedEndpoint(), lookup('get', '1'.repeat(4_096))));

  test('a streamed response is not cached, however short it is', async () => {
    const answer = () =>
      (async function* () {
        yield [{ name: 'a', surname: null, id: '1', mobile: null, groupid: null }];
      })();
    for (const protocol of PROTOCOLS) {
      await askedTwice(
        createCachedEndpoint({ answer }),
        requestOf(protocol, 'account', 'FetchContacts', { user_id: 'one' }),
      );
    }
  });

  test('Read is the only operation with a dateTime', () => assert.deepEqual(dated, [['inbox', 'Read']]));
  for (const [group, operation] of dated) {
    for (const protocol of PROTOCOLS) {
      test(`a response that depends on a dateTime is not cached: ${operation} (${protocol})`, () =>
        askedTwice(createCachedEndpoint({ answer: () => [] }), requestOf(protocol, group, operation, ARGUMENTS)));
    }
  }
});

const utf8 = lookup('post');
const latin1: Sent = { ...utf8, headers: { 'content-type': `${utf8.headers['content-type']}; charset=iso-8859-1` } };
const soap = lookup('soap11');
const soap12 = lookup('soap12');
const accented = (request: Sent): Sent => ({ ...request, bytes: 'user_id=one&mobile=%C3%A9' });
const inUtf16 = (text: string) => Buffer.from(`\uFEFF${text}`, 'utf16le');

/** Two requests of which the second is not the first, and what its answer must then say. */
const DIFFERENT: Record<string, readonly [Sent, Sent, number, RegExp]> = {
  'another argument in the query': [lookup('get', '1'), lookup('get', '2'), 200, />2</],
  'another byte of the body': [lookup('post', '1'), lookup('post', '2'), 200, />2</],
  'another byte of the envelope': [lookup('soap11', '1'), lookup('soap11', '2'), 200, />2</],
  'a byte more at the end of the body': [lookup('post', '1'), lookup('post', '12'), 200, />12</],
  'another user_id': [lookup('get', '1', 'one'), lookup('get', '1', 'two'), 200, />1</],
  'an argument in the query of a form': [{ ...utf8, bytes: 'user_id=one' }, utf8, 200, />1</],
  'the arguments in the query and not in the body': [
    utf8,
    { ...utf8, query: utf8.bytes, bytes: '' },
    200,
    /xsi:nil|<id>1</,
  ],
  'another charset': [accented(utf8), accented(latin1), 200, />Ã©</],
  'another charset, the other way round': [accented(latin1), accented(utf8), 200, />é</],
  'a charset that the envelope is not in': [
    soap,
    { ...soap, headers: { ...soap.headers, 'content-type': 'text/xml; charset=utf-16' } },
    400,
    /./,
  ],
  // The byte order mark wins over the charset: the same answer, found anew.
  'bytes in another encoding': [soap, { ...soap, bytes: inUtf16(soap.bytes) }, 200, />1</],
  'another media type': [soap, { ...soap, headers: { ...soap.headers, 'content-type': 'text/plain' } }, 415, /./],
  'no media type': [utf8, { ...utf8, headers: {} }, 415, /./],
  'another SOAPAction': [
    soap,
    { ...soap, headers: { ...soap.headers, soapaction: `"${NAMESPACE}/Profile"` } },
    500,
    /unknown-operation/,
  ],
  'an action in the media type': [
    soap12,
    { ...soap12, headers: { 'content-type': `application/soap+xml; action="${NAMESPACE}/Profile"` } },
    500,
    /unknown-operation/,
  ],
  'another version of SOAP': [soap, lookup('soap12'), 200, /2003\/05\/soap-envelope/],
  'another letter case of the operation': [
    lookup('get'),
    { ...lookup('get'), path: '/api/account.asmx/lookupcontact' },
    404,
    /./,
  ],
  'another letter case of the group': [
    lookup('get'),
    { ...lookup('get'), path: '/API/Account.asmx/LookupContact' },
    200,
    />1</,
  ],
  'another operation': [lookup('get'), { ...lookup('get'), path: '/api/account.asmx/FetchContact' }, 200, />1</],
  'another group': [lookup('get'), { ...lookup('get'), path: '/api/inbox.asmx/LookupContact' }, 404, /./],
  'another method': [lookup('get'), { ...lookup('get'), method: 'POST' }, 415, /./],
  'a method of no form': [lookup('get'), { ...lookup('get'), method: 'PUT' }, 405, /./],
  HEAD: [lookup('get'), { ...lookup('get'), method: 'HEAD' }, 405, /./],
};

describe('keys of the response cache', () => {
  for (const [what, [first, second, status, text]] of Object.entries(DIFFERENT)) {
    test(`a cached response is not used for ${what}`, async () => {
      const endpoint = createCachedEndpoint();
      const fresh = createCachedEndpoint();
      const expected = [await fresh.send(first), await createCachedEndpoint().send(second)].map(shown);
      assert.equal(expected[0]?.status, 200);
      assert.equal(expected[1]?.status, status);
      assert.match(expected[1]?.text ?? '', text);
      // Each twice and in turns: neither is ever given for the other.
      for (const _ of [1, 2]) {
        assert.deepEqual(shown(await endpoint.send(first)), expected[0]);
        assert.deepEqual(shown(await endpoint.send(second)), expected[1]);
      }
      assert.equal(endpoint.asked.length, status === 200 ? 2 : 1);
    });
  }
});
