import assert from 'node:assert/strict';
import type { Caller, HttpAnswer } from '../../test/support/program.ts';
import { createRandom, type Random } from '../../test/support/random.ts';

/**
 * Clients that write without a pause, each to rows of its own of one account, so that each knows what must be there: what
 * it was told is done, and perhaps the one call that was not answered.
 */
export interface Belongings {
  readonly templates: readonly string[];
  /** All of its contacts are moved together: their groups, each once. */
  readonly groups: readonly string[];
  /** Of its received messages those that are there, and whether they are read. */
  readonly inbox: Readonly<Record<string, boolean>>;
  readonly scheduled: readonly string[];
}

interface Write {
  readonly group: string;
  readonly operation: string;
  readonly args: Readonly<Record<string, string | readonly string[]>>;
  readonly after: Belongings;
}

const CONTACTS_EACH = 8;
const MESSAGES_EACH = 120;
export const SCHEDULED_EACH = 60;
const GROUPS = ['1', '2', '3'];
const TEMPLATES_MAX = 40;
export const CREDITS = 1_000;
/** Held for each scheduled message. */
export const PARTS = 1;

const numbered = (name: number, count: number): string[] =>
  Array.from({ length: count }, (_, index) => String((name + 1) * 1_000 + index));
/** To whom a row belongs. */
export const ownerOf = (id: string): string => String(Math.floor(Number(id) / 1_000) - 1);

const initial = (name: number): Belongings => ({
  templates: [],
  groups: ['1'],
  scheduled: numbered(name, SCHEDULED_EACH),
  inbox: Object.fromEntries(numbered(name, MESSAGES_EACH).map((id) => [id, false])),
});

const TIME = '2026-10-01T08:00:00Z';

/** The account of so many writers in the import format. */
export function accountFor(writers: number, username: string, userID: string) {
  const names = Array.from({ length: writers }, (_, name) => name);
  return {
    username,
    userID,
    credits: CREDITS,
    usedCredits: 0,
    datetimeCreated: TIME,
    groups: GROUPS.map((id) => ({ id: Number(id) })),
    contacts: names.flatMap((name) => numbered(name, CONTACTS_EACH).map((id) => ({ id, groupid: '1' }))),
    inbox: names.flatMap((name) =>
      numbered(name, MESSAGES_EACH).map((id) => ({ id, message: 'in', timestamp: TIME, read: false })),
    ),
    scheduled: names.flatMap((name) =>
      numbered(name, SCHEDULED_EACH).map((id) => ({
        id,
        recipient: '+27825550201',
        message: 'later',
        timestamp_scheduled: '2031-01-01T08:00:00Z',
        timestamp_created: TIME,
      })),
    ),
  };
}

export class Writer {
  readonly name: string;
  acknowledged = 0;
  /** What must be there, and what may be there instead. */
  certain: Belongings;
  perhaps: Write | undefined;
  #made = 0;
  readonly #random: Random;
  readonly #contacts: string[];

  constructor(name: number) {
    this.name = String(name);
    this.certain = initial(name);
    this.#contacts = numbered(name, CONTACTS_EACH);
    this.#random = createRandom(`writer ${name}`);
  }

  /** Until it is told to stop, or a call is not answered with 200: then it is that answer, or what was thrown. */
  async run(caller: Caller, goesOn: () => boolean): Promise<HttpAnswer | Error | undefined> {
    while (goesOn()) {
      const write = this.#next();
      this.perhaps = write;
      const sending = caller.send(write.group, write.operation, write.args);
      const answer = await sending.catch((thrown: Error) => thrown);
      if (answer instanceof Error || answer.status !== 200) return answer;
      assert.match(answer.text, />true</, `${write.operation} ${JSON.stringify(write.args)}`);
      this.certain = write.after;
      this.perhaps = undefined;
      this.acknowledged += 1;
    }
    return undefined;
  }

  #next(): Write {
    const { certain } = this;
    const kind = this.#random.below(10);
    const ids = Object.keys(certain.inbox);
    if (kind === 0 && ids.length > 0) {
      const message_id = this.#random.pick(ids);
      const { [message_id]: _, ...inbox } = certain.inbox;
      return { group: 'inbox', operation: 'DeleteMessage', args: { message_id }, after: { ...certain, inbox } };
    }
    if (kind === 1 && ids.length > 0) {
      const message_id = this.#random.pick(ids);
      const inbox = { ...certain.inbox, [message_id]: true };
      return { group: 'inbox', operation: 'MarkMessageAsRead', args: { message_id }, after: { ...certain, inbox } };
    }
    if (kind === 2 && certain.scheduled.length > 0) {
      const message_id = this.#random.pick(certain.scheduled);
      const after = { ...certain, scheduled: certain.scheduled.filter((id) => id !== message_id) };
      return { group: 'compose', operation: 'DeleteScheduledMessage', args: { message_id }, after };
    }
    if (kind <= 5) return this.#move();
    if (certain.templates.length >= TEMPLATES_MAX) {
      const [message = '', ...templates] = certain.templates;
      return {
        group: 'account',
        operation: 'DeleteMessageTemplate',
        args: { message },
        after: { ...certain, templates },
      };
    }
    const message = `${this.name}: ${++this.#made}`;
    const after = { ...certain, templates: [...certain.templates, message] };
    return { group: 'account', operation: 'SaveMessageTemplate', args: { message }, after };
  }

  /** All contacts of the writer out of their group, or into one. */
  #move(): Write {
    const [now = ''] = this.certain.groups;
    const isOut = now !== '' && this.#random.chance(0.3);
    const group_id = isOut ? now : this.#random.pick(GROUPS);
    const operation = isOut ? 'RemoveContactFromGroup' : 'MoveContactToNewGroup';
    const after = { ...this.certain, groups: [isOut ? '' : group_id] };
    return { group: 'account', operation, args: { contact_id: this.#contacts, group_id }, after };
  }
}
