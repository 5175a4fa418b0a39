import { type Html, html } from '../../base/html.ts';
import { createContacts } from '../../domain/contacts/contacts.ts';
import type { PageRequest } from '../page-request.ts';
import { party } from '../words.ts';

/** The names of numbers among the account's contacts. All are looked up at once. */
export type ContactNames = (number: string | null) => string | null;

export async function contactNames(
  { services, domain, account }: PageRequest,
  numbers: readonly (string | null)[],
): Promise<ContactNames> {
  const contacts = createContacts(services.database, domain.region);
  const found = await contacts.withSameNumbers(
    account.id,
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

/** A link to the conversation with a number, which shows the contact's name if there is one. */
export function withLink(base: string, number: string | null, names: ContactNames): Html {
  if (number === null || !/\d/.test(number)) return party(number);
  const name = names(number);
  const shown =
    name === null ? party(number) : html`<bdi>${name}</bdi> <span class="quiet"><bdi>${number}</bdi></span>`;
  return html`<a href="${conversationWith(base, number)}">${shown}</a>`;
}
