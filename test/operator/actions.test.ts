import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Validator } from '@seriousme/openapi-schema-validator';
import { addOperatorCommands } from '../../src/commands/all.ts';
import { createProgram } from '../../src/commands/program.ts';
import { EVENT_TYPES } from '../../src/domain/accounts/events.ts';
import { actions } from '../../src/operator/actions/all.ts';
import { actionsOf, isNoun, nounOf } from '../../src/operator/actions/of-noun.ts';
import { createActionRouter } from '../../src/operator/api.ts';
import { readInput } from '../../src/operator/input.ts';
import { openapi } from '../../src/operator/openapi.ts';
import { operationId } from '../../src/operator/openapi-operations.ts';
import { createReference, curlOf } from '../../src/operator/reference.ts';

/** Every action has all of its views. */

const document = openapi('1.2.3') as unknown as {
  paths: Record<string, Record<string, { operationId: string; responses: Record<string, unknown> }>>;
};
const program = addOperatorCommands(createProgram('0'));
const route = createActionRouter(actions);
const page = (await createReference()('http://127.0.0.1:8081')).html;

const filled = (path: string, params: Readonly<Record<string, unknown>> = {}): string =>
  path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(params[name])));

test('a command that loads only the actions of its noun has all of them, in their order', async () => {
  for (const noun of new Set(actions.map(({ name }) => nounOf(name)))) {
    const own = actions.filter(({ name }) => nounOf(name) === noun).map(({ name }) => name);
    assert.deepEqual(
      (await actionsOf(noun)).map(({ name }) => name),
      own,
    );
    assert.ok(isNoun(noun), noun);
  }
  assert.ok(!isNoun('constructor'));
});

describe('every action', () => {
  for (const action of actions) {
    const { name, method, path, example, output } = action;
    test(`${name} has a route, an OpenAPI entry, a command, an entry in the reference and an example that holds`, () => {
      const found = route(method, filled(path, example.params));
      assert.equal(found.action, action);
      const entry = document.paths[path]?.[method.toLowerCase()];
      assert.equal(entry?.operationId, operationId(action));
      const command = name.split(' ').reduce((at, word) => {
        return at.commands.find((each) => each.name() === word) ?? assert.fail(`no command ${word}`);
      }, program);
      const help: string[] = [];
      command.configureOutput({ writeOut: (text) => void help.push(text) }).outputHelp();
      assert.match(help.join(''), /\nExample:\n {2}columba /);
      const curl = curlOf(action, 'http://127.0.0.1:8081');
      const shown = curl.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
      assert.ok(page.includes(shown), curl);

      const params = Object.fromEntries(
        Object.entries(example.params ?? {}).map(([key, value]) => [key, String(value)]),
      );
      readInput(action, { params, query: example.query ?? {}, body: example.body ?? {}, upload: new Uint8Array() });
      if (output !== null) {
        const parsed = output.safeParse(example.output);
        assert.ok(parsed.success, parsed.error?.message);
      }
    });
  }

  test('every action has its own name, operationId and route', () => {
    for (const of of [
      actions.map(({ name }) => name),
      actions.map(operationId),
      actions.map((a) => a.method + a.path),
    ]) {
      assert.equal(new Set(of).size, of.length);
    }
  });

  test('every action for account tokens has a route below an account', () => {
    assert.deepEqual(
      actions.filter(({ accountTokens, ofAccount }) => accountTokens && !ofAccount).map(({ name }) => name),
      [],
    );
    for (const { ofAccount, path, name } of actions) {
      assert.equal(ofAccount, path.startsWith('/accounts/{username}'), name);
    }
  });
});

test('the OpenAPI document passes a validator', async () => {
  const result = await new Validator().validate(JSON.parse(JSON.stringify(document)));
  assert.deepEqual([result.valid, result.errors], [true, undefined]);
});

describe('the OpenAPI document for generators of clients', () => {
  const components = (document as unknown as { components: { schemas: Record<string, object> } }).components;
  const objects = (value: unknown): Readonly<Record<string, unknown>>[] => {
    if (typeof value !== 'object' || value === null) return [];
    const inner = Object.values(value).flatMap(objects);
    return Array.isArray(value) ? inner : [value as Readonly<Record<string, unknown>>, ...inner];
  };

  test('every body and every answer is a schema with a name, so that none is repeated in the document', () => {
    const bodies = objects(document.paths).flatMap((each) => (Object.hasOwn(each, 'schema') ? [each.schema] : []));
    const inline = bodies.filter((schema) => (schema as { properties?: unknown }).properties !== undefined);
    assert.deepEqual(inline, []);
    assert.ok(Object.hasOwn(components.schemas, 'Account') && Object.hasOwn(components.schemas, 'SendMessageInput'));
  });

  test('schemas of answers allow fields that a later version adds, and those of bodies do not', () => {
    const closed = Object.entries(components.schemas).filter(([, schema]) =>
      objects(schema).some((each) => each.additionalProperties === false),
    );
    assert.deepEqual(
      closed.map(([name]) => name).filter((name) => !name.endsWith('Input')),
      ['Problem'],
    );
  });

  test('patterns have no Unicode classes and no lookahead, which other languages do not know', () => {
    const patterns = new Set(
      objects(document).flatMap(({ pattern }) => (typeof pattern === 'string' ? [pattern] : [])),
    );
    assert.ok(patterns.size > 5);
    assert.deepEqual(
      [...patterns].filter((pattern) => /\\p\{|\(\?[=!<]/i.test(pattern)),
      [],
    );
  });

  test('every event of webhooks is described', () => {
    const { webhooks } = document as unknown as { webhooks: Record<string, unknown> };
    assert.deepEqual(Object.keys(webhooks), [...EVENT_TYPES]);
  });
});
