import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readConfig } from '../../src/server/config.ts';

test('a namespace has one fragment at most: with two it would be no URI in the WSDL', () => {
  const namespaceOf = (value: string) => readConfig({ COLUMBA_NAMESPACE: value }).namespace;
  assert.equal(namespaceOf('http://sms.example/api#v1'), 'http://sms.example/api#v1');
  assert.throws(() => namespaceOf('urn:##'), { message: /^COLUMBA_NAMESPACE: expected a URI such as/ });
});
