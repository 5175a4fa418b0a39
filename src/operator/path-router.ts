import { TrieRouter } from 'hono/router/trie-router';

/**
 * Finds what is at a path, by the router of Hono. The path is as it was sent: a percent sign does
 * not divide it into more segments.
 */
export interface Found<R> {
  readonly route: R;
  /** Decoded. None is empty. */
  readonly params: Readonly<Record<string, string>>;
}

/** No route has the path, or those that have it take these methods only. */
export interface NotFound {
  readonly route: null;
  readonly allowed: readonly string[];
}

interface Routed {
  readonly method: string;
  /** With `:name` for parameters. */
  readonly path: string;
}

/** HEAD is answered as GET is. */
export function createPathRouter<R extends Routed>(
  routes: readonly R[],
): (method: string, path: string) => Found<R> | NotFound {
  const router = new TrieRouter<R>();
  // Hono prefers the route that was added first, and we prefer the one with fixed segments:
  // /contacts/import over /contacts/:id.
  const rank = ({ path }: R): string => path.replace(/[^/]+/g, (segment) => (segment.startsWith(':') ? '1' : '0'));
  for (const route of routes.toSorted((one, other) => (rank(one) < rank(other) ? -1 : 1))) {
    router.add('ALL', route.path, route); // those of other methods are told to the client
  }
  return (method, path) => {
    const [matches] = router.match('ALL', path);
    const found = matches.flatMap(([route, given]) => {
      const params = Object.entries(given).map(([name, text]) => [name, decode(String(text))]);
      return params.every(([, text]) => text !== '') ? [{ route, params: Object.fromEntries(params) }] : [];
    });
    const sought = method === 'HEAD' ? 'GET' : method;
    const allowed = [...new Set(found.map(({ route }) => route.method))];
    return found.find(({ route }) => route.method === sought) ?? { route: null, allowed };
  };
}

/** '' for what is no percent-encoding. */
export function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return '';
  }
}
