import { type Account, EMPTY_ACCOUNT } from '../../domain/accounts/accounts.ts';
import { hashPassword, hashUserId } from '../../domain/accounts/credentials.ts';
import type { Contact } from '../../domain/contacts/contacts.ts';
import type { ContactGroup } from '../../domain/contacts/groups.ts';
import type { CopiedAccount } from '../copy/account-copy.ts';
import type { ValueRecord } from './answer-values.ts';
import { CopyProblem, type OldAccount, read, readRows } from './old-account.ts';

/** Reads profile, groups, contacts and templates of an account of the old server. */
export interface OldProfile {
  readonly copied: CopiedAccount;
  /** Null if the server shows no password; then the customer gets a one-time link. */
  readonly password: string | null;
  /** What could not be copied unchanged, for the report. */
  readonly remarks: readonly string[];
}

export async function readProfile(from: OldAccount, now: number): Promise<OldProfile> {
  const profile = (await read(from, 'account.Profile')).value as ValueRecord | null;
  if (profile === null) throw new CopyProblem('Profile shows nothing.');
  const account = toAccount(profile, now);
  const remarks: string[] = [];
  const { groups, contacts } = await readContacts(from, remarks);
  const templates = await readTemplates(from, remarks);
  const credential = { hash: hashUserId(from.userId), createdAt: now, revokedAt: null };
  return { copied: { account, credential, groups, contacts, templates }, password: passwordOf(profile), remarks };
}

/** Hashing is slow on purpose, so only the password of a new account is hashed. */
export async function withPasswordHash({ copied, password }: OldProfile): Promise<CopiedAccount> {
  if (password === null) return copied;
  return { ...copied, account: { ...copied.account, passwordHash: await hashPassword(password) } };
}

const PASSWORD_LENGTH_MAX = 200;

/** A text that repeats one character, such as a star, hides the password. */
function passwordOf({ password }: ValueRecord): string | null {
  const given = typeof password === 'string' ? password : '';
  const isHidden = given.trim() === '' || /^(.)\1*$/.test(given) || given.length > PASSWORD_LENGTH_MAX;
  return isHidden ? null : given;
}

// .NET writes a missing date as the first day of its calendar.
const NO_DATE = Date.parse('0002-01-01T00:00:00Z');

function toAccount(profile: ValueRecord, now: number): Account {
  const text = (name: string): string | null => (profile[name] as string | null) ?? null;
  const date = (name: string): number | null => {
    const at = profile[name] as number | null;
    return at === null || at < NO_DATE ? null : at;
  };
  const username = text('username');
  if (username === null || username === '') throw new CopyProblem('Profile shows no username.');
  return {
    ...EMPTY_ACCOUNT,
    username,
    contactName: text('contactName'),
    contactSurname: text('contactSurname'),
    company: text('company'),
    email: text('email'),
    tel: text('tel'),
    fax: text('fax'),
    mobile: text('mobile'),
    address: text('address'),
    credits: (profile.credits as bigint | null) ?? 0n,
    usedCredits: (profile.usedCredits as bigint | null) ?? 0n,
    priority: (profile.transmissionPriority as number | null) ?? 0,
    tag: (profile.tag as number | null) ?? 0,
    createdAt: date('datetimeCreated') ?? now,
    lastLoginAt: date('datetimeLastLoggedIn'),
  };
}

type Groups = Omit<ContactGroup, 'total'>[];

/** Reads groups and contacts, whose numbers must fit. Here a contact has only one group. */
async function readContacts(from: OldAccount, remarks: string[]): Promise<{ groups: Groups; contacts: Contact[] }> {
  const groupRows = await readRows(from, 'account.FetchGroups');
  const groups = groupRows.map((row) => ({ id: row.id as number, name: (row.name as string | null) ?? null }));
  const rows = await readRows(from, 'account.FetchContacts');
  const known = new Set(groups.map(({ id }) => String(id)));
  const groupsOf = new Map<string, string[]>();
  for (const { id, total } of isInOneGroup(groupRows, rows) ? [] : groupRows) {
    if (total === 0) continue;
    const members = await readRows(from, 'account.FetchContactsByGroupId', { groupid: id });
    if (members.length !== total) {
      throw new CopyProblem(
        `Group ${id} counts ${total} contacts and lists ${members.length}. Something changed: run the command again.`,
      );
    }
    for (const member of members) {
      const key = String(member.id);
      groupsOf.set(key, [...(groupsOf.get(key) ?? []), String(id)]);
    }
  }
  const contacts = rows.map((row): Contact => {
    const key = String(row.id ?? '').trim();
    if (!/^-?\d{1,18}$/.test(key))
      throw new CopyProblem('A contact has an id that is no number, so it cannot be kept.');
    const several = groupsOf.get(key) ?? [];
    if (several.length > 1)
      remarks.push(`Contact ${key} is in the groups ${several.join(', ')}; Columba keeps it in one.`);
    const shown = (row.groupid as string | null) ?? several[0] ?? null;
    const group = shown !== null && known.has(shown.trim()) ? BigInt(shown) : null;
    if (shown !== null && group === null)
      remarks.push(`Contact ${key} names group ${shown}, which is not in FetchGroups.`);
    return {
      id: BigInt(key),
      name: (row.name as string | null) ?? null,
      surname: (row.surname as string | null) ?? null,
      mobile: (row.mobile as string | null) ?? null,
      groupId: group,
      note: null,
    };
  });
  return { groups, contacts: uniqueBy(contacts, ({ id }) => id, 'contact', remarks) };
}

/** Whether the sizes of groups follow from the contacts, so that no list of a group is needed. */
function isInOneGroup(groups: readonly ValueRecord[], contacts: readonly ValueRecord[]): boolean {
  const counts = new Map<string, number>();
  for (const { groupid } of contacts) {
    const group = String(groupid ?? '').trim();
    counts.set(group, (counts.get(group) ?? 0) + 1);
  }
  return groups.every(({ id, total }) => (counts.get(String(id)) ?? 0) === total);
}

async function readTemplates(from: OldAccount, remarks: string[]): Promise<string[]> {
  const texts = (await read(from, 'account.FetchSavedMessages')).value as readonly (string | null)[];
  const given = texts.filter((text): text is string => text !== null && text !== '');
  if (given.length < texts.length) remarks.push(`${texts.length - given.length} empty templates are left out.`);
  return uniqueBy(given, (text) => text, 'template', remarks);
}

function uniqueBy<T>(items: readonly T[], keyOf: (item: T) => unknown, what: string, remarks: string[]): T[] {
  const found = new Map(items.map((item) => [keyOf(item), item]));
  if (found.size < items.length)
    remarks.push(`${items.length - found.size} ${what}s are at the old server twice, and in Columba once.`);
  return [...found.values()];
}
