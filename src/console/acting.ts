import { hash } from 'node:crypto';
import type { z } from 'zod';
import { Problem } from '../base/problem.ts';
import type { Progress } from '../base/progress.ts';
import { type Owner, ownerKey } from '../domain/access/owners.ts';
import { claimKey, releaseKey, storeAnswer } from '../domain/accounts/idempotency.ts';
import type { Action, Output, Services } from '../operator/action.ts';
import { type Actor, scopes } from '../operator/actor.ts';
import type { RawInput } from '../operator/input.ts';
import { type Finish, perform } from '../operator/perform.ts';

/** Runs the operator's actions for somebody who is signed in to the console. Each is audited. */

/**
 * The fields of a schema as people type them: any text, even if the schema accepts only some texts,
 * because the action itself refuses the others and says why.
 */
type Typed<T> = T extends string
  ? string
  : T extends number
    ? number
    : T extends readonly (infer I)[]
      ? readonly Typed<I>[]
      : T extends object
        ? { readonly [N in keyof T]: Typed<T[N]> }
        : T;

/** A part of the input, which may be left out if each of its fields may be. */
type Part<N extends string, T> =
  Partial<T> extends T ? { readonly [_ in N]?: Typed<T> } : { readonly [_ in N]: Typed<T> };
/** In zod, an object without fields is one in which every field is `never`. */
type FieldsOf<S> = string extends keyof z.input<S> ? unknown : z.input<S>;

interface Paging {
  readonly limit?: string;
  readonly after?: string;
}

interface AnyGiven {
  readonly params?: unknown;
  readonly query?: unknown;
  readonly body?: unknown;
  readonly upload?: Uint8Array;
  /** Called with the progress of the action. */
  readonly progress?: Progress;
  /** Whether the operator has given a code of the second factor with this form. */
  readonly hasFreshFactor?: boolean;
}

/** The input of an action as JSON and an address have it, typed by the schemas of the action. */
export type Given<A extends Action> = AnyGiven &
  (A extends Action<infer P, infer Q, infer B, infer _, infer T>
    ? Part<'params', FieldsOf<P>> &
        Part<'query', FieldsOf<Q> & (T extends null ? unknown : Paging)> &
        (B extends z.ZodUndefined ? unknown : { readonly body: Typed<z.input<B>> })
    : never);

/** The input may be left out if the action needs none. */
type Arguments<A extends Action> = Partial<Given<A>> extends Given<A> ? [given?: Given<A>] : [given: Given<A>];

export interface Acting {
  run<A extends Action>(action: A, ...given: Arguments<A>): Promise<Output<A>>;
  /** Runs an action and returns its status too, such as 200 for something that existed already. */
  full<A extends Action>(
    action: A,
    ...given: Arguments<A>
  ): Promise<{ readonly status: number; readonly output: Output<A> }>;
  download<A extends Action & { readonly output: null }>(
    action: A,
    ...given: Arguments<A>
  ): Promise<AsyncIterable<string>>;
  /**
   * Runs an action once for a key; a repetition returns the first summary again. The summary is
   * stored for a day, so it holds no number and no text of a message.
   */
  once<A extends Action, S>(key: string, action: A, given: Given<A>, summaryOf: (output: Output<A>) => S): Promise<S>;
}

export const actorOf = (owner: Owner, address: string): Actor => ({
  kind: owner.kind === 'operator' ? 'console operator' : 'console account',
  name: owner.name,
  tokenId: null,
  address,
  scopes,
  account: owner.kind === 'account' ? { id: owner.id, username: owner.name } : null,
});

/** How long a repeated request waits for the first one. */
const WAITS = 50;
const WAIT_MS = 200;

export function createActing(services: Services, owner: Owner, address: string): Acting {
  const actor = actorOf(owner, address);
  const performed = <A extends Action>(action: A, given: AnyGiven = {}, finish?: Finish<Output<A>>) => {
    const { params = {}, query = {}, body, upload = new Uint8Array() } = given as Partial<RawInput>;
    const told = given.progress ? { ...services, progress: given.progress } : services;
    const acting = given.hasFreshFactor ? { ...actor, hasFreshFactor: true } : actor;
    return perform(told, action, { params, query, body, upload }, acting, finish);
  };

  async function claimed(key: string, fingerprint: string) {
    for (let waits = 0; ; waits += 1) {
      try {
        return await claimKey(services.database, key, fingerprint, services.now());
      } catch (thrown) {
        const isInProgress = thrown instanceof Problem && thrown.kind === 'conflict';
        if (!isInProgress || waits >= WAITS) throw thrown;
        await services.sleep(WAIT_MS);
      }
    }
  }

  return {
    run: async (action, ...given) => (await performed(action, given[0])).output,
    full: (action, ...given) => performed(action, given[0]),
    async download(action, ...given) {
      const { stream } = await performed(action, given[0]);
      if (!stream) throw new Error(`${action.name} is not a download`);
      return stream;
    },
    async once<A extends Action, S>(key: string, action: A, given: Given<A>, summaryOf: (output: Output<A>) => S) {
      const fullKey = hash('sha256', JSON.stringify(['console', ownerKey(owner), action.name, key]));
      const fingerprint = hash('sha256', JSON.stringify([given.params, given.query, given.body]));
      const claim = await claimed(fullKey, fingerprint);
      if (!('claim' in claim)) return JSON.parse(claim.answer) as S;
      try {
        let summary: S | undefined;
        await performed(action, given, async (inside, { status, output }) => {
          summary = summaryOf(output);
          await storeAnswer(inside, claim, { status, answer: JSON.stringify(summary) });
        });
        return summary as S;
      } catch (thrown) {
        await releaseKey(services.database, claim);
        throw thrown;
      }
    },
  };
}
