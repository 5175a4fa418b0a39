import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createTestEndpoint } from '../../support/endpoint.ts';
import { onOneEngine } from '../../support/engines.ts';
import { assertProblem } from '../../support/expected-problems.ts';
import { ACME, startService } from '../../support/service.ts';

/** How GET and POST parameters are read. */
const FORM_TYPE = 'application/x-www-form-urlencoded';
const PAIRS_FORMS = ['get', 'post'] as const;

function requestOf(protocol: (typeof PAIRS_FORMS)[number], operation: string, pairs: string) {
  const path = `/api/account.asmx/${operation}`;
  if (protocol === 'get') return { method: 'GET', path, query: pairs };
  return { method: 'POST', path, headers: { 'content-type': FORM_TYPE }, bytes: Buffer.from(pairs, 'latin1') };
}

const user = `user_id=${ACME}`;

/** Of FetchContact: what `mobile` is read as. */
const TEXTS: readonly (readonly [what: string, pairs: string, mobile: string | null])[] = [
  ['in any order', `mobile=a&${user}`, 'a'],
  ['with unknown ones among them', `x=1&${user}&mobile=a&y=&mobile2=b`, 'a'],
  ['in any letter case', `USER_ID=${ACME}&MobilE=a`, 'a'],
  ['empty as empty', `${user}&mobile=`, ''],
  ['without an equals sign as missing', `${user}&mobile`, null],
  ['with empty pairs among them', `&&${user}&&mobile=a&`, 'a'],
  ['with an equals sign in the value', `${user}&mobile=a=b=`, 'a=b='],
  ['with a semicolon, which separates nothing', `${user}&mobile=a;b;user_id=c`, 'a;b;user_id=c'],
  ['after &amp; as another name', `${user}&amp;mobile=a`, null],
  ['with brackets as another name', `${user}&mobile[]=a&mobile[0]=b`, null],
  ['with percent signs in the name', `user%5Fid=${ACME}&m%6Fbile=a`, 'a'],
  ['with a plus as a blank', `${user}&mobile=a+b`, 'a b'],
  ['with an encoded plus as a plus', `${user}&mobile=%2B27%2b82`, '+27+82'],
  ['with UTF-8 in percent signs', `${user}&mobile=%C3%A9%E4%BA%8C%F0%9F%98%80`, 'é二😀'],
  ['with UTF-8 as it is', `${user}&mobile=\u00C3\u00A9`, 'é'],
  ['with %uXXXX', `${user}&mobile=%u00e9%u4E8C%uD83D%uDE00x`, 'é二😀x'],
  ['with both kinds of percent signs', `${user}&mobile=%C3%A9%u4E8C%C3%A9`, 'é二é'],
  ['with half a %uXXXX pair as U+FFFD', `${user}&mobile=a%uD83Db`, 'a\uFFFDb'],
  ['with a malformed percent sign as it is', `${user}&mobile=%ZZ%4%%u12G4%`, '%ZZ%4%%u12G4%'],
  ['with invalid UTF-8 as U+FFFD', `${user}&mobile=a%FFb%C3`, 'a\uFFFDb\uFFFD'],
  ['with a byte order mark as text', `${user}&mobile=%EF%BB%BFa`, '\uFEFFa'],
  ['with line ends as they are', `${user}&mobile=a%0D%0Ab%0Dc`, 'a\r\nb\rc'],
  ['with markup as it is', `${user}&mobile=%3Cscript%3E%26%2365;`, '<script>&#65;'],
  ['with white space kept around a text', `${user}&mobile=+a%09`, ' a\t'],
];

/** Of DeleteContact. */
const LISTS: readonly (readonly [what: string, pairs: string, list: string[] | null])[] = [
  ['repeated', `${user}&contact_id=101&contact_id=102`, ['101', '102']],
  ['given once', `${user}&contact_id=101`, ['101']],
  ['in several letter cases', `contact_id=101&${user}&CONTACT_ID=102&Contact_Id=103`, ['101', '102', '103']],
  ['with commas', `${user}&contact_id=101,102`, ['101,102']],
  ['empty', `${user}&contact_id=`, ['']],
  ['empty among others', `${user}&contact_id=101&contact_id=&contact_id=102`, ['101', '', '102']],
  ['missing', user, null],
  ['without an equals sign', `${user}&contact_id&contact_id`, null],
  ['with brackets', `${user}&contact_id[]=101&contact_id[0]=102`, null],
];

const endpoint = createTestEndpoint(async () => null);
const called = (operation: string, args: object) => ({ group: 'account', operation, arguments: args });

