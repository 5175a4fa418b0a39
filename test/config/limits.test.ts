import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { limits } from '../../src/config/limits.ts';
import { type Config, flagOf, readConfig } from '../../src/config/settings.ts';
import { onEveryEngine } from '../support/engines.ts';
import { assertProblem } from '../support/expected-problems.ts';
import { assertRefusal, said } from '../support/http-client.ts';
import {
  type Arguments,
  envelope,
  operationElement,
  PROTOCOLS,
  type Protocol,
  requestOf,
  soapRequest,
} from '../support/protocols.ts';
import { ACME, type Service, startService } from '../support/service.ts';
import { requestBytes, statusOf, textOf } from '../support/socket.ts';

/** Every bound is a setting, and holds to the last character. */

describe('the settings of limits', () => {
  for (const [name, { variable, fallback }] of Object.entries(limits)) {
    test(`${variable} is a whole number, ${fallback} by default`, () => {
      const read = (value: string) => readConfig({ [variable]: value })[name as keyof typeof limits];
      assert.equal(readConfig({})[name as keyof typeof limits], Number(fallback));
      assert.equal(read(String(Number(fallback) + 1)), Number(fallback) + 1);
      assert.equal(readConfig({}, { [flagOf(name)]: fallback })[name as keyof typeof limits], Number(fallback));
      for (const value of ['', '-1', '1.5', '1e3', 'many', '9'.repeat(20), ' 1']) {
        assert.throws(() => read(value), { message: new RegExp(`^${variable}: expected a whole number from`) }, value);
      }
    });
  }
});

const SOAP = ['soap11', 'soap12'] as const;

type Case = readonly [
  settings: Partial<Config>,
  what: string,
  message: string,
  request: (protocol: Protocol, size: number) => Parameters<Service['send']>[0],
];

const soapVersion = (protocol: Protocol) => protocol as (typeof SOAP)[number];
const CALL = operationElement('Profile', { user_id: ACME });
const inHeader = (protocol: Protocol, content: string) =>
  soapRequest(
    soapVersion(protocol),
    'account',
    envelope(soapVersion(protocol), CALL, `<s:Header>${content}</s:Header>`),
    'Profile',
  );
const withArguments = (protocol: Protocol, more: Arguments) =>
  requestOf(protocol, 'account', 'Profile', { user_id: ACME, ...more });
const times = (count: number, piece: (index: number) => string) =>
  Array.from({ length: count }, (_, i) => piece(i)).join('');

/** The Envelope and its Header are two levels; with Body, Profile and user_id they are five elements. */
const XML: readonly Case[] = [
  [
    { xmlDepthMax: 12 },
    'levels of elements',
    'The request nests elements deeper than 12.',
    (protocol, size) => inHeader(protocol, '<a>'.repeat(size - 2) + '</a>'.repeat(size - 2)),
  ],
  [
    { xmlElementsMax: 30 },
    'elements',
    'The request has more than 30 elements.',
    (protocol, size) => inHeader(protocol, '<a/>'.repeat(size - 5)),
  ],
  [
    { xmlAttributesMax: 20 },
    'attributes',
    'An element of the request has more than 20 attributes.',
    (protocol, size) => inHeader(protocol, `<a${times(size, (index) => ` b${index}=""`)}/>`),
  ],
  [
    { nameLengthMax: 80 },
    'characters of the name of an element',
    'A name in the request has more than 80 characters.',
    (protocol, size) => inHeader(protocol, `<${'n'.repeat(size)}/>`),
  ],
  [
    { nameLengthMax: 80 },
    'characters of the name of an element, with its prefix',
    'A name in the request has more than 80 characters.',
    (protocol, size) => inHeader(protocol, `<s:${'é'.repeat(size - 2)}/>`),
  ],
  [
    { nameLengthMax: 80 },
    'characters of the name of an attribute',
    'A name in the request has more than 80 characters.',
    (protocol, size) => inHeader(protocol, `<a ${'n'.repeat(size)}=""/>`),
  ],
  [
    { nameLengthMax: 80 },
    'characters of the target of a processing instruction',
    'A name in the request has more than 80 characters.',
    (protocol, size) => inHeader(protocol, `<?${'n'.repeat(size)} x?>`),
  ],
  [
    { textLengthMax: 200 },
    'characters of an element',
    'A value in the request has more than 200 characters.',
    (protocol, size) => inHeader(protocol, `<a>${'x'.repeat(size)}</a>`),
  ],
  [
    { textLengthMax: 200 },
    'characters of an element, in pieces',
    'A value in the request has more than 200 characters.',
    (protocol, size) =>
      inHeader(protocol, `<a>${'<b/>x<!-- c --><![CDATA[y]]>'.repeat(size / 2)}${size % 2 ? 'z' : ''}</a>`),
  ],
  [
    { textLengthMax: 200 },
    'characters of an element, as references',
    'A value in the request has more than 200 characters.',
    (protocol, size) => inHeader(protocol, `<a>${'&#65;'.repeat(size)}</a>`),
  ],
  [
    { textLengthMax: 200 },
    'characters of an attribute',
    'A value in the request has more than 200 characters.',
    (protocol, size) => inHeader(protocol, `<a b="${'x'.repeat(size)}"/>`),
  ],
];

