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
import { guardRoutes } from './accounts/guard.ts';
import { operatorOverviewRoutes } from './accounts/operator-overview.ts';
import { overviewRoutes } from './accounts/overview.ts';
import { retentionRoutes } from './accounts/retention.ts';
import { operatorSearchRoutes } from './accounts/search.ts';
import { webhookRoutes } from './accounts/webhooks.ts';
import { connectorRoutes } from './carriers/connector.ts';
import { connectorListRoutes } from './carriers/connectors.ts';
import { outboundRouteRoutes } from './carriers/outbound-routes.ts';
import { queueRoutes } from './carriers/queue.ts';
import { unroutedRoutes } from './carriers/unrouted.ts';
import { blacklistRoutes } from './contacts/blacklist.ts';
import { contactRoutes } from './contacts/contacts.ts';
import { groupRoutes } from './contacts/groups.ts';
import { importRoutes } from './contacts/import.ts';
import { templateRoutes } from './contacts/templates.ts';
import { eventRoutes } from './events.ts';
import type { IconName } from './icons.ts';
import { batchRoutes } from './messages/batch.ts';
import { composeRoutes } from './messages/compose.ts';
import { conversationRoutes } from './messages/conversation.ts';
import { inboxRoutes } from './messages/inbox.ts';
import { messageRoutes } from './messages/message.ts';
import { scheduledRoutes } from './messages/scheduled.ts';
import { searchRoutes } from './messages/search.ts';
import { sentRoutes } from './messages/sent.ts';
import type { Route } from './page-request.ts';

/** A screen with a name is in the navigation, where its key is the path. */
interface Screen {
  readonly routes: readonly Route[];
  readonly key?: string;
  readonly name?: string;
  readonly icon?: IconName;
  /** The first screen of a group has its title; '' for a group without a title. */
  readonly group?: string;
}

/** Every screen of a customer. Operators see them below the account's name. */
const ofCustomer: readonly Screen[] = [
  { routes: overviewRoutes, key: 'overview', name: 'Overview', icon: 'home', group: '' },
  { routes: conversationRoutes, key: 'conversations', name: 'Conversations', icon: 'chat', group: 'Messages' },
  { routes: eventRoutes },
  { routes: inboxRoutes, key: 'inbox', name: 'Inbox', icon: 'box' },
  { routes: searchRoutes },
  { routes: sentRoutes, key: 'sent', name: 'Sent', icon: 'send' },
  { routes: messageRoutes },
  { routes: batchRoutes },
  { routes: scheduledRoutes, key: 'scheduled', name: 'Scheduled', icon: 'calendar' },
  { routes: composeRoutes },
  { routes: contactRoutes, key: 'contacts', name: 'Contacts', icon: 'people', group: 'People' },
  { routes: groupRoutes, key: 'groups', name: 'Groups', icon: 'group' },
  { routes: importRoutes },
  { routes: blacklistRoutes, key: 'blacklist', name: 'Blacklist', icon: 'block' },
  { routes: templateRoutes, key: 'templates', name: 'Templates', icon: 'page', group: 'Account' },
  { routes: creditRoutes, key: 'credits', name: 'Credits', icon: 'coin' },
  { routes: customerAccessRoutes, key: 'access', name: 'Access', icon: 'key' },
];

/** Every screen of the operator. */
const ofOperator: readonly Screen[] = [
  { routes: operatorOverviewRoutes, key: 'overview', name: 'Overview', icon: 'pulse', group: 'Now' },
  { routes: operatorSearchRoutes },
  { routes: queueRoutes, key: 'queue', name: 'Queue', icon: 'queue' },
  { routes: unroutedRoutes, key: 'unrouted', name: 'Unrouted', icon: 'box' },
  { routes: accountListRoutes, key: 'accounts', name: 'Accounts', icon: 'people', group: 'Accounts' },
  { routes: accountRoutes },
  { routes: guardRoutes },
  { routes: migrationRoutes, key: 'migration', name: 'Migration', icon: 'move' },
  { routes: migrationClientRoutes },
  { routes: connectorListRoutes, key: 'connectors', name: 'Connectors', icon: 'plug', group: 'Carriers' },
  { routes: connectorRoutes },
  { routes: outboundRouteRoutes, key: 'outbound-routes', name: 'Routes', icon: 'move' },
  { routes: webhookRoutes, key: 'webhooks', name: 'Webhooks', icon: 'hook', group: 'Service' },
  { routes: auditRoutes, key: 'audit', name: 'Audit', icon: 'log' },
  { routes: retentionRoutes, key: 'retention', name: 'Retention', icon: 'shield' },
  { routes: tokenRoutes, key: 'tokens', name: 'Tokens', icon: 'key' },
  { routes: operatorListRoutes, key: 'operators', name: 'Operators', icon: 'user' },
  {
    routes: ownAccessRoutes((request, problem) => accessPage(request, html``, problem)),
    key: 'access',
    name: 'Access',
    icon: 'key',
  },
];

export const customerRoutes = ofCustomer.flatMap(({ routes }) => routes);
export const operatorRoutes = ofOperator.flatMap(({ routes }) => routes);

export interface MenuItem {
  readonly key: string;
  readonly name: string;
  readonly icon: IconName;
}
export interface MenuGroup {
  readonly name: string;
  readonly items: readonly MenuItem[];
}

/** The screens of the navigation in their groups. */
function menuOf(screens: readonly Screen[]): MenuGroup[] {
  const groups: { name: string; items: MenuItem[] }[] = [];
  for (const { key, name, icon, group } of screens) {
    if (key === undefined || name === undefined || icon === undefined) continue;
    if (group !== undefined) groups.push({ name: group, items: [] });
    groups.at(-1)?.items.push({ key, name, icon });
  }
  return groups;
}
export const menus = { customer: menuOf(ofCustomer), operator: menuOf(ofOperator) };

/** The names of screens by their keys, in the order of the navigation. */
const namesOf = (groups: readonly MenuGroup[]): ReadonlyMap<string, string> =>
  new Map(groups.flatMap(({ items }) => items.map(({ key, name }) => [key, name] as const)));
export const navigation = { customer: namesOf(menus.customer), operator: namesOf(menus.operator) };
