/** The generators of npm that are tried, and the programs that call every route with what they make. */

type Json = Readonly<Record<string, unknown>>;

/** A route of the OpenAPI document with the values of its examples. */
export interface Route {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly params: readonly (readonly [name: string, value: unknown])[];
  readonly query: Json;
  readonly hasQuery: boolean;
  /** JSON, or a text for a route that takes a file. */
  readonly body: unknown;
  readonly isBodyRequired: boolean;
  readonly isFile: boolean;
  readonly isDownload: boolean;
  readonly statuses: readonly string[];
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly parameters: Readonly<Record<string, Parameter>> };
}
interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly example?: unknown;
}
interface Operation {
  readonly operationId: string;
  readonly parameters: readonly (Parameter & { readonly $ref?: string })[];
  readonly requestBody?: {
    readonly required?: boolean;
    readonly content: Readonly<Record<string, { readonly example?: unknown }>>;
  };
  readonly responses: Readonly<Record<string, { readonly content?: Json }>>;
}

const CSV = 'mobile,name\n0825550209,Ann\n';

export function routesOf(document: unknown): Route[] {
  const { paths } = document as Document;
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => {
      const among = (place: string) => operation.parameters.filter((each) => each.in === place);
      const content = operation.requestBody?.content ?? {};
      const isFile = Object.hasOwn(content, 'text/csv');
      const answers = operation.responses['200']?.content ?? {};
      return {
        id: operation.operationId,
        method,
        path,
        params: among('path').map(({ name, example = 'none' }) => [name, example] as const),
        query: Object.fromEntries(
          among('query').flatMap(({ name, example }) => (example === undefined ? [] : [[name, example]])),
        ),
        hasQuery: operation.parameters.some(
          ({ in: place, $ref }) => place === 'query' || /\/Page\w+$/.test($ref ?? ''),
        ),
        body: isFile ? CSV : content['application/json']?.example,
        isBodyRequired: operation.requestBody?.required === true,
        isFile,
        isDownload: Object.hasOwn(answers, 'text/csv'),
        statuses: Object.keys(operation.responses),
      };
    }),
  );
}

export interface Generator {
  readonly name: string;
  /** The exact packages. */
  readonly packages: readonly string[];
  /** The program of the package and its arguments; `openapi.json` is in the same folder. */
  readonly run: readonly string[];
  readonly program: (routes: readonly Route[]) => string;
}

const text = (value: unknown): string => JSON.stringify(value);
/** Of a file beside the program. */
const from = (file: string): string => `from './${file}'`;
const START = `
const base = process.env.ADDRESS + '/operator/v1';
const authorization = 'Bearer ' + process.env.TOKEN;
async function call(id: string, work: () => Promise<{ response: Response } | Response>): Promise<void> {
  const done = await work().catch((thrown: unknown) => thrown as Response);
  const { status } = 'response' in done ? done.response : done;
  process.stdout.write(JSON.stringify({ id, status }) + '\\n');
}
`;
const calls = (routes: readonly Route[], callOf: (route: Route) => string): string =>
  routes.map((route) => `await call(${text(route.id)}, () => ${callOf(route)});`).join('\n');

const fields = (given: Readonly<Record<string, string | false>>): string =>
  `{ ${Object.entries(given)
    .flatMap(([name, value]) => (value === false ? [] : [`${name}: ${value}`]))
    .join(', ')} }`;
const hasSome = (object: Json): boolean => Object.keys(object).length > 0;

/** As generators name what is at the first segment of a path. */
const camel = (segment: string): string => segment.replace(/[-.](\w)/g, (_, letter: string) => letter.toUpperCase());

export const generators: readonly Generator[] = [
  {
    name: 'openapi-typescript with openapi-fetch',
    packages: ['openapi-typescript@7.13.0', 'openapi-fetch@0.17.0'],
    run: ['openapi-typescript', 'openapi.json', '-o', 'types.ts'],
    program: (routes) => `import createClient from 'openapi-fetch';
import type { paths } ${from('types')};
${START}
const client = createClient<paths>({ baseUrl: base, headers: { Authorization: authorization } });
${calls(routes, ({ method, path, params, query, body, isFile, isDownload }) => {
  const given = fields({
    path: params.length > 0 && text(Object.fromEntries(params)),
    query: hasSome(query) && text(query),
  });
  const init = fields({
    params: given !== '{  }' && given,
    body: body !== undefined && text(body),
    headers: isFile && "{ 'Content-Type': 'text/csv' }",
    bodySerializer: isFile && '(csv: string) => csv',
    parseAs: isDownload && "'text'",
  });
  return `client.${method.toUpperCase()}(${text(path)}, ${init})`;
})}
`,
  },
  {
    name: '@hey-api/openapi-ts',
    packages: ['@hey-api/openapi-ts@0.99.0'],
    run: ['openapi-ts', '-i', 'openapi.json', '-o', 'generated'],
    program: (routes) => `import * as sdk ${from('generated')};
import { createClient } ${from('generated/client')};
${START}
const client = createClient({ baseUrl: base, headers: { Authorization: authorization } });
const seen = async (work: Promise<{ response?: Response }>) => ({ response: (await work).response as Response });
${calls(routes, ({ id, params, query, body, isDownload }) => {
  const init = fields({
    client: 'client',
    path: params.length > 0 && text(Object.fromEntries(params)),
    query: hasSome(query) && text(query),
    body: body !== undefined && text(body),
    parseAs: isDownload && "'text'",
  });
  return `seen(sdk.${id}(${init}))`;
})}
`,
  },
  {
    name: 'swagger-typescript-api',
    packages: ['swagger-typescript-api@13.13.0'],
    run: ['swagger-typescript-api', 'generate', '-p', 'openapi.json', '-o', '.', '-n', 'api.ts'],
    program: (routes) => `import { Api } ${from('api')};
${START}
const api = new Api({ baseUrl: base, baseApiParams: { headers: { Authorization: authorization } } });
${calls(routes, ({ id, path, params, query, hasQuery, body, isBodyRequired }) => {
  // Required parameters come first, and a query comes before a body.
  const [given, asked] = [body === undefined ? [] : [text(body)], hasQuery ? [text(query)] : []];
  const rest = isBodyRequired ? [...given, ...asked] : [...asked, ...given];
  const values = [...params.map(([, value]) => text(value)), ...rest];
  return `api.${camel(path.split('/')[1] as string)}.${id}(${values.join(', ')})`;
})}
`,
  },
];
