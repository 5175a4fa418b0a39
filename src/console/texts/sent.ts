import { counted, grouped } from '../words.ts';

/** Texts of the list of sent messages. */
export const texts = {
  title: 'Sent',
  columns: ['To', 'Text', 'State', 'Reference', 'Parts', 'Sent'],
  search: 'Search in numbers, texts and references',
  state: 'State',
  states: [
    ['', 'all'],
    ['moving', 'not decided yet'],
    ['failed', 'failed'],
    ['DELIVERED', 'delivered'],
    ['UNKNOWN', 'not known'],
    ['unseen', 'with a new state, oldest first'],
  ] as readonly (readonly [string, string])[],
  from: 'From day',
  to: 'To day',
  mark: 'Mark seen',
  allNew: (count: bigint, isFiltered: boolean) =>
    isFiltered ? `all ${grouped(count)} that match and have a new state` : `all ${grouped(count)} with a new state`,
  resend: 'Send again',
  resendQuestion: (count: number) =>
    `Send ${counted(count, 'message')} again? Each becomes a new message and costs credits again.`,
  resendSubmit: (count: number) => `Send ${counted(count, 'message')} again`,
  message: (recipient: string) => `the message to ${recipient}`,
  empty: 'No message was sent yet.',
  emptyHint: 'What you send appears here, with what became of it.',
  noMatch: 'No message matches.',
  noMatchHint: 'Search for less, or for a longer time.',
  acting: 'Working on sent messages',
  notices: {
    nothing: 'Nothing was selected, so nothing was done.',
    mark: (count: bigint) => `Marked ${counted(count, 'message')} as seen.`,
    selectFirst: 'Nothing was sent: select the messages that are to be sent again.',
    resent: (count: bigint) =>
      `${counted(count, 'message')} accepted again. Messages that cannot be sent are not counted.`,
    accepted: (count: bigint) => `${counted(count, 'message')} accepted. Each one is on its way or waits for its time.`,
  },
} as const;