describe('GET and POST parameters', () => {
  for (const protocol of PAIRS_FORMS) {
    for (const [what, pairs, mobile] of TEXTS) {
      test(`${protocol}: a text is read ${what}`, async () => {
        const call = called('FetchContact', { user_id: ACME, mobile });
        assert.deepEqual(await endpoint.receive(requestOf(protocol, 'FetchContact', pairs)), call);
      });
    }

    for (const [what, pairs, contact_id] of LISTS) {
      test(`${protocol}: a list ${what} is ${JSON.stringify(contact_id)}`, async () => {
        const call = called('DeleteContact', { user_id: ACME, contact_id });
        const endpoint = createTestEndpoint(async () => true);
        assert.deepEqual(await endpoint.receive(requestOf(protocol, 'DeleteContact', pairs)), call);
      });
    }

    const TWICE = [
      ['groupid', `${user}&groupid=2&groupid=2`],
      ['groupid', `${user}&groupid=2&GroupID=2`],
      ['groupid', `${user}&groupid=&groupid=2`],
      ['user_id', `${user}&${user}&groupid=2`],
      ['user_id', `${user}&USER_ID=${ACME}&groupid=2`],
    ] as const;
    test(`${protocol}: a scalar given twice is a bad argument, in whatever letter case`, async () => {
      for (const [name, pairs] of TWICE) {
        const answer = await endpoint.send(requestOf(protocol, 'FetchContactsByGroupId', pairs));
        assertProblem(protocol, answer, 'bad-argument', `${name}: given more than once`);
      }
    });

    const NUMBERS = [
      [user, 'groupid: missing'],
      [`${user}&groupid`, 'groupid: missing'],
      [`${user}&amp;groupid=2`, 'groupid: missing'],
      [`${user}&groupid=`, /^groupid: expected a whole number/],
      [`${user}&groupid=%00`, /^groupid: expected a whole number/],
      [`${user}&groupid=2,3`, /^groupid: expected a whole number/],
    ] as const;
    test(`${protocol}: a number that is missing or empty is a bad argument`, async () => {
      for (const [pairs, message] of NUMBERS) {
        const answer = await endpoint.send(requestOf(protocol, 'FetchContactsByGroupId', pairs));
        assertProblem(protocol, answer, 'bad-argument', message);
      }
    });

    test(`${protocol}: a plus before a number is read as a blank, and an encoded plus as a sign`, async () => {
      for (const groupid of ['+2', '%2B2', '+%2B2+', '002', '%202%0A']) {
        const call = called('FetchContactsByGroupId', { user_id: ACME, groupid: 2 });
        const request = requestOf(protocol, 'FetchContactsByGroupId', `${user}&groupid=${groupid}`);
        assert.deepEqual(await createTestEndpoint().receive(request), call, groupid);
      }
    });

    test(`${protocol}: percent-encoding in the name of an operation is decoded, and a plus is no blank`, async () => {
      const call = called('FetchContact', { user_id: ACME, mobile: null });
      assert.deepEqual(await endpoint.receive(requestOf(protocol, 'Fetch%43ontact', user)), call);
      assertProblem(
        protocol,
        await endpoint.send(requestOf(protocol, 'FetchContact+', user)),
        'unknown-operation',
        /no such operation/,
      );
    });
  }

  test('GET reads the query string only', async () => {
    const request = {
      ...requestOf('get', 'FetchContact', user),
      headers: { 'content-type': FORM_TYPE },
      bytes: 'mobile=a',
    };
    assert.deepEqual(await endpoint.receive(request), called('FetchContact', { user_id: ACME, mobile: null }));
  });

  test('POST reads the form only', async () => {
    const request = { ...requestOf('post', 'FetchContact', user), query: `${user}&mobile=a` };
    assert.deepEqual(await endpoint.receive(request), called('FetchContact', { user_id: ACME, mobile: null }));
  });

  const CHARSETS: readonly (readonly [type: string, value: Buffer | string, mobile: string])[] = [
    [FORM_TYPE, '%C3%A9', 'é'],
    ['Application/X-WWW-Form-Urlencoded', '%C3%A9', 'é'],
    [`${FORM_TYPE}; charset=utf-8`, '%C3%A9', 'é'],
    [`${FORM_TYPE};CHARSET="UTF-8"; x=y`, '%C3%A9', 'é'],
    [`${FORM_TYPE}; charset=utf-8`, '%EF%BB%BFa', '\uFEFFa'],
    [`${FORM_TYPE}; charset=iso-8859-1`, '%E9', 'é'],
    [`${FORM_TYPE}; charset=ISO-8859-1`, Buffer.from([0xe9]), 'é'],
    [`${FORM_TYPE}; charset=windows-1252`, '%80%E9', '€é'],
    [`${FORM_TYPE}; charset=iso-8859-1`, '%E9%u20AC', 'é€'],
    [`${FORM_TYPE}; charset=nobody-knows-it`, '%C3%A9', 'é'],
    [`${FORM_TYPE}; charset=`, '%C3%A9', 'é'],
  ];
  for (const [type, value, mobile] of CHARSETS) {
    test(`POST as ${type} reads ${value.toString('latin1')} as ${JSON.stringify(mobile)}`, async () => {
      const bytes = Buffer.concat([Buffer.from(`${user}&mobile=`), Buffer.from(value)]);
      const request = { ...requestOf('post', 'FetchContact', ''), headers: { 'content-type': type }, bytes };
      assert.deepEqual(await endpoint.receive(request), called('FetchContact', { user_id: ACME, mobile }));
    });
  }
});

onOneEngine('GET and POST lists', (engine) => {
  for (const protocol of PAIRS_FORMS) {
    test(`${protocol}: a missing list is a bad argument, and an empty item names no contact`, async () => {
      const service = await startService(engine);
      const send = (pairs: string) => service.send(requestOf(protocol, 'DeleteContact', pairs));
      try {
        for (const [, pairs] of LISTS.filter(([, , list]) => list === null)) {
          assertProblem(protocol, await send(pairs), 'bad-argument', 'contact_id: the list is missing or empty');
        }
        for (const pairs of ['contact_id=', 'contact_id=101,102', 'contact_id=101&contact_id=']) {
          assert.match((await send(`${user}&${pairs}`)).text, />false</, pairs);
        }
        assert.match((await send(`${user}&contact_id=101&CONTACT_ID=%2B102`)).text, />true</);
        const { text } = await service.call(protocol, 'account', 'FetchContacts', { user_id: ACME });
        assert.deepEqual(
          [...text.matchAll(/<id>(\d+)</g)].map(([, id]) => id),
          ['103', '104', '105', '106'],
        );
      } finally {
        await service.stop();
      }
    });
  }
});
