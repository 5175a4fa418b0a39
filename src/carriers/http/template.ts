import { encodePart } from '../../sms/parts.ts';

/**
 * Texts with placeholders, such as `{recipient|noplus}`. A placeholder whose value is absent makes
 * the whole text absent, and the field that it stands in is left out.
 */
export interface Placeholder {
  readonly name: string;
  readonly filters: readonly Filter[];
}
type Filter =
  | { readonly kind: 'noplus' | 'number' | 'hexUcs2' }
  | { readonly kind: 'map'; readonly pairs: ReadonlyMap<string, string> };

export type Pieces = readonly (string | Placeholder)[];
export type Values = (name: string) => string | undefined;

const PLACEHOLDER = /\{([a-zA-Z][\w.]*)((?:\|[^{}|]*)*)\}/g;

/** Names of messages; besides there are field.X, setting.X, secret.X, and token in `send`. */
export const MESSAGE_NAMES = [
  'recipient',
  'sender',
  'text',
  'attemptId',
  'attemptNumber',
  'encoding',
  'udhHex',
  'priority',
  'validUntil',
  'validitySeconds',
  'validityMs',
  'callback.receipt',
  'callback.incoming',
] as const;
/** The names whose values a message may lack. */
export const OPTIONAL_NAMES: readonly string[] = ['sender', 'udhHex', 'validUntil', 'validitySeconds', 'validityMs'];

/** Throws SyntaxError for an unknown filter. */
export function parseTemplate(text: string): Pieces {
  const pieces: (string | Placeholder)[] = [];
  let end = 0;
  for (const match of text.matchAll(PLACEHOLDER)) {
    if (match.index > end) pieces.push(text.slice(end, match.index));
    const filters = (match[2] ?? '').split('|').slice(1).map(filterOf);
    pieces.push({ name: match[1] as string, filters });
    end = match.index + match[0].length;
  }
  if (end < text.length) pieces.push(text.slice(end));
  return pieces;
}

function filterOf(text: string): Filter {
  if (text === 'noplus' || text === 'number' || text === 'hexUcs2') return { kind: text };
  if (!text.startsWith('map:'))
    throw new SyntaxError(`there is no filter ${text}; expected noplus, number, hexUcs2 or map:a=b,c=d`);
  const pairs = text
    .slice('map:'.length)
    .split(',')
    .map((pair) => pair.split('=', 2) as [string, string?]);
  if (pairs.some(([, to]) => to === undefined)) throw new SyntaxError('expected map:a=b,c=d');
  return { kind: 'map', pairs: new Map(pairs.map(([from, to = '']) => [from, to])) };
}

export const namesIn = (pieces: Pieces): string[] =>
  pieces.filter((piece) => typeof piece !== 'string').map(({ name }) => name);

/** Undefined if a value is absent. Only values are encoded, not the text around them. */
export function render(pieces: Pieces, values: Values, encode = (value: string): string => value): string | undefined {
  let text = '';
  for (const piece of pieces) {
    const value = typeof piece === 'string' ? piece : filtered(piece, values);
    if (value === undefined) return undefined;
    text += typeof piece === 'string' ? value : encode(value);
  }
  return text;
}

/** A whole body, in which an absent value is an empty one. */
export const renderBody = (pieces: Pieces, values: Values, encode?: (value: string) => string): string =>
  pieces.map((piece) => (typeof piece === 'string' ? piece : (render([piece], values, encode) ?? ''))).join('');

/** A map to nothing makes the value absent. A value that the map does not name stays as it is. */
function filtered({ name, filters }: Placeholder, values: Values): string | undefined {
  let value = values(name);
  for (const filter of filters) {
    if (value === undefined) return undefined;
    if (filter.kind === 'noplus') value = value.replace(/^\+/, '');
    if (filter.kind === 'hexUcs2' && values('encoding') === 'ucs2')
      value = Buffer.from(encodePart(value, 'ucs2')).toString('hex').toUpperCase();
    if (filter.kind === 'map') value = (filter.pairs.get(value) ?? value) || undefined;
  }
  return value;
}

/** Whether the text is one placeholder that becomes a number of JSON. */
export const isNumber = (pieces: Pieces): boolean => {
  const [only] = pieces;
  return pieces.length === 1 && typeof only === 'object' && only.filters.some(({ kind }) => kind === 'number');
};
