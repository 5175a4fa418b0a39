import { counted } from '../words.ts';

/** Texts of the list of scheduled messages. */
export const texts = {
  title: 'Scheduled',
  columns: ['When', 'To', 'Text', 'Reference', 'Credits held'],
  zone: (zone: string) => `Times are those of ${zone}.`,
  message: (recipient: string) => `the message to ${recipient}`,
  cancel: 'Cancel',
  move: 'Move to another time',
  moveTo: 'New time',
  empty: 'No message is scheduled.',
  emptyHint: 'Choose a time when you write a message, and it waits here.',
  question: (count: number) =>
    `Cancel ${counted(count, 'scheduled message')}? ${count === 1 ? 'Its' : 'Their'} credits are free again.`,
  submit: (count: number) => `Cancel ${counted(count, 'message')}`,
  acting: 'Cancelling scheduled messages',
  moving: 'Moving scheduled messages',
  badTime: 'Choose a day and a time in the future.',
  notices: {
    nothing: 'Nothing was selected, so nothing was done.',
    cancel: (count: bigint) =>
      count === 0n
        ? 'Nothing changed: the messages are being sent already, or are gone.'
        : `Cancelled ${counted(count, 'message')}. Messages that are being sent already are not counted.`,
    move: (count: bigint) =>
      count === 0n
        ? 'Nothing changed: the messages are being sent already, or are gone.'
        : `Moved ${counted(count, 'message')}.`,
    tooLate: 'Nothing changed: the messages must not be sent so late.',
    accepted: (count: bigint) => `${counted(count, 'message')} accepted. Each one waits here for its time.`,
    badTime: 'Nothing changed: choose a day and a time in the future.',
  },
} as const;
