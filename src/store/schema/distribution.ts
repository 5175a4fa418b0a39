/**
 * How each table is stored where the database is distributed over several machines (Citus).
 *
 * account: its rows are spread by `account_id`, and all rows of an account are on one node.
 * reference: every node has a copy. For small tables that calls of every account read, and that
 * are unique over all accounts. A write goes to all nodes.
 * local: only on the coordinator. What belongs to the installation and to no account.
 *
 * A migration that creates a table adds it here; a test fails for a table without an entry.
 */
export type Distribution = 'account' | 'reference' | 'local';

export const distribution: Readonly<Record<string, Distribution>> = {
  account: 'account',
  // A view, until the database is distributed: see below.
  account_directory: 'reference',
  credential: 'reference',
  contact_group: 'account',
  contact: 'account',
  template: 'account',
  blocked_number: 'account',
  received: 'account',
  unread_message: 'account',
  sent: 'account',
  scheduled: 'account',
  tally: 'account',
  id_counter: 'account',
  ledger: 'account',
  movement: 'account',
  history: 'account',
  gateway_message: 'account',
  dispatch: 'account',
  dispatch_account: 'account',
  attempt: 'account',
  account_hour: 'account',
  batch: 'account',
  message_draft: 'account',
  spend_guard: 'account',
  spend_count: 'account',
  sender_choice: 'account',
  user_id_use: 'account',
  search_entry: 'account',
  search_change: 'account',
  search_backfill: 'account',
  conversation: 'account',
  migrated_account: 'account',
  taken_message: 'account',
  migration_write: 'account',
  migration_stage_change: 'account',
  outbound_route: 'reference',
  operator_token: 'local',
  audit: 'local',
  idempotency: 'local',
  retention: 'local',
  carrier_connector: 'local',
  connector_hour: 'local',
  outbound_count: 'local',
  route: 'local',
  unrouted: 'local',
  incoming_once: 'local',
  held_incoming: 'local',
  held_receipt: 'local',
  receipt_watch: 'local',
  carrier_query: 'local',
  operator: 'local',
  sign_in_link: 'local',
  session: 'local',
  second_factor: 'local',
  recovery_code: 'local',
  sign_in_failure: 'local',
  webhook: 'local',
  webhook_delivery: 'local',
  webhook_attempt: 'local',
  migrated_server: 'local',
  migration_stage: 'local',
  migration_state: 'local',
  migration_count: 'local',
  migration_example: 'local',
  migration_acceptance: 'local',
  migration_client: 'local',
  migration_client_rule: 'local',
  migration_default_change: 'local',
  installation: 'local',
  schema_version: 'local',
};

/** Undefined for a table of another program, also if it is called `constructor`. */
export const distributionOf = (table: string): Distribution | undefined =>
  Object.hasOwn(distribution, table) ? distribution[table] : undefined;

/**
 * What has to be known of an account before one knows where it is, and what lists of the
 * installation show of it. A view of `account`, which costs nothing. On a distributed database it
 * is a table of which every node has a copy, so a user_id is found and a username is unique without
 * a question to the node of the account.
 */
export const accountDirectory = `
  create view account_directory as select account_id, username, disabled_at, allowed_networks from account;
`;
