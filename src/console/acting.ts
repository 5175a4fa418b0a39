import { hash } from 'node:crypto';
import { Problem } from '../base/problem.ts';
import type { Progress } from '../base/progress.ts';
import { type Owner, ownerKey } from '../domain/access/owners.ts';
import { claimKey, releaseKey, storeAnswer } from '../domain/accounts/idempotency.ts';
import { type Action, type Actor, type Services, scopes } from '../operator/action.ts';
import { actions } from '../operator/actions/all.ts';
import { type Performed, perform } from '../operator/perform.ts';

/** The operator's actions, done by somebody who is signed in to the console. Each is audited. */
export interface Given {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly upload?: Uint8Array;
  /** Is told how far it has come. */
  readonly progress?: Progress;
  /** The operator has given a code of the second factor with this form. */
  readonly hasFreshFactor?: boolean;
}

export interface Acting {
  /** The output as JSON has it: ids and credits as texts, instants as RFC 3339. */
  run<T>(name: string, given?: Given): Promise<T>;
  /** With the status of success, where it tells something: 200 for what was there already. */
  full<T>(name: string, given?: Given): Promise<{ readonly status: number; readonly output: T }>;
  download(name: string, given?: Given): Promise<AsyncIterable<string>>;
  /**
   * Runs it once for a key: repeated, it answers the first summary again. The summary is kept for a
   * day, so it holds no number and no text of a message.
   */
  once<T, S>(key: string, name: string, given: Given, summaryOf: (output: T) => S): Promise<S>;
}

const byName = new Map(actions.map((action) => [action.name, action]));
export const isAction = (name: string): boolean => byName.has(name);

function actionOf(name: string): Action {
  const action = byName.get(name);
  if (!action) throw new Problem('not-found', 'This service cannot do that yet.');
  return action;
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
  const performed = (name: string, given: Given, finish?: Parameters<typeof perform>[4]): Promise<Performed> => {
    const { params = {}, query = {}, body, upload = new Uint8Array() } = given;
    const told = given.progress ? { ...services, progress: given.progress } : services;
    const acting = given.hasFreshFactor ? { ...actor, hasFreshFactor: true } : actor;
    return perform(told, actionOf(name), { params, query, body, upload }, acting, finish);
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
    run: async <T>(name: string, given: Given = {}) => (await performed(name, given)).output as T,
    async full<T>(name: string, given: Given = {}) {
      const { status, output } = await performed(name, given);
      return { status, output: output as T };
    },
    async download(name, given = {}) {
      const { stream } = await performed(name, given);
      if (!stream) throw new Error(`${name} is no download`);
      return stream;
    },
    async once<T, S>(key: string, name: string, given: Given, summaryOf: (output: T) => S): Promise<S> {
      const fullKey = hash('sha256', JSON.stringify(['console', ownerKey(owner), name, key]));
      const fingerprint = hash('sha256', JSON.stringify([given.params, given.query, given.body]));
      const claim = await claimed(fullKey, fingerprint);
      if (!('claim' in claim)) return JSON.parse(claim.answer) as S;
      try {
        let summary: S | undefined;
        await performed(name, given, async (inside, { status, output }) => {
          summary = summaryOf(output as T);
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
