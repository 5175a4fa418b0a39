import { type Lockfile, packagesOf } from './lockfile.ts';

/** Which licences packages may have. What is in no list fails by name, and somebody has to read it. */

/** For what is passed on with the service: what asks for no more than to keep the notice. */
export const RUNTIME = ['0BSD', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', 'ISC', 'MIT', 'MIT-0'];

/** For what only the development uses and nobody passes on. */
export const DEVELOPMENT = [...RUNTIME, 'Artistic-2.0', 'BlueOak-1.0.0', 'MPL-2.0', 'Unlicense', 'W3C-19980720'];

/** Packages that say it in the old form, `licenses`, which npm does not write into the lockfile. */
export const OLD_FORM: Readonly<Record<string, string>> = { 'cldrjs@0.5.5': 'MIT', 'httpntlm@1.8.13': 'MIT' };

/** The packages whose licence is not allowed, each with the reason. */
export const refused = (lock: Lockfile): string[] =>
  packagesOf(lock).flatMap(({ name, version, license, dev }) => {
    const licence = license ?? OLD_FORM[`${name}@${version}`];
    if (licence === undefined) return [`${name}@${version}: names no licence`];
    return permits(licence, dev ? DEVELOPMENT : RUNTIME) ? [] : [`${name}@${version}: ${licence}`];
  });

/**
 * An SPDX expression. Of several that OR joins one is enough. Of those that AND joins each is needed. AND binds tighter.
 * WITH names an exception, which only grants more. Anything else permits nothing.
 */
export function permits(expression: string, allowed: readonly string[]): boolean {
  const tokens = expression.match(/[()]|[^\s()]+/g) ?? [];
  let at = 0;
  const joined = (word: string, next: () => boolean, join: (a: boolean, b: boolean) => boolean): boolean => {
    let result = next();
    while (tokens[at] === word) {
      at += 1;
      result = join(result, next());
    }
    return result;
  };
  const either = (): boolean => joined('OR', both, (a, b) => a || b);
  const both = (): boolean => joined('AND', single, (a, b) => a && b);
  const single = (): boolean => {
    const token = tokens[at++];
    if (token === '(') {
      const inner = either();
      return tokens[at++] === ')' && inner;
    }
    if (tokens[at] === 'WITH') at += 2;
    return token !== undefined && allowed.includes(token);
  };
  return either() && at === tokens.length;
}
