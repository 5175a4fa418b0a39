import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { kannelBoxConfig, kannelSendsmsConfig } from '../../src/carriers/kannel/config.ts';
import { kindNames, kinds } from '../../src/carriers/kinds.ts';
import { SCRIPTED_OUTCOMES } from '../../src/carriers/loopback.ts';
import { smppConfig } from '../../src/carriers/smpp/config.ts';

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
const document = read('docs/CONNECTORS.md');

interface Example {
  readonly connectors: readonly {
    readonly name: string;
    readonly kind: string;
    readonly config: Record<string, unknown>;
  }[];
}

/** Groups of a configuration of Kannel, by their names. */
const groupsOf = (path: string): Map<string, Map<string, string>> =>
  new Map(
    read(path)
      .split(/\n\s*\n/)
      .map((block) => block.split('\n').filter((line) => line !== '' && !line.startsWith('#')))
      .filter((lines) => lines.length > 0)
      .map((lines) => {
        const pairs = lines.map((line) => [line.slice(0, line.indexOf(' =')), line.slice(line.indexOf('= ') + 2)]);
        const group = new Map(pairs.map(([key = '', value = '']) => [key, value.replace(/^"(.*)"$/, '$1')]));
        return [group.get('group') ?? '', group];
      }),
  );

describe('docs/CONNECTORS.md', () => {
  test('docs/CONNECTORS.md names every kind of connector, and every scripted outcome of the loopback with its meaning', () => {
    for (const kind of kindNames) assert.ok(document.includes(`| \`${kind}\` |`), kind);
    for (const [digits, { meaning }] of Object.entries(SCRIPTED_OUTCOMES)) {
      assert.ok(document.includes(`| ${digits} | ${meaning} |\n`), digits);
    }
  });

  test('docs/CONNECTORS.md names every field of both configurations of Kannel, and every default', () => {
    for (const config of [kannelBoxConfig, kannelSendsmsConfig]) {
      for (const field of Object.keys(config.shape))
        assert.match(document, new RegExp(`\\| .*\`${field}\`.* \\|`), field);
    }
    const least = { host: 'h', username: 'u', password: 'p', callbackUrl: 'http://h', callbackSecret: 'x'.repeat(16) };
    const defaults = [kannelBoxConfig.parse({ host: 'h' }), kannelSendsmsConfig.parse(least)];
    for (const [field, value] of defaults.flatMap((each) => Object.entries(each))) {
      if (field in least || field === 'adminTls') continue;
      assert.match(document, new RegExp(`\`${field}\`[^|]*\\| \`?${value}\`? \\|`), field);
    }
  });
});

describe('the SMPP section of docs/CONNECTORS.md', () => {
  const least = { host: 'h', systemId: 'u', password: 'p' };

  test('docs/CONNECTORS.md names every field and every quirk of SMPP, with its default', () => {
    for (const [field, value] of Object.entries({ ...smppConfig.shape, ...smppConfig.parse(least) })) {
      assert.match(document, new RegExp(`\\| .*\`${field}\`.* \\|`), field);
      if (typeof value === 'object' || value === '' || field in least) continue;
      assert.match(document, new RegExp(`\`${field}\`[^|]*\\| \`?${value}\`? \\|`), field);
    }
    for (const quirk of Object.keys(smppConfig.shape.quirks.unwrap().shape)) {
      assert.match(document, new RegExp(`^\\| \`${quirk}\` \\|`, 'm'), quirk);
    }
  });

  test('examples/smpp/smpp.json fits its kind', () => {
    const [connector] = (JSON.parse(read('examples/smpp/smpp.json')) as Example).connectors;
    assert.equal(connector?.kind, 'smpp');
    smppConfig.parse(connector?.config);
  });
});

describe('examples/kannel', () => {
  for (const way of ['box', 'sendsms'] as const) {
    test(`${way}.json fits its kind, and agrees with ${way}.conf`, () => {
      const [connector] = (JSON.parse(read(`examples/kannel/${way}.json`)) as Example).connectors;
      assert.equal(connector?.kind, `kannel-${way}`);
      const config = kinds[`kannel-${way}`]?.config.parse(connector?.config) ?? assert.fail();
      const groups = groupsOf(`examples/kannel/${way}.conf`);
      const of = (group: string, key: string) => groups.get(group)?.get(key);
      assert.equal(String(config.adminPort), of('core', 'admin-port'));
      assert.equal(config.adminPassword, of('core', 'status-password'));
      assert.equal(config.smscId, of('smsc', 'smsc-id'));
      if (way === 'box') {
        assert.equal(String(config.port), of('core', 'smsbox-port'));
        assert.equal(config.boxId, of('smsbox-route', 'smsbox-id'));
        assert.equal(config.smscId, of('smsbox-route', 'smsc-id'));
      } else {
        assert.equal(String(config.port), of('smsbox', 'sendsms-port'));
        assert.equal(config.username, of('sendsms-user', 'username'));
        assert.equal(config.password, of('sendsms-user', 'password'));
        assert.ok(of('sms-service', 'post-url')?.startsWith(`${config.callbackUrl}/${config.callbackSecret}/mo?`));
        assert.ok(String(config.callbackUrl).endsWith(`/carriers/${connector?.name}`));
      }
    });
  }
});
