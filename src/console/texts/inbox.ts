import { counted } from '../words.ts';

/** Texts of the inbox. */
export const texts = {
  title: 'Inbox',
  columns: ['From', 'Text', 'Short code', 'Received'],
  search: 'Search in senders and texts',
  state: 'State',
  states: [
    ['', 'all, newest first'],
    ['unread', 'unread, oldest first'],
  ] as readonly (readonly [string, string])[],
  from: 'From day',
  to: 'To day',
  read: 'Mark read',
  unread: 'Mark unread',
  delete: 'Delete',
  reply: 'Reply',
  message: (sender: string) => `the message of ${sender}`,
  empty: 'No message has arrived yet.',
  emptyHint: 'Messages that people send to your numbers appear here.',
  noMatch: 'No message matches.',
  noMatchHint: 'Search for less, or for a longer time.',
  deleteQuestion: (count: number) => `Delete ${counted(count, 'received message')}? This cannot be undone.`,
  deleteSubmit: (count: number) => `Delete ${counted(count, 'message')}`,
  acting: 'Working on received messages',
  notices: {
    nothing: 'Nothing was selected, so nothing was done.',
    read: (count: bigint) => `Marked ${counted(count, 'message')} as read.`,
    unread: (count: bigint) => `Marked ${counted(count, 'message')} as unread.`,
    delete: (count: bigint) => `Deleted ${counted(count, 'message')}. Messages that were gone already are not counted.`,
  },
} as const;
