import { formatDate } from '../asmx/contract/dates.ts';
import { readSomeNetworks } from '../base/networks.ts';
import {
  ACCOUNT_FIELDS,
  type Account,
  checkUsername,
  EMPTY_ACCOUNT,
  unknownOutcomePolicies,
} from '../domain/accounts/accounts.ts';
import {
  hashPassword,
  hashUserId,
  isPasswordHash,
  isUserIdHash,
  USER_ID_LENGTH_MAX,
} from '../domain/accounts/credentials.ts';
import { checkNumber } from '../domain/contacts/blacklist.ts';
import { checkTemplate, TEMPLATES_MAX } from '../domain/contacts/templates.ts';
import { DELIVERY_STATUSES } from '../domain/messages/statuses.ts';
import { checkAnswer, checkStopWords, checkWordLanguages } from '../domain/receiving/stop-words.ts';
import { isTimeZone, QUIET_HOURS_FORM } from '../domain/sending/quiet-hours.ts';
import { checkStoredFields } from '../sms/carrier-fields.ts';
import { isRegion } from '../sms/numbers.ts';
import type { AccountArchive, AccountReading } from './archive.ts';
import { Fields, InvalidAccount, Mistakes } from './json-fields.ts';

/** The format of import and export: one JSON object holds a whole account. */

const CONNECTOR_NAME_MAX = 64;

/**
 * Throws InvalidAccount with all mistakes. With `update`, a contact may be in a group that only the
 * existing account has.
 */
export async function readAccount(value: unknown, now: number, update = false): Promise<AccountArchive> {
  const mistakes = new Mistakes();
  const fields = new Fields(value, '', mistakes);
  const password = readPassword(fields);
  const archive = {
    credentials: readCredentials(fields, now),
    account: readColumns(fields),
    ...readLists(fields, update),
  };
  fields.end();
  if (mistakes.told.length > 0) throw new InvalidAccount(mistakes);
  // Hashing a password is slow on purpose, so it comes last, after a file with a mistake is
  // refused.
  return { ...archive, account: { ...archive.account, passwordHash: await password() } };
}

type AccountField = keyof Account;
type AccountKind = (typeof ACCOUNT_FIELDS)[AccountField];
const ACCOUNT_COLUMNS = Object.entries(ACCOUNT_FIELDS) as [AccountField, AccountKind][];

/** The names in the file that differ from those of the columns, as the contract has them. */
const FILE_NAMES: Partial<Record<AccountField, string>> = {
  priority: 'transmissionPriority',
  createdAt: 'datetimeCreated',
  lastLoginAt: 'datetimeLastLoggedIn',
  disabledAt: 'datetimeDisabled',
};

/** Names of earlier versions: an archive may have them in place of the new ones. */
const FORMER_FILE_NAMES: Partial<Record<AccountField, string>> = { unknownOutcomePolicy: 'unsurePolicy' };

const fileNameOf = (field: AccountField): string => FILE_NAMES[field] ?? field;
/** The columns of an account by their names in the file, for the reference. */
export const ACCOUNT_FILE_NAMES: readonly string[] = ACCOUNT_COLUMNS.map(([field]) => fileNameOf(field));

const READERS: Readonly<Record<AccountKind, (fields: Fields, name: string) => unknown>> = {
  text: (fields, name) => fields.requiredText(name),
  'text?': (fields, name) => fields.text(name),
  long: (fields, name) => fields.long(name),
  'long?': (fields, name) => fields.optionalLong(name),
  number: (fields, name) => fields.int(name, 0),
  instant: (fields, name) => fields.instant(name),
  'instant?': (fields, name) => fields.optionalInstant(name),
};

/** Checks of columns beyond their kind. If a check returns a value, that value is stored. */
const CHECKS: { readonly [F in AccountField]?: (value: NonNullable<Account[F]>) => unknown } = {
  username: checkUsername,
  region: expect(isRegion, 'expected a country code such as ZA'),
  allowedNetworks: (networks) => readSomeNetworks(networks).join(),
  stopWords: checkStopWords,
  startWords: checkStopWords,
  helpWords: checkStopWords,
  wordLanguages: checkWordLanguages,
  stopAnswer: checkAnswer,
  helpAnswer: checkAnswer,
  timeZone: expect(isTimeZone, 'expected a time zone such as Africa/Johannesburg'),
  quietHours: expect((hours) => QUIET_HOURS_FORM.test(hours), 'expected two times such as 22:00-06:00'),
  unknownOutcomePolicy: expect(
    (policy) => (unknownOutcomePolicies as readonly string[]).includes(policy),
    `expected one of ${unknownOutcomePolicies.join(', ')}`,
  ),
  connector: expect(
    (name) => name !== '' && name.length <= CONNECTOR_NAME_MAX && !/\p{Cc}/u.test(name),
    `expected 1 to ${CONNECTOR_NAME_MAX} characters, none of them a control character`,
  ),
  carrierFields: checkStoredFields,
  lowCredits: expect((credits: bigint) => credits >= 0n, 'must not be negative'),
};

