import assert from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';
import type { DataSetReading, Row } from '../../test/support/contract-client.ts';
import type { Caller } from '../../test/support/program.ts';
import { type Belongings, CREDITS, ownerOf, PARTS, SCHEDULED_EACH, type Writer } from './writers.ts';

/** What is there after a crash, by the service's own answers or by an export, held against what must be. */
export interface StoredData {
  readonly credits: number;
  readonly templates: readonly string[];
  readonly contacts: readonly { id: string; groupid: string }[];
  readonly inbox: readonly { id: string; read: boolean }[];
  readonly scheduled: readonly string[];
}

const ALL = 10_000;

export async function readStoredData(caller: Caller): Promise<StoredData> {
  const profile = (await caller.ask('account', 'Profile')) as Row;
  const contacts = (await caller.ask('account', 'FetchContacts')) as Row[];
  const inbox = (await caller.ask('inbox', 'InboxDS', { max_count: ALL })) as DataSetReading;
  const scheduled = (await caller.ask('compose', 'FetchScheduledDS', { max: ALL })) as DataSetReading;
  return {
    credits: Number(profile.credits),
    templates: (await caller.ask('account', 'FetchSavedMessages')) as string[],
    contacts: contacts.map(({ id = '', groupid = '' }) => ({ id, groupid })),
    inbox: inbox.rows.map(({ id = '', read }) => ({ id, read: read === 'true' })),
    scheduled: scheduled.rows.map(({ id = '' }) => id),
  };
}

interface ExportedAccount {
  readonly credits: string;
  readonly templates: string[];
  readonly contacts: { id: string; groupid?: string }[];
  readonly inbox: { id: string; read: boolean }[];
  readonly scheduled: { id: string }[];
}

export function parseExport(text: string): StoredData {
  const [account] = (JSON.parse(text) as { accounts: [ExportedAccount] }).accounts;
  return {
    ...account,
    credits: Number(account.credits),
    contacts: account.contacts.map(({ id, groupid = '' }) => ({ id, groupid })),
    inbox: account.inbox.map(({ id, read }) => ({ id, read })),
    scheduled: account.scheduled.map(({ id }) => id),
  };
}

/** Every writer finds what it was told is done, and what it was not answered whole or not at all; that is certain then. */
export function judge(writers: readonly Writer[], data: StoredData, when: string): void {
  for (const writer of writers) {
    const { name, certain, perhaps } = writer;
    const found = belongingsOf(name, data);
    if (!isDeepStrictEqual(found, certain) && !(perhaps && isDeepStrictEqual(found, perhaps.after))) {
      const open = perhaps ? `, not answered: ${perhaps.operation} ${JSON.stringify(perhaps.args)}` : '';
      const [has, had] = [factsOf(found), factsOf(certain)];
      const missing = had.filter((fact) => !has.includes(fact));
      const unexpected = has.filter((fact) => !had.includes(fact));
      assert.fail(`${when}, writer ${name}: lost [${missing}], found instead [${unexpected}]${open}`);
    }
    writer.certain = found;
    writer.perhaps = undefined;
  }
  const released = writers.length * SCHEDULED_EACH - data.scheduled.length;
  assert.equal(data.credits, CREDITS + PARTS * released, `${when}: credits`);
}

const factsOf = ({ templates, groups, inbox, scheduled }: Belongings): string[] => [
  ...templates.map((text, place) => `template ${place} ${text}`),
  ...groups.map((group) => `contacts in group ${group}`),
  ...Object.entries(inbox).map(([id, read]) => `message ${id} ${read ? 'read' : 'unread'}`),
  ...scheduled.map((id) => `scheduled ${id}`),
];

function belongingsOf(name: string, data: StoredData): Belongings {
  const isOwn = ({ id }: { id: string }) => ownerOf(id) === name;
  return {
    templates: data.templates.filter((text) => text.startsWith(`${name}: `)),
    groups: [...new Set(data.contacts.filter(isOwn).map(({ groupid }) => groupid))],
    inbox: Object.fromEntries(data.inbox.filter(isOwn).map(({ id, read }) => [id, read])),
    scheduled: data.scheduled.filter((id) => isOwn({ id })),
  };
}
