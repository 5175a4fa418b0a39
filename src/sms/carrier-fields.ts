/**
 * Fields that a country or a carrier demands besides the message, such as India's ids of the entity
 * and the template. A message has its own, and those of its account that it does not name. They are
 * stored as the JSON text of an object.
 */
export type CarrierFields = Readonly<Record<string, string>>;

export const FIELD_NAME_FORM = /^[a-z][A-Za-z0-9]{0,31}$/;
export const FIELD_VALUE_FORM = /^[\x20-\x7e]{1,100}$/;
export const FIELDS_MAX = 10;

const NO_FIELDS: CarrierFields = {};

/** Null where there are none. The names are sorted, so that equal fields have the same text. */
export function storedFields(fields: CarrierFields): string | null {
  const entries = Object.entries(fields).sort(([one], [other]) => (one < other ? -1 : 1));
  return entries.length === 0 ? null : JSON.stringify(Object.fromEntries(entries));
}

export const readFields = (stored: string | null): CarrierFields =>
  stored === null ? NO_FIELDS : (JSON.parse(stored) as CarrierFields);

/** A field of the message replaces that of its account. */
export const mergedFields = (ofAccount: string | null, ofMessage: string | null): CarrierFields =>
  ofAccount === null && ofMessage === null ? NO_FIELDS : { ...readFields(ofAccount), ...readFields(ofMessage) };

/** Returns the text as it is stored. Throws an Error that says what is wrong with it. */
export function checkStoredFields(text: string): string | null {
  let given: unknown;
  try {
    given = JSON.parse(text);
  } catch {
    throw new Error('expected the JSON text of an object');
  }
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    throw new Error('expected the JSON text of an object');
  const entries = Object.entries(given);
  if (entries.length > FIELDS_MAX) throw new Error(`expected at most ${FIELDS_MAX} fields`);
  for (const [name, value] of entries) {
    if (!FIELD_NAME_FORM.test(name)) throw new Error('expected names such as templateId');
    if (typeof value !== 'string' || !FIELD_VALUE_FORM.test(value))
      throw new Error('expected values of 1 to 100 printable ASCII characters');
  }
  return storedFields(given as CarrierFields);
}
