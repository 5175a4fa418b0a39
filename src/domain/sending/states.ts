import type { DispatchRow, DispatchState } from './dispatch.sql.ts';

/**
 * The states of a message on its way out, and every transition between them. README.md of this
 * folder draws the table, and a test compares the two. Code that moves a message names the
 * transition: the new state comes from this table, and a message in any other state is refused.
 */
export type State =
  | 'new'
  | 'imported'
  | 'scheduled'
  | 'held'
  | 'waiting'
  | 'submitting'
  | 'unknown outcome'
  | 'needs decision'
  | 'with carrier'
  | 'final'
  | 'gone';

export interface Transition {
  readonly from: readonly State[];
  /** Rarer: an answer that comes after the lease has run out, or a reason that the claim finds. */
  readonly alsoFrom?: readonly State[];
  readonly to: State;
  readonly by: string;
  /** The delivery status afterwards, as the contract shows it. */
  readonly status: string;
  readonly credits: string;
  readonly events: string;
}

const NONE = '–';
const LATE = ['waiting', 'unknown outcome', 'needs decision'] as const;
const CLAIMED = ['submitting'] as const;
const UNANSWERED = ['unknown outcome', 'needs decision'] as const;
const SPLIT = 'capture what a carrier has, release the rest';

export const TRANSITIONS = {
  accept: {
    from: ['new'],
    to: 'waiting',
    by: 'API, console, answer to STOP or HELP',
    status: 'QUEUED',
    credits: 'hold',
    events: NONE,
  },
  schedule: {
    from: ['new'],
    to: 'scheduled',
    by: 'API, console, answer in quiet hours',
    status: NONE,
    credits: 'hold',
    events: NONE,
  },
  stop: {
    from: ['new'],
    to: 'held',
    by: 'spend guard',
    status: 'QUEUED',
    credits: 'hold',
    events: 'guard.stopped',
  },
  release: { from: ['held'], to: 'waiting', by: 'operator', status: 'as before', credits: NONE, events: NONE },
  refuse: {
    from: ['held'],
    to: 'final',
    by: 'operator',
    status: 'REJECTED',
    credits: SPLIT,
    events: 'message.status',
  },
  import: { from: ['new'], to: 'imported', by: 'import, migration', status: NONE, credits: 'hold', events: NONE },
  activate: {
    from: ['imported'],
    to: 'scheduled',
    by: 'operator, take-over',
    status: NONE,
    credits: NONE,
    events: NONE,
  },
  reschedule: { from: ['scheduled'], to: 'scheduled', by: 'API, console', status: NONE, credits: NONE, events: NONE },
  delete: {
    from: ['imported', 'scheduled'],
    to: 'gone',
    by: 'contract, API, console, opt-out, erasure',
    status: NONE,
    credits: 'release',
    events: NONE,
  },
  claim: {
    from: ['scheduled', 'waiting'],
    to: 'submitting',
    by: 'dispatcher',
    status: 'QUEUED',
    credits: NONE,
    events: NONE,
  },
  submit: {
    from: ['submitting'],
    alsoFrom: LATE,
    to: 'with carrier',
    by: 'answer of the carrier',
    status: 'SUBMITTED',
    credits: 'capture',
    events: 'message.status',
  },
  retry: {
    from: ['submitting'],
    alsoFrom: LATE,
    to: 'waiting',
    by: 'temporary refusal of the carrier',
    status: 'QUEUED',
    credits: NONE,
    events: NONE,
  },
  'fail over': {
    from: ['submitting'],
    alsoFrom: LATE,
    to: 'waiting',
    by: 'certain refusal of a carrier, and a route with another way',
    status: 'QUEUED',
    credits: NONE,
    events: 'connector.failover',
  },
  reject: {
    from: ['submitting'],
    alsoFrom: LATE,
    to: 'final',
    by: 'permanent refusal of the carrier',
    status: 'REJECTED',
    credits: SPLIT,
    events: 'message.status',
  },
  lose: {
    from: ['submitting'],
    alsoFrom: LATE,
    to: 'unknown outcome',
    by: 'no answer, or a lease that ran out',
    status: 'QUEUED',
    credits: NONE,
    events: NONE,
  },
  quarantine: {
    from: ['submitting'],
    alsoFrom: LATE,
    to: 'needs decision',
    by: 'an answer that cannot be written',
    status: 'QUEUED',
    credits: NONE,
    events: NONE,
  },
  prove: {
    from: UNANSWERED,
    alsoFrom: ['waiting', 'submitting'],
    to: 'with carrier',
    by: 'receipts or late answers for all parts',
    status: 'SUBMITTED, or what receipts say',
    credits: 'capture',
    events: 'message.status',
  },
  resume: {
    from: UNANSWERED,
    alsoFrom: CLAIMED,
    to: 'waiting',
    by: 'a receipt or late answer: the carrier lacks a part',
    status: 'as before',
    credits: NONE,
    events: NONE,
  },
  'submit again': {
    from: ['unknown outcome'],
    to: 'waiting',
    by: "the account's policy, at the deadline",
    status: 'as before',
    credits: NONE,
    events: NONE,
  },
  escalate: {
    from: ['unknown outcome'],
    alsoFrom: ['waiting', 'submitting', 'needs decision'],
    to: 'needs decision',
    by: 'the deadline, or an end after an unanswered attempt',
    status: 'UNKNOWN',
    credits: NONE,
    events: 'message.status, message.needs_decision',
  },
  hold: {
    from: ['held', 'scheduled', 'waiting', 'submitting', 'unknown outcome', 'needs decision'],
    to: 'needs decision',
    by: 'restore of a backup: it may have been sent since',
    status: 'UNKNOWN',
    credits: NONE,
    events: 'message.status, message.needs_decision',
  },
  'decide submitted': {
    from: UNANSWERED,
    alsoFrom: CLAIMED,
    to: 'with carrier',
    by: 'operator',
    status: 'SUBMITTED, or what receipts say',
    credits: 'capture',
    events: 'message.status',
  },
  'decide not submitted': {
    from: UNANSWERED,
    alsoFrom: CLAIMED,
    to: 'final',
    by: 'operator',
    status: 'REJECTED',
    credits: SPLIT,
    events: 'message.status',
  },
  'decide submit again': {
    from: UNANSWERED,
    alsoFrom: CLAIMED,
    to: 'waiting',
    by: 'operator',
    status: 'QUEUED',
    credits: NONE,
    events: 'message.status',
  },
  expire: {
    from: ['scheduled', 'waiting', 'held'],
    alsoFrom: CLAIMED,
    to: 'final',
    by: 'claim, maintenance',
    status: 'EXPIRED',
    credits: SPLIT,
    events: 'message.status',
  },
  cancel: {
    from: ['waiting', 'held'],
    alsoFrom: CLAIMED,
    to: 'final',
    by: 'API, console, opt-out, erasure',
    status: 'DELETED',
    credits: SPLIT,
    events: 'message.status',
  },
  forget: {
    from: ['scheduled', 'waiting', 'held'],
    alsoFrom: CLAIMED,
    to: 'gone',
    by: 'claim, maintenance: the client has deleted it, or another server has sent it',
    status: NONE,
    credits: SPLIT,
    events: NONE,
  },
  report: {
    from: ['with carrier'],
    to: 'with carrier',
    by: 'receipt',
    status: 'ENROUTE, ACCEPTED, UNKNOWN',
    credits: NONE,
    events: 'message.status',
  },
  conclude: {
    from: ['with carrier'],
    to: 'final',
    by: 'receipt',
    status: 'DELIVERED, UNDELIVERABLE, EXPIRED, DELETED, REJECTED',
    credits: NONE,
    events: 'message.status',
  },
  'give up waiting': {
    from: ['with carrier'],
    to: 'with carrier',
    by: 'maintenance, 72 hours without a receipt',
    status: 'UNKNOWN',
    credits: NONE,
    events: 'message.status',
  },
} as const satisfies Readonly<Record<string, Transition>>;

