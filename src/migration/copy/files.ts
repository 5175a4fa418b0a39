import { type Dialect, statusOfWord } from '../../asmx/dialect/dialect.ts';
import { Problem } from '../../base/problem.ts';
import { NO_PROGRESS } from '../../base/progress.ts';
import { checkOperatorsNumber, type NewEntry } from '../../domain/contacts/blacklist.ts';
import { type ImportRow, importContacts } from '../../domain/contacts/contact-import.ts';
import { DELIVERY_STATUSES } from '../../domain/messages/statuses.ts';
import type { OptOuts } from '../../domain/sending/opt-out.ts';
import { CONTACT_COLUMNS, contactRow } from '../../transfer/contact-csv.ts';
import type { CsvColumn } from '../../transfer/csv.ts';
import type { FileRow } from '../../transfer/csv-file.ts';
import { accountIdNamed } from '../stages/migrated-accounts.ts';
import type { MigrationDatabase } from './database.ts';
import type { FileTime, ReadTime } from './file-dates.ts';
import { importSent, type SentRow } from './sent-import.ts';

/**
 * Imports from files what no operation of the old server returns: the blacklist, older sent
 * messages, and contacts. Each row is merged with what is here, so a file can be imported again.
 */
export const FILE_KINDS = ['contacts', 'sent', 'blacklist'] as const;
export type FileKind = (typeof FILE_KINDS)[number];

export interface FileReport {
  rows: number;
  added: number;
  /** Rows that were here before or repeat an earlier row of the file. */
  known: number;
  /** Contacts that got fields which they lacked. */
  filled: number;
  /** Rows that differ from their contact, which stays as it is. */
  differing: number;
  /** Sent messages that a client has deleted in Columba, and that do not come back. */
  deleted: number;
  /** Messages that waited for a number of the blacklist. */
  cancelled: number;
  refused: number;
  /** The first refused rows. */
  readonly refusals: { readonly line: number; readonly problem: string }[];
  /** Why the rest of the file could not be read. */
  stopped: string | null;
}

export interface FileDependencies {
  readonly database: MigrationDatabase;
  readonly blacklist: OptOuts;
  readonly regionOf: (account: bigint) => Promise<string | null>;
  readonly now: () => number;
}
export interface FileOptions {
  /** The account of all rows; null if a column names it. */
  readonly username: string | null;
  readonly dryRun: boolean;
  readonly readTime: ReadTime;
  readonly dialect: Dialect;
  /** Our statuses by the words of the file. */
  readonly statuses: ReadonlyMap<string, string>;
  readonly progress?: (report: FileReport) => void;
}

const NUMBER_NAMES = ['number', 'mobile', 'msisdn', 'phone', 'cell', 'phone number', 'mobile number', 'recipient'];
const usernameColumn = (required: boolean): CsvColumn => ({
  name: 'username',
  required,
  aliases: ['account', 'user name'],
});

/** `hasUsername` means that the account is named for the whole file. */
export function fileColumns(kind: FileKind, hasUsername: boolean): readonly CsvColumn[] {
  return [...(hasUsername ? [] : [usernameColumn(true)]), ...COLUMNS[kind]];
}

const column = (name: string, required: boolean, ...aliases: string[]): CsvColumn => ({ name, required, aliases });

const COLUMNS: Readonly<Record<FileKind, readonly CsvColumn[]>> = {
  contacts: CONTACT_COLUMNS,
  blacklist: [
    column('number', true, ...NUMBER_NAMES),
    column('origin', false),
    column('evidence', false, 'message', 'text'),
  ],
  // The aliases include the names of FetchSentDS and of `columba message export`.
  sent: [
    column('number', true, ...NUMBER_NAMES, 'to', 'destination'),
    column('text', true, 'message', 'body', 'message text'),
    column('sent', true, 'sentat', 'sent at', 'sent_at', 'timestamp_sent', 'timestamp', 'date', 'datetime'),
    column('id', false, 'message id', 'message_id', 'messageid'),
    column('status', false, 'delivery_status', 'delivery status', 'state'),
    column('updated', false, 'updatedat', 'updated at', 'updated_at', 'timestamp_updated'),
    column('reference', false, 'user_message_id'),
  ],
};

// Rows per transaction. Adding to the blacklist takes some ten statements for each row.
const ROWS_AT_ONCE: Readonly<Record<FileKind, number>> = { contacts: 200, sent: 1_000, blacklist: 100 };
const REFUSALS_MAX = 100;
const ACCOUNTS_KNOWN_MAX = 10_000;

/** Imports a file. Wrong rows are refused, and the others are imported. */
export async function loadFile(
  dependencies: FileDependencies,
  kind: FileKind,
  rows: AsyncIterable<FileRow>,
  options: FileOptions,
): Promise<FileReport> {
  const report: FileReport = {
    rows: 0,
    added: 0,
    known: 0,
    filled: 0,
    differing: 0,
    deleted: 0,
    cancelled: 0,
    refused: 0,
    refusals: [],
    stopped: null,
  };
  const accountOf = accountsByName(dependencies.database);
  const load = loaders(dependencies, options, report)[kind];
  let pending = new Map<string, FileRow[]>();
  let count = 0;
  const flush = async () => {
    for (const [username, some] of pending) {
      const account = await accountOf(username);
      if (account !== null) await load({ account, username }, some);
      else for (const { line } of some) refuse(report, line, `there is no account ${username}`);
    }
    pending = new Map();
    count = 0;
    options.progress?.(report);
  };
  try {
    for await (const row of rows) {
      report.rows += 1;
      const username = options.username ?? row.cells.username?.text ?? '';
      const same = pending.get(username);
      if (same) same.push(row);
      else pending.set(username, [row]);
      count += 1;
      if (count >= ROWS_AT_ONCE[kind]) await flush();
    }
  } catch (thrown) {
    // For example, a quote is not closed. The rows before it are good.
    if (!(thrown instanceof Problem) || thrown.kind !== 'bad-argument') throw thrown;
    report.stopped = thrown.message;
  }
  await flush();
  report.refusals.sort((one, other) => one.line - other.line);
  return report;
}

