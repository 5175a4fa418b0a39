import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import createClient from 'openapi-fetch';
import { actions } from '../../src/operator/actions/all.ts';
import { onOneEngine } from '../support/engines.ts';
import { type OperatorApi, startOperatorApi } from '../support/operator-api.ts';

/**
 * A client that others have written calls every route by what the OpenAPI document says, with the
 * examples of the reference. Its types are not generated: openapi-typescript needs TypeScript 5.
 */

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
interface Operation {
  readonly operationId: string;
  readonly parameters?: readonly { readonly name: string; readonly in: string }[];
  readonly responses: Readonly<Record<string, unknown>>;
}
interface Paths {
  readonly [path: string]: { readonly [method: string]: Operation };
}
/** What the client takes where its types were not generated. */
type Call = (
  method: string,
  path: string,
  init: object,
) => Promise<{ data?: unknown; error?: unknown; response: Response }>;

onOneEngine('a client of the OpenAPI document', (engine) => {
  let api: OperatorApi;
  let paths: Paths;
  let call: Call;
  before(async () => {
    api = await startOperatorApi(engine);
    paths = (await api.call('GET', '/openapi.json')).json.paths;
    const client = createClient<Record<string, never>>({
      baseUrl: `${api.address}/operator/v1`,
      headers: { Authorization: `Bearer ${api.token}` },
    });
    call = client.request as unknown as Call;
  });
  after(() => api.stop());

  const succeeded: string[] = [];
  for (const { name, method, path, example, upload, download, output } of actions) {
    test(`the route of ${name} answers with a documented status and a body of its schema`, async () => {
      const operation = paths[path]?.[method.toLowerCase()] ?? assert.fail('it is not in the document');
      const given = { path: example.params ?? {}, query: example.query ?? {} };
      for (const [place, values] of Object.entries(given)) {
        const documented = (operation.parameters ?? []).filter((each) => each.in === place).map((each) => each.name);
        for (const field of Object.keys(values)) assert.ok(documented.includes(field), field);
      }
      const csv = { body: 'name,mobile\nAnn,0825550201\n', bodySerializer: (body: string) => body };
      const { data, error, response } = await call(method.toLowerCase() as Method, path, {
        params: given,
        ...(upload ? csv : example.body !== undefined && { body: example.body }),
        ...(upload && { headers: { 'Content-Type': upload.mediaType } }),
        ...(download && { parseAs: 'text' }),
      });
      assert.ok(Object.hasOwn(operation.responses, String(response.status)), `${response.status}`);
      const problem = error as { status?: number; detail?: string } | undefined;
      assert.notEqual(problem?.detail, 'There is nothing at this path.');
      if (!response.ok) return assert.equal(problem?.status, response.status);
      succeeded.push(name);
      if (output === null) return;
      const parsed = output.safeParse(data);
      assert.ok(parsed.success, parsed.error?.message);
    });
  }

  test('most of the examples succeed on the sample data, lists and additions among them', () => {
    const lists = actions.filter(({ position, params }) => position !== null && !Object.hasOwn(params.shape, 'id'));
    const additions = actions.filter(({ name }) => / add$|^message record$|^inbox receive$/.test(name));
    // The examples of these name what the sample has already, or has not.
    const refused = ['account add', 'group add', 'contact add', 'event list'];
    const expected = [...lists, ...additions].map(({ name }) => name).filter((name) => !refused.includes(name));
    assert.deepEqual(
      expected.filter((name) => !succeeded.includes(name)),
      [],
    );
  });
});
