import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseConfigFile } from '../../src/config/config-file.ts';
import { configLines, readConfig, settings, shownValue } from '../../src/config/settings.ts';
import { describeError } from '../../src/serve/telemetry/error-redaction.ts';

test('a namespace has one fragment at most, because with two it would be no URI in the WSDL', () => {
  const namespaceOf = (value: string) => readConfig({ COLUMBA_NAMESPACE: value }).namespace;
  assert.equal(namespaceOf('http://sms.example/api#v1'), 'http://sms.example/api#v1');
  assert.throws(() => namespaceOf('urn:##'), { message: /^COLUMBA_NAMESPACE: expected a URI such as/ });
});

for (const database of [
  'sqlite::memory:',
  'sqlite::MEMORY:',
  'sqlite:file::memory:',
  'sqlite:file:columba.db?mode=memory',
  'sqlite:',
  'sqlite:  ',
]) {
  test(`a database in memory, which loses everything at the end, is refused: ${database}`, () => {
    assert.throws(() => readConfig({ COLUMBA_DATABASE: database }), {
      message: /^COLUMBA_DATABASE: expected sqlite: /,
    });
  });
}

for (const password of ['SECRET', 'SEC@RET', 'SEC/RET', 'SEC@RET/SEC@RET', 'SEC?RET@SEC#RET', 'SEC:RET', 'SEC RET@']) {
  test(`a database password is not shown, whatever is in it: ${password}`, () => {
    const url = `postgres://columba:${password}@db.example/columba`;
    const hidden = 'postgres://…@db.example/columba';
    assert.equal(shownValue(settings.database, url), hidden);
    const query = `postgres://db.example/columba?user=columba&password=${encodeURIComponent(password)}`;
    assert.equal(shownValue(settings.database, query), 'postgres://db.example/columba?user=columba&password=…');
    for (const setting of ['COLUMBA_PORT', 'COLUMBA_BASE_URL']) {
      assert.throws(
        () => readConfig({ [setting]: url }),
        ({ message }: Error) => !/SEC|RET/.test(message),
      );
    }
    assert.doesNotMatch(describeError(new Error(`cannot connect to ${url}`)).message, /SEC|RET/);
  });
}

for (const password of ['pass/word', 'p@ss/word', 'pass?word', 'pass#word']) {
  test(`a password that would be read as part of the address is refused with what to write: ${password}`, () => {
    assert.throws(() => readConfig({ COLUMBA_DATABASE: `postgres://columba:${password}@db.example/columba` }), {
      message:
        'COLUMBA_DATABASE: expected the characters / ? # in a password to be written as %2F %3F %23, not "postgres://…@db.example/columba"',
    });
  });
}

test('the settings that check prints are a valid file of settings', () => {
  for (const environment of [
    {},
    { COLUMBA_DISPATCHER: 'off', COLUMBA_WEB_PORT: 'off', COLUMBA_HOSTS: 'a.example,b.example' },
  ]) {
    const config = readConfig(environment);
    const file = parseConfigFile('/columba.conf', Buffer.from(configLines(config).join('\n')));
    assert.deepEqual(readConfig({ COLUMBA_DATABASE: config.database }, {}, file), config);
  }
});

test('a setting by its former name is read, with a warning that names the new one', () => {
  const warnings: string[] = [];
  const read = (environment: Record<string, string>, text = '') =>
    readConfig(environment, {}, parseConfigFile('columba.conf', Buffer.from(text)), (each) => warnings.push(each));
  assert.equal(read({ COLUMBA_UNSURE_MINUTES: '20' }).unknownOutcomeMinutes, 20);
  assert.equal(read({}, 'COLUMBA_KEPT_BYTES_MAX=5').responseCacheBytesMax, 5);
  assert.equal(read({ COLUMBA_RESPONSE_CACHE_BYTES_MAX: '7' }, 'COLUMBA_KEPT_BYTES_MAX=5').responseCacheBytesMax, 7);
  assert.deepEqual(
    warnings.map((each) => each.split('. ')[0]),
    [
      'COLUMBA_UNSURE_MINUTES is now called COLUMBA_UNKNOWN_OUTCOME_MINUTES',
      'COLUMBA_KEPT_BYTES_MAX is now called COLUMBA_RESPONSE_CACHE_BYTES_MAX',
      'COLUMBA_KEPT_BYTES_MAX is now called COLUMBA_RESPONSE_CACHE_BYTES_MAX',
    ],
  );
  assert.throws(() => read({ COLUMBA_UNSURE_MINUTES: '20', COLUMBA_UNKNOWN_OUTCOME_MINUTES: '30' }), {
    message: /^COLUMBA_UNSURE_MINUTES: this is the former name of COLUMBA_UNKNOWN_OUTCOME_MINUTES, and both are set/,
  });
});
