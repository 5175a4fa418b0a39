import { createContacts } from '../../domain/contacts/contacts.ts';
import type { PageRequest } from '../page-request.ts';
import { person } from '../parts.ts';
import type { Cell } from '../words.ts';

/** The names of numbers among the account's contacts. All are looked up at once. */
export type ContactNames = (number: string | null) => string | null;

export const contactNames = (request: PageRequest, numbers: readonly (string | null)[]): Promise<ContactNames> =>
  contactNamesOf(request, request.account.id, numbers);

export async function contactNamesOf(
  { services, domain }: Pick<PageRequest, 'services' | 'domain'>,
  account: bigint,
  numbers: readonly (string | null)[],
): Promise<ContactNames> {
  const contacts = createContacts(services.database, domain.region);
  const found = await contacts.withSameNumbers(
    account,
    numbers.flatMap((number) => (number === null ? [] : [number])),
  );
  const names = new Map<string, string>();
  for (const [number, { name, surname }] of found) {
    const shown = [name, surname].filter(Boolean).join(' ');
    if (shown !== '') names.set(number, shown);
  }
  return (number) => (number === null ? null : (names.get(number) ?? null));
}

export const conversationWith = (base: string, number: string): string =>
  `${base}/conversation?with=${encodeURIComponent(number)}`;

/** The person in a row, with a link to the conversation. A sender without a number has none. */
export const withLink = (base: string, number: string | null, names: ContactNames): Cell =>
  number === null || !/\d/.test(number)
    ? person(number, null, null)
    : person(number, names(number), conversationWith(base, number));