export type TransitionName = keyof typeof TRANSITIONS;
type To<S extends State> = {
  [N in TransitionName]: (typeof TRANSITIONS)[N]['to'] extends S ? N : never;
}[TransitionName];
/** The transitions that leave a message in the queue. */
export type Requeue = To<'waiting' | 'unknown outcome' | 'needs decision'>;
/** The transitions that take a message out of the queue. */
export type End = To<'with carrier' | 'final' | 'gone'>;

/** The value of the column `dispatch.state` for each state. */
const STORED: Readonly<Partial<Record<State, DispatchState>>> = {
  held: 'held',
  scheduled: 'waiting',
  waiting: 'waiting',
  submitting: 'submitting',
  'unknown outcome': 'unknown-outcome',
  'needs decision': 'needs-decision',
};

type Stored = Pick<DispatchRow, 'state' | 'is_scheduled'>;

export function stateOf({ state, is_scheduled }: Stored): State {
  if (state === 'unknown-outcome') return 'unknown outcome';
  if (state === 'needs-decision') return 'needs decision';
  return state === 'waiting' && is_scheduled === 1n ? 'scheduled' : state;
}

/** Throws if one of the messages is in a state from which this transition is not allowed. */
export function requireTransition(name: TransitionName, messages: readonly Stored[]): void {
  const { from, alsoFrom = [] }: Transition = TRANSITIONS[name];
  for (const message of messages) {
    const state = stateOf(message);
    if (!from.includes(state) && !alsoFrom.includes(state)) {
      throw new Error(`a message in the state "${state}" cannot take the transition "${name}"`);
    }
  }
}

/** The stored state after a transition, for messages that may take it. */
export function storedAfter(name: Requeue, messages: readonly Stored[]): DispatchState {
  requireTransition(name, messages);
  return STORED[TRANSITIONS[name].to] as DispatchState;
}
