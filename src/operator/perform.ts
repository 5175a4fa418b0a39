import { z } from 'zod';
import { notFound, Problem } from '../base/problem.ts';
import { accountId } from '../domain/accounts/accounts.ts';
import { addAuditEntry } from '../domain/accounts/audit.ts';
import type { Database } from '../store/database.ts';
import { joined } from '../store/transactions.ts';
import { type Action, type Input, type Output, type Services, WithStatus } from './action.ts';
import type { Actor, Scope } from './actor.ts';
import { changesBetween, valuesOf } from './audited-changes.ts';
import { type RawInput, readInput, writeCursor } from './input.ts';

/** What an action has done: a status, and JSON or a stream of text. */
export interface Performed<O = unknown> {
  readonly status: number;
  readonly output: O;
  readonly stream?: AsyncIterable<string>;
}

/** Called at the beginning of the transaction of a change, as a part of it. */
export type Begin = (services: Services, input: Input) => Promise<void>;

/** Called at the end of the transaction of a change, as a part of it. */
export type Finish<O = unknown> = (database: Database, performed: Performed<O>) => Promise<void>;

/** Throws Problem `forbidden` if the actor may not use the action. */
export function checkScope(action: Action, actor: Actor): void {
  if (actor.kind === 'command' || actor.kind === 'console operator') return;
  if (actor.kind === 'console account') {
    if (action.accountTokens || action.customers) return;
    throw new Problem('forbidden', 'Only the operator may do this.');
  }
  if (actor.kind === 'account' && !action.accountTokens) {
    throw new Problem('forbidden', 'This needs the token of an operator.');
  }
  if (action.scope !== null && !actor.scopes.includes(action.scope)) {
    throw lacks([action.scope]);
  }
}

/** Checks what the declaration asks of a token besides its scope, for this input. */
function checkNeeds({ needs, needsFactor, endless }: Action, input: Input, actor: Actor): void {
  if (actor.kind === 'command') return;
  if (needsFactor?.(input) && !actor.hasFreshFactor) {
    const ways =
      'an operator in the console who enters a code of the second factor, or by a command on the machine itself';
    throw new Problem('forbidden', `The second factor of an operator can be reset only by ${ways}.`);
  }
  if (actor.kind !== 'operator' && actor.kind !== 'account') return;
  const lacking = needs?.scopes(input).filter((each) => !actor.scopes.includes(each)) ?? [];
  if (lacking.length > 0) throw lacks(lacking);
  if ((actor.expiresAt ?? null) !== null && endless?.isMade(input)) {
    const ways = 'a token that does not expire, the console, or a command on the machine itself';
    throw new Problem('forbidden', `The token expires, but what this creates would not. Use ${ways}.`);
  }
}

const lacks = (lacking: readonly Scope[]): Problem =>
  new Problem('forbidden', `The token lacks the ${lacking.length === 1 ? 'scope' : 'scopes'} ${lacking.join(', ')}.`);

/** Whether the action changes something: it is neither a read nor a dry run. */
export const isChange = (action: Action, input: Input): boolean =>
  action.method !== 'GET' && !action.readsOnly?.(input);

/**
 * Runs an action. A change, its entry in the audit and what `finish` does are one transaction. The
 * database may repeat the transaction after a conflict, so an action has no effect elsewhere.
 */
export async function perform<A extends Action>(
  services: Services,
  action: A,
  raw: RawInput,
  actor: Actor,
  finish: Finish<Output<A>> = async () => {},
  begin: Begin = async () => {},
): Promise<Performed<Output<A>>> {
  checkScope(action, actor);
  const input = readInput(action, raw);
  checkNeeds(action, input, actor);
  const { database } = services;
  const username = action.ofAccount ? (input.params as { username: string }).username : null;
  if (actor.account && actor.account.username !== username) throw unknownAccount(username);
  const id = username === null ? null : await accountId(database, username);

  async function runIn(inside: Database): Promise<Performed<Output<A>>> {
    const own = { ...services, database: inside };
    const given = id === null ? own : { ...own, account: { id, username } };
    await begin(given, input);
    const isAltering = isChange(action, input);
    const before = isAltering ? await valuesOf(given, action, id, input) : null;
    const done = await action.run(given, input, actor);
    const output = done instanceof WithStatus ? done.output : done;
    const status = done instanceof WithStatus ? done.status : action.status;
    if (isAltering || action.auditsReading) {
      const after = before === null ? null : await valuesOf(given, action, id, input);
      await addAuditEntry(inside, {
        at: services.now(),
        actorKind: actor.kind,
        actorName: actor.name,
        tokenId: actor.tokenId,
        address: actor.address,
        action: action.name,
        account: accountOf(input),
        target: action.target?.(input, output) ?? Object.values(raw.params).join('/'),
        fields: isObject(raw.body) ? Object.keys(raw.body) : [],
        changes: changesBetween(before, after),
      });
    }
    const encoded = encodeOutput(action, raw, output) as Output<A>;
    const performed = action.download
      ? { status, output: encoded, stream: output as AsyncIterable<string> }
      : { status, output: encoded };
    await finish(inside, performed);
    return performed;
  }

  if (!isChange(action, input)) return runIn(database);
  const performed = await database.transaction(id, async (queries) => {
    const inside = joined(database, queries);
    // The account may have been removed before the transaction began.
    if (username !== null && (await accountId(inside, username)) !== id) throw unknownAccount(username);
    return runIn(inside);
  });
  services.changed();
  if (action.erases) await database.scrub();
  return performed;
}

const unknownAccount = (username: string | null) => notFound(`account with the username ${username ?? ''}`);

/** The account that a change is about: that of its path, or the one that its input names. */
function accountOf({ params, query, body }: Input): string | null {
  const inQuery = { username: (query as { username?: string }).username };
  const fields = { ...inQuery, ...(isObject(body) ? body : {}), ...params };
  const { username, account } = fields as { username?: string; account?: string };
  return username ?? account ?? null;
}

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Encodes ids as strings, instants as texts, and the position of a list as a cursor. */
function encodeOutput(action: Action, raw: RawInput, output: unknown): unknown {
  if (action.output === null) return null;
  if (action.position === null) return z.encode(action.output, output);
  const { items, next } = output as { items: unknown[]; next: unknown };
  return z.encode(action.output, { items, next: next === null ? null : writeCursor(action, raw, next) });
}
