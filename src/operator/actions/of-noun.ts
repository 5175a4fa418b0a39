import type { Action } from '../action.ts';

/**
 * Where the actions of each noun are declared. A command loads only these: all actions together
 * take 0.3 s of CPU to load. The order is that of the list of all actions.
 */
const modules: Readonly<Record<string, () => Promise<readonly (readonly Action[])[]>>> = {
  account: async () => [
    (await import('./accounts.ts')).accountActions,
    (await import('./counts.ts')).accountCountActions,
  ],
  'account-token': async () => [(await import('./tokens.ts')).tokenActions],
  audit: async () => [(await import('./service.ts')).serviceActions],
  batch: async () => [(await import('./batches.ts')).batchActions],
  blacklist: async () => [(await import('./blacklist.ts')).blacklistActions],
  connector: async () => [
    (await import('./connectors.ts')).connectorActions,
    (await import('./connector-kinds.ts')).connectorKindActions,
    (await import('./counts.ts')).connectorCountActions,
  ],
  contact: async () => [(await import('./contacts.ts')).contactActions, (await import('./files.ts')).fileActions],
  credits: async () => [(await import('./credits.ts')).creditActions],
  event: async () => [(await import('./webhooks.ts')).webhookActions],
  group: async () => [(await import('./groups.ts')).groupActions],
  guard: async () => [(await import('./guard.ts')).guardActions],
  inbox: async () => [
    (await import('./files.ts')).fileActions,
    (await import('./inbox.ts')).inboxActions,
    (await import('./many-messages.ts')).manyMessageActions,
  ],
  message: async () => [
    (await import('./files.ts')).fileActions,
    (await import('./messages.ts')).messageActions,
    (await import('./many-messages.ts')).manyMessageActions,
    (await import('./sending.ts')).sendingActions,
    (await import('./guard.ts')).guardActions,
  ],
  migrate: async () => [
    (await import('../../migration/actions/migration.ts')).migrationActions,
    (await import('../../migration/actions/clients.ts')).migrationClientActions,
    (await import('../../migration/actions/plan.ts')).migrationPlanActions,
  ],
  openapi: async () => [(await import('./service.ts')).serviceActions],
  operator: async () => [(await import('./operators.ts')).operatorActions],
  'outbound-route': async () => [(await import('./outbound-routes.ts')).outboundRouteActions],
  person: async () => [(await import('./persons.ts')).personActions],
  queue: async () => [(await import('./queue.ts')).queueActions],
  retention: async () => [(await import('./retention.ts')).retentionActions],
  route: async () => [(await import('./routes.ts')).routeActions],
  status: async () => [(await import('./service.ts')).serviceActions],
  template: async () => [(await import('./templates.ts')).templateActions],
  token: async () => [(await import('./tokens.ts')).tokenActions],
  unrouted: async () => [(await import('./unrouted.ts')).unroutedActions],
  'user-id': async () => [(await import('./user-ids.ts')).userIdActions],
  webhook: async () => [(await import('./webhooks.ts')).webhookActions],
};

export const isNoun = (word: string): boolean => Object.hasOwn(modules, word);

export const nounOf = (name: string): string => name.split(' ', 1)[0] as string;

export async function actionsOf(noun: string): Promise<Action[]> {
  const found = (await modules[noun]?.()) ?? [];
  return found.flat().filter(({ name }) => nounOf(name) === noun);
}
