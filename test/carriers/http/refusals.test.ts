import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { Problem } from '../../../src/base/problem.ts';
import { readConnectorFile } from '../../../src/carriers/connector-file.ts';
import { checkConfig, shownConfig } from '../../../src/carriers/kinds.ts';

/** A small file that fits, of which each test changes one thing. */
const FILE = {
  settings: ['user'],
  secrets: ['apiKey'],
  request: {
    method: 'POST',
    url: 'https://api.provider.example/sms',
    headers: { Authorization: 'Bearer {secret.apiKey}' },
    json: { to: '{recipient}', from: '{sender}', body: '{text}', ref: '{attemptId}', user: '{setting.user}' },
  },
  answer: [
    { when: { status: '2xx', 'json:/id': { present: true } }, result: 'accepted', gatewayId: 'json:/id' },
    { when: { status: 400 }, result: 'permanent', reason: 'json:/code' },
  ],
  callbacks: [
    {
      path: 'receipt',
      is: 'receipt',
      methods: ['POST'],
      body: 'json',
      check: { kind: 'secretPath' },
      read: { gatewayId: 'json:/id', status: 'json:/state' },
      map: { ok: 'DELIVERED', no: 'UNDELIVERABLE', wait: null },
      answer: { status: 200 },
    },
  ],
};
const CONFIG = {
  provider: FILE,
  settings: { user: 'u' },
  secrets: { apiKey: 'k-1234', callbackSecret: 'x'.repeat(24) },
  publicUrl: 'https://sms.example.org',
};

/** The sentences with which a configuration is refused. */
function refusals(config: object): string[] {
  try {
    checkConfig('http', config as Record<string, unknown>);
    return [];
  } catch (thrown) {
    if (!(thrown instanceof Problem)) throw thrown;
    assert.equal(thrown.kind, 'bad-argument');
    return thrown.details.errors?.map(({ pointer, detail }) => `${pointer.slice('#/config/'.length)}: ${detail}`) ?? [];
  }
}

/** The file with another value at a pointer; without a value it is removed. */
function changed(pointer: string, value?: unknown): object {
  const copy = structuredClone(FILE) as unknown as Record<string, unknown>;
  const steps = pointer.split('/');
  const last = steps.pop() as string;
  const holder = steps.reduce((inner, step) => inner[step] as Record<string, unknown>, copy);
  if (value === undefined) delete holder[last];
  else holder[last] = value;
  return { ...CONFIG, provider: copy };
}

const [ACCEPTED, REFUSED] = FILE.answer;
const [RECEIPT] = FILE.callbacks;

