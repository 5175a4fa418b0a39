import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { fileOf } from '../../../src/carriers/http/config.ts';
import type { Check } from '../../../src/carriers/http/form.ts';
import { refusalBeforeBody, refusalOfSignature } from '../../../src/carriers/http/signatures.ts';

interface Vector {
  readonly provider: string;
  readonly key?: string;
  readonly publicKey?: string;
  readonly url: string;
  readonly body: string;
  readonly at?: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly expect?: string;
}
const { vectors } = JSON.parse(readFileSync(new URL('./captures/signatures.json', import.meta.url), 'utf8')) as {
  vectors: Vector[];
};

const AT = 1_790_000_000;

function refusalOf(vector: Vector, changed: Partial<Vector> = {}): string | null {
  const { provider, key = '', publicKey = '', url, body, at = AT, headers } = { ...vector, ...changed };
  const path = new URL(url).pathname.split('/').at(-1);
  const check = fileOf({ provider }).callbacks.find((each) => each.path === path)?.check as Check;
  const fields = new Headers(headers);
  const given = { header: (name: string) => fields.get(name) ?? undefined, url, now: at * 1_000 };
  const keys = { settings: { publicKey }, secrets: { authToken: key, signingKey: key } };
  return (
    refusalBeforeBody(check, given, keys, '') ?? refusalOfSignature(check, { ...given, body: Buffer.from(body) }, keys)
  );
}

describe('signatures of callbacks', () => {
  for (const vector of vectors) {
    const { provider, expect } = vector;
    if (expect !== undefined) {
      test(`${provider}: a token without an algorithm is refused`, () => {
        assert.equal(refusalOf(vector), 'the token is not one of HS256');
      });
      continue;
    }
    test(`${provider}: the signature is right, and a changed body, address, key, time or signature is refused`, () => {
      assert.equal(refusalOf(vector), null);
      const signsBody = !['plivo', 'httpsms'].includes(provider); // they sign the address alone
      if (signsBody) assert.notEqual(refusalOf(vector, { body: vector.body.replace('d', 'e') }), null);
      const signsUrl = !['android-sms-gateway', 'telnyx'].includes(provider);
      if (signsUrl) assert.notEqual(refusalOf(vector, { url: vector.url.replace('example', 'examples') }), null);
      if (vector.publicKey === undefined) assert.notEqual(refusalOf(vector, { key: 'other' }), null);
      else assert.notEqual(refusalOf(vector, { publicKey: Buffer.alloc(32, 1).toString('base64') }), null);
      if (vector.at !== undefined) assert.notEqual(refusalOf(vector, { at: vector.at + 86_400 }), null);
      assert.notEqual(refusalOf(vector, { headers: {} }), null);
      assert.notEqual(refusalOf(vector, { key: '', publicKey: '' }), null, 'an absent key proves nothing');
    });
  }
});
