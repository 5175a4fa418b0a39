import { type Html, html } from '../base/html.ts';
import type { DELIVERY_STATUSES } from '../domain/messages/statuses.ts';
import { counted, grouped } from './counts.ts';
import type { IconName } from './icons.ts';
import type { Tone } from './words.ts';

/** The words that several screens share. Those of one screen are in its own file. */

/** The words of the frame around every screen. */
export const frameTexts = {
  product: 'Columba',
  skip: 'To the content',
  screens: 'Screens',
  mainScreens: 'Main screens',
  firstPage: 'Columba, overview',
  more: 'More',
  menu: 'Account menu',
  access: 'Password and second step',
  unread: 'unread',
  zone: (zone: string) => `All times ${zone}`,
  signedInAs: 'Signed in as',
  signOut: 'Sign out',
  viewing: (username: string) => `You see the account ${username} as the customer does. The audit records this.`,
  back: 'Back to all accounts',
  help: 'Keys',
  /** The shell of each side: its first button, its searches by screen, and the bar of a phone. */
  shell: {
    customer: {
      main: { href: 'compose', name: 'New message', icon: 'pen' },
      search: 'Search people, numbers, messages',
      bar: [
        ['conversations', 'Messages', 'chat'],
        ['compose', 'New', 'pen'],
        ['contacts', 'People', 'people'],
      ],
    },
    operator: {
      main: { href: 'accounts#add', name: 'Create an account', icon: 'plus' },
      search: 'Search numbers, ids, references, accounts',
      bar: [
        ['overview', 'Now', 'pulse'],
        ['accounts', 'Accounts', 'people'],
        ['queue', 'Queue', 'queue'],
      ],
    },
  },
  /** The keys after g, and the screen that each leads to. The script reads them from the page. */
  places: {
    customer: [
      ['o', 'overview'],
      ['i', 'conversations'],
      ['n', 'inbox'],
      ['s', 'sent'],
      ['h', 'scheduled'],
      ['c', 'contacts'],
      ['p', 'compose'],
    ],
    operator: [
      ['o', 'overview'],
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
    'say-away': 'No connection since {time}. What you see may be old. Trying again.',
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
  filters: 'Filter',
  filtersUsed: (count: number) => `Filter (${count})`,
  clear: 'Show all',
  search: 'Search',
  next: 'Next page',
  first: 'First page',
  pages: 'Pages',
  select: (what: string) => `Select ${what}`,
  selectPage: 'Select all on this page',
  actOn: 'Act on',
  onAll: (all: number | Html) => html`${typeof all === 'number' ? html`all ${grouped(all)}` : all} that match`,
  cut: 'The search stopped before the end.',
  readOn: 'Search further',
  noMatchYet: 'Nothing was found so far.',
  notIndexed:
    'Some messages are not in the index yet, so they may be missing here. They are being added. Look again in a minute.',
  notWhole: {
    nothingDone: 'Nothing was done: the search does not see every message that matches. Look at the list again.',
  },
  tooShort: 'More words begin like this than are searched, so something may be missing here. Write more of the word.',
  noFile: 'No file was made',
  goBack: 'Go back',
  confirm: 'Please confirm',
  nothingSelected: 'Nothing was selected, so nothing was done.',
  someGone: (count: number) =>
    count === 1 ? 'One of them no longer existed.' : html`${grouped(count)} of them no longer existed.`,
  progress: (done: number, total: number | null) =>
    total === null ? html`${grouped(done)} done …` : html`${grouped(done)} of ${grouped(total)} done …`,
  step: (step: 'checked' | 'written' | 'searched', done: number, total: number | null) => {
    if (step === 'searched') return html`${counted(done, 'account')} searched …`;
    return html`${grouped(done)} of ${counted(total ?? done, 'row')} ${step} …`;
  },
  progressStop: 'Leave this page to stop. What is done stays done.',
  progressDone: (done: number) => html`Finished: ${counted(done, 'entry', 'entries')}.`,
  progressFailed: (message: string) => `It stopped: ${message}`,
  goOn: 'Go on',
  download: 'Download as CSV',
  downloadMatching: 'Download all that match as CSV',
  optional: '(optional)',
} as const;

/** A message that is DELETED because a receipt says so. */
export const deletedByCarrier = {
  words: 'Deleted by the carrier',
  hint: 'The carrier has deleted it. Send it again if it still matters.',
  look: ['bad', 'cross'],
} as const;

/**
 * Delivery statuses in plain words, what to do about them, and their colour and icon. The type
 * requires every one.
 */
export const statuses: Readonly<
  Record<
    (typeof DELIVERY_STATUSES)[number],
    { readonly words: string; readonly hint: string; readonly look: readonly [Tone, IconName] }
  >
> = {
  QUEUED: { words: 'Waiting', hint: 'It waits to be submitted to the carrier.', look: ['wait', 'clock'] },
  SUBMITTED: { words: 'With the carrier', hint: 'The carrier has it and has not reported yet.', look: ['', 'tick'] },
  ENROUTE: { words: 'On its way', hint: 'The carrier tries to deliver it.', look: ['', 'tick'] },
  ACCEPTED: {
    words: 'Accepted',
    hint: 'The carrier has accepted it and has not delivered it yet.',
    look: ['', 'tick'],
  },
  DELIVERED: { words: 'Delivered', hint: 'It has arrived on the phone.', look: ['good', 'ticks'] },
  EXPIRED: {
    words: 'Too late',
    hint: 'It could not be delivered in time. Send it again if it still matters.',
    look: ['bad', 'clock'],
  },
  DELETED: {
    words: 'Cancelled',
    hint: 'It was cancelled before it was sent, or the carrier has deleted it. Send it again if it still matters.',
    look: ['off', 'cross'],
  },
  UNDELIVERABLE: {
    words: 'Not delivered',
    hint: 'The number cannot get it. Check the number.',
    look: ['bad', 'cross'],
  },
  UNKNOWN: {
    words: 'Not known',
    hint: 'The carrier did not answer or never reported, so nobody knows whether it arrived. Ask the recipient before you send it again.',
    look: ['off', 'question'],
  },
  REJECTED: {
    words: 'Refused',
    hint: 'The carrier has refused it. The reason is on the page of the message.',
    look: ['bad', 'block'],
  },
};
