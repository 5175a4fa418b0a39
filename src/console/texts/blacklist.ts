/** Texts of the blacklist. */
export const texts = {
  title: 'Blacklist',
  lead: 'Nothing is sent to these numbers.',
  columns: ['Number', 'Why', 'What was said', 'Since', ''],
  origins: { user: 'put here by you', STOP: 'asked to stop', import: 'imported' } as Readonly<Record<string, string>>,
  erased: '(erased; only a hash is kept)',
  empty: 'No number is blacklisted.',
  emptyHint: 'People who ask not to get messages belong here.',
  add: 'Put a number on the blacklist',
  addHint: 'Everything that waits for it is cancelled, and its credits are free again.',
  number: 'Number',
  submit: 'Put on the blacklist',
  remove: 'Remove',
  question: (number: string) => `Allow messages to ${number} again? Make sure that the person wants them.`,
  notices: {
    added: (count: bigint) =>
      count === 0n
        ? 'The number is on the blacklist.'
        : `The number is on the blacklist. Messages that waited for it and were cancelled: ${count}.`,
    there: 'The number is on the blacklist already.',
    removed: 'Messages can be sent to the number again.',
  },
} as const;
