import { counted, grouped } from '../words.ts';

/** Texts of contacts and groups. */
export const texts = {
  title: 'Contacts',
  columns: ['Name', 'Number', 'Group', ''],
  search: 'Search in names and numbers',
  group: 'Group',
  allGroups: 'all groups',
  noGroup: 'no group',
  number: 'Number',
  name: 'First name',
  surname: 'Surname',
  add: 'Add a contact',
  addSubmit: 'Add',
  change: 'Change',
  changeTitle: 'Change a contact',
  changeSubmit: 'Save',
  remove: 'Remove',
  removeQuestion: (name: string) => `Remove the contact ${name}?`,
  import: 'Import from a CSV file',
  empty: 'There are no contacts yet.',
  emptyHint: 'Add the first one below, or import a CSV file.',
  noMatch: 'No contact matches.',
  noMatchHint: 'Search for less.',
  twice: (count: number) =>
    count === 1
      ? 'Another contact has the same number. That is allowed.'
      : `${grouped(count)} other contacts have the same number. That is allowed.`,
  write: 'Write',
  notices: {
    added: 'The contact is added.',
    twice: 'The contact is added. Another contact has the same number. That is allowed.',
    changed: 'The contact is changed.',
    removed: 'The contact is removed.',
  },
  groups: {
    title: 'Groups',
    columns: ['Group', 'Contacts', ''],
    empty: 'There are no groups yet.',
    emptyHint: 'A group lets you write to all of its contacts at once.',
    add: 'Add a group',
    name: 'Name of the group',
    addSubmit: 'Add',
    rename: 'Rename',
    renameSubmit: 'Save the name',
    remove: 'Remove',
    removeQuestion: (name: string, count: number) =>
      count === 0
        ? `Remove the empty group ${name}?`
        : `Remove the group ${name}? Its ${counted(count, 'contact')} stay, without a group.`,
    write: 'Write to all',
    notices: {
      added: 'The group is added.',
      renamed: 'The group has its new name.',
      removed: (count: bigint) => `The group is removed. ${counted(count, 'contact')} without a group now.`,
    },
  },
} as const;
