import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import type { Connector } from '../../../src/carriers/connector.ts';
import { kannelSendsmsConfig } from '../../../src/carriers/kannel/config.ts';
import { createKannelSendsms } from '../../../src/carriers/kannel/sendsms.ts';
import { type Recording, record } from '../../support/kannel-recording.ts';
import { namesIn, readRequest, sectionsOf } from './captures.ts';

const SECRET = 'secret-of-the-callbacks';
const config = kannelSendsmsConfig.parse({
  host: '127.0.0.1',
  username: 'columba',
  password: 'never used',
  callbackUrl: 'http://127.0.0.1:8081/carriers/kannel',
  callbackSecret: SECRET,
});

async function started(): Promise<{ recording: Recording; connector: Connector }> {
  const recording = record();
  const connector = createKannelSendsms('kannel', config, { ...recording.deps, sleep: async () => {} });
  await connector.start(recording.events);
  return { recording, connector };
}

/** A recorded callback, with our path and our names of parameters. */
function callbackOf(text: string, secret = SECRET): Request {
  const { method, target, headers, body } = readRequest(text);
  const renamed = target
    .replace(/^\/(dlr|mo)/, `/carriers/kannel/${secret}/$1`)
    .replace(/&A=/, '&a=')
    .replace(/&F=/, '&f=')
    .replace(/&T=/, '&t=')
    .replace(/&b=/, '&text=');
  const type = headers['content-type'];
  return new Request(`http://127.0.0.1:8081${renamed}`, {
    method,
    ...(type && { headers: { 'content-type': type } }),
    ...(method === 'POST' && { body }),
  });
}

const call = (connector: Connector, request: Request): Promise<Response> =>
  connector.handle?.(request) ?? assert.fail('no handle');

describe('recorded receipts', () => {
  const expected: Record<string, string[]> = {
    acceptd: ['ENROUTE', 'ACCEPTED'],
    'accepted-then-delivered': ['ENROUTE', 'ACCEPTED', 'DELIVERED'],
    'answer-later-than-wait-ack': ['ENROUTE', 'DELIVERED'],
    'before-the-answer': ['ENROUTE'],
    deleted: ['ENROUTE', 'DELETED'],
    delivrd: ['ENROUTE', 'DELIVERED'],
    'delivrd-tlv': ['ENROUTE', 'DELIVERED'],
    'dropped-before-the-answer': ['ENROUTE', 'DELIVERED'],
    enroute: ['ENROUTE', 'ENROUTE'],
    expired: ['ENROUTE', 'EXPIRED'],
    'expired-tlv': ['ENROUTE', 'EXPIRED'],
    'expired-tlv-no-text': ['ENROUTE', 'EXPIRED'],
    'id-in-other-case': ['ENROUTE'],
    'nack-invalid-destination': ['REJECTED'],
    'nack-submit-failed': ['REJECTED'],
    'nack-vendor-error': ['REJECTED'],
    never: ['ENROUTE'],
    'no-known-format': ['ENROUTE'],
    'once-queue-full': ['ENROUTE', 'DELIVERED'],
    'once-system-error': ['ENROUTE', 'DELIVERED'],
    'once-throttled': ['ENROUTE', 'DELIVERED'],
    rejectd: ['ENROUTE', 'REJECTED'],
    'retries-exceeded': ['UNDELIVERABLE'],
    twice: ['ENROUTE', 'DELIVERED'],
    undeliv: ['ENROUTE', 'UNDELIVERABLE'],
    'undeliv-then-delivrd': ['ENROUTE', 'UNDELIVERABLE'],
    unknown: ['ENROUTE', 'UNKNOWN'],
  };

  test('each recorded receipt of Kannel has its case', () =>
    assert.deepEqual(namesIn('receipt'), Object.keys(expected).sort()));

  for (const [name, statuses] of Object.entries(expected)) {
    test(`${name}: ${statuses.join(', ')}`, async () => {
      const { recording, connector } = await started();
      for (const text of sectionsOf(`receipt/${name}`, 'request to us')) {
        assert.equal((await call(connector, callbackOf(text))).status, 200);
      }
      assert.deepEqual(
        recording.receipts.map(({ status }) => status),
        statuses,
      );
      assert.ok(recording.receipts.every(({ attemptId, connector: from }) => attemptId === 'm1' && from === 'kannel'));
      assert.ok(recording.receipts.every(({ at }) => at > 1_794_773_000_000 && at < 1_794_775_000_000));
    });
  }

  test('a detail is a code, never the text of the receipt', async () => {
    const { recording, connector } = await started();
    for (const name of ['delivrd', 'nack-invalid-destination', 'nack-vendor-error', 'retries-exceeded', 'undeliv']) {
      for (const text of sectionsOf(`receipt/${name}`, 'request to us')) await call(connector, callbackOf(text));
    }
    assert.deepEqual(
      recording.receipts.map(({ detail }) => detail).filter((detail) => detail !== null),
      ['DELIVRD 000', '0x0000000b', '0x00000400', 'Retries Exceeded', 'UNDELIV 012'],
    );
  });
});