function expect<T = string>(isRight: (value: T) => boolean, reason: string): (value: T) => void {
  return (value) => {
    if (!isRight(value)) throw new Error(reason);
  };
}

/** Every column of the account but its password. */
function readColumns(fields: Fields): Account {
  const account: Record<string, unknown> = { ...EMPTY_ACCOUNT };
  for (const [field, kind] of ACCOUNT_COLUMNS) {
    if (field === 'passwordHash') continue;
    const name = fields.nameOf(fileNameOf(field), FORMER_FILE_NAMES[field]);
    const value = READERS[kind](fields, name);
    const check = CHECKS[field] as ((value: unknown) => unknown) | undefined;
    const isGiven = value !== undefined && value !== null;
    account[field] = isGiven && check ? (about(fields, name, () => check(value)) ?? value) : value;
  }
  return account as unknown as Account;
}

function readLists(fields: Fields, update: boolean) {
  const list = <T>(name: string, read: (each: Fields) => T) =>
    fields.list(name, (value, path) => {
      const each = new Fields(value, path, fields.mistakes);
      const result = read(each);
      each.end();
      return result;
    });
  const templates = fields.list('templates', (value, path) => readTemplate(value, path, fields.mistakes));
  const lists = {
    groups: unique(fields, 'groups', list('groups', readGroup), ({ id }) => id),
    contacts: unique(fields, 'contacts', list('contacts', readContact), ({ id }) => id),
    templates: unique(fields, 'templates', templates, (text) => text, 'text'),
    blocked: unique(fields, 'blacklist', list('blacklist', readBlocked), ({ number }) => number, 'mobile'),
    received: unique(fields, 'inbox', list('inbox', readReceived), ({ id }) => id),
    sent: unique(fields, 'sent', list('sent', readSent), ({ id }) => id),
    scheduled: unique(fields, 'scheduled', list('scheduled', readScheduled), ({ id }) => id),
  };
  if (templates.length > TEMPLATES_MAX) fields.refuse('templates', `an account has at most ${TEMPLATES_MAX} templates`);
  if (update) return lists;
  const groups = new Set(lists.groups.map(({ id }) => String(id)));
  for (const [index, { groupId }] of lists.contacts.entries()) {
    // A group with a wrong id was reported already.
    if (typeof groupId === 'bigint' && !groups.has(String(groupId)) && !groups.has('undefined'))
      fields.refuse(`contacts[${index}].groupid`, 'there is no such group');
  }
  return lists;
}

/**
 * Writes the JSON of an account on one line, piece by piece. Secrets are written as hashes only.
 */
export async function* writeAccount(reading: AccountReading): AsyncGenerator<string> {
  yield stringify(headOf(reading)).slice(0, -1);
  yield* writeList('inbox', reading.received, ({ id, sender, text, shortCode, receivedAt, read }) => ({
    id,
    sender,
    message: text,
    short_code: shortCode,
    timestamp: formatDate(receivedAt),
    read,
  }));
  yield* writeList('sent', reading.sent, ({ id, reference, recipient, text, status, sentAt, updatedAt, marked }) => ({
    id,
    user_message_id: reference,
    recipient,
    message: text,
    delivery_status: status,
    timestamp_sent: formatDate(sentAt),
    timestamp_updated: formatDate(updatedAt),
    marked,
  }));
  yield* writeList('scheduled', reading.scheduled, ({ id, reference, recipient, text, scheduledAt, createdAt }) => ({
    id,
    user_message_id: reference,
    recipient,
    message: text,
    timestamp_scheduled: formatDate(scheduledAt),
    timestamp_created: formatDate(createdAt),
  }));
  yield '}';
}

/** All fields of an account except its messages. */
function headOf(reading: AccountReading): Record<string, unknown> {
  const { account, credentials } = reading;
  return {
    userIDHashes: credentials.map(({ hash, createdAt, revokedAt }) => ({
      sha256: hash,
      created: formatDate(createdAt),
      revoked: optionalDate(revokedAt),
    })),
    ...columnsOf(account),
    groups: reading.groups.map(({ id, name }) => ({ id, name })),
    contacts: reading.contacts.map(({ id, name, surname, mobile, groupId, note }) => ({
      id,
      name,
      surname,
      mobile,
      groupid: groupId,
      ...(note === null ? {} : { note }),
    })),
    templates: reading.templates,
    blacklist: reading.blocked.map(({ number, sample, blockedAt }) => ({
      mobile: number,
      sample_message: sample,
      timestamp: formatDate(blockedAt),
    })),
  };
}

const columnsOf = (account: Account): Record<string, unknown> =>
  Object.fromEntries(
    ACCOUNT_COLUMNS.map(([field, kind]) => {
      const value = account[field];
      return [fileNameOf(field), kind.startsWith('instant') ? optionalDate(value as number | null) : value];
    }),
  );

async function* writeList<T>(
  name: string,
  items: AsyncIterable<T>,
  toJson: (item: T) => unknown,
): AsyncGenerator<string> {
  let separator = `,"${name}":[`;
  for await (const item of items) {
    yield separator + stringify(toJson(item));
    separator = ',';
  }
  yield separator === ',' ? ']' : `${separator}]`;
}

