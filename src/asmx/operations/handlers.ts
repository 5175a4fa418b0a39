import { Problem } from '../../base/problem.ts';
import type { HoldBack } from '../../domain/access/admission.ts';
import type { CallOrigin } from '../../domain/accounts/callers.ts';
import type { AccountKey, Caller } from '../../store/caller.ts';
import type { contract } from '../contract/contract.ts';
import { accountHandlers } from './account.ts';
import { composeHandlers } from './compose.ts';
import { inboxHandlers } from './inbox.ts';
import { sentHandlers } from './sent.ts';
import type { Handlers, OperationServices } from './services.ts';

type Contract = typeof contract;

/** Calls an operation of the contract. The arguments have the types that the contract declares. */
export type Operations = (
  call: { group: string; operation: string; arguments: Readonly<Record<string, unknown>> },
  origin: CallOrigin & {
    /** Delays the response to an unknown user_id; without it, the delay is a plain wait. */
    readonly holdBack?: HoldBack | undefined;
  },
) => Promise<{ value: unknown; account: Caller }>;

/** The audit records the calls of operations that delete. */
const isDelete = (operation: string): boolean => operation.startsWith('Delete');

export function createOperations(services: OperationServices): Operations {
  const { accounts, admission } = services;
  const handlers: { readonly [G in keyof Contract]: Handlers<G> } = {
    account: accountHandlers(services),
    inbox: inboxHandlers(services),
    sent: sentHandlers(services),
    compose: composeHandlers(services),
  };
  // Protocols decode by the contract that types the handlers, so this one cast is safe.
  const untyped = handlers as unknown as Record<
    string,
    Record<string, (account: AccountKey, call: unknown) => unknown>
  >;

  const admit = admission.limitsAccounts ? (account: Caller) => admission.admitAccount(account) : undefined;

  return async ({ group, operation, arguments: call }, origin) => {
    const handler = untyped[group]?.[operation];
    if (!handler) throw new Error(`No handler for ${group}.${operation}`);
    const { client, pollId } = origin;
    const from = isDelete(operation) ? { client, pollId, deletes: `${group}.${operation}` } : origin;
    try {
      return await accounts.asCaller(call.user_id as string | null, from, (account) => handler(account, call), admit);
    } catch (thrown) {
      if (thrown instanceof Problem && thrown.kind === 'denied') await admission.failed(origin.client, origin.holdBack);
      throw thrown;
    }
  };
}
