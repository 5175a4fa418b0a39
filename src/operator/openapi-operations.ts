import type { Action } from './action.ts';

/** How operations and their schemas are called in clients that are generated from the document. */

/** Names of actions whose words do not read in the order of a function's name. */
const OPERATION_IDS: Readonly<Record<string, string>> = {
  'account sign-in-link': 'createAccountSignInLink',
  'operator sign-in-link': 'createOperatorSignInLink',
  'credits movements': 'listCreditMovements',
  'credits add': 'addCreditMovement',
  'contact import': 'importContacts',
  'contact export': 'exportContacts',
  'blacklist list': 'listBlacklist',
  'blacklist add': 'addToBlacklist',
  'blacklist remove': 'removeFromBlacklist',
  'inbox list': 'listInbox',
  'inbox receive': 'receiveMessage',
  'inbox show': 'showInboxMessage',
  'inbox mark': 'markInboxMessage',
  'inbox remove': 'removeInboxMessage',
  'inbox change-many': 'changeInboxMessages',
  'message export': 'exportSentMessages',
  'message status': 'recordMessageStatus',
  'message change-many': 'changeMessages',
  'message cancel-many': 'cancelMessages',
  'message reschedule': 'rescheduleMessages',
  'message activate': 'activateMessages',
  'unrouted list': 'listUnroutedMessages',
  'unrouted show': 'showUnroutedMessage',
  'unrouted assign': 'assignUnroutedMessage',
  'unrouted replay': 'replayUnroutedMessages',
  'unrouted remove': 'removeUnroutedMessage',
  'queue list': 'listQueue',
  'audit list': 'listAudit',
  'webhook rotate': 'rotateWebhookSecret',
  'webhook attempts': 'listWebhookAttempts',
  'webhook resend': 'resendWebhookEvent',
  'migrate stages': 'listMigrationStages',
  'migrate stage': 'setMigrationStage',
  'migrate default-stage': 'setDefaultMigrationStage',
  'migrate bypassed': 'recordBypassedProxy',
  'migrate report': 'showMigrationReport',
  'migrate accept': 'acceptMigrationOperation',
  'migrate withdraw': 'withdrawMigrationAcceptance',
  'migrate clients': 'listMigrationClients',
  'migrate forget-clients': 'forgetMigrationClients',
  'migrate client-rules': 'listMigrationClientRules',
  'migrate client-rule': 'setMigrationClientRule',
  'migrate remove-client-rule': 'removeMigrationClientRule',
  'migrate next': 'showNextMigrationStep',
  'migrate accounts': 'listMigrationAccounts',
};

/** `account add` is addAccount, and `account list` is listAccounts. */
export function operationId({ name }: Pick<Action, 'name'>): string {
  const [noun = '', verb = 'get'] = name.split(' ');
  const own = capital(camel(noun));
  return OPERATION_IDS[name] ?? (verb === 'list' ? `list${own}s` : camel(verb) + own);
}

/** What a list has items of, where the name of the list does not say it. */
const ITEMS: Readonly<Record<string, string>> = {
  listBlacklist: 'BlacklistEntry',
  listInbox: 'InboxMessage',
  listQueue: 'QueuedMessage',
  listAudit: 'AuditEntry',
};

/** `Account` of listAccounts. */
export const itemName = (id: string): string => ITEMS[id] ?? id.replace(/^list/, '').replace(/s$/, '');

/** The names that the schema of an answer may have, the best one first. */
export function outputNames(id: string): readonly string[] {
  if (id.startsWith('list')) return [`${itemName(id)}Page`];
  const shown = /^(?:show|get)(\w+)$/.exec(id)?.[1];
  return shown === undefined ? [`${capital(id)}Result`] : [shown, `${shown}Details`];
}

export const inputName = (id: string): string => `${capital(id)}Input`;

const camel = (text: string): string => text.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
