import type { DELIVERY_STATUSES } from '../domain/messages/statuses.ts';
import { counted, grouped } from './words.ts';

/** The words that several screens share. Those of one screen are in its own file. */

/** The words of the frame around every screen. */
export const frameTexts = {
  product: 'Columba',
  skip: 'To the content',
  screens: 'Screens',
  signedInAs: 'Signed in as',
  signOut: 'Sign out',
  viewing: (username: string) => `You see the account ${username} as the customer does. The audit records this.`,
  back: 'Back to all accounts',
  help: 'Keys',
  /** The keys after g, and the screen that each leads to. The script reads them from the page. */
  places: {
    customer: [
      ['i', 'inbox'],
      ['s', 'sent'],
      ['h', 'scheduled'],
      ['c', 'contacts'],
      ['p', 'compose'],
    ],
    operator: [
      ['a', 'accounts'],
      ['q', 'queue'],
      ['u', 'unrouted'],
      ['c', 'connectors'],
      ['l', 'audit'],
    ],
  },
  keys: {
    both: [
      ['/', 'search'],
      ['j k', 'next and previous row'],
      ['x', 'select the row'],
      ['Enter', 'open the row'],
    ],
    customer: [
      ['r', 'reply'],
      ['m', 'mark as read'],
      ['#', 'delete'],
    ],
    operator: [],
    help: ['?', 'this list'],
  },
  close: 'Close',
  /** For the script, as data attributes of the body. */
  script: {
    'say-signed-out': 'You were signed out. What you have typed is still here. Sign in in another tab, then continue.',
    'say-show': '{count} new – show',
    'say-new-one': '1 new message',
    'say-new-many': '{count} new messages',
    'say-copy': 'Copy',
    'say-copied': 'Copied',
    'say-not-copied': 'Not copied',
  },
  problems: {
    title: 'This did not work',
    notFound: 'There is no such page, or what it showed no longer exists.',
    again: 'Go back, correct it and try again.',
    toStart: 'To the overview',
    crossSite: 'This request came from another web site, so nothing was done. Open the console yourself and try again.',
  },
} as const;

/** The words of lists, forms and questions. */
export const listTexts = {
  acts: 'What you can do',
  filter: 'Show',
  clear: 'Show all',
  search: 'Search',
  next: 'Next page',
  first: 'First page',
  pages: 'Pages',
  select: (what: string) => `Select ${what}`,
  selectPage: 'Select all on this page',
  onSelected: 'the selected ones',
  onAll: (count: number | string) => `all ${typeof count === 'number' ? grouped(count) : count} that match`,
  actOn: 'Act on',
  readFar: (read: number) => `The search read the newest ${grouped(read)} entries and stopped there.`,
  readOn: 'Search further back',
  goBack: 'Go back',
  confirm: 'Please confirm',
  nothingSelected: 'Nothing was selected, so nothing was done.',
  someGone: (count: number) =>
    count === 1 ? 'One of them no longer existed.' : `${grouped(count)} of them no longer existed.`,
  progress: (done: number, total: number | null) =>
    total === null ? `${grouped(done)} done …` : `${grouped(done)} of ${grouped(total)} done …`,
  step: (step: 'checked' | 'written' | 'searched', done: number, total: number | null) => {
    if (step === 'searched') return `${counted(done, 'account')} searched …`;
    return `${grouped(done)} of ${counted(total ?? done, 'row')} ${step} …`;
  },
  progressStop: 'Leave this page to stop. What is done stays done.',
  progressDone: (done: number) => `Finished: ${counted(done, 'entry', 'entries')}.`,
  progressFailed: (message: string) => `It stopped: ${message}`,
  goOn: 'Go on',
  download: 'Download as CSV',
  downloadMatching: 'Download all that match as CSV',
  optional: '(optional)',
} as const;

/** Delivery statuses in plain words, and what to do about them. The type requires every one. */
export const statuses: Readonly<
  Record<(typeof DELIVERY_STATUSES)[number], { readonly words: string; readonly hint: string }>
> = {
  QUEUED: { words: 'Waiting', hint: 'It waits to be submitted to the carrier.' },
  SUBMITTED: { words: 'With the carrier', hint: 'The carrier has it and has not reported yet.' },
  ENROUTE: { words: 'On its way', hint: 'The carrier tries to deliver it.' },
  ACCEPTED: { words: 'Accepted', hint: 'The carrier has accepted it and has not delivered it yet.' },
  DELIVERED: { words: 'Delivered', hint: 'It has arrived on the phone.' },
  EXPIRED: { words: 'Too late', hint: 'It could not be delivered in time. Send it again if it still matters.' },
  DELETED: { words: 'Deleted by the carrier', hint: 'The carrier has deleted it. Send it again if it still matters.' },
  UNDELIVERABLE: { words: 'Not deliverable', hint: 'The number cannot get it. Check the number.' },
  UNKNOWN: {
    words: 'Not known',
    hint: 'The carrier did not answer or never reported, so nobody knows whether it arrived. Ask the recipient before you send it again.',
  },
  REJECTED: { words: 'Refused', hint: 'The carrier has refused it. The reason is on the page of the message.' },
};
