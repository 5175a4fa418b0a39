import type { Problem } from '../base/problem.ts';

/**
 * What is wrong with a form, in the words of its labels. Actions name a field as their JSON has it:
 * `#/notAfter`, `?columns`, `{number}`.
 */
export type Labels = Readonly<Record<string, string>>;

export interface WrongFields {
  readonly sentence: string;
  /** Each wrong field, where there are several. */
  readonly each: readonly string[];
}

export function wrongFields({ message, details: { errors = [] } }: Problem, labels: Labels): WrongFields {
  const each = errors.map(({ pointer, detail }) => `${labelOf(pointer, labels)}: ${plain(detail)}`);
  if (errors.length > 1) return { sentence: message, each: [...new Set(each)] };
  return { sentence: sentenceOf(message, labels, errors.length === 1), each: [] };
}

/** Of one wrong field: its label stands in place of its name. */
function sentenceOf(message: string, labels: Labels, isOfField: boolean): string {
  const [, pointer = '', detail = ''] = FIELD.exec(message) ?? [];
  const isKnown = isOfField || Object.hasOwn(labels, nameOf(pointer));
  return pointer !== '' && isKnown ? `${labelOf(pointer, labels)}: ${plain(detail)}` : message;
}
const FIELD = /^([#?{]?\/?[A-Za-z][^\s:]*): (.*)$/s;

/** The first name in a pointer: what is within a list belongs to the field of the list. */
const nameOf = (pointer: string): string => /^[#?{]?\/?([^/}]*)/.exec(pointer)?.[1] ?? '';

/** A field without a label is called by its name, `sendAt` as `Send at`. */
function labelOf(pointer: string, labels: Labels): string {
  const name = nameOf(pointer);
  if (Object.hasOwn(labels, name)) return labels[name] as string;
  const words = name.replace(/_/g, ' ').replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** In a form everything is a text, and nobody knows a pattern. */
const plain = (detail: string): string =>
  detail
    .replace(/, as a text$/, '')
    .replace(/^expected at least 1 items$/, 'choose at least one')
    .replace(/^expected at least 1 characters$/, 'it is empty')
    .replace(/^expected (?:number|int|nan)$/i, 'expected a whole number')
    .replace(/^Invalid .*/s, 'this is not possible here');
