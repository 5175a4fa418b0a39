import { createContacts } from '../domain/contacts.ts';
import { type Html, html } from '../html.ts';
import type { Visit } from './visit.ts';
import { party } from './words.ts';

/** Names of numbers that the account's contacts know. Each number is looked up once. */
export type ContactNames = (number: string | null) => string | null;

export async function contactNames(
  { services, domain, account }: Visit,
  numbers: readonly (string | null)[],
): Promise<ContactNames> {
  const contacts = createContacts(services.database, domain.region);
  const names = new Map<string, string | null>();
  for (const number of new Set(numbers)) {
    if (number === null || names.has(number)) continue;
    const found = await contacts.withSameNumber(account.id, number);
    const name = [found?.name, found?.surname].filter(Boolean).join(' ');
    names.set(number, name === '' ? null : name);
  }
  return (number) => (number === null ? null : (names.get(number) ?? null));
}

/** A link to the conversation with a number, by its name where it has one. */
export function withLink(base: string, number: string | null, names: ContactNames): Html {
  if (number === null || !/\d/.test(number)) return party(number);
  const name = names(number);
  const shown =
    name === null ? party(number) : html`<bdi>${name}</bdi> <span class="quiet"><bdi>${number}</bdi></span>`;
  return html`<a href="${base}/conversation?${new URLSearchParams({ with: number }).toString()}">${shown}</a>`;
}
