import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { contract } from '../../src/asmx/contract/contract.ts';
import { createEndpoint } from '../../src/asmx/endpoint.ts';
import { systemClock } from '../../src/base/clock.ts';
import { type Config, readConfig } from '../../src/config/settings.ts';
import { LIMITS } from '../support/limits.ts';
import { parse } from '../support/schema-validator.ts';
import { anyText, runs, xmlText } from './arbitraries.ts';

/** The settings, where they are accepted; a variable of the environment cannot hold U+0000. */
function accepted(variable: string, value: string): Config | null {
  try {
    return value.includes('\0') ? null : readConfig({ [variable]: value });
  } catch {
    return null;
  }
}

const get = async ({ namespace, baseUrl }: Config, query: string, path = '/api/account.asmx'): Promise<string> => {
  const endpoint = createEndpoint({
    clock: systemClock,
    limits: LIMITS,
    contract,
    namespace,
    operations: async () => ({ value: true, account: 0, version: undefined }),
    dates: () => ({ now: 0, zone: 'UTC' }),
    report: (problem) => assert.fail(problem),
  });
  const { status, body } = await endpoint({
    method: 'GET',
    path,
    query,
    headers: {},
    base: baseUrl || 'http://localhost',
    client: '192.0.2.1',
    body: async () => Buffer.from(''),
  });
  assert.equal(status, 200, `${body}`);
  return `${body}`;
};

function attributes(xml: string, path: string): string[] {
  const document = parse(xml);
  try {
    return document.find(path).map(({ content }) => content);
  } finally {
    document.dispose();
  }
}

/** The characters of RFC 3986. */
const uriText = fc.string({ unit: fc.constantFrom(..."aZ09-._~:/?#[]@!$&'()*+,;=%"), maxLength: 12 });

describe('WSDL and settings', () => {
  test('whatever namespace the settings accept is the one in the WSDL and in answers', async () => {
    const value = fc.oneof(
      anyText(40),
      uriText.map((text) => `urn:${text}`),
      xmlText(40).map((text) => `urn:${text}`),
      anyText(20).map((text) => `http://a/${text}`),
    );
    const whole = fc.asyncProperty(value, async (namespace) => {
      const config = accepted('COLUMBA_NAMESPACE', namespace);
      if (!config) return;
      assert.deepEqual(attributes(await get(config, 'WSDL'), '/*/@targetNamespace'), [namespace]);
      const answer = await get(config, 'user_id=x&id=1', '/api/account.asmx/DeleteContactsById');
      const document = parse(answer);
      assert.equal(document.root.namespaceUri, namespace);
      document.dispose();
    });
    await fc.assert(whole, runs(300));
  });

  test('whatever base address the settings accept is where the WSDL and the discovery document point', async () => {
    const value = fc
      .tuple(fc.constantFrom('http', 'https'), fc.oneof(uriText, anyText(20)))
      .map(([scheme, text]) => `${scheme}://sms.example/${text}`);
    const whole = fc.asyncProperty(fc.oneof(value, anyText(40)), async (baseUrl) => {
      const config = accepted('COLUMBA_BASE_URL', baseUrl);
      if (!config?.baseUrl) return;
      const address = `${config.baseUrl}/api/account.asmx`;
      const locations = attributes(await get(config, 'WSDL'), '//*[local-name()="address"]/@location');
      assert.deepEqual(locations, [address, address, address, address]);
      assert.ok(attributes(await get(config, 'disco'), '//@ref').includes(`${address}?wsdl`));
    });
    await fc.assert(whole, runs(300));
  });
});
