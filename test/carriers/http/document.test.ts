import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { httpConfig } from '../../../src/carriers/http/config.ts';
import { providerFile, RESULTS } from '../../../src/carriers/http/form.ts';
import { shippedProviders } from '../../../src/carriers/http/shipped.ts';
import { MESSAGE_NAMES } from '../../../src/carriers/http/template.ts';
import { configOf, shippedFile } from '../../support/provider.ts';

const document = readFileSync(new URL('../../../docs/PROVIDERS.md', import.meta.url), 'utf8');

describe('docs/PROVIDERS.md', () => {
  test('the example of docs/PROVIDERS.md is accepted, and its examples have the results that it names', () => {
    const [, text = ''] = /```json\n(\{\n {2}"title"[\s\S]*?\n\})\n```/.exec(document) ?? [];
    const config = configOf(JSON.parse(text), 'https://provider.example');
    assert.deepEqual(Object.keys(config.secrets), ['password', 'callbackSecret']);
  });

  test('docs/PROVIDERS.md has a row for every shipped provider, with its settings and its secrets', () => {
    for (const name of shippedProviders) {
      const { settings, secrets, callbacks } = providerFile.parse(shippedFile(name));
      const isInPath = callbacks.some(({ check }) => check.kind === 'secretPath');
      const quoted = (names: readonly string[]) => names.map((each) => `\`${each}\``).join(', ');
      const cells = [`\`${name}\``, quoted(settings), quoted([...secrets, ...(isInPath ? ['callbackSecret'] : [])])];
      assert.ok(
        document.includes(`| ${cells.join(' | ').replaceAll('|  |', '| |')} | `),
        `${name}: ${cells.join(' | ')}`,
      );
    }
  });

  test('docs/PROVIDERS.md explains every part of a file, every placeholder, every result and every field of the configuration', () => {
    for (const part of Object.keys(providerFile.shape))
      assert.match(document, new RegExp(`\`\\${part}\`|\`${part}\``), part);
    for (const name of MESSAGE_NAMES) assert.ok(document.includes(`\`{${name}}\``), name);
    for (const result of RESULTS) assert.ok(document.includes(`\n| \`${result}\` |`), result);
    for (const field of Object.keys(httpConfig.shape)) assert.ok(document.includes(`\n| \`${field}\` |`), field);
  });

  test('an answer and a message in plain text are read between two texts', () => {
    const file = {
      title: 'Plain text',
      receipts: 'none',
      request: {
        method: 'POST',
        url: 'https://provider.example/send',
        form: { to: '{recipient|noplus}', text: '{text}' },
      },
      answer: [
        { when: { 'between:<code>...</code>': '0' }, result: 'accepted', gatewayId: 'between:<id>...</id>' },
        { when: { 'between:<code>...</code>': { present: true } }, result: 'permanent', reason: 'between:<why>...' },
      ],
      callbacks: [
        {
          path: 'in',
          is: 'incoming',
          methods: ['POST'],
          body: 'text',
          check: { kind: 'secretPath' },
          read: { sender: 'between:FROM ...', destination: 'literal:31234', text: 'between:TEXT ...END' },
          answer: { status: 200 },
        },
      ],
      examples: {
        answers: [
          {
            status: 200,
            body: '<r><code>0</code><id> 42 </id></r>',
            expect: { result: 'accepted', gatewayId: '42' },
          },
          {
            status: 200,
            body: '<code>7</code>\n<why>bad number\r\n',
            expect: { result: 'permanent', reason: 'bad number' },
          },
          { status: 200, body: '<code>0', expect: { result: 'unknown' } },
        ],
        callbacks: [
          {
            path: 'in',
            text: 'FROM 27825550201\nTEXT two\nlines END',
            expect: [{ sender: '27825550201', destination: '31234', text: 'two\nlines' }],
          },
        ],
      },
    };
    assert.ok(configOf(file as never, 'https://provider.example'));
  });
});
