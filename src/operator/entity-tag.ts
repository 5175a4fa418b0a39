import { hash } from 'node:crypto';
import { z } from 'zod';
import { Problem } from '../base/problem.ts';
import { waitForOthers } from '../store/transactions.ts';
import type { Action, Services } from './action.ts';
import type { Actor } from './actor.ts';

/**
 * ETag and If-Match: two people who change the same object do not overwrite each other unnoticed.
 * An object that can be changed is shown and changed at the same path, so neither the action that
 * shows it nor the one that changes it has to know about this.
 */
export interface EntityTags {
  /** Whether the action answers the object at its path, as the action does that shows it. */
  answers(action: Action): boolean;
  /** The ETag of what the action answers; null if it does not answer the object at its path. */
  tagOf(action: Action, output: unknown): string | null;
  /** Whether the action changes an object that has an ETag. */
  has(action: Action): boolean;
  /** Throws Problem `changed` unless If-Match names the object that is at the path now. */
  check(action: Action, ifMatch: string, current: Current): Promise<void>;
}

/** What reads the object as it is in the transaction of the change. */
interface Current {
  readonly services: Services;
  readonly params: Readonly<Record<string, unknown>>;
  readonly actor: Actor;
}

export function createEntityTags(actions: readonly Action[]): EntityTags {
  const changed = new Set(actions.filter(({ method }) => method !== 'GET').map(({ path }) => path));
  const shows = new Map(
    actions.filter((each) => showsObject(each) && changed.has(each.path)).map((each) => [each.path, each]),
  );
  const answers = (action: Action): boolean => shows.get(action.path)?.output === action.output;
  return {
    has: ({ path, method }) => shows.has(path) && method !== 'GET',
    answers,
    tagOf: (action, output) => (answers(action) ? tag(shows.get(action.path) as Action, output) : null),
    async check(action, ifMatch, { services, params, actor }) {
      const show = shows.get(action.path) as Action;
      // The transactions of an account run one after another anyway.
      if (!show.ofAccount) await waitForOthers(services.database);
      const input = { params, query: show.query.parse({}), body: undefined, upload: new Uint8Array() };
      const output = await show.run(services, input, actor);
      if (!matches(ifMatch, tag(show, z.encode(show.output as z.ZodType, output)))) {
        throw new Problem(
          'changed',
          'The object has changed since it was read. Read it again, then repeat the change.',
        );
      }
    },
  };
}

/** Reading a person's data is audited, so a change does not read it on the side. */
const showsObject = ({ method, position, output, download, auditsReading }: Action): boolean =>
  method === 'GET' && position === null && output !== null && !download && !auditsReading;

/** A field that counts what happens by itself does not stand in the way of a change. */
function tag({ countedFields = [] }: Action, output: unknown): string {
  const fields = Object.entries(output as object).filter(([name]) => !countedFields.includes(name));
  return `"${hash('sha256', JSON.stringify(fields), 'base64url').slice(0, 22)}"`;
}

/** RFC 9110 §13.1.1: a list of tags, or `*` for whatever is there. A weak tag never matches. */
const matches = (ifMatch: string, current: string): boolean =>
  ifMatch.trim() === '*' || ifMatch.split(',').some((each) => each.trim() === current);
