import { z } from 'zod';
import { counted } from '../../../base/counted.ts';
import { NO_PROGRESS } from '../../../base/progress.ts';
import { type ContactImport, FAULTS_MAX, importContacts } from '../../../domain/contacts/contact-import.ts';
import type { Contact } from '../../../domain/contacts/contacts.ts';
import { contactsCsv, inboxCsv, readContactRows, sentCsv } from '../../../transfer/contact-csv.ts';
import { CSV_BYTES_MAX } from '../../../transfer/csv.ts';
import { readWorkbook } from '../../../transfer/workbook.ts';
import { type Action, accountAction, downloadAction } from '../../action.ts';
import { domainOf } from '../../domain.ts';
import { accountParams, line, queryFlag, rowId } from '../../schemas.ts';

/** CSV files, in and out. */

const imported = z.strictObject({
  dryRun: z.boolean(),
  rows: z.int().describe('Rows of the file, without the header and empty rows.'),
  added: z.int(),
  changed: z.int(),
  unchanged: z.int(),
  duplicates: z.int().describe('Rows with the same number and group as an earlier row, which is the one that counts.'),
  duplicateRows: z
    .array(z.strictObject({ row: z.int(), firstRow: z.int() }))
    .max(FAULTS_MAX)
    .describe(`The first ${FAULTS_MAX} of these rows, each with the earlier row, as a spreadsheet numbers them.`),
  bad: z.int().describe('Rows that are wrong.'),
  groupsAdded: z.int(),
  errors: z
    .array(
      z.strictObject({
        pointer: z.string().describe('As in a problem: `#/ROW/FIELD`.'),
        row: z.int().describe('The row number that a spreadsheet shows.'),
        field: z.string(),
        detail: z.string(),
        proposal: z.string().nullable().describe('What the value probably was, if a spreadsheet has changed it.'),
      }),
    )
    .max(FAULTS_MAX),
  errorsLeftOut: z.int().describe(`Errors beyond the first ${FAULTS_MAX}.`),
});

/** The errors of a report have the fields of those in a problem. */
const withPointer = <F extends { readonly row: number; readonly field: string }>(fault: F) => ({
  pointer: `#/${fault.row}/${fault.field}`,
  ...fault,
});

const shown = (done: ContactImport, dryRun: boolean): z.output<typeof imported> => {
  const { faults, faultsLeftOut, differing: _, duplicateRows, ...counts } = done;
  return {
    dryRun,
    ...counts,
    duplicateRows: [...duplicateRows],
    errors: faults.map(withPointer),
    errorsLeftOut: faultsLeftOut,
  };
};

/** The rest of them is in the output as JSON. */
const DUPLICATES_SAID = 20;

function said({ dryRun, ...done }: z.output<typeof imported>): string {
  const errors = done.errors.map(({ row, field, detail, proposal }) => {
    const perhaps = proposal === null ? '' : `; perhaps it was ${proposal}`;
    return `row ${row}: ${field}: ${detail}${perhaps}`;
  });
  if (done.errorsLeftOut > 0) errors.push(`… and ${done.errorsLeftOut} more`);
  const duplicates = done.duplicateRows
    .slice(0, DUPLICATES_SAID)
    .map(({ row, firstRow }) => `row ${row}: the same number and group as row ${firstRow}, which counts`);
  if (done.duplicates > DUPLICATES_SAID) {
    duplicates.push(`… and ${counted(done.duplicates - DUPLICATES_SAID, 'duplicate')} more`);
  }
  const counts = `${done.added} added, ${done.changed} changed, ${done.unchanged} unchanged`;
  const others = `${counted(done.duplicates, 'duplicate')}, ${counted(done.bad, 'bad row')}, ${counted(done.groupsAdded, 'new group')}`;
  const heading = dryRun ? 'This would be done' : 'Imported';
  return [...errors, ...duplicates, `${heading}: ${counts}, ${others}.`].join('\n');
}