describe('a provider file that cannot be used is refused when it is saved, with the place', () => {
  test('a file without a mistake is saved', () => assert.deepEqual(refusals(CONFIG), []));

  const MISTAKES: readonly (readonly [what: string, given: object, place: string, words: RegExp])[] = [
    ['an unknown field', changed('request/body', 'x'), 'provider/request', /body/],
    ['a wrong method', changed('request/method', 'DELETE'), 'provider/request/method', /GET|POST/],
    ['an unknown result', changed('answer/1/result', 'maybe'), 'provider/answer/1/result', /accepted/],
    [
      'an unknown condition',
      changed('answer/1/when', { status: { like: '4' } }),
      'provider/answer/1/when/status',
      /like/,
    ],
    ['a source that is none', changed('answer/0/gatewayId', 'yaml:/id'), 'provider/answer/0/gatewayId', /json:/],
    [
      'a document of XML whose values would not be encoded',
      changed('request', { method: 'POST', url: FILE.request.url, text: '\n<sms>{text}</sms>' }),
      'provider/request/text',
      /as xml/,
    ],
    [
      'a document of XML with a value as the name of an element',
      changed('request', { method: 'POST', url: FILE.request.url, xml: '<{text}/>' }),
      'provider/request/xml',
      /not well-formed/,
    ],
    ['a GET with a body', changed('request/method', 'GET'), 'provider/request', /put the fields into query/],
    ['no rule that accepts', changed('answer', [REFUSED]), 'provider/answer', /no rule says accepted/],
    [
      'a rule that is never reached',
      changed('answer', [...FILE.answer, { when: { status: 400, 'json:/code': 7 }, result: 'down' }]),
      'provider/answer/2/when',
      /rule 1 fits first/,
    ],
    [
      'a rule behind a class of statuses',
      changed('answer', [{ when: { status: '4xx' }, result: 'permanent' }, ACCEPTED, REFUSED]),
      'provider/answer/2/when',
      /rule 0 fits first/,
    ],
    ['an unknown placeholder', changed('request/json/to', '{phone}'), 'provider/request/json/to', /\{phone\}/],
    ['an unknown filter', changed('request/json/to', '{recipient|upper}'), 'provider/request/json/to', /upper/],
    [
      'a secret that is not declared',
      changed('secrets', []),
      'provider/request/headers/Authorization',
      /secret\.apiKey is not declared/,
    ],
    [
      'a field that is not declared',
      changed('request/json/user', '{field.templateId}'),
      'provider/request/json/user',
      /field\.templateId is not declared in fields/,
    ],
    [
      'a setting that is not declared',
      changed('settings', []),
      'provider/request/json/user',
      /setting\.user is not declared/,
    ],
    [
      'a secret in the file',
      changed('request/headers/Authorization', 'Bearer abc'),
      'provider/request/headers/Authorization',
      /secret/,
    ],
    [
      'a key among the fields',
      changed('request/json/user', 'sk1f9a8b7c6d5e4f3a2b1c0d9e'),
      'provider/request/json/user',
      /looks like a secret/,
    ],
    [
      'the text in the address',
      changed('request/url', 'https://api.provider.example/{text}'),
      'provider/request/url',
      /query/,
    ],
    ['an address that is none', changed('request/url', 'ftp://api.provider.example/'), 'provider/request/url', /http/],
    ['a private address', changed('request/url', 'https://10.0.0.7/sms'), 'provider/request/url', /not public/],
    ['a loopback name', changed('request/url', 'https://localhost/sms'), 'provider/request/url', /not public/],
    [
      'an address of metadata',
      changed('request/url', 'https://[::ffff:169.254.169.254]/'),
      'provider/request/url',
      /not public/,
    ],
    ['plain http', changed('request/url', 'http://api.provider.example/sms'), 'provider/request/url', /plain http/],
    [
      'a status of receipts that maps to nothing',
      changed('callbacks/0/map', { ok: 'FINE' }),
      'provider/callbacks/0/map/ok',
      /DELIVERED/,
    ],
    ['a map without any status', changed('callbacks/0/map', { ok: null }), 'provider/callbacks/0/map', /a status/],
    [
      'a receipt without an id',
      changed('callbacks/0/read', { status: 'json:/state' }),
      'provider/callbacks/0/read',
      /attemptId/,
    ],
    ['an id that no answer has', changed('answer/0/gatewayId'), 'provider/callbacks/0/read', /gatewayId/],
    ['no receipts at all, unsaid', changed('callbacks', []), 'provider/callbacks', /"receipts": "none"/],
    [
      'a source that the body never has',
      changed('callbacks/0/read/status', 'form:state'),
      'provider/callbacks/0/read/status',
      /json has no form:state/,
    ],
    [
      'two checks of one path',
      changed('callbacks', [
        RECEIPT,
        {
          ...RECEIPT,
          methods: ['GET'],
          body: 'query',
          read: { gatewayId: 'query:i', status: 'query:s' },
          check: { kind: 'header', name: 'X', secret: 'apiKey' },
        },
      ]),
      'provider/callbacks/1/check',
      /same check/,
    ],
    [
      'a key of a signature that is not declared',
      changed('callbacks/0/check', { kind: 'header', name: 'X-Key', secret: 'other' }),
      'provider/callbacks/0/check/secret',
      /other is not declared/,
    ],
    [
      'an example that becomes something else',
      changed('examples', { answers: [{ status: 200, body: { id: 7 }, expect: { result: 'permanent' } }] }),
      'provider/examples/answers/0/result',
      /becomes "accepted"/,
    ],
    [
      'a field of repeats that is not the attempt',
      changed('repeat', { field: 'to' }),
      'provider/repeat/field',
      /\{attemptId\}/,
    ],
    ['more than 64 KiB', changed('about', 'x'.repeat(70_000)), 'provider', /65536 bytes/],
    ['a provider that is not shipped', { ...CONFIG, provider: 'nobody' }, 'provider', /twilio/],
    [
      'a secret that is not there',
      { ...CONFIG, secrets: { callbackSecret: 'x'.repeat(24) } },
      'secrets/apiKey',
      /asks for this secret/,
    ],
    [
      'a short secret of callbacks',
      { ...CONFIG, secrets: { apiKey: 'k', callbackSecret: 'short' } },
      'secrets/callbackSecret',
      /24 to 128/,
    ],
    ['a setting that is not there', { ...CONFIG, settings: {} }, 'settings/user', /asks for this setting/],
    [
      'a setting that the file does not have',
      { ...CONFIG, settings: { user: 'u', usr: 'v' } },
      'settings/usr',
      /it has user/,
    ],
    ['no address for callbacks', { ...CONFIG, publicUrl: undefined }, 'publicUrl', /calls back/],
    [
      'a secret of the environment through the API',
      { ...CONFIG, secrets: { ...CONFIG.secrets, apiKey: { env: 'PATH' } } },
      'secrets/apiKey',
      /text|string/,
    ],
  ];
  for (const [what, given, place, words] of MISTAKES) {
    test(`${what} is refused at ${place}`, () => {
      const found = refusals(given);
      assert.ok(
        found.some((each) => each.startsWith(`${place}: `) && words.test(each)),
        found.join('\n') || 'it was saved',
      );
    });
  }

  test('a private address in a setting is refused at that setting, and allowed with allowPrivate', () => {
    const provider = {
      ...FILE,
      settings: ['user', 'baseUrl'],
      request: { ...FILE.request, url: '{setting.baseUrl}/sms' },
    };
    const config = { ...CONFIG, provider, settings: { user: 'u', baseUrl: 'http://192.168.1.9:8080' } };
    assert.deepEqual(refusals(config), ['settings/baseUrl: the address is not public, and allowPrivate is off']);
    assert.deepEqual(refusals({ ...config, allowPrivate: true }), []);
    const broken = { ...config, settings: { user: 'u', baseUrl: 'example.org' }, allowPrivate: true };
    assert.deepEqual(refusals(broken), ['settings/baseUrl: this makes no address of http or https']);
  });

  test('a connector is shown with its provider file and without its secrets', () => {
    const shown = shownConfig('http', checkConfig('http', CONFIG));
    assert.doesNotMatch(JSON.stringify(shown), /k-1234|xxxxxx/);
    assert.deepEqual(shown.provider, FILE);
  });
});

