/**
 * Texts with fields: `Hello ((first name))` is filled with the values of each recipient. Names of
 * fields are compared without regard to case, and a blank, a hyphen and an underscore are the same.
 */
export const FIELD_NAME_MAX = 50;
const FIELD = new RegExp(`\\(\\(([^()\\r\\n]{1,${FIELD_NAME_MAX}})\\)\\)`, 'gu');

/** The form in which names of fields are compared. */
export const fieldKey = (name: string): string =>
  name
    .trim()
    .toLowerCase()
    .replace(/[\s_-]+/gu, ' ');

/** The fields of a text in their order, each once, as they are written. */
export function fieldsOf(text: string): string[] {
  const names = new Map<string, string>();
  for (const [, name = ''] of text.matchAll(FIELD)) {
    const key = fieldKey(name);
    if (key !== '' && !names.has(key)) names.set(key, name.trim());
  }
  return [...names.values()];
}

/** How often a text may have a field, so that filling it stays cheap. */
export const FIELDS_MAX = 50;

export const countFields = (text: string): number => [...text.matchAll(FIELD)].length;

export const hasFields = (text: string): boolean => fieldsOf(text).length > 0;

/** Values by the keys of their names. */
export type FieldValues = ReadonlyMap<string, string>;

export const valuesOf = (values: Readonly<Record<string, string>>): FieldValues =>
  new Map(Object.entries(values).map(([name, value]) => [fieldKey(name), value]));

export interface FilledText {
  readonly text: string;
  /** The fields without a value, as they are written. An empty value is none. */
  readonly missing: readonly string[];
}

export function filled(text: string, values: FieldValues): FilledText {
  const missing = fieldsOf(text).filter((name) => (values.get(fieldKey(name)) ?? '').trim() === '');
  const replaced = text.replace(FIELD, (written, name: string) => values.get(fieldKey(name)) ?? written);
  return { text: replaced, missing };
}

/** The fields that every contact has, by their names. */
export function contactValues(contact: {
  readonly name: string | null;
  readonly surname: string | null;
  readonly mobile: string | null;
}): FieldValues {
  const [name, surname] = [contact.name ?? '', contact.surname ?? ''];
  const whole = [name, surname].filter((each) => each !== '').join(' ');
  const mobile = contact.mobile ?? '';
  return new Map([
    ['name', name],
    ['first name', name],
    ['surname', surname],
    ['last name', surname],
    ['full name', whole],
    ['mobile', mobile],
    ['number', mobile],
  ]);
}