export const contactImport = accountAction({
  name: 'contact import',
  scope: 'contacts',
  accountTokens: true,
  method: 'POST',
  path: '/accounts/{username}/contacts/import',
  summary: 'Import contacts from a CSV file or an Excel workbook.',
  description:
    'The first row names the columns: mobile, name, surname, group. Commas, semicolons, tabs or vertical bars separate cells. ' +
    'A row updates the contact with the same number, and the same group if the row names one, or adds a contact. An empty cell changes nothing. ' +
    'A group that does not exist is created. If a row is wrong, the whole file is refused, unless `skip_bad` is given. ' +
    'Of an Excel workbook (.xlsx), the first visible sheet is read.',
  params: accountParams,
  query: z.strictObject({
    dry_run: queryFlag.describe('Only reports what would happen, and changes nothing.'),
    skip_bad: queryFlag.describe('Imports the other rows if some are wrong.'),
    group: rowId.optional().describe('The group of rows that name no group.'),
    columns: line(500)
      .optional()
      .describe(
        'The names that the columns have in the file, such as mobile:Cell,name:First name. `#2` stands for the second column, and `-` for none.',
      ),
    no_header: queryFlag.describe(
      'The first row is one of the data. `columns` then names the columns by their position, such as mobile:#1,name:#2.',
    ),
  }),
  upload: { mediaType: 'text/csv', bytesMax: CSV_BYTES_MAX },
  output: imported,
  problems: ['not-found', 'too-large', 'unsupported-media'],
  readsOnly: ({ query }) => query.dry_run,
  example: {
    params: { username: 'acme' },
    query: { dry_run: 'true', columns: 'mobile:Cell' },
    output: {
      dryRun: true,
      rows: 3,
      added: 2,
      changed: 0,
      unchanged: 0,
      duplicates: 0,
      duplicateRows: [],
      bad: 1,
      groupsAdded: 1,
      errors: [
        {
          pointer: '#/4/mobile',
          row: 4,
          field: 'mobile',
          detail: 'a spreadsheet has removed the 0 at the beginning',
          proposal: '0825550201',
        },
      ],
      errorsLeftOut: 0,
    },
  },
  command: { say: said },
  run: async (
    services,
    { query: { dry_run: dryRun, skip_bad: skipBad, no_header: noHeader, group = null, columns = null }, upload },
  ) => {
    const csv = (await readWorkbook(upload))?.csv ?? upload;
    const rows = await readContactRows(csv, columns, !noHeader);
    const region = await domainOf(services).region(services.account.id);
    const options = { dryRun, skipBad, group, region, progress: services.progress ?? NO_PROGRESS };
    return shown(await importContacts(services.database, services.account.id, rows, options), dryRun);
  },
});

const PAGE = 500;

/** Yields a list page by page; each page begins after the last row of the page before. */
async function* pagesOf<T>(page: (after: T | undefined) => Promise<T[]>): AsyncGenerator<T[]> {
  for (let after: T | undefined; ; ) {
    const rows = await page(after);
    yield rows;
    if (rows.length < PAGE) return;
    after = rows.at(-1);
  }
}

const guardNote =
  'UTF-8 with a byte order mark. Cells that a spreadsheet would take for a formula or a number begin with an apostrophe.';

export const contactExport = downloadAction({
  name: 'contact export',
  scope: 'contacts',
  auditsReading: true,
  accountTokens: true,
  path: '/accounts/{username}/contacts.csv',
  summary: 'Export contacts as CSV.',
  description: `${guardNote} The file can be imported again and gives the same contacts, without their notes.`,
  params: accountParams,
  download: { mediaType: 'text/csv', fileName: 'contacts.csv' },
  problems: ['not-found'],
  example: { params: { username: 'acme' } },
  run: async (services) => {
    const { contacts: records } = domainOf(services);
    const account = services.account.id;
    const everything = { group: undefined, q: undefined, mobile: undefined };
    const page = async (after: Contact | undefined) =>
      (await records.list(account, everything, PAGE, after?.id ?? null)).items;
    return contactsCsv(pagesOf(page), await records.groupNames(account));
  },
});

export const inboxExport = downloadAction({
  name: 'inbox export',
  scope: 'messages:read',
  auditsReading: true,
  accountTokens: true,
  path: '/accounts/{username}/inbox.csv',
  summary: 'Export received messages as CSV, newest first.',
  description: guardNote,
  params: accountParams,
  download: { mediaType: 'text/csv', fileName: 'inbox.csv' },
  problems: ['not-found'],
  example: { params: { username: 'acme' } },
  run: async (services) => {
    const messages = domainOf(services).received;
    return inboxCsv(pagesOf((after) => messages.newest(services.account.id, PAGE, after)));
  },
});

export const messageExport = downloadAction({
  name: 'message export',
  scope: 'messages:read',
  auditsReading: true,
  accountTokens: true,
  path: '/accounts/{username}/sent.csv',
  summary: 'Export sent messages as CSV, newest first.',
  description: guardNote,
  params: accountParams,
  download: { mediaType: 'text/csv', fileName: 'sent.csv' },
  problems: ['not-found'],
  example: { params: { username: 'acme' } },
  run: async (services) => {
    const messages = domainOf(services).sent;
    return sentCsv(pagesOf((after) => messages.newest(services.account.id, PAGE, after)));
  },
});

export const fileActions: readonly Action[] = [contactImport, contactExport, inboxExport, messageExport];
