import type { Route } from './page-request.ts';

/** Finds the route of a path; parameters are decoded. */
export interface FoundRoute {
  readonly route: Route;
  readonly params: Readonly<Record<string, string>>;
}
export type RouteTable = (method: string, path: string) => FoundRoute | 'no-path' | 'no-method';

export function createRouteTable(routes: readonly Route[]): RouteTable {
  const patterns = routes.map((route) => ({ route, segments: route.path.split('/') }));
  // A fixed segment wins over a parameter.
  const rank = (segments: readonly string[]) => segments.map((each) => (each.startsWith(':') ? '1' : '0')).join('');
  patterns.sort((one, other) => (rank(one.segments) < rank(other.segments) ? -1 : 1));
  return (method, path) => {
    const given = path.split('/');
    const found = patterns.flatMap(({ route, segments }) => {
      const params = match(segments, given);
      return params ? [{ route, params }] : [];
    });
    if (found.length === 0) return 'no-path';
    const sought = method === 'HEAD' ? 'GET' : method;
    return found.find(({ route }) => route.method === sought) ?? 'no-method';
  };
}

function match(segments: readonly string[], given: readonly string[]): Record<string, string> | null {
  if (segments.length !== given.length) return null;
  const params: Record<string, string> = {};
  for (const [index, segment] of segments.entries()) {
    const text = given[index] as string;
    if (!segment.startsWith(':')) {
      if (segment !== text) return null;
      continue;
    }
    const decoded = decode(text);
    if (decoded === '') return null;
    params[segment.slice(1)] = decoded;
  }
  return params;
}

/** '' for what is no percent-encoding. */
export function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return '';
  }
}
