import { migrationClientActions } from '../../migration/actions/clients.ts';
import { migrationActions } from '../../migration/actions/migration.ts';
import { migrationPlanActions } from '../../migration/actions/plan.ts';
import type { Action } from '../action.ts';
import { accountActions } from './accounts.ts';
import { batchActions } from './batches.ts';
import { blacklistActions } from './blacklist.ts';
import { connectorKindActions } from './connector-kinds.ts';
import { connectorActions } from './connectors.ts';
import { contactActions } from './contacts.ts';
import { accountCountActions, connectorCountActions } from './counts.ts';
import { creditActions } from './credits.ts';
import { fileActions } from './files.ts';
import { groupActions } from './groups.ts';
import { guardActions } from './guard.ts';
import { inboxActions } from './inbox.ts';
import { manyMessageActions } from './many-messages.ts';
import { messageActions } from './messages.ts';
import { operatorActions } from './operators.ts';
import { outboundRouteActions } from './outbound-routes.ts';
import { personActions } from './persons.ts';
import { queueActions } from './queue.ts';
import { retentionActions } from './retention.ts';
import { routeActions } from './routes.ts';
import { sendingActions } from './sending.ts';
import { serviceActions } from './service.ts';
import { templateActions } from './templates.ts';
import { tokenActions } from './tokens.ts';
import { unroutedActions } from './unrouted.ts';
import { userIdActions } from './user-ids.ts';
import { webhookActions } from './webhooks.ts';

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
