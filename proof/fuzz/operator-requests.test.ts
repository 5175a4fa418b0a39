import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import type { Action } from '../../src/operator/action.ts';
import { actions } from '../../src/operator/actions/all.ts';
import { problemsOf } from '../../src/operator/openapi.ts';
import { jsonSchema } from '../../src/operator/openapi-schemas.ts';
import { STATUS } from '../../src/operator/problem-json.ts';
import { onEveryEngine } from '../../test/support/engines.ts';
import { type OperatorApi, startOperatorApi } from '../../test/support/operator-api.ts';

/** Requests made from the schemas: valid, wrong in one field, with unknown ones, huge, of others, without the scope. */

type Json = Readonly<Record<string, unknown>>;

const HOSTILE = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    true,
    1e300,
    -1,
    1.5,
    '',
    '\0',
    '\ud800',
    "'; drop table account; --",
    '%',
    '_',
    '../..',
  ),
  fc.constantFrom<unknown>('9'.repeat(19), '9'.repeat(40), '-0', '1e3', [], {}, [[[[]]]], { __proto__: 1 }),
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.nat(20).map((power) => 'x'.repeat(2 ** power % 300_000)),
  fc.jsonValue({ maxDepth: 3 }),
);

/** A value that the schema takes, as far as its words say it. */
function valid(schema: Json): fc.Arbitrary<unknown> {
  if (Array.isArray(schema.anyOf)) return fc.oneof(...(schema.anyOf as Json[]).map(valid));
  if (Array.isArray(schema.enum)) return fc.constantFrom(...(schema.enum as unknown[]));
  if (schema.type === 'null') return fc.constant(null);
  if (schema.type === 'boolean') return fc.boolean();
  if (schema.type === 'integer') {
    return fc.integer({ min: Number(schema.minimum ?? 0), max: Math.min(Number(schema.maximum ?? 100), 2 ** 31 - 1) });
  }
  if (schema.type === 'array') {
    return fc.array(valid((schema.items ?? {}) as Json), { minLength: Number(schema.minItems ?? 0), maxLength: 3 });
  }
  if (schema.format === 'date-time')
    return fc.date({ min: new Date(0), max: new Date(4e12), noInvalidDate: true }).map((date) => date.toISOString());
  if (schema.type === 'object') return objectOf(schema);
  if (typeof schema.pattern === 'string' && !schema.pattern.includes('\\P{Cc}'))
    return fc.stringMatching(new RegExp(schema.pattern));
  return fc.oneof(
    fc.constantFrom('acme', 'globex', 'ZA', 'Africa/Johannesburg', '10.0.0.0/8'),
    fc.string({ minLength: Number(schema.minLength ?? 0), maxLength: Math.min(Number(schema.maxLength ?? 20), 20) }),
  );
}

function objectOf(schema: Json): fc.Arbitrary<Json> {
  const fields = Object.entries((schema.properties ?? {}) as Record<string, Json>);
  const requiredKeys = (schema.required ?? []) as string[];
  return fc.record(Object.fromEntries(fields.map(([name, field]) => [name, valid(field)])), {
    requiredKeys,
  }) as fc.Arbitrary<Json>;
}

/** Sometimes one field is wrong, or there is one more. */
const spoiled = (made: fc.Arbitrary<Json>, names: readonly string[]): fc.Arbitrary<Json> =>
  fc.oneof(
    { weight: 3, arbitrary: made },
    fc
      .tuple(made, fc.constantFrom(...names, 'unknown', '__proto__', 'x'.repeat(5_000)), HOSTILE)
      .map(([value, name, wrong]) => {
        const copy = { ...value };
        Object.defineProperty(copy, name, { value: wrong, enumerable: true });
        return copy;
      }),
  );

interface Made {
  readonly action: Action;
  readonly path: string;
  readonly query: Json;
  readonly body: Json | undefined;
  /** The body of an upload, and its type. */
  readonly file: readonly [text: string | Uint8Array, type: string] | undefined;
  readonly token: 'all' | 'audit' | 'acme' | 'none';
  readonly key: string | undefined;
}

const CELL = fc.oneof(
  fc.constantFrom('name', 'mobile', 'group', '0825550201', '2.78E+10', '"', '"a"', '=1+1', '', 'é'),
  fc.string({ unit: 'binary', maxLength: 20 }),
);
/** Tables, damaged ones, other encodings and plain bytes. */
const FILE = fc.tuple(
  fc.oneof(
    fc
      .tuple(fc.constantFrom(',', ';', '\t'), fc.array(fc.array(CELL, { maxLength: 5 }), { maxLength: 8 }))
      .map(
        ([separator, rows]) =>
          ['name', 'mobile'].join(separator) + rows.map((row) => `\r\n${row.join(separator)}`).join(''),
      ),
    fc.string({ unit: 'binary', maxLength: 200 }).map((text) => Buffer.from(`\ufeff${text}`, 'utf16le')),
    fc.uint8Array({ maxLength: 300 }),
    fc.constant('x'.repeat(200_000)),
  ),
  fc.constantFrom('text/csv', 'text/csv; charset=utf-8', 'application/json', ''),
);

const namesOf = (schema: Json): string[] => Object.keys((schema.properties ?? {}) as object);

/** Also of an object whose own toString is no function. */
const textOf = (value: unknown): string => (typeof value === 'object' ? JSON.stringify(value) : String(value));

