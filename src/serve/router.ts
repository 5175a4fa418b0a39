import { type Handler, header, type Reply, type Request } from '../base/exchange.ts';

/**
 * Maps the path of a request on the contract's port to the Handler that answers it. The web
 * listener uses the router of Hono. Here the path is compared byte by byte as it was sent, because
 * any other path belongs to the contract, whose answers old programs know.
 */
export interface Routes {
  /** By exact path, such as /health/live. */
  readonly paths?: Readonly<Record<string, Handler>>;
  /** By path prefix: `/console` stands for itself and for every path below /console/. */
  readonly prefixes?: Readonly<Record<string, Handler>>;
  /** Answers all other paths, and every request that was rejected before routing. */
  readonly otherwise: Handler;
}

export function createRouter({ paths = {}, prefixes = {}, otherwise }: Routes): Handler {
  const byPath = new Map(Object.entries(paths));
  const byPrefix = Object.entries(prefixes);
  const find = (path: string): Handler => {
    const exact = byPath.get(path);
    if (exact) return exact;
    for (const [prefix, handler] of byPrefix) {
      if (path.startsWith(prefix) && (path.length === prefix.length || path[prefix.length] === '/')) return handler;
    }
    return otherwise;
  };
  return (request) => (request.refused ? otherwise : find(request.path))(request);
}

/**
 * Redirects to the same path and query under another base URL. 307 keeps the method and is not
 * cached, because an operator may move the other listener.
 */
export const redirectTo =
  (baseUrl: string): Handler =>
  ({ path, query }) => ({
    status: 307,
    headers: {
      Location: `${baseUrl}${path}${query && `?${query}`}`,
      'Content-Type': 'text/plain; charset=utf-8',
      'Cache-Control': 'no-store',
    },
    body: `This is at ${baseUrl}${path}\n`,
  });

/** The paths of the web listener, which the contract's port redirects to it. */
const WEB_PREFIXES = ['/console', '/operator'] as const;

/**
 * Redirects to the public URL of the web listener. If none is set, that is the address on which it
 * listens, or, if it listens on all interfaces, the host by which the client reaches us. A listener
 * on loopback is of no use to a client on another machine, so such a client is told what to set.
 */
export function webRedirects(
  webUrl: string,
  webAddress: (() => string | undefined | Promise<string | undefined>) | undefined,
  otherwise: Handler,
): Record<string, Handler> {
  if (!webAddress) return {};
  const redirect: Handler = async (request) => {
    const address = await webAddress();
    if (address === undefined) return otherwise(request);
    if (!webUrl && isLoopback(hostOf(address)) && !isLocal(request)) return NO_PUBLIC_URL;
    return redirectTo(webUrl || address.replace(/\/\/(?:0\.0\.0\.0|\[::\])/, `//${hostOf(request.base)}`))(request);
  };
  return Object.fromEntries(WEB_PREFIXES.map((prefix) => [prefix, redirect]));
}

const hostOf = (base: string): string => URL.parse(base)?.hostname ?? 'localhost';

const isLoopback = (host: string): boolean => /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(host);

/** Fields that proxies add. They count from any proxy: an untrusted one forwards requests too. */
const FORWARDING_FIELDS = ['forwarded', 'via', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto'];

const isLocal = (request: Request): boolean =>
  isLoopback(hostOf(request.base)) && FORWARDING_FIELDS.every((name) => header(request, name) === undefined);

const NO_PUBLIC_URL: Reply = {
  status: 404,
  headers: { 'Content-Type': 'text/plain; charset=utf-8', 'Cache-Control': 'no-store' },
  body:
    "The console and the operator's API have no public address yet. Forward /console, /operator and /carriers to the " +
    'web listener of Columba, and set COLUMBA_WEB_URL to the public address.\n',
};
