import { counted } from '../../base/counted.ts';
import { createPauses, nextTurn } from '../../base/event-loop.ts';
import { type FieldError, Problem } from '../../base/problem.ts';
import type { Progress } from '../../base/progress.ts';
import { hasDigit, numberEnd, numberFault, numberKey } from '../../sms/numbers.ts';
import type { AccountKey } from '../../store/caller.ts';
import type { Database, Queries, TransactionQueries } from '../../store/database.ts';
import { takeIds } from '../accounts/ids.ts';
import {
  addContacts,
  CONTACT_TEXT_LENGTH_MAX,
  type Contact,
  contactPages,
  contactsEnding,
  setContact,
  withKey,
} from './contacts.ts';
import { addGroup, groupsByName, isGroup } from './groups.ts';

/**
 * Imports contacts from a file. A row matches a contact by number, and by group if it names one.
 */
export interface ImportRow {
  readonly row: number;
  readonly name: string;
  readonly surname: string;
  readonly mobile: string;
  /** Whether the cell was text, so that no spreadsheet has changed the number. */
  readonly isText: boolean;
  /** The name of a group, which is created if it does not exist; empty for no group. */
  readonly group: string;
}
export interface RowFault {
  readonly row: number;
  readonly field: 'name' | 'surname' | 'mobile' | 'group';
  readonly detail: string;
  /** The number that was probably meant. */
  readonly proposal: string | null;
}
export interface ContactImport {
  readonly rows: number;
  readonly added: number;
  readonly changed: number;
  readonly unchanged: number;
  /** Rows with the number and the group of an earlier row. The earliest row is imported. */
  readonly duplicates: number;
  /** The first of these rows, each with the earlier row. */
  readonly duplicateRows: readonly { readonly row: number; readonly firstRow: number }[];
  readonly bad: number;
  /** With `fillsOnly`: rows that differ from their contact, whose fields stay as they are. */
  readonly differing: number;
  readonly groupsAdded: number;
  /** The first faults. */
  readonly faults: readonly RowFault[];
  readonly faultsLeftOut: number;
}
export interface ImportOptions {
  readonly dryRun: boolean;
  /** Whether good rows are imported although other rows are bad. */
  readonly skipBad: boolean;
  /** The group of rows that name none. */
  readonly group: bigint | null;
  /**
   * Fills only the empty fields of existing contacts. A row then matches a contact by the number
   * alone, and a contact of another group stays in its group.
   */
  readonly fillsOnly?: true;
  readonly region: string | null;
  readonly progress: Progress;
}

export const FAULTS_MAX = 1_000;

interface Wanted {
  readonly row: ImportRow;
  readonly key: string;
  /** Null matches a contact in any group. */
  readonly group: string | bigint | null;
}
interface Plan {
  readonly result: ContactImport;
  readonly newGroups: readonly string[];
  readonly groups: Map<string, bigint>;
  readonly add: readonly Wanted[];
  readonly change: readonly Change[];
}
interface Change {
  /** The contact with its new fields. */
  readonly contact: Contact;
  readonly wanted: Wanted;
}

/** A dry run computes the same plan and writes nothing. */
export async function importContacts(
  database: Database,
  account: AccountKey,
  rows: readonly ImportRow[],
  options: ImportOptions,
): Promise<ContactImport> {
  if (options.dryRun) return (await database.snapshot((queries) => plan(queries, account, rows, options))).result;
  return database.transaction(account, async (queries) => {
    const planned = await plan(queries, account, rows, options);
    if (planned.result.bad > 0 && !options.skipBad) throw refusal(planned.result);
    await carryOut(queries, account, planned, options.progress);
    return planned.result;
  });
}

function refusal({ bad, faults, faultsLeftOut }: ContactImport): Problem {
  const errors: FieldError[] = faults.map(({ row, field, detail, proposal }) => ({
    pointer: `#/${row}/${field}`,
    detail: `row ${row}: ${detail}${proposal === null ? '' : `; perhaps it was ${proposal}`}`,
    row,
    field,
    proposal,
  }));
  const more = faultsLeftOut > 0 ? ` Only the first ${faults.length} errors are listed.` : '';
  return new Problem('bad-argument', `${counted(bad, 'row is', 'rows are')} wrong, and nothing was imported.${more}`, {
    errors,
  });
}