function requestOf(action: Action): fc.Arbitrary<Made> {
  const params = jsonSchema(action.params);
  const query = jsonSchema(action.query);
  const body = action.body ? jsonSchema(action.body) : {};
  const segment = fc.oneof(
    fc.constantFrom('acme', 'globex', 'nobody', '1', '0', '../../test', '%'),
    fc.string({ maxLength: 30 }),
    HOSTILE.map(textOf),
  );
  const paths = fc
    .record(
      Object.fromEntries(
        namesOf(params).map((name) => [
          name,
          name === 'username'
            ? fc.oneof({ weight: 4, arbitrary: fc.constantFrom('acme', 'globex') }, segment)
            : segment,
        ]),
      ),
    )
    .map((values) =>
      action.path.replace(/\{(\w+)\}/g, (_, name: string) =>
        encodeURIComponent(
          textOf((values as Json)[name])
            .toWellFormed()
            .slice(0, 2_000) || 'x',
        ),
      ),
    );
  const paging = action.position === null ? [] : ['limit', 'after'];
  return fc.record({
    action: fc.constant(action),
    path: paths,
    query: spoiled(objectOf(query), [...namesOf(query), ...paging]),
    body: action.body ? spoiled(objectOf(body), namesOf(body)) : fc.constant(undefined),
    file: action.upload ? FILE : fc.constant(undefined),
    token: fc.oneof(
      { weight: 6, arbitrary: fc.constant('all' as const) },
      fc.constantFrom('audit' as const, 'acme' as const, 'none' as const),
    ),
    key: fc.option(fc.constantFrom('one', '"two"', 'é', 'x'.repeat(200)), { nil: undefined, freq: 3 }),
  });
}

onEveryEngine("any request to the operator's API", (engine) => {
  let api: OperatorApi;
  let tokens: Readonly<Record<Made['token'], string | null>>;
  before(async () => {
    api = await startOperatorApi(engine);
    tokens = {
      all: api.token,
      audit: (await api.addToken(['audit'])).token,
      acme: (await api.addToken(['contacts', 'messages:read'], 'acme')).token,
      none: null,
    };
  });
  after(() => api.stop());

  // Tokens are left alone: a request that revoked one would make all others the same.
  const tried = actions.filter(({ name }) => name !== 'token revoke');
  for (const action of tried) {
    test(`${action.name} is answered with a documented status, never with a 5xx, and with problem+json for a refusal`, async () => {
      const documented = [action.status, ...action.otherStatuses, ...problemsOf(action).map((kind) => STATUS[kind])];
      await fc.assert(
        fc.asyncProperty(requestOf(action), async ({ path, query, body, file, token, key }) => {
          const parameters = new URLSearchParams();
          for (const [name, value] of Object.entries(query))
            parameters.set(name, textOf(value).toWellFormed().slice(0, 3_000));
          const address = parameters.size > 0 ? `${path}?${parameters}` : path;
          const headers = key !== undefined && /^[\x20-\x7e]+$/.test(key) ? { 'Idempotency-Key': key } : {};
          const [text, type] = file ?? [];
          const sent =
            text === undefined ? { body, headers } : { text, headers: { ...headers, 'Content-Type': type ?? '' } };
          const answer = await api.call(action.method, address, { token: tokens[token], ...sent });
          assert.ok(answer.status < 500, `${action.method} ${address}: ${answer.text}\n${api.logged.at(-1)}`);
          // A segment of dots is resolved by the client, so that the request reaches another path.
          if (/\/(?:\.|%2e){1,2}(?:\/|\?|$)/i.test(address)) return;
          assert.ok(documented.includes(answer.status), `${action.method} ${address}: ${answer.status}`);
          if (answer.status < 300) return;
          assert.equal(answer.headers.get('content-type'), 'application/problem+json');
          assert.equal(answer.json.status, answer.status);
        }),
        { numRuns: engine.name === 'sqlite' ? 30 : 8 },
      );
    });
  }
});

onEveryEngine('pages of a list', (engine) => {
  test('pages of a list never skip or repeat an item, whatever the sizes of pages are and while others arrive', async () => {
    const api = await startOperatorApi(engine, 'empty');
    try {
      let count = 0;
      const arrive = async () => {
        api.clock.now += count % 3 === 0 ? 0 : 1; // several of one moment
        const { json } = await api.call('POST', '/tokens', { body: { name: `token ${++count}`, scopes: ['audit'] } });
        return json.id as string;
      };
      for (let index = 0; index < 12; index++) await arrive();
      await fc.assert(
        fc.asyncProperty(
          fc.array(fc.tuple(fc.integer({ min: 1, max: 7 }), fc.boolean()), { maxLength: 12 }),
          async (steps) => {
            const ids = async (path: string) =>
              (await api.call('GET', path)).json.items.map(({ id }: { id: string }) => id);
            const before = { tokens: await ids('/tokens?limit=500'), audit: await ids('/audit?limit=500') };
            for (const list of ['tokens', 'audit'] as const) {
              const seen: string[] = [];
              let after: string | null = null;
              for (let step = 0; step === 0 || after !== null; step++) {
                const [limit, arrives] = steps[step] ?? [50, false];
                const { json } = await api.call(
                  'GET',
                  `/${list}?limit=${limit}${after === null ? '' : `&after=${after}`}`,
                );
                seen.push(...json.items.map(({ id }: { id: string }) => id));
                after = json.next;
                api.clock.now += 1; // an item that arrives later is newer
                if (arrives) await arrive();
              }
              assert.equal(new Set(seen).size, seen.length, 'an item came twice');
              const known = new Set(seen);
              assert.deepEqual(
                before[list].filter((id: string) => !known.has(id)),
                [],
                'an item was skipped',
              );
            }
          },
        ),
        { numRuns: engine.name === 'sqlite' ? 10 : 4 },
      );
    } finally {
      await api.stop();
    }
  });
});
