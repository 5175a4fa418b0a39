import type { Action } from '../action.ts';

/**
 * Where the actions of each noun are declared. A command loads only these: all actions together
 * take 0.3 s of CPU to load. The order is that of the list of all actions.
 */
const modules: Readonly<Record<string, () => Promise<readonly (readonly Action[])[]>>> = {
  account: async () => [
    (await import('./accounts/accounts.ts')).accountActions,
    (await import('./accounts/counts.ts')).accountCountActions,
  ],
  'account-token': async () => [(await import('./access/tokens.ts')).tokenActions],
  audit: async () => [(await import('./accounts/service.ts')).serviceActions],
  batch: async () => [(await import('./messages/batches.ts')).batchActions],
  blacklist: async () => [(await import('./contacts/blacklist.ts')).blacklistActions],
  connector: async () => [
    (await import('./carriers/connectors.ts')).connectorActions,
    (await import('./carriers/connector-kinds.ts')).connectorKindActions,
    (await import('./accounts/counts.ts')).connectorCountActions,
  ],
  contact: async () => [
    (await import('./contacts/contacts.ts')).contactActions,
    (await import('./contacts/files.ts')).fileActions,
  ],
  credits: async () => [(await import('./accounts/credits.ts')).creditActions],
  event: async () => [(await import('./accounts/webhooks.ts')).webhookActions],
  group: async () => [(await import('./contacts/groups.ts')).groupActions],
  guard: async () => [(await import('./accounts/guard.ts')).guardActions],
  inbox: async () => [
    (await import('./contacts/files.ts')).fileActions,
    (await import('./messages/inbox.ts')).inboxActions,
    (await import('./messages/many-messages.ts')).manyMessageActions,
  ],
  message: async () => [
    (await import('./contacts/files.ts')).fileActions,
    (await import('./messages/messages.ts')).messageActions,
    (await import('./messages/many-messages.ts')).manyMessageActions,
    (await import('./messages/sending.ts')).sendingActions,
    (await import('./accounts/guard.ts')).guardActions,
  ],
  migrate: async () => [
    (await import('../../migration/actions/migration.ts')).migrationActions,
    (await import('../../migration/actions/clients.ts')).migrationClientActions,
    (await import('../../migration/actions/plan.ts')).migrationPlanActions,
  ],
  openapi: async () => [(await import('./accounts/service.ts')).serviceActions],
  operator: async () => [(await import('./access/operators.ts')).operatorActions],
  'outbound-route': async () => [(await import('./carriers/outbound-routes.ts')).outboundRouteActions],
  person: async () => [(await import('./accounts/persons.ts')).personActions],
  queue: async () => [(await import('./carriers/queue.ts')).queueActions],
  retention: async () => [(await import('./accounts/retention.ts')).retentionActions],
  route: async () => [(await import('./carriers/routes.ts')).routeActions],
  status: async () => [(await import('./accounts/service.ts')).serviceActions],
  template: async () => [(await import('./contacts/templates.ts')).templateActions],
  token: async () => [(await import('./access/tokens.ts')).tokenActions],
  unrouted: async () => [(await import('./carriers/unrouted.ts')).unroutedActions],
  'user-id': async () => [(await import('./access/user-ids.ts')).userIdActions],
  webhook: async () => [(await import('./accounts/webhooks.ts')).webhookActions],
};

export const isNoun = (word: string): boolean => Object.hasOwn(modules, word);

export const nounOf = (name: string): string => name.split(' ', 1)[0] as string;

export async function actionsOf(noun: string): Promise<Action[]> {
  const found = (await modules[noun]?.()) ?? [];
  return found.flat().filter(({ name }) => nounOf(name) === noun);
}