describe('recorded messages from phones', () => {
  const HELLO = 'Привет 😀';
  const expected: Record<string, string> = {
    'post-alpha-sender': 'code 1',
    'post-binary': '000102FE',
    'post-binary-udh': 'DC06',
    'post-empty': '',
    'post-part-1-of-2': 'first part ',
    'post-ucs2': HELLO,
    'get-binary': '000102FE',
    'get-empty': '',
    'get-ucs2': HELLO,
    'get-recoded-ucs2': HELLO,
  };
  for (const [name, words] of Object.entries(expected)) {
    test(`${name} is read as ${JSON.stringify(words)}`, async () => {
      const { recording, connector } = await started();
      const answer = await call(connector, callbackOf(sectionsOf(`mo/${name}`, 'request')[0] ?? ''));
      // 204 would make smsbox repeat it.
      assert.equal(answer.status, 200);
      const [message] = recording.incoming;
      assert.equal(message?.text, words);
      assert.equal(message?.destination, '12345');
      assert.match(message?.gatewayId ?? '', /^[0-9a-f-]{36}$/);
    });
  }

  test('GET and POST give the same texts', async () => {
    for (const name of [
      'gsm7',
      'latin1',
      'spaces',
      'ucs2',
      'ucs2-half-pair',
      'control',
      'alpha-sender',
      'binary-udh',
    ]) {
      const { recording, connector } = await started();
      for (const method of ['get', 'post']) {
        await call(connector, callbackOf(sectionsOf(`mo/${method}-${name}`, 'request')[0] ?? ''));
      }
      const [get, post] = recording.incoming;
      assert.equal(get?.text, post?.text, name);
      assert.deepEqual(get?.part, post?.part);
    }
  });

  test('parts are recognised by their header of 8 or 16 bits, and other headers are ignored', async () => {
    const { recording, connector } = await started();
    for (const name of ['post-part-1-of-2', 'post-part-2-of-2', 'post-part16-1-of-2', 'post-binary-udh']) {
      await call(connector, callbackOf(sectionsOf(`mo/${name}`, 'request')[0] ?? ''));
    }
    assert.deepEqual(
      recording.incoming.map(({ part }) => part),
      [
        { reference: 0x7f, total: 2, number: 1 },
        { reference: 0x7f, total: 2, number: 2 },
        { reference: 0x1234, total: 2, number: 1 },
        null,
      ],
    );
  });
});

describe('callbacks', () => {
  const dlr = (query: string, secret = SECRET) =>
    new Request(`http://127.0.0.1:8081/carriers/kannel/${secret}/dlr?${query}`);

  test('callbacks are refused without the secret, and nothing is passed on', async () => {
    const { recording, connector } = await started();
    for (const secret of ['', 'wrong', `${SECRET}x`, SECRET.slice(1)]) {
      await assert.rejects(call(connector, dlr('id=m1&d=1&a=', secret)), { kind: 'denied' });
    }
    assert.deepEqual(recording.receipts, []);
  });

  test('an id or address of more than 200 bytes is refused, and nothing is passed on or remembered', async () => {
    const { recording, connector } = await started();
    const long = 'x'.repeat(201);
    for (const query of [`id=${long}&d=1`, `id=m1&f=${long}&d=1`, `id=probe-${'0'.repeat(12_000)}&d=1`]) {
      const answer = await call(connector, dlr(query));
      assert.equal(answer.status, 400);
      assert.match(await answer.text(), /^The parameter (?:id|f) has more than 200 bytes\.$/);
    }
    assert.deepEqual(recording.receipts, []);
  });

  test('callbacks that cannot be stored are answered with 503, so that smsbox repeats them', async () => {
    const { recording, connector } = await started();
    recording.fault = new Error('the database is away');
    assert.equal((await call(connector, dlr('id=m1&d=1&a='))).status, 503);
    recording.fault = null;
    assert.equal((await call(connector, dlr('id=m1&d=1&a='))).status, 200);
    assert.deepEqual(recording.of('m1'), ['DELIVERED']);
  });

  test('a receipt that can never be understood is answered with 200, because a refusal would be repeated for a day', async () => {
    const { recording, connector } = await started();
    for (const query of ['', 'id=m1', 'd=1', 'id=m1&d=0', 'id=m1&d=x']) {
      assert.equal((await call(connector, dlr(query))).status, 200, query);
    }
    assert.deepEqual(recording.receipts, []);
  });

  test('a message of a phone that hides its number is accepted with an empty sender', async () => {
    const { recording, connector } = await started();
    const address = `http://127.0.0.1/carriers/kannel/${SECRET}/mo?from=&to=1`;
    assert.equal((await call(connector, new Request(address, { method: 'POST', body: 'x' }))).status, 200);
    assert.deepEqual(
      recording.incoming.map(({ sender, text }) => [sender, text]),
      [['', 'x']],
    );
  });

  test('a callback without the parameter from is refused, and its message stays with smsbox', async () => {
    const { recording, connector } = await started();
    const request = new Request(`http://127.0.0.1/carriers/kannel/${SECRET}/mo?to=1`, { method: 'POST', body: 'x' });
    assert.equal((await call(connector, request)).status, 400);
    assert.deepEqual(recording.incoming, []);
  });

  test('a callback with a body over the limit is refused', async () => {
    const { recording, connector } = await started();
    const address = `http://127.0.0.1/carriers/kannel/${SECRET}/mo?from=1&to=2`;
    const body = 'x'.repeat(65 * 1024);
    assert.equal((await call(connector, new Request(address, { method: 'POST', body }))).status, 413);
    assert.deepEqual(recording.incoming, []);
  });

  test('no query and no body of a callback makes it fail, and no text with U+0000 is passed on', async () => {
    const { recording, connector } = await started();
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'binary' }), fc.uint8Array(), fc.nat(3), async (query, body, coding) => {
        const search = `from=1&to=2&coding=${coding}&udh=${encodeURIComponent(query.toWellFormed())}&${query.replaceAll('#', '')}`;
        const address = `http://127.0.0.1/carriers/kannel/${SECRET}/mo?${search}`;
        const answer = await call(connector, new Request(address, { method: 'POST', body: Buffer.from(body) }));
        assert.ok([200, 400].includes(answer.status));
      }),
    );
    assert.ok(recording.incoming.every(({ text, sender }) => !`${text}${sender}`.includes('\0')));
  });
});
