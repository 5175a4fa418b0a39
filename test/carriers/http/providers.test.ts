import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import Ajv from 'ajv/dist/2020.js';
import { PROVIDER_SCHEMA, providerSchema } from '../../../docs/api.ts';
import { systemClock } from '../../../src/base/clock.ts';
import type { ReceivedReceipt } from '../../../src/carriers/connector.ts';
import { fileOf, httpConfig } from '../../../src/carriers/http/config.ts';
import { createHttp } from '../../../src/carriers/http/http.ts';
import type { ArrivedMessage } from '../../../src/domain/receiving/incoming.ts';
import { NEVER, submissionOf } from '../../support/kannel-recording.ts';
import {
  callbackRequest,
  captured,
  configAt,
  providerNames,
  shippedFile,
  startProvider,
} from '../../support/provider.ts';

const NOW = Date.UTC(2026, 10, 18, 12);
const clock = { ...systemClock, now: () => NOW };

/** What a result of the file is to the dispatcher. */
const KINDS: Readonly<Record<string, object>> = {
  accepted: { kind: 'accepted' },
  permanent: { kind: 'permanent' },
  temporary: { kind: 'temporary' },
  throttled: { kind: 'temporary', retryAfterMs: 1_000 },
  down: { kind: 'temporary', connectorDown: true },
  unknown: { kind: 'unknown-outcome' },
};

test('the fifteen provider files fit docs/provider.schema.json, which is generated from the program', () => {
  const schema = readFileSync(PROVIDER_SCHEMA, 'utf8');
  assert.equal(schema, providerSchema(), 'run node bin/node.cjs docs/api.ts');
  const validate = new Ajv.default({ strict: false, logger: false }).compile(JSON.parse(schema));
  assert.equal(providerNames.length, 15);
  for (const name of providerNames)
    assert.ok(validate(shippedFile(name)), `${name}: ${JSON.stringify(validate.errors)}`);
});

for (const name of providerNames) {
  describe(`the provider file ${name}`, () => {
    const { answers, callbacks } = captured(name);

    test('every recorded answer over HTTP has the expected result', async (t) => {
      for (const { expect, ...reply } of answers) {
        const isToken = (path: string) => /Authentication$/.test(path);
        const token = { status: 200, body: { token: 't1', expiresInMinutes: 60 } };
        const { posted, url } = await startProvider(t, ({ path }) => (isToken(path) ? token : reply));
        const connector = createHttp('carrier', { ...configAt(name, url) }, { clock: noWait });
        const part = submissionOf('Hello {text} "quoted" & more', { recipient: '+27825550201' });
        const [result] = await connector.submit([part], NEVER);
        await connector.stop();
        const { gatewayId, reason } = expect;
        assert.partialDeepStrictEqual(result, {
          ...KINDS[expect.result as string],
          ...(gatewayId !== undefined && { gatewayId }),
          ...(reason !== undefined && { reason: `HTTP ${reply.status} ${reason}` }),
        });
        const sent = posted.filter(({ path }) => !isToken(path));
        const texts = sent.map(({ headers, path, body }) => `${path} ${JSON.stringify(headers)} ${body}`);
        assert.ok(
          texts.every((each) => /27825550201/.test(each)),
          'each request names the recipient',
        );
      }
    });

    test('every recorded callback becomes its receipts and messages only if its signature is right', async () => {
      const config = configAt(name, 'https://provider.example');
      const file = fileOf(config);
      const connector = createHttp('carrier', config, { clock });
      const seen: object[] = [];
      await connector.start({
        receipt: async (each: ReceivedReceipt) => void seen.push({ is: 'receipt', ...each }),
        incoming: async (each: ArrivedMessage) => void seen.push({ is: 'incoming', ...each }),
        late: async () => {},
      });
      for (const example of callbacks) {
        seen.length = 0;
        const request = callbackRequest('carrier', file, example, NOW);
        const answer = await connector.handle?.(request.clone());
        assert.equal(answer?.status, 200);
        assert.equal(seen.length, example.expect.length);
        for (const [index, wanted] of example.expect.entries()) assert.partialDeepStrictEqual(seen[index], wanted);
        const other = file.callbacks.find(({ path }) => path === example.path)?.check.kind;
        const denied = { kind: 'denied' };
        await assert.rejects(async () => connector.handle?.(tampered(request, other === 'secretPath')), denied);
        assert.equal(seen.length, example.expect.length, 'a request that proves nothing changes nothing');
      }
      await connector.stop();
    });
  });
}

/** Waits are over at once, except those for answers. */
const noWait = { ...clock, sleep: async () => {} };

/** The same request to another address, or with another secret in its path. */
function tampered(request: Request, isInPath: boolean): Request {
  const url = isInPath
    ? request.url.replace(/-in-the-path/, '-in-the-mail')
    : `${request.url}${request.url.includes('?') ? '&' : '?'}x=1`;
  const headers = new Headers(request.headers);
  for (const field of [
    'x-signature',
    'x-plivo-signature-v2',
    'telnyx-signature-ed25519',
    'authorization',
    'messagebird-signature-jwt',
  ]) {
    const value = headers.get(field);
    if (value !== null) headers.set(field, value.slice(0, 12) + (value[12] === 'A' ? 'B' : 'A') + value.slice(13));
  }
  return new Request(url, {
    method: request.method,
    headers,
    ...(request.method === 'POST' && { body: request.body, duplex: 'half' as const }),
  });
}

test('every file refuses a configuration without its secrets, and names each of them', () => {
  for (const name of providerNames) {
    const { secrets = [] } = shippedFile(name) as { secrets?: string[] };
    const read = httpConfig.safeParse({ provider: name });
    const places = read.error?.issues.map(({ path }) => path.join('/')) ?? [];
    for (const secret of secrets) assert.ok(places.includes(`secrets/${secret}`), `${name} ${secret}`);
  }
});
