import type { contract } from '../contract/contract.ts';
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
) => Promise<unknown>;

export function createOperations(services: Services): Operations {
  const handlers: { readonly [G in keyof Contract]: Handlers<G> } = {
    account: accountHandlers(services),
    inbox: inboxHandlers(services),
    sent: sentHandlers(services),
    compose: composeHandlers(services),
  };
  // The forms decode by the same table that types the handlers, so this one cast holds.
  const untyped = handlers as unknown as Record<
    string,
    Record<string, (account: bigint, call: unknown) => Promise<unknown>>
  >;

  return async ({ group, operation, arguments: call }, client) => {
    const handler = untyped[group]?.[operation];
    if (!handler) throw new Error(`No handler for ${group}.${operation}`);
    return handler(await identify(call.user_id as string | null, client), call);
  };

  async function identify(userId: string | null, client: string): Promise<bigint> {
    try {
      return await services.accounts.identify(userId);
    } catch (thrown) {
      if (thrown instanceof Problem && thrown.kind === 'denied') await services.guard.failed(client);
      throw thrown;
    }
  }
}