async function plan(
  queries: Queries,
  account: AccountKey,
  rows: readonly ImportRow[],
  { group, fillsOnly, region, progress }: ImportOptions,
): Promise<Plan> {
  if (group !== null && !(await isGroup(queries, account, group))) {
    const detail = 'there is no group with this id';
    throw new Problem('bad-argument', `group: ${detail}`, { errors: [{ pointer: '?group', detail }] });
  }
  const groups = await groupsByName(queries, account);
  const wanted = new Map<string, Wanted>();
  const faults: RowFault[] = [];
  const duplicateRows: { row: number; firstRow: number }[] = [];
  let [bad, duplicates] = [0, 0];
  const pause = createPauses(HOLD_MS);
  for (const [index, row] of rows.entries()) {
    await pause();
    if (index % PAGE === 0 && index > 0) progress('checked', index, rows.length);
    const found = faultsOf(row, region);
    faults.push(...found);
    if (found.length > 0) {
      bad += 1;
      continue;
    }
    const key = numberKey(row.mobile, region);
    const named = row.group === '' ? group : (groups.get(row.group) ?? row.group);
    const same = fillsOnly ? key : `${key} ${typeof named === 'string' ? `new ${named}` : named}`;
    const first = wanted.get(same);
    if (!first) wanted.set(same, { row, key, group: named });
    else if (++duplicates <= FAULTS_MAX) duplicateRows.push({ row: row.row, firstRow: first.row.row });
  }
  const all = [...wanted.values()];
  const present = await contactsByKey(queries, account, all, region);
  const { add, change, differing } = fillsOnly ? filling(all, present) : changing(all, present);
  const grouped = [...add, ...change.flatMap(({ contact, wanted: each }) => (contact.groupId === null ? [each] : []))];
  const newGroups = [...new Set(grouped.flatMap(({ group: each }) => (typeof each === 'string' ? [each] : [])))];
  return {
    newGroups,
    groups,
    add,
    change,
    result: {
      rows: rows.length,
      added: add.length,
      changed: change.length,
      unchanged: all.length - add.length - change.length,
      duplicates,
      duplicateRows,
      bad,
      differing,
      groupsAdded: newGroups.length,
      faults: faults.slice(0, FAULTS_MAX),
      faultsLeftOut: Math.max(0, faults.length - FAULTS_MAX),
    },
  };
}

function faultsOf({ row, name, surname, mobile, isText, group }: ImportRow, region: string | null): RowFault[] {
  const faults: RowFault[] = [];
  const fault = (field: RowFault['field'], detail: string, proposal: string | null = null) =>
    faults.push({ row, field, detail, proposal });
  for (const [field, text] of Object.entries({ name, surname, mobile, group }) as [RowFault['field'], string][]) {
    if (text.length > CONTACT_TEXT_LENGTH_MAX) fault(field, `more than ${CONTACT_TEXT_LENGTH_MAX} characters`);
    else if (/\p{Cc}/u.test(text)) fault(field, 'control characters are not allowed');
  }
  if (mobile === '') fault('mobile', 'there is no number');
  else if (!faults.some(({ field }) => field === 'mobile')) {
    const wrong = isText ? null : numberFault(mobile, region);
    if (wrong) fault('mobile', wrong.detail, wrong.proposal);
    else if (!hasDigit(mobile)) fault('mobile', 'this is not a phone number');
  }
  return faults;
}

/** The contact in the wanted group; the oldest if there are several. */
const matching = ({ group }: Wanted, contacts: readonly Contact[]): Contact | undefined =>
  group === null ? contacts[0] : contacts.find(({ groupId }) => groupId === group);

type Present = ReadonlyMap<string, readonly Contact[]>;

function changing(all: readonly Wanted[], present: Present): Pick<Plan, 'add' | 'change'> & { differing: number } {
  const add: Wanted[] = [];
  const change: Change[] = [];
  for (const wanted of all) {
    const contact = matching(wanted, present.get(wanted.key) ?? []);
    const { name, surname } = wanted.row;
    if (contact === undefined) add.push(wanted);
    else if (isOther(contact, wanted.row)) {
      const fields = { name: name || contact.name, surname: surname || contact.surname };
      change.push({ contact: { ...contact, ...fields }, wanted });
    }
  }
  return { add, change, differing: 0 };
}