describe('connectors of the connector file', () => {
  test('a provider file and secrets are read from files beside the connector file, and a mistake names its place', (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'columba-provider-'));
    t.after(() => rmSync(folder, { recursive: true }));
    const write = (name: string, content: unknown) =>
      writeFileSync(join(folder, name), typeof content === 'string' ? content : JSON.stringify(content));
    const read = (secrets: object) => {
      write('connectors.json', {
        connectors: [{ name: 'acme', kind: 'http', config: { ...CONFIG, provider: './acme.json', secrets } }],
      });
      return readConnectorFile(join(folder, 'connectors.json'));
    };
    const callbackSecret = 'x'.repeat(24);
    write('acme.json', FILE);
    write('key', 'k-of-a-file\n');
    const [connector] = read({ apiKey: { file: 'key' }, callbackSecret });
    assert.deepEqual(connector?.config.secrets, { apiKey: 'k-of-a-file', callbackSecret });
    assert.deepEqual(connector?.config.provider, FILE);
    assert.equal(connector?.submissionsMax, 10);
    assert.throws(
      () => read({ apiKey: { env: 'COLUMBA_TEST_NO_SUCH' }, callbackSecret }),
      /config\/secrets\/apiKey: the environment has no variable COLUMBA_TEST_NO_SUCH/,
    );
    assert.throws(() => read({ apiKey: { file: 'no' }, callbackSecret }), /config\/secrets\/apiKey: .*ENOENT/);
    write('acme.json', { ...FILE, answer: [REFUSED] });
    assert.throws(() => read({ apiKey: 'k', callbackSecret }), /acme: config\/provider\/answer: no rule says accepted/);
    write('acme.json', '{"request":');
    assert.throws(() => read({ apiKey: 'k', callbackSecret }), /config\/provider: .*acme\.json is not JSON/);
  });
});