const PAIRS: readonly Case[] = [
  [
    { parametersMax: 10 },
    'parameters',
    'There are more than 10 parameters.',
    (protocol, size) => withArguments(protocol, { filler: Array(size - 1).fill('x') }),
  ],
  [
    { nameLengthMax: 80 },
    'characters of the name of a parameter',
    'A name has more than 80 characters.',
    (protocol, size) => withArguments(protocol, { ['n'.repeat(size)]: 'x' }),
  ],
  [
    { textLengthMax: 200 },
    'characters of a parameter',
    'A value has more than 200 characters.',
    (protocol, size) => withArguments(protocol, { filler: 'é'.repeat(size) }),
  ],
];

onEveryEngine('limits', (engine) => {
  async function withService(settings: Partial<Config>, work: (service: Service) => Promise<void>) {
    const service = await startService(engine, 'sample', settings);
    try {
      await work(service);
    } finally {
      await service.stop();
    }
  }

  for (const [forms, cases] of [
    [SOAP, XML],
    [['get', 'post'], PAIRS],
  ] as const) {
    for (const [settings, what, message, request] of cases) {
      const [most] = Object.values(settings) as [number];
      test(`${forms.join(' and ')} accept as many ${what} as ${Object.keys(settings)} says, and no more`, () =>
        withService(settings, async (service) => {
          for (const protocol of forms) {
            const { status, text } = await service.send(request(protocol, most));
            assert.equal(status, 200, text);
            for (const size of [most + 1, most * 2, most * 100]) {
              assertProblem(protocol, await service.send(request(protocol, size)), 'too-large', message);
            }
          }
        }));
    }
  }

  test('a list has at most as many items as listItemsMax says, in every protocol', () =>
    withService({ listItemsMax: 3 }, async (service) => {
      for (const protocol of PROTOCOLS) {
        const call = (count: number) =>
          service.call(protocol, 'account', 'RemoveContactFromGroup', {
            user_id: ACME,
            contact_id: Array(count).fill('101'),
            group_id: 'none',
          });
        assert.equal((await call(3)).status, 200);
        assertProblem(protocol, await call(4), 'bad-argument', 'contact_id: the list has more than 3 items');
      }
    }));

  const get = (target: string, fields: readonly string[] = []) =>
    requestBytes(`GET ${target} HTTP/1.1`, ['Host: h', 'Connection: close', ...fields]);
  const ADDRESS = `/api/account.asmx/Profile?user_id=${ACME}&filler=`;

  test('an address has at most as many characters as urlLengthMax says', () =>
    withService({ urlLengthMax: 400 }, async (service) => {
      const address = await service.app.start();
      const ask = (length: number) => said(address, get(ADDRESS.padEnd(length, 'x')));
      assert.deepEqual((await ask(400)).map(statusOf), [200]);
      for (const length of [401, 1_000, 60_000]) {
        const [answer, ...more] = await ask(length);
        assertRefusal(answer, 413, 'The address of a request has at most 400 characters.');
        assert.equal(answer?.headers.connection, 'close');
        assert.equal(more.length, 0);
      }
    }));

  test('a GET may have a list of 1000 ids of 20 characters by default', () =>
    withService({}, async (service) => {
      const ids = times(1_000, () => `&contact_id=${'9'.repeat(20)}`);
      const target = `/api/account.asmx/DeleteContact?user_id=${ACME}${ids}`;
      const [answer] = await said(await service.app.start(), get(target));
      assert.match(answer ? textOf(answer) : '', />false</);
    }));

  test('a head has at most as many bytes as headerBytesMax says, in few fields or many', () =>
    withService({ headerBytesMax: 4_096 }, async (service) => {
      const address = await service.app.start();
      const target = `/api/inbox.asmx/CountUnread?user_id=${ACME}`;
      for (const fields of [[`X: ${'y'.repeat(3_000)}`], Array(300).fill('X: y')]) {
        assert.deepEqual((await said(address, get(target, fields))).map(statusOf), [200]);
      }
      const message = 'The address and header fields of a request have at most 4096 bytes.';
      for (const fields of [[`X: ${'y'.repeat(5_000)}`], [`${'X'.repeat(5_000)}: y`], Array(2_000).fill('X: y')]) {
        const [answer] = await said(address, get(target, fields));
        assertRefusal(answer, 431, message);
      }
      const [answer] = await said(address, get(`${target}&x=${'y'.repeat(5_000)}`));
      assertRefusal(answer, 431, message);
    }));

  for (const [coding, pack] of [
    ['gzip', gzipSync],
    ['deflate', deflateSync],
    ['br', brotliCompressSync],
  ] as const) {
    test(`a body in ${coding} has at most as many decompressed bytes as inflatedBytesMax says`, () =>
      withService({ inflatedBytesMax: 3_000, bodyBytesMax: 2_000 }, async (service) => {
        const address = await service.app.start();
        const ask = async (size: number) => {
          const body = pack(Buffer.from(`user_id=${ACME}&filler=`.padEnd(size, 'x')));
          const fields = ['Host: h', 'Content-Type: application/x-www-form-urlencoded', 'Connection: close'];
          const start = 'POST /api/account.asmx/Profile HTTP/1.1';
          const [answer] = await said(address, requestBytes(start, [...fields, `Content-Encoding: ${coding}`], body));
          return answer;
        };
        assert.equal(statusOf((await ask(3_000)) as never), 200);
        for (const size of [3_001, 100_000, 1_000_000]) {
          assertRefusal(await ask(size), 413, 'A request body has at most 3000 bytes when it is decompressed.');
        }
      }));
  }
});
