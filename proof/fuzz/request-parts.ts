import type { FuzzedRequest } from './service.ts';
import type { Target } from './target.ts';

/** XML without one of its elements, and with nothing but its content in its place; where it is no XML, nothing. */
function* withoutElement(body: string): Generator<string> {
  for (const { 0: start, 1: name, index } of body.matchAll(/<([^\s<>/!?]+)[^<>]*>/g)) {
    const inner = index + start.length;
    const close = `</${name}>`;
    const end = start.endsWith('/>') ? inner : body.indexOf(close, inner);
    if (end < 0) continue;
    const after = body.slice(start.endsWith('/>') ? end : end + close.length);
    yield body.slice(0, index) + after;
    if (end > inner) yield body.slice(0, index) + body.slice(inner, end) + after;
  }
}

/** What can be left out of a request: whole header fields, and parts of its texts. */
export const requestParts = <I extends FuzzedRequest>(): Pick<Target<I>, 'without' | 'texts'> => ({
  *without(request) {
    for (const name of Object.keys(request.headers)) {
      const { [name]: _, ...headers } = request.headers;
      yield { ...request, headers };
    }
    for (const body of withoutElement(request.body)) yield { ...request, body };
  },
  texts: (request) => [
    { text: request.body, with: (body) => ({ ...request, body }) },
    { text: request.query, with: (query) => ({ ...request, query }) },
    { text: request.path, with: (path) => ({ ...request, path }) },
    ...Object.entries(request.headers).map(([name, text]) => ({
      text,
      with: (less: string) => ({ ...request, headers: { ...request.headers, [name]: less } }),
    })),
  ],
});
