import { counted, grouped } from '../words.ts';

/** Texts of the import of contacts. */
export const texts = {
  title: 'Import contacts',
  steps: 'File → columns and check → done',
  file: 'CSV file',
  fileHint:
    'At most 10 MiB and 100,000 rows. Commas, semicolons or tabs; UTF-8, UTF-16 or Windows-1252. The first row names the columns.',
  read: 'Read the file',
  noFile: 'Choose a file first.',
  check: 'Check the file',
  columns: 'Which column is what?',
  columnsLabel: 'Columns',
  fields: { mobile: 'Number', name: 'First name', surname: 'Surname', group: 'Group' },
  byName: 'by its name, if there is one',
  group: 'Group of rows that name none',
  noGroup: 'no group',
  again: 'Check again',
  counts: (rows: number) => `The file has ${counted(rows, 'row')}.`,
  added: 'to be added',
  changed: 'to be changed',
  unchanged: 'as they are already',
  duplicates: 'more than once in the file (the first counts)',
  bad: 'wrong',
  groupsAdded: 'new groups',
  errors: 'Rows that are wrong',
  errorColumns: ['Row', 'Column', 'What is wrong', 'Perhaps it was'],
  lost: 'type the number again',
  more: (count: number) => `and ${grouped(count)} more`,
  skip: 'Leave the wrong rows out and import the others',
  submit: 'Import',
  refused: 'One wrong row refuses the whole file, unless you leave the wrong rows out.',
  importing: 'The contacts are being imported …',
  done: (added: number, changed: number, bad: number) =>
    `Imported: ${counted(added, 'contact')} added, ${grouped(changed)} changed, ${grouped(bad)} left out.`,
  toContacts: 'To the contacts',
} as const;