function refuse(report: FileReport, line: number, problem: string): void {
  report.refused += 1;
  if (report.refusals.length < REFUSALS_MAX) report.refusals.push({ line, problem });
}

function accountsByName(database: MigrationDatabase): (username: string) => Promise<bigint | null> {
  const known = new Map<string, bigint | null>();
  return async (username) => {
    let account = known.get(username);
    if (account === undefined) {
      account = await accountIdNamed(database, username);
      if (known.size >= ACCOUNTS_KNOWN_MAX) known.clear();
      known.set(username, account);
    }
    return account;
  };
}

interface FileAccount {
  readonly account: bigint;
  readonly username: string;
}
type Load = (target: FileAccount, rows: readonly FileRow[]) => Promise<void>;

function loaders(
  { database, blacklist, regionOf, now }: FileDependencies,
  options: FileOptions,
  report: FileReport,
): Readonly<Record<FileKind, Load>> {
  const { dryRun } = options;
  /** Returns the rows that can be read, and refuses the others. */
  const readable = <T>(rows: readonly FileRow[], read: (row: FileRow) => T): { line: number; value: T }[] =>
    rows.flatMap((row) => {
      try {
        return [{ line: row.line, value: read(row) }];
      } catch (thrown) {
        if (!(thrown instanceof Problem)) throw thrown;
        refuse(report, row.line, thrown.message);
        return [];
      }
    });
  return {
    async contacts({ account }, rows) {
      const wanted: ImportRow[] = rows.map(({ line, cells }) => contactRow(line, cells));
      const region = await regionOf(account);
      const how = { dryRun, skipBad: true, group: null, fillsOnly: true, region, progress: NO_PROGRESS } as const;
      const done = await importContacts(database, account, wanted, how);
      report.added += done.added;
      report.filled += done.changed;
      report.known += done.unchanged + done.duplicates;
      report.differing += done.differing;
      const faults = Map.groupBy(done.faults, ({ row }) => row);
      for (const [line, [fault]] of faults) if (fault) refuse(report, line, `${fault.field}: ${fault.detail}`);
    },
    async sent(target, rows) {
      const wanted = readable(rows, (row) => sentRow(row, options));
      const context = { ...target, region: await regionOf(target.account), at: now(), dryRun };
      const outcomes = await importSent(
        database,
        context,
        wanted.map(({ value }) => value),
      );
      for (const [index, outcome] of outcomes.entries()) {
        if (typeof outcome === 'string') report[outcome] += 1;
        else refuse(report, wanted[index]?.line ?? 0, outcome.refused);
      }
    },
    async blacklist({ account }, rows) {
      const wanted = readable(rows, blacklistEntry);
      if (dryRun) report.added += wanted.length;
      else {
        const done = await blacklist.addAll(
          account,
          wanted.map(({ value }) => value),
        );
        for (const { isNew, cancelled } of done) {
          report[isNew ? 'added' : 'known'] += 1;
          report.cancelled += cancelled;
        }
      }
    },
  };
}

const wrong = (detail: string): Problem => new Problem('bad-argument', detail);

function blacklistEntry({ cells, exact }: FileRow): NewEntry {
  const number = cells.number?.text ?? '';
  checkOperatorsNumber(number);
  const origin = cells.origin?.text;
  return {
    number,
    sample: exact('evidence') || null,
    origin: origin === 'user' || origin === 'STOP' ? origin : 'import',
  };
}

// Ids above this are left for imports of other kinds: see domain/accounts/ids.ts.
const ID_MAX = 2n ** 62n - 1_000_000n;

function sentRow({ cells, exact }: FileRow, { readTime, dialect, statuses }: FileOptions): SentRow {
  const given = (name: string): string => cells[name]?.text ?? '';
  const recipient = given('number');
  checkOperatorsNumber(recipient);
  const id = given('id');
  if (id !== '' && (!/^\d{1,19}$/.test(id) || BigInt(id) < 1n || BigInt(id) > ID_MAX))
    throw wrong(`id: expected a whole number, and it is ${shown(id)}. Leave the column out with --column id=`);
  const time = (name: string): FileTime => {
    const found = readTime(given(name));
    if (!found) throw wrong(`${name}: ${shown(given(name))} is no time that can be read. Name its format with --dates`);
    return found;
  };
  const { at: sentAt, unit } = time('sent');
  const word = given('status');
  const status = word === '' ? 'UNKNOWN' : (statuses.get(word) ?? statusOf(dialect, word));
  if (status === undefined)
    throw wrong(`status: ${shown(word)} is unknown. Name what it means, as --status ${shown(word)}=DELIVERED`);
  return {
    id: id === '' ? null : BigInt(id),
    reference: given('reference') || null,
    recipient,
    text: exact('text'),
    status,
    sentAt,
    updatedAt: given('updated') === '' ? sentAt : time('updated').at,
    unit,
  };
}

const statusOf = (dialect: Dialect, word: string): string | undefined =>
  statusOfWord(dialect, word, DELIVERY_STATUSES) ?? DELIVERY_STATUSES.find((each) => each === word.toUpperCase());

const shown = (text: string): string => (text === '' ? 'empty' : JSON.stringify(text.slice(0, 60)));
