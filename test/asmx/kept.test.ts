import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { contract } from '../../src/contract/contract.ts';
import type { Operation } from '../../src/contract/types.ts';
import { Problem, type ProblemKind } from '../../src/problem.ts';
import { type Arguments, FORMS, NAMESPACE, requestOf } from '../support/forms.ts';
import type { Answer } from '../support/service.ts';
import { createKeeping, type Keeping, lookup, type Sent } from './keeping.ts';

/** What is said of an answer that was given again: nothing that tells it from the first. */
const shown = ({ status, headers, text }: Answer) => ({ status, headers, text });

async function askedTwice(keeping: Keeping, request: Sent): Promise<void> {
  const answers = [await keeping.send(request), await keeping.send(request)].map(shown);
  assert.equal(keeping.asked.length, 2);
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

describe('kept answers', () => {
  for (const form of FORMS) {
    test(`an answer is given again, byte for byte, and nobody is asked (${form})`, async () => {
      const keeping = createKeeping();
      const answers: Answer[] = [];
      for (let count = 0; count < 3; count++) answers.push(await keeping.send(lookup(form)));
      assert.equal(keeping.asked.length, 1);
      assert.match(answers[0]?.text ?? '', /<mobile>1<\/mobile>/);
      for (const answer of answers.slice(1)) assert.deepEqual(shown(answer), shown(answers[0] as Answer));
    });

    test(`it is made anew after the version of the account has changed, and then kept again (${form})`, async () => {
      let name = 'before';
      const answer = () => ({ name, surname: null, id: '1', mobile: null, groupid: null });
      const keeping = createKeeping({ answer });
      await keeping.send(lookup(form));
      name = 'after';
      keeping.versions.set('one', 2);
      for (const _ of [1, 2]) assert.match((await keeping.send(lookup(form))).text, />after</);
      assert.equal(keeping.asked.length, 2);
    });

    test(`what is observed of a kept answer is what was observed of the first, but for the call (${form})`, async () => {
      const keeping = createKeeping();
      for (const _ of [1, 2]) await keeping.send(lookup(form));
      const [first, again] = keeping.observed.map(({ reply, request, call, durationMs, ...seen }) => ({ ...seen }));
      assert.deepEqual(again, {
        kind: 'ok',
        protocol: form,
        group: 'account',
        operation: 'LookupContact',
        account: { userId: 'one', version: 1 },
      });
      assert.deepEqual(first, again);
      assert.deepEqual(
        keeping.observed.map(({ call }) => call?.operation),
        ['LookupContact', undefined],
      );
      assert.deepEqual(
        keeping.observed.map(({ request }) => request.method),
        [lookup(form).method, lookup(form).method],
      );
    });
  }

  test('an account that changes leaves the answers of others', async () => {
    const keeping = createKeeping();
    for (const account of ['one', 'two']) await keeping.send(lookup('get', '1', account));
    keeping.versions.set('two', 2);
    for (const account of ['one', 'two']) await keeping.send(lookup('get', '1', account));
    assert.deepEqual(
      keeping.asked.map((call) => call.arguments.user_id),
      ['one', 'two', 'two'],
    );
  });

  test('an answer is not kept where its account changed while it was made', async () => {
    const meanwhile = (versions: Keeping['versions'], account: string) =>
      versions.set(account, (versions.get(account) ?? 1) + 1);
    await askedTwice(createKeeping({ meanwhile }), lookup('get'));
  });

  test('an answer is not kept where nobody can tell the version', async () => {
    const keeping = createKeeping();
    keeping.versions.set('one', undefined);
    await askedTwice(keeping, lookup('get'));
  });

  test('an answer is not given again where the version cannot be told any more', async () => {
    const keeping = createKeeping();
    await keeping.send(lookup('get'));
    keeping.versions.set('one', undefined);
    await keeping.send(lookup('get'));
    assert.equal(keeping.asked.length, 2);
  });

  for (const kind of ['denied', 'bad-argument', 'unavailable', 'too-many'] satisfies ProblemKind[]) {
    test(`a problem is not kept: ${kind}`, async () => {
      const answer = () => Promise.reject(new Problem(kind, 'no'));
      for (const form of FORMS) await askedTwice(createKeeping({ answer }), lookup(form));
    });
  }

  test('our own error is not kept, and the next answer is the right one', async () => {
    let fails = true;
    const answer = () => {
      if (fails) throw new Error('a bug');
      return { name: 'right', surname: null, id: '1', mobile: null, groupid: null };
    };
    const keeping = createKeeping({ answer });
    assert.equal((await keeping.send(lookup('get'))).status, 500);
    fails = false;
    assert.match((await keeping.send(lookup('get'))).text, />right</);
  });

  const long = (unit: string, bytes: number) => () => {
    const name = unit.repeat(Math.ceil(bytes / Buffer.byteLength(unit)));
    return { name, surname: null, id: '1', mobile: null, groupid: null };
  };
  // The envelope and the record around the name take less than 1 KB.
  test('an answer of nearly 64 KB is kept', async () => {
    const keeping = createKeeping({ answer: long('x', 63 * 1024) });
    for (const _ of [1, 2]) await keeping.send(lookup('soap11'));
    assert.equal(keeping.asked.length, 1);
  });
  for (const [what, unit] of Object.entries({ ASCII: 'x', 'characters of three bytes': '字', emoji: '😀' })) {
    test(`an answer of more than 64 KB is not kept: ${what}`, () =>
      askedTwice(createKeeping({ answer: long(unit, 64 * 1024) }), lookup('soap11')));
  }

  test('an answer to a question of more than 4,096 characters is not kept', () =>
    askedTwice(createKeeping(), lookup('get', '1'.repeat(4_096))));

  test('an answer that comes in pieces is not kept, however short it is', async () => {
    const answer = () =>
      (async function* () {
        yield [{ name: 'a', surname: null, id: '1', mobile: null, groupid: null }];
      })();
    for (const form of FORMS) {
      await askedTwice(createKeeping({ answer }), requestOf(form, 'account', 'FetchContacts', { user_id: 'one' }));
    }
  });

  test('the operations with a dateTime are known', () => assert.deepEqual(dated, [['inbox', 'Read']]));
  for (const [group, operation] of dated) {
    for (const form of FORMS) {
      test(`an answer to a question about times is not kept: ${operation} (${form})`, () =>
        askedTwice(createKeeping({ answer: () => [] }), requestOf(form, group, operation, ARGUMENTS)));
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

describe('which answer is kept for which request', () => {
  for (const [what, [first, second, status, text]] of Object.entries(DIFFERENT)) {
    test(`it is not given for ${what}`, async () => {
      const keeping = createKeeping();
      const fresh = createKeeping();
      const expected = [await fresh.send(first), await createKeeping().send(second)].map(shown);
      assert.equal(expected[0]?.status, 200);
      assert.equal(expected[1]?.status, status);
      assert.match(expected[1]?.text ?? '', text);
      // Each twice and in turns: neither is ever given for the other.
      for (const _ of [1, 2]) {
        assert.deepEqual(shown(await keeping.send(first)), expected[0]);
        assert.deepEqual(shown(await keeping.send(second)), expected[1]);
      }
      assert.equal(keeping.asked.length, status === 200 ? 2 : 1);
    });
  }
});
