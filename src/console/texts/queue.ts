import { counted } from '../words.ts';

/** Texts of the queue. */
export const texts = {
  title: 'Queue',
  columns: ['Account', 'Message', 'State', 'Due', 'Attempts', 'Credits held', 'Connector', 'Reason'],
  filter: 'Show',
  filters: [
    ['', 'all on their way'],
    ['due', 'due now'],
    ['claimed', 'being given to a carrier'],
    ['retrying', 'to be tried again'],
    ['open', 'undecided'],
  ] as readonly (readonly [string, string])[],
  states: {
    waiting: 'waits',
    submitting: 'is being given to the carrier',
    unsure: 'no answer of the carrier yet',
    undecided: 'undecided',
  } as Readonly<Record<string, string>>,
  message: (username: string, id: string) => `message ${id} of ${username}`,
  empty: 'No message is on its way.',
  emptyHint: 'Messages appear here from the moment they are accepted until the carrier has them.',
  noMatch: 'No message is in this state.',
  noMatchHint: 'Nothing is to be done here.',
  firstOfAll: (count: number) => `the first ${count} that match`,
  lead: 'About an undecided message nobody knows whether the carrier has it. Ask the carrier, then decide.',
  decisions: [
    ['submitted', 'The carrier has it'],
    ['not-submitted', 'The carrier does not have it'],
    ['submit-again', 'Send it again, perhaps twice'],
  ] as readonly (readonly [string, string])[],
  question: (count: number, decision: string) => `Decide about ${counted(count, 'message')}: ${decision}?`,
  submit: (count: number) => `Decide about ${counted(count, 'message')}`,
  acting: 'Deciding',
  notices: {
    nothing: 'Nothing was selected, so nothing was done.',
    decided: (count: bigint) =>
      `Decided about ${counted(count, 'message')}. Those that were decided meanwhile are not counted.`,
  },
} as const;
