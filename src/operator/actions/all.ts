import { migrationClientActions } from '../../migration/actions/clients.ts';
import { migrationActions } from '../../migration/actions/migration.ts';
import { migrationPlanActions } from '../../migration/actions/plan.ts';
import type { Action } from '../action.ts';
import { operatorActions } from './access/operators.ts';
import { tokenActions } from './access/tokens.ts';
import { userIdActions } from './access/user-ids.ts';
import { accountActions } from './accounts/accounts.ts';
import { accountCountActions, connectorCountActions } from './accounts/counts.ts';
import { creditActions } from './accounts/credits.ts';
import { guardActions } from './accounts/guard.ts';
import { personActions } from './accounts/persons.ts';
import { retentionActions } from './accounts/retention.ts';
import { serviceActions } from './accounts/service.ts';
import { webhookActions } from './accounts/webhooks.ts';
import { connectorKindActions } from './carriers/connector-kinds.ts';
import { connectorActions } from './carriers/connectors.ts';
import { outboundRouteActions } from './carriers/outbound-routes.ts';
import { queueActions } from './carriers/queue.ts';
import { routeActions } from './carriers/routes.ts';
import { unroutedActions } from './carriers/unrouted.ts';
import { blacklistActions } from './contacts/blacklist.ts';
import { contactActions } from './contacts/contacts.ts';
import { fileActions } from './contacts/files.ts';
import { groupActions } from './contacts/groups.ts';
import { templateActions } from './contacts/templates.ts';
import { batchActions } from './messages/batches.ts';
import { inboxActions } from './messages/inbox.ts';
import { manyMessageActions } from './messages/many-messages.ts';
import { messageActions } from './messages/messages.ts';
import { sendingActions } from './messages/sending.ts';

/** Every action. The API, the reference, the commands and their tests go through this list. */
export const actions: readonly Action[] = [
  accountActions,
  accountCountActions,
  userIdActions,
  creditActions,
  groupActions,
  contactActions,
  fileActions,
  templateActions,
  blacklistActions,
  inboxActions,
  messageActions,
  manyMessageActions,
  batchActions,
  sendingActions,
  guardActions,
  outboundRouteActions,
  routeActions,
  unroutedActions,
  personActions,
  retentionActions,
  operatorActions,
  connectorActions,
  connectorKindActions,
  connectorCountActions,
  queueActions,
  tokenActions,
  webhookActions,
  migrationActions,
  migrationClientActions,
  migrationPlanActions,
  serviceActions,
].flat();
