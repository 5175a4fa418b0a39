import { methodNotAllowed, Problem } from '../base/problem.ts';
import type { Action } from './action.ts';

/** Finds the action of a method and a path, which is as it was sent: percent signs not decoded. */
export interface Route {
  readonly action: Action;
  readonly params: Readonly<Record<string, string>>;
}

interface Pattern {
  readonly action: Action;
  readonly segments: readonly string[];
}

export function createRoutes(actions: readonly Action[]): (method: string, path: string) => Route {
  const patterns: Pattern[] = actions.flatMap((action) =>
    [action.path, ...(action.formerly ? [action.formerly.path] : [])].map((path) => ({
      action,
      segments: path.split('/'),
    })),
  );
  // A fixed segment wins over a parameter: /contacts/import over /contacts/{id}.
  patterns.sort((one, other) => (rank(one) < rank(other) ? -1 : 1));
  return (method, path) => {
    const segments = path.split('/');
    const found = patterns.flatMap((pattern) => match(pattern, segments) ?? []);
    const sought = method === 'HEAD' ? 'GET' : method;
    const route = found.find(({ action }) => action.method === sought);
    if (route) return route;
    if (found.length === 0) throw new Problem('not-found', 'There is nothing at this path.');
    throw methodNotAllowed([...new Set(found.map(({ action }) => action.method))]);
  };
}

const rank = ({ segments }: Pattern): string =>
  segments.map((segment) => (segment.startsWith('{') ? '1' : '0')).join('');

function match({ action, segments }: Pattern, given: readonly string[]): Route | undefined {
  if (segments.length !== given.length) return undefined;
  const params: Record<string, string> = {};
  for (const [index, segment] of segments.entries()) {
    const text = given[index] as string;
    if (!segment.startsWith('{')) {
      if (segment !== text) return undefined;
      continue;
    }
    const decoded = decode(text);
    if (decoded === undefined || decoded === '') return undefined;
    params[segment.slice(1, -1)] = decoded;
  }
  return { action, params };
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