/**
 * Writes 64-bit numbers as texts, which every JSON parser reads exactly. Absent values are left
 * out.
 */
const stringify = (value: unknown): string =>
  JSON.stringify(value, (_, field) => (typeof field === 'bigint' ? String(field) : (field ?? undefined)));

const optionalDate = (at: number | null): string | null => (at === null ? null : formatDate(at));

function readPassword(fields: Fields): () => Promise<string | null> {
  const password = fields.text('password');
  const hash = fields.text('passwordHash');
  if (typeof hash === 'string' && !isPasswordHash(hash))
    fields.refuse('passwordHash', 'expected an argon2id hash, $argon2id$…');
  else if (typeof hash === 'string' && password !== null)
    fields.refuse('passwordHash', 'there is a password as well; give only one of them');
  return async () => (password === null ? hash : hashPassword(password));
}

function readCredentials(fields: Fields, now: number): AccountArchive['credentials'] {
  const userId = fields.text('userID');
  const isUserId = typeof userId === 'string' && userId !== '' && userId.length <= USER_ID_LENGTH_MAX;
  if (typeof userId === 'string' && !isUserId)
    fields.refuse('userID', `expected 1 to ${USER_ID_LENGTH_MAX} characters`);
  const hashes = fields.list('userIDHashes', (value, path) => {
    const each = new Fields(value, path, fields.mistakes);
    const hash = each.requiredText('sha256');
    if (typeof hash === 'string' && !isUserIdHash(hash)) each.refuse('sha256', 'expected 64 hexadecimal digits');
    const credential = { hash, createdAt: each.instant('created'), revokedAt: each.optionalInstant('revoked') };
    each.end();
    return credential;
  });
  if (userId === null && hashes.length === 0) fields.refuse('userID', 'missing (or userIDHashes)');
  const own = isUserId ? [{ hash: hashUserId(userId), createdAt: now, revokedAt: null }] : [];
  return unique(fields, 'userIDHashes', [...own, ...hashes], ({ hash }) => hash, 'sha256');
}

const readGroup = (fields: Fields) => ({ id: fields.int('id'), name: fields.text('name') });

const readContact = (fields: Fields) => ({
  id: fields.long('id'),
  name: fields.text('name'),
  surname: fields.text('surname'),
  mobile: fields.text('mobile'),
  groupId: fields.optionalLong('groupid'),
  note: fields.text('note'),
});

function readTemplate(value: unknown, path: string, mistakes: Mistakes): string {
  const fields = new Fields({ [path]: value }, '', mistakes);
  const text = fields.requiredText(path);
  if (text !== undefined) about(fields, path, () => checkTemplate(text));
  return text;
}

/** Adds the name of the field to an error of the domain. */
function about<T>(fields: Fields, name: string, check: () => T): T {
  try {
    return check();
  } catch (thrown) {
    return fields.refuse(name, (thrown as Error).message);
  }
}

function readBlocked(fields: Fields) {
  const number = fields.requiredText('mobile');
  if (number !== undefined) about(fields, 'mobile', () => checkNumber(number));
  return { number, sample: fields.text('sample_message'), blockedAt: fields.instant('timestamp') };
}

const readReceived = (fields: Fields) => ({
  id: fields.long('id'),
  sender: fields.text('sender'),
  text: fields.text('message'),
  shortCode: fields.text('short_code'),
  receivedAt: fields.instant('timestamp'),
  read: fields.boolean('read'),
});

function readSent(fields: Fields) {
  const status = fields.requiredText('delivery_status');
  if (status !== undefined && !(DELIVERY_STATUSES as readonly string[]).includes(status)) {
    fields.refuse('delivery_status', `expected one of ${DELIVERY_STATUSES.join(', ')}`);
  }
  return {
    id: fields.long('id'),
    reference: fields.text('user_message_id'),
    recipient: fields.text('recipient'),
    text: fields.text('message'),
    status,
    sentAt: fields.instant('timestamp_sent'),
    updatedAt: fields.instant('timestamp_updated'),
    marked: fields.boolean('marked'),
  };
}

const readScheduled = (fields: Fields) => ({
  id: fields.long('id'),
  reference: fields.text('user_message_id'),
  recipient: fields.text('recipient'),
  text: fields.text('message'),
  scheduledAt: fields.instant('timestamp_scheduled'),
  createdAt: fields.instant('timestamp_created'),
});

function unique<T>(fields: Fields, list: string, items: T[], keyOf: (item: T) => unknown, field = 'id'): T[] {
  const seen = new Map<unknown, number>();
  for (const [index, item] of items.entries()) {
    const key = keyOf(item);
    const first = seen.get(key);
    if (first !== undefined) fields.refuse(`${list}[${index}].${field}`, `the same as in ${list}[${first}]`);
    else if (key !== undefined) seen.set(key, index); // a missing key was reported already
  }
  return items;
}
