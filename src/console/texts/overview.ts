import { counted } from '../words.ts';

/** Texts of the holder's overview. */
export const texts = {
  title: 'Overview',
  unread: 'Unread messages',
  failed: 'Failed today',
  scheduled: 'Scheduled in the next 24 hours',
  free: 'Credits free',
  held: 'Credits held',
  received: {
    title: 'Last received',
    columns: ['From', 'Text', 'Received'],
    none: 'No message has arrived yet.',
    more: 'All received messages',
  },
  sent: {
    title: 'Last sent',
    columns: ['To', 'Text', 'State', 'Sent'],
    none: 'No message was sent yet.',
    more: 'All sent messages',
  },
  stopped: 'Nothing goes out now: the way to the carrier does not work since',
  nothingLost: 'Nothing is lost. Your messages go out when it works again.',
  waiting: (count: number) => `${counted(count, 'message')} of yours ${count === 1 ? 'waits' : 'wait'} to be sent.`,
  stepsTitle: 'Three first steps',
  steps: {
    contacts: ['Add your contacts', 'one by one or from a CSV file'],
    compose: ['Write a message', 'and see what it costs before it goes'],
    access: ['Choose a password', 'and give your programs a user_id'],
  },
} as const;
