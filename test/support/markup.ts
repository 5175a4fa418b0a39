/** What a reader gets out of a page: the pages escape by numbers only, so plain expressions take them apart. */

export const decoded = (html: string): string =>
  html.replace(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code)));

export const textOf = (html: string): string => decoded(html.replace(/<[^>]*>/g, '')).trim();

/** What stands between a heading of the second level and the next one. */
export function section(html: string, heading: string): string {
  const parts = html.split(/<h2[^>]*>/).slice(1);
  return parts.find((part) => part.startsWith(`${heading}</h2>`)) ?? '';
}

/** The terms of a list with what is said of them. */
export const rows = (html: string): [string, string][] =>
  [...html.matchAll(/<dt[^>]*>([\s\S]*?)<\/dt>\s*<dd[^>]*>([\s\S]*?)<\/dd>/g)].map(([, term = '', meaning = '']) => [
    textOf(term),
    textOf(meaning),
  ]);

/** Samples and programs by their names. */
export const codeBlocks = (html: string): Map<string, string> =>
  new Map(
    [...html.matchAll(/<div class="sample" data-name="([^"]*)"><pre[^>]*><code>([\s\S]*?)<\/code><\/pre>/g)].map(
      ([, name = '', text = '']) => [decoded(name), decoded(text)],
    ),
  );

/** Every address that the page refers to, as written. */
export const addresses = (html: string): string[] =>
  [...html.matchAll(/\s(?:href|src|action|formaction|poster|srcset)\s*=\s*"([^"]*)"/g)].map(([, address = '']) =>
    decoded(address),
  );

/** A sample message: its lines before the empty one, and what follows. */
export function message(text: string): { head: string[]; body: string } {
  const [head = '', ...body] = text.split('\n\n');
  return { head: head.trim().split('\n'), body: body.join('\n\n') };
}
