import { html } from '../../base/html.ts';
import { migrationClientRoutes } from '../../migration/screens/clients.ts';
import { migrationRoutes } from '../../migration/screens/migration.ts';
import type { Route } from '../visit.ts';
import { accessPage, ownAccessRoutes } from './access.ts';
import { accountRoutes } from './account.ts';
import { accountListRoutes } from './accounts.ts';
import { auditRoutes } from './audit.ts';
import { blacklistRoutes } from './blacklist.ts';
import { composeRoutes } from './compose.ts';
import { connectorRoutes } from './connectors.ts';
import { contactRoutes } from './contacts.ts';
import { conversationRoutes } from './conversation.ts';
import { creditRoutes } from './credits.ts';
import { groupRoutes } from './groups.ts';
import { importRoutes } from './import.ts';
import { inboxRoutes } from './inbox.ts';
import { holderAccessRoutes } from './keys.ts';
import { messageRoutes } from './message.ts';
import { operatorOverviewRoutes } from './operator-overview.ts';
import { operatorListRoutes } from './operators.ts';
import { overviewRoutes } from './overview.ts';
import { queueRoutes } from './queue.ts';
import { retentionRoutes } from './retention.ts';
import { scheduledRoutes } from './scheduled.ts';
import { sentRoutes } from './sent.ts';
import { templateRoutes } from './templates.ts';
import { tokenRoutes } from './tokens.ts';
import { unroutedRoutes } from './unrouted.ts';
import { webhookRoutes } from './webhooks.ts';

/** Every screen of the holder of an account. Operators see them below the account's name. */
export const holderRoutes: readonly Route[] = [
  overviewRoutes,
  inboxRoutes,
  conversationRoutes,
  sentRoutes,
  messageRoutes,
  scheduledRoutes,
  composeRoutes,
  contactRoutes,
  groupRoutes,
  importRoutes,
  templateRoutes,
  blacklistRoutes,
  creditRoutes,
  holderAccessRoutes,
].flat();

/** Every screen of the operator. */
export const operatorRoutes: readonly Route[] = [
  operatorOverviewRoutes,
  accountListRoutes,
  accountRoutes,
  queueRoutes,
  unroutedRoutes,
  connectorRoutes,
  webhookRoutes,
  auditRoutes,
  retentionRoutes,
  migrationRoutes,
  migrationClientRoutes,
  tokenRoutes,
  operatorListRoutes,
  ownAccessRoutes((visit, problem) => accessPage(visit, html``, problem)),
].flat();