/** A contact without a group gets the group of the row: see carryOut. */
function filling(all: readonly Wanted[], present: Present): Pick<Plan, 'add' | 'change'> & { differing: number } {
  const add: Wanted[] = [];
  const change: Change[] = [];
  let differing = 0;
  for (const wanted of all) {
    const contacts = present.get(wanted.key) ?? [];
    const contact = matching(wanted, contacts) ?? contacts.find(({ groupId }) => groupId === null) ?? contacts[0];
    const { group, row } = wanted;
    if (contact === undefined) {
      add.push(wanted);
      continue;
    }
    const fields = { name: contact.name || row.name || null, surname: contact.surname || row.surname || null };
    const isGrouped = contact.groupId !== null || group === null;
    if (isOther(contact, { ...row, name: fields.name ?? '', surname: fields.surname ?? '' }) || !isGrouped) {
      change.push({ contact: { ...contact, ...fields }, wanted });
    }
    const isInOther = contact.groupId !== null && group !== null && group !== contact.groupId;
    if (isInOther || isOther({ ...contact, ...fields }, row)) differing += 1;
  }
  return { add, change, differing };
}

/** An empty cell does not clear the field. */
const isOther = (contact: Contact, { name, surname }: ImportRow): boolean =>
  (name !== '' && name !== contact.name) || (surname !== '' && surname !== contact.surname);

const PAGE = 1_000;
// Calls of the contract wait no longer than this for an import of 100,000 rows.
const HOLD_MS = 5;
// With more numbers than this, one scan of all contacts is faster than a query for each.
const ASK_EACH_MAX = 500;

/** The contacts with one of these numbers, ordered by id. */
async function contactsByKey(
  queries: Queries,
  account: AccountKey,
  wanted: readonly Wanted[],
  region: string | null,
): Promise<Map<string, Contact[]>> {
  const keys = new Set(wanted.map(({ key }) => key));
  const ends = new Set(wanted.flatMap(({ row, key }) => [numberEnd(row.mobile), numberEnd(key)]));
  const byKey = new Map<string, Contact[]>();
  const pause = createPauses(HOLD_MS);
  const found = ends.size > ASK_EACH_MAX ? contactPages(queries, account) : contactsEnding(queries, account, ends);
  for await (const page of found) {
    for (const contact of page) {
      await pause();
      if (contact.mobile === null || !ends.has(numberEnd(contact.mobile))) continue;
      const key = numberKey(contact.mobile, region);
      if (keys.has(key)) byKey.set(key, [...(byKey.get(key) ?? []), contact]);
    }
  }
  return byKey;
}

async function carryOut(
  queries: TransactionQueries,
  account: AccountKey,
  { newGroups, groups, add, change }: Plan,
  progress: Progress,
): Promise<void> {
  const total = add.length + change.length;
  for (const name of newGroups) groups.set(name, await addGroup(queries, account, name));
  const groupOf = ({ group }: Wanted): bigint | null =>
    typeof group === 'string' ? (groups.get(group) ?? null) : group;
  if (add.length > 0) {
    const first = await takeIds(queries, account, 'contact', add.length);
    const rowOf = (wanted: Wanted, index: number) => {
      const { name, surname, mobile } = wanted.row;
      const id = first + BigInt(index);
      return withKey({
        id,
        name: name || null,
        surname: surname || null,
        mobile,
        groupId: groupOf(wanted),
        note: null,
      });
    };
    for (let from = 0; from < add.length; from += PAGE) {
      const page = add.slice(from, from + PAGE);
      await addContacts(
        queries,
        account,
        page.map((wanted, index) => rowOf(wanted, from + index)),
      );
      progress('written', from + page.length, total);
      await nextTurn();
    }
  }
  const pause = createPauses(HOLD_MS);
  for (const [index, { contact, wanted }] of change.entries()) {
    await pause();
    if (index % PAGE === 0 && index > 0) progress('written', add.length + index, total);
    const { id, name, surname, mobile, note } = contact;
    const groupId = contact.groupId ?? groupOf(wanted);
    await setContact(queries, account, { id, name, surname, mobile: mobile ?? '', groupId, note });
  }
}
