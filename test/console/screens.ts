import { isAction } from '../../src/console/acting.ts';

/** Paths of all screens, with the sample data. */
export const HOLDER_SCREENS: readonly string[] = [
  '/console/',
  '/console/inbox',
  '/console/inbox?q=market&state=unread',
  '/console/conversation?with=%2B27825550201',
  '/console/sent',
  '/console/sent?state=failed',
  '/console/messages/2001',
  '/console/scheduled',
  '/console/compose',
  '/console/contacts',
  '/console/contacts/101',
  '/console/groups',
  '/console/import',
  '/console/templates',
  '/console/blacklist',
  '/console/credits',
  '/console/access',
];

export const OPERATOR_SCREENS: readonly string[] = [
  '/console/',
  '/console/accounts',
  '/console/accounts/acme',
  '/console/queue',
  '/console/queue?show=open',
  '/console/unrouted',
  '/console/connectors',
  '/console/audit',
  '/console/retention',
  '/console/tokens',
  '/console/operators',
  '/console/access',
  ...(isAction('webhook list') ? ['/console/webhooks'] : []),
];
