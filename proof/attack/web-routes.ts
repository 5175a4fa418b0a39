import { customerRoutes, operatorRoutes } from '../../src/console/screens.ts';
import { createConsoleClient, linkFor, signedIn } from '../../test/support/console-client.ts';
import type { OperatorApi } from '../../test/support/operator-api.ts';
import { CUSTOMER_SCREENS, OPERATOR_SCREENS } from '../../test/support/screens.ts';

/**
 * Every route of the second listener, from the OpenAPI document that it serves itself and from the routes of the console.
 * A new action or screen is in this list without further words.
 */
export interface WebRoute {
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly query: readonly string[];
  readonly body: {
    readonly type: string;
    readonly example?: unknown;
    readonly fields: readonly string[];
    /** Where a form takes a file. */
    readonly takesFile?: boolean;
  } | null;
  /** Of whom the route is asked, with the header fields that show it. */
  readonly callers: Readonly<Record<string, readonly string[]>>;
}

interface Operation {
  readonly parameters: readonly { readonly name: string; readonly in: string; readonly example?: unknown }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { schema: Schema; example?: unknown }>> };
}
interface Schema {
  readonly properties?: Readonly<Record<string, unknown>>;
}

export const SECRET = `whsec_${Buffer.alloc(24, 7).toString('base64')}`;

export async function webRoutes(api: OperatorApi): Promise<WebRoute[]> {
  return [...publicRoutes(), ...(await carrierRoutes(api)), ...(await apiRoutes(api)), ...(await consoleRoutes(api))];
}

const STRANGER = { nobody: [] };
const FORM = 'application/x-www-form-urlencoded';

function publicRoutes(): WebRoute[] {
  const pages = ['/', '/operator', '/operator/', '/health/live', '/health/ready', '/nothing', '/console/sign-in'];
  const forms = [
    '/console/sign-in',
    '/console/sign-in/code',
    '/console/sign-in/token',
    '/console/sign-out',
    '/console/',
  ];
  const callers = { nobody: ['Sec-Fetch-Site: same-origin'] };
  const fields = ['name', 'password', 'next', 'resume', 'kept.text'];
  return [
    ...pages.map((path) => ({
      name: `GET ${path}`,
      method: 'GET',
      path,
      query: ['next'],
      body: null,
      callers: STRANGER,
    })),
    ...forms.map((path) => ({
      name: `POST ${path}`,
      method: 'POST',
      path,
      query: [],
      body: { type: FORM, fields },
      callers,
    })),
  ];
}

async function carrierRoutes(api: OperatorApi): Promise<WebRoute[]> {
  const config = { url: 'http://127.0.0.1:1/', secret: SECRET, allowPrivate: true };
  await api.call('PUT', '/connectors/hook', { body: { kind: 'callback', config } });
  const signature = [
    'webhook-id: msg_1',
    `webhook-timestamp: ${Math.floor(api.clock.now / 1_000)}`,
    `webhook-signature: v1,${Buffer.alloc(32).toString('base64')}`,
  ];
  const body = { type: 'application/json', fields: ['type', 'data'] };
  const callers = { nobody: [], 'a wrong signature': signature };
  return [{ name: 'POST /carriers/hook/', method: 'POST', path: '/carriers/hook/', query: ['id'], body, callers }];
}

async function apiRoutes(api: OperatorApi): Promise<WebRoute[]> {
  const { paths } = (await api.call('GET', '/openapi.json')).json as {
    paths: Record<string, Record<string, Operation>>;
  };
  const bearer = (token: string) => [`Authorization: Bearer ${token}`];
  const small = await api.addToken(['metrics']);
  const callers = { nobody: [], 'a small token': bearer(small.token), 'every scope': bearer(api.token) };
  return Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, { parameters, requestBody }]): WebRoute => {
      const filled = parameters
        .filter((each) => each.in === 'path')
        .reduce(
          (text, { name, example }) => text.replace(`{${name}}`, encodeURIComponent(String(example ?? '1'))),
          path,
        );
      const [type, content] = Object.entries(requestBody?.content ?? {})[0] ?? [];
      return {
        name: `${method.toUpperCase()} /operator/v1${path}`,
        method: method.toUpperCase(),
        path: `/operator/v1${filled}`,
        query: parameters.filter((each) => each.in === 'query').map(({ name }) => name),
        body:
          type === undefined || content === undefined
            ? null
            : { type, example: content.example, fields: Object.keys(content.schema.properties ?? {}) },
        callers,
      };
    }),
  );
}

async function consoleRoutes(api: OperatorApi): Promise<WebRoute[]> {
  const sides = [
    { owner: { username: 'acme' }, routes: customerRoutes, screens: CUSTOMER_SCREENS },
    { owner: { operator: 'attacker' }, routes: operatorRoutes, screens: OPERATOR_SCREENS },
  ] as const;
  const found: WebRoute[] = [];
  for (const { owner, routes, screens } of sides) {
    const client = await signedIn(api, owner);
    const guest = createConsoleClient(api.address);
    await guest.get(await linkFor(api, { username: 'globex' }));
    const own = ['Sec-Fetch-Site: same-origin'];
    const callers = { nobody: own, [Object.keys(owner)[0] as string]: [...own, `Cookie: ${client.cookie}`] };
    const fields = new Set<string>();
    for (const path of screens) {
      const { text } = await client.get(path);
      for (const [, name = ''] of text.matchAll(/<(?:input|textarea|select|button)[^>]* name="([\w.-]+)"/g))
        fields.add(name);
    }
    for (const { method, path, bytesMax } of routes) {
      const filled = path.replaceAll(':username', 'acme').replaceAll(/:\w+/g, '101');
      const takesFile = bytesMax !== undefined;
      const body = method === 'POST' ? { type: FORM, fields: [...fields], takesFile } : null;
      found.push({
        name: `${method} /console${path} as ${Object.keys(owner)[0]}`,
        method,
        path: `/console${filled}`,
        query: [...fields],
        body,
        callers,
      });
    }
  }
  return found;
}
