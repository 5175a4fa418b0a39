import type { contract } from '../contract/contract.ts';
import type { AccountKey, Caller } from '../domain/accounts.ts';
import { Problem } from '../problem.ts';
import { accountHandlers } from './account.ts';
import { composeHandlers } from './compose.ts';
import { inboxHandlers } from './inbox.ts';
import { sentHandlers } from './sent.ts';
import type { Handlers, Services } from './services.ts';

type Contract = typeof contract;

/** Calls an operation of the table with arguments of the table's types. */
export type Operations = (
  call: { group: string; operation: string; arguments: Readonly<Record<string, unknown>> },
  client: string,
) => Promise<{ value: unknown; account: Caller; version: number | undefined }>;

export function createOperations(services: Services): Operations {
  const { accounts, guard } = services;
  const handlers: { readonly [G in keyof Contract]: Handlers<G> } = {
    account: accountHandlers(services),
    inbox: inboxHandlers(services),
    sent: sentHandlers(services),
    compose: composeHandlers(services),
  };
  // The forms decode by the same table that types the handlers, so this one cast holds.
  const untyped = handlers as unknown as Record<
    string,
    Record<string, (account: AccountKey, call: unknown) => Promise<unknown>>
  >;

  return async ({ group, operation, arguments: call }, client) => {
    const handler = untyped[group]?.[operation];
    if (!handler) throw new Error(`No handler for ${group}.${operation}`);
    try {
      const identified = accounts.identify(call.user_id as string | null, client);
      const account = identified instanceof Promise ? await identified : identified;
      if (guard.limitsAccounts) {
        await accounts.confirm(account); // what strangers try is not to be counted as the account's
        await guard.admitAccount(account);
      }
      const value = await perform(account, () => handler(account, call));
      return { value, account, version: account.version };
    } catch (thrown) {
      if (thrown instanceof Problem && thrown.kind === 'denied') await guard.failed(client);
      throw thrown;
    }
  };

  /** Whoever is not known learns nothing else, neither an answer nor what is wrong with an argument. */
  async function perform<T>(account: AccountKey, work: () => Promise<T>): Promise<T> {
    try {
      const value = await work();
      const confirming = accounts.confirm(account);
      if (confirming) await confirming;
      return value;
    } catch (thrown) {
      if (thrown instanceof Problem && thrown.kind === 'bad-argument') await accounts.confirm(account);
      throw thrown;
    }
  }
}
