import { html } from '../base/html.ts';
import { migrationClientRoutes } from '../migration/screens/clients.ts';
import { migrationRoutes } from '../migration/screens/migration.ts';
import { accessPage, ownAccessRoutes } from './access/access.ts';
import { customerAccessRoutes } from './access/keys.ts';
import { operatorListRoutes } from './access/operators.ts';
import { tokenRoutes } from './access/tokens.ts';
import { accountRoutes } from './accounts/account.ts';
import { accountListRoutes } from './accounts/accounts.ts';
import { auditRoutes } from './accounts/audit.ts';
import { creditRoutes } from './accounts/credits.ts';
import { operatorOverviewRoutes } from './accounts/operator-overview.ts';
import { overviewRoutes } from './accounts/overview.ts';
import { retentionRoutes } from './accounts/retention.ts';
import { webhookRoutes } from './accounts/webhooks.ts';
import { connectorRoutes } from './carriers/connectors.ts';
import { queueRoutes } from './carriers/queue.ts';
import { unroutedRoutes } from './carriers/unrouted.ts';
import { blacklistRoutes } from './contacts/blacklist.ts';
import { contactRoutes } from './contacts/contacts.ts';
import { groupRoutes } from './contacts/groups.ts';
import { importRoutes } from './contacts/import.ts';
import { templateRoutes } from './contacts/templates.ts';
import { composeRoutes } from './messages/compose.ts';
import { conversationRoutes } from './messages/conversation.ts';
import { inboxRoutes } from './messages/inbox.ts';
import { messageRoutes } from './messages/message.ts';
import { scheduledRoutes } from './messages/scheduled.ts';
import { sentRoutes } from './messages/sent.ts';
import type { Route } from './page-request.ts';

/** A screen with a name is in the navigation, where its key is the path. */
interface Screen {
  readonly routes: readonly Route[];
  readonly key?: string;
  readonly name?: string;
}

/** Every screen of a customer. Operators see them below the account's name. */
const ofCustomer: readonly Screen[] = [
  { routes: overviewRoutes, key: 'overview', name: 'Overview' },
  { routes: inboxRoutes, key: 'inbox', name: 'Inbox' },
  { routes: conversationRoutes },
  { routes: sentRoutes, key: 'sent', name: 'Sent' },
  { routes: messageRoutes },
  { routes: scheduledRoutes, key: 'scheduled', name: 'Scheduled' },
  { routes: composeRoutes, key: 'compose', name: 'Compose' },
  { routes: contactRoutes, key: 'contacts', name: 'Contacts' },
  { routes: groupRoutes, key: 'groups', name: 'Groups' },
  { routes: importRoutes },
  { routes: templateRoutes, key: 'templates', name: 'Templates' },
  { routes: blacklistRoutes, key: 'blacklist', name: 'Blacklist' },
  { routes: creditRoutes, key: 'credits', name: 'Credits' },
  { routes: customerAccessRoutes, key: 'access', name: 'Access' },
];

/** Every screen of the operator. */
const ofOperator: readonly Screen[] = [
  { routes: operatorOverviewRoutes, key: 'overview', name: 'Overview' },
  { routes: accountListRoutes, key: 'accounts', name: 'Accounts' },
  { routes: accountRoutes },
  { routes: queueRoutes, key: 'queue', name: 'Queue' },
  { routes: unroutedRoutes, key: 'unrouted', name: 'Unrouted' },
  { routes: connectorRoutes, key: 'connectors', name: 'Connectors' },
  { routes: webhookRoutes, key: 'webhooks', name: 'Webhooks' },
  { routes: auditRoutes, key: 'audit', name: 'Audit' },
  { routes: retentionRoutes, key: 'retention', name: 'Retention' },
  { routes: migrationRoutes, key: 'migration', name: 'Migration' },
  { routes: migrationClientRoutes },
  { routes: tokenRoutes, key: 'tokens', name: 'Tokens' },
  { routes: operatorListRoutes, key: 'operators', name: 'Operators' },
  {
    routes: ownAccessRoutes((request, problem) => accessPage(request, html``, problem)),
    key: 'access',
    name: 'Access',
  },
];

export const customerRoutes = ofCustomer.flatMap(({ routes }) => routes);
export const operatorRoutes = ofOperator.flatMap(({ routes }) => routes);

/** The names of screens by their keys, in the order of the navigation. */
const namesOf = (screens: readonly Screen[]): ReadonlyMap<string, string> =>
  new Map(screens.flatMap(({ key, name }) => (key === undefined || name === undefined ? [] : [[key, name] as const])));
export const navigation = { customer: namesOf(ofCustomer), operator: namesOf(ofOperator) };
