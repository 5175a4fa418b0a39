import type { Problem } from '../base/problem.ts';

/**
 * Says what is wrong with a form, in the words of its labels. Actions name a field as in JSON:
 * `#/notAfter`, `?columns`, `{number}`.
 */
export type Labels = Readonly<Record<string, string>>;

export interface WrongFields {
  readonly sentence: string;
  /** A sentence for each wrong field, if there are several. */
  readonly each: readonly string[];
}

export function wrongFields({ message, details: { errors = [] } }: Problem, labels: Labels): WrongFields {
  const each = errors.map(({ pointer, detail }) => `${labelOf(pointer, labels)}: ${plain(detail)}`);
  if (errors.length > 1) return { sentence: message, each: [...new Set(each)] };
  return { sentence: sentenceOf(message, labels, errors.length === 1), each: [] };
}

/** The sentence about one wrong field, with its label in place of its name. */
function sentenceOf(message: string, labels: Labels, isOfField: boolean): string {
  const [, pointer = '', detail = ''] = FIELD.exec(message) ?? [];
  const isKnown = isOfField || Object.hasOwn(labels, nameOf(pointer));
  return pointer !== '' && isKnown ? `${labelOf(pointer, labels)}: ${plain(detail)}` : message;
}
const FIELD = /^([#?{]?\/?[A-Za-z][^\s:]*): (.*)$/s;

/** The first name in a pointer, because what is within a list belongs to the field of the list. */
const nameOf = (pointer: string): string => /^[#?{]?\/?([^/}]*)/.exec(pointer)?.[1] ?? '';

/** A field without a label is called by its name: `sendAt` becomes `Send at`. */
function labelOf(pointer: string, labels: Labels): string {
  const name = nameOf(pointer);
  if (Object.hasOwn(labels, name)) return labels[name] as string;
  const words = name.replace(/_/g, ' ').replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** Removes what concerns JSON only: in a form everything is a text, and patterns mean nothing. */
const plain = (detail: string): string =>
  detail
    .replace(/, as a text$/, '')
    .replace(/^expected at least 1 items$/, 'choose at least one')
    .replace(/^expected at least 1 characters$/, 'it is empty')
    .replace(/^expected (?:number|int|nan)$/i, 'expected a whole number')
    .replace(/^Invalid .*/s, 'this is not possible here');
