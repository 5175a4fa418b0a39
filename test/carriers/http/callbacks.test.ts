import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { systemClock } from '../../../src/base/clock.ts';
import { Problem } from '../../../src/base/problem.ts';
import { instantOf } from '../../../src/carriers/http/callback-reading.ts';
import { fileOf } from '../../../src/carriers/http/config.ts';
import type { Poll } from '../../../src/carriers/http/form.ts';
import { createHttp } from '../../../src/carriers/http/http.ts';
import { createPolling } from '../../../src/carriers/http/poll.ts';
import type { ArrivedMessage } from '../../../src/domain/receiving/incoming.ts';
import { callbackRequest, configAt } from '../../support/provider.ts';

const NOW = Date.UTC(2026, 10, 18, 12);
const clock = { ...systemClock, now: () => NOW, sleep: async () => {} };
const FORM = 'MessageSid=SM9&From=%2B27825550201&To=31234&Body=Hi';
const unavailable = async () => {
  throw new Problem('unavailable', 'the database is away');
};

describe('callbacks of a provider', () => {
  test('a callback that cannot be stored is not acknowledged, and the provider is told to repeat it', async () => {
    const config = configAt('twilio', 'https://provider.example');
    const connector = createHttp('carrier', config, { clock });
    const call = (path: string, form: string) =>
      connector.handle?.(callbackRequest('carrier', fileOf(config), { path, form, expect: [] }, NOW));
    assert.equal((await call('incoming', FORM))?.status, 503, 'the connector is not started');
    await connector.start({ receipt: unavailable, incoming: unavailable, late: unavailable });
    for (const [path, form] of [
      ['incoming', FORM],
      ['receipt', 'MessageSid=SM1&MessageStatus=delivered'],
    ] as const) {
      const answer = await call(path, form);
      assert.equal(answer?.status, 503, path);
      assert.equal(answer?.headers.get('retry-after'), '5');
    }
    await connector.stop();
  });

  test('a body that the web listener refuses as too large is answered like any request that proves nothing', async () => {
    const config = configAt('twilio', 'https://provider.example');
    const connector = createHttp('carrier', config, { clock });
    const body = ReadableStream.from(
      (async function* () {
        yield Buffer.alloc(10);
        throw new Problem('too-large', 'The body has more than 1048576 bytes.');
      })(),
    );
    const headers = { 'X-Twilio-Signature': 'x' };
    const url = 'http://127.0.0.1/carriers/carrier/incoming';
    const request = new Request(url, { method: 'POST', headers, body, duplex: 'half' });
    await assert.rejects(async () => connector.handle?.(request), { kind: 'denied' });
    await connector.stop();
  });

  test('all entries of a list are stored before it is acknowledged, and one that fails leaves it unacknowledged', async () => {
    const config = configAt('infobip', 'https://provider.example');
    const connector = createHttp('carrier', config, { clock });
    const stored: string[] = [];
    await connector.start({
      receipt: async ({ attemptId }) => {
        if (attemptId === 'b') await unavailable();
        stored.push(String(attemptId));
      },
      incoming: unavailable,
      late: unavailable,
    });
    const results = ['a', 'b', 'c'].map((messageId) => ({ messageId, status: { groupName: 'DELIVERED', id: 5 } }));
    const call = (json: object) =>
      connector.handle?.(callbackRequest('carrier', fileOf(config), { path: 'receipt', json, expect: [] }, NOW));
    assert.equal((await call({ results }))?.status, 503);
    assert.deepEqual(stored, ['a', 'c']);
    assert.equal((await call({ results: results.slice(0, 1) }))?.status, 200);
    assert.equal((await call({ results: [] }))?.status, 200);
    await connector.stop();
  });

  test('times are read in seconds, milliseconds and ISO 8601, and a time in the future or without an offset counts as now', () => {
    const at = Date.UTC(2026, 10, 18, 1);
    for (const text of [
      String(at / 1_000),
      String(at),
      '2026-11-18T01:00:00Z',
      '2026-11-18T03:00:00.000+0200',
      '2026-11-18 03:00:00+02:00',
    ])
      assert.equal(instantOf(text, NOW), at, text);
    for (const text of [undefined, '2027-01-01T00:00:00Z', '2026-11-18 01:00:00', 'yesterday', '-5'])
      assert.equal(instantOf(text, NOW), NOW, text);
  });
});

describe('a gateway without callbacks', () => {
  const poll = fileOf({ provider: 'gammu-rest' }).poll as Poll;
  const answered = (body: unknown) =>
    ({ kind: 'answered', status: 200, headers: {}, body: Buffer.from(JSON.stringify(body)) }) as const;

  test('messages are fetched one by one, each after the one before is on disk', async () => {
    const waiting = ['One', 'Two'];
    const steps: string[] = [];
    let failures = 0;
    const polling = createPolling({
      name: 'modem',
      poll,
      clock,
      setting: () => '+27825550100',
      async ask() {
        const Text = waiting.shift();
        steps.push(`asked for ${Text}`);
        return answered(Text ? { Number: '+27825550201', Text } : { Number: '', Text: '' });
      },
      events: {
        receipt: unavailable,
        late: unavailable,
        async incoming({ text, sender, destination }: ArrivedMessage) {
          if (text === 'Two' && failures === 0) await unavailable();
          steps.push(`stored ${text} of ${sender} to ${destination}`);
        },
      },
      failed: () => failures++,
      unread: () => assert.fail(),
    });
    await polling.run();
    assert.deepEqual(steps, [
      'asked for One',
      'stored One of +27825550201 to +27825550100',
      'asked for Two',
      'stored Two of +27825550201 to +27825550100',
      'asked for undefined',
    ]);
    assert.equal(failures, 1, 'a message that is nowhere else is stored again');
  });
});
