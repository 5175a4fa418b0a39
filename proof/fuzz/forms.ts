import { isUtf8 } from 'node:buffer';
import { createRandom, type Random } from '../../test/support/random.ts';
import { form } from './form-grammar.ts';
import { createExaminer, demandSame } from './oracles.ts';
import { requestParts } from './request-parts.ts';
import { type FuzzedRequest, openService } from './service.ts';
import { shown, type Target } from './target.ts';

/** A form, and the same call in another phrasing that must have the same answer. */
interface FormInput extends FuzzedRequest {
  readonly variant: 'none' | keyof typeof PHRASINGS;
}

/** HTTP GET and HTTP POST, from bytes to the answer, in process. */
export const forms: Target<FormInput> = {
  name: 'forms',
  generate: (random: Random) => ({ variant: random.pick(VARIANTS), ...form(random) }),
  async open(engine) {
    const service = await openService(engine);
    const examiner = await createExaminer(service);
    return {
      async examine({ variant, ...request }) {
        const first = await examiner.send(request);
        const base = first.changed || variant === 'none' ? await examiner.repeat(request, first) : first;
        // Chance that the input alone decides, so that a smaller input can be tried with it.
        const random = createRandom(variant, request.body.length + request.query.length);
        const other = base && variant !== 'none' && PHRASINGS[variant](random, request);
        if (other) {
          const again = await examiner.send(other);
          demandSame(base, again, `it matters: ${variant}`, shown(other.query + other.body));
        }
        return first.label;
      },
      finish: examiner.finish,
      isChanged: examiner.isChanged,
      close: service.close,
    };
  },
  ...requestParts(),
};

type Phrasing = (random: Random, request: FuzzedRequest) => FuzzedRequest | null;

/** The pairs of a request, wherever they are, in other words. */
const onPairs =
  (change: (random: Random, text: string) => string): Phrasing =>
  (random, request) =>
    request.method === 'GET'
      ? { ...request, query: change(random, request.query) }
      : { ...request, body: change(random, request.body) };

const PHRASINGS = {
  'the order of parameters': onPairs((random, text) => shuffled(random, text.split('&')).join('&')),
  'the letter case of names': onPairs((random, text) =>
    text
      .split('&')
      .map((pair) => pair.replace(/^[^=]+(?==)/, (name) => otherCase(random, name)))
      .join('&'),
  ),
  'percent signs in place of characters': (random: Random, request: FuzzedRequest) =>
    request.method === 'GET' && isMixed(request.query) ? null : onPairs(percentEncoded)(random, request),
  'percent signs in the address': (random: Random, request: FuzzedRequest) => {
    const [, start = '', operation = ''] = /^(\/api\/\w+\.asmx\/)(.*)$/s.exec(request.path) ?? [];
    return start === '' ? null : { ...request, path: start + percentEncoded(random, operation).replaceAll('%20', '+') };
  },
  'GET or POST': (_: Random, { method, path, query, body, headers }: FuzzedRequest) => {
    const bare = headers['content-type'] === FORM && path.startsWith('/api/');
    if (isMixed(query + body)) return null;
    if (method === 'GET' && path.includes('.asmx/'))
      return { method: 'POST', path, query: '', headers: { 'content-type': FORM }, body: query };
    if (method === 'POST' && path.includes('.asmx/') && bare)
      return { method: 'GET', path, query: body, headers: {}, body: '' };
    return null;
  },
} as const satisfies Record<string, Phrasing>;

/**
 * Bytes beyond ASCII that are no UTF-8 are Latin-1 where they stand in a query as they are, and U+FFFD as percent signs or
 * in a POST, as in ASMX: so it matters how and where they are written.
 */
const isMixed = (text: string): boolean =>
  /[\x80-\xFF]/.test(text) &&
  !isUtf8(
    Buffer.from(
      text.replace(/%([0-9A-Fa-f]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16))),
      'latin1',
    ),
  );

const FORM = 'application/x-www-form-urlencoded';
const VARIANTS = ['none', ...(Object.keys(PHRASINGS) as (keyof typeof PHRASINGS)[])] as const;

function shuffled<T>(random: Random, items: readonly T[]): T[] {
  const all = [...items];
  for (let at = all.length - 1; at > 0; at -= 1) {
    const other = random.below(at + 1);
    [all[at], all[other]] = [all[other] as T, all[at] as T];
  }
  return all;
}

/** What stands for itself, and what already is an escape: %uXXXX, %XX, or one byte. */
const UNITS = /%u[0-9A-Fa-f]{4}|%[0-9A-Fa-f]{2}|[\s\S]/g;

const otherCase = (random: Random, name: string): string =>
  name.replace(UNITS, (unit) => {
    if (unit.length > 1 || !/[A-Za-z]/.test(unit)) return unit;
    return random.chance(0.5) ? unit.toUpperCase() : unit.toLowerCase();
  });

/** Some bytes as escapes; a plus is a blank, and `&` and `=` have their own meaning. */
function percentEncoded(random: Random, text: string): string {
  return text.replace(UNITS, (unit) => {
    if (unit.length > 1 || unit === '&' || unit === '=' || random.chance(0.5)) return unit;
    const code = unit === '+' ? 0x20 : unit.charCodeAt(0);
    const hex = code.toString(16).padStart(2, '0');
    return `%${random.chance(0.5) ? hex.toUpperCase() : hex}`;
  });
}
