import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Engine, engines } from '../../test/support/engines.ts';
import { ENVELOPES, envelope, type Phrased, soapRequest } from '../../test/support/protocols.ts';
import { startService } from '../../test/support/service.ts';

/** Answers to callers without a user_id are small: nobody can be flooded with what we send. */

const MORE_BYTES_MAX = 4_096;

const block = (local: string, version: 'soap11' | 'soap12') =>
  `<h:${local} xmlns:s="${ENVELOPES[version]}" s:mustUnderstand="1"/>`;
const headed = (version: 'soap11' | 'soap12', uri: string, locals: string[]): Phrased =>
  soapRequest(
    version,
    'inbox',
    envelope(
      version,
      '',
      `<s:Header xmlns:h="${uri}">${locals.map((local) => block(local, version)).join('')}</s:Header>`,
    ),
  );

const many = (count: number, length = 1) => Array.from({ length: count }, () => 'b'.repeat(length));
const requests: Record<string, Phrased> = {};
for (const version of ['soap11', 'soap12'] as const) {
  requests[`${version}: 3,000 header blocks in a long namespace`] = headed(
    version,
    `urn:${'n'.repeat(2_000)}`,
    many(3_000),
  );
  requests[`${version}: names of 1,000 characters`] = headed(version, 'urn:n', many(20, 1_000));
  requests[`${version}: a namespace of characters that become longer`] = headed(
    version,
    `urn:${'>'.repeat(2_000)}`,
    many(9),
  );
  requests[`${version}: names of three bytes a character`] = headed(version, 'urn:n', ['語'.repeat(340), '語']);
  requests[`${version}: an envelope of no version`] = soapRequest(
    version,
    'inbox',
    `<e:Envelope xmlns:e="urn:${'n'.repeat(2_000)}"/>`,
  );
  requests[`${version}: an operation that is not there`] = soapRequest(
    version,
    'inbox',
    envelope(version, `<${'o'.repeat(1_000)}/>`),
  );
}
const get = (path: string, query: string, headers = {}): Phrased => ({
  method: 'GET',
  path,
  query,
  headers,
  bytes: '',
});
requests['a GET of an operation that is not there'] = get(`/api/inbox.asmx/${'o'.repeat(5_000)}`, '');
requests['a GET with a long user_id'] = get('/api/inbox.asmx/CountUnread', `user_id=${'%27'.repeat(3_000)}`);
requests['a GET with a long number'] = get('/api/inbox.asmx/Unread', `user_id=x&max_count=${'%3C'.repeat(3_000)}`);

for (const [name, phrased] of Object.entries(requests)) {
  test(`a refusal is at most 4 KB longer than its request: ${name}`, async () => {
    const [engine] = engines;
    assert.ok(engine);
    const service = await startService(engine, 'empty');
    try {
      const reply = await service.send(phrased);
      const sent = phrased.bytes.length + phrased.path.length + phrased.query.length;
      assert.ok(reply.status >= 400);
      assert.ok(Buffer.byteLength(reply.text) <= sent + MORE_BYTES_MAX, `${sent} bytes get ${reply.text.length}`);
    } finally {
      await service.stop();
    }
  });
}

test('a fault of SOAP 1.2 names at most 10 header blocks', async () => {
  const service = await startService(engines[0] as Engine, 'empty');
  try {
    const { text } = await service.send(headed('soap12', 'urn:n', many(12)));
    assert.equal(text.match(/<[\w:]*NotUnderstood /g)?.length, 10, text);
  } finally {
    await service.stop();
  }
});
