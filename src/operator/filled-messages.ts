import { badField } from '../base/problem.ts';
import type { Contact } from '../domain/contacts/contacts.ts';
import type { RefusedRecipient } from '../domain/sending/accept.ts';
import { contactValues, countFields, FIELDS_MAX, type FieldValues, fieldsOf, filled, valuesOf } from '../sms/fields.ts';
import type { AccountServices } from './action.ts';
import { domainOf } from './domain.ts';

/** The messages of a text with fields, one for each recipient that has all values. */
export interface FilledMessages {
  readonly recipients: readonly { readonly number: string; readonly text: string }[];
  /** The index of each of them among the recipients of the request. */
  readonly indexes: readonly number[];
  readonly refused: readonly RefusedRecipient[];
}

export interface Template {
  readonly recipients: readonly string[];
  readonly template: string;
  /** One object for each recipient; the values go before those of contacts. */
  readonly values?: readonly Readonly<Record<string, string>>[] | undefined;
  readonly fromContacts?: boolean | undefined;
}

const NAMED_AT_ONCE = 50;
/** As much as a body without fields can have. To divide it takes SQLite's only writer 0.7 s. */
const LENGTH_MAX = 1_048_576;

export async function fillMessages(services: AccountServices, given: Template): Promise<FilledMessages> {
  const { recipients, template, values = [], fromContacts = false } = given;
  if (values.length > 0 && values.length !== recipients.length) {
    throw badField('values', 'expected one object for each recipient');
  }
  if (countFields(template) > FIELDS_MAX) throw badField('template', `expected at most ${FIELDS_MAX} fields`);
  const isNeeded = fromContacts && fieldsOf(template).length > 0;
  const contacts = isNeeded ? await contactsOf(services, recipients) : new Map<string, Contact>();
  const done: { number: string; text: string }[] = [];
  const indexes: number[] = [];
  const refused: RefusedRecipient[] = [];
  let length = 0;
  for (const [index, number] of recipients.entries()) {
    const contact = contacts.get(number);
    const known: FieldValues = contact ? contactValues(contact) : new Map();
    const own = [...valuesOf(values[index] ?? {})].filter(([, value]) => value.trim() !== '');
    const { text, missing } = filled(template, new Map([...known, ...own]));
    if (missing.length > 0) {
      const names = missing.map((name) => `((${name}))`).join(', ');
      refused.push({ index, reason: 'missing-value', detail: `there is no value for ${names}` });
      continue;
    }
    length += text.length;
    if (length > LENGTH_MAX) {
      throw badField('template', `expected filled texts of at most ${LENGTH_MAX} characters in all`);
    }
    done.push({ number, text });
    indexes.push(index);
  }
  return { recipients: done, indexes, refused };
}

async function contactsOf(services: AccountServices, numbers: readonly string[]): Promise<Map<string, Contact>> {
  const { contacts } = domainOf(services);
  const found = new Map<string, Contact>();
  for (let start = 0; start < numbers.length; start += NAMED_AT_ONCE) {
    const some = numbers.slice(start, start + NAMED_AT_ONCE);
    for (const [number, contact] of await contacts.withSameNumbers(services.account.id, some))
      found.set(number, contact);
  }
  return found;
}
