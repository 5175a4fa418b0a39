/** Statements of the whole installation, each with the reason why it looks beyond one account. */

/** Operators sign in as well as customers. */
export const SIGN_IN = Object.fromEntries(
  `addLink linkByHash deleteLink deleteLinksOf deleteOldLinks addSession sessionByHash sessionsOf
   sessionSeen deleteSessionOf deleteSessionsOf deleteOldSessions factorOf setFactor factorUsed
   deleteFactor addRecoveryCode useRecoveryCode deleteRecoveryCodes countRecoveryCodes failuresOf
   addFailure clearFailures deleteOldFailures deleteAllSessions deleteAllLinks`
    .split(/\s+/)
    .map((name) => [`signIn.${name}`, 'operators sign in too']),
);
/** Statements that only their file uses. */
export const UNEXPORTED =
  `accounts.addToDirectory accounts.idByName accounts.setDisabledInDirectory accounts.setNetworksInDirectory database.encoding
   database.place schema.recordVersion schema.state sqlite.changesFrom sqlite.markCopy userIds.renewVersion`.split(
    /\s+/,
  );
export const RESTORE: Readonly<Record<string, string>> = {
  'idempotency.voidClaims': 'a key belongs to a token',
  'installation.put': 'there is one row for the installation',
  'installation.read': 'there is one row for the installation',
  'installation.skipIds': 'a restore is of all accounts',
  'sending.dueLater': 'a restore is of all accounts',
  'sending.firstHeldThen': 'a restore is of all accounts',
  'sending.mayHaveLeft': 'a restore is of all accounts',
};
/** Counts and stages of a migration; a user_id names the account of a call. */
export const MIGRATION = Object.fromEntries(
  'accept acceptances addCounts addState anyLeading anyState behindAccounts countWrites countsNamed countsSince deleteCountsBefore deleteExamplesBefore dueWriteAccounts examplesSince putExamples setState stageOfUserId stagesAfter stateOf withdrawAcceptance'
    .split(' ')
    .map((name) => [`migrationTraffic.${name}`, 'a migration is of the whole installation'])
    .concat(
      'add known count countOfAccounts knownUserIds after calls summary countBefore deleteBefore deleteAt deleteOf deleteUnknown'
        .split(' ')
        .map((name) => [`migrationClients.${name}`, 'a client of the old server may be of no account']),
    )
    .concat(
      'all put remove addDefaultChange defaultChanges stagesOfAll stageOfName servers'
        .split(' ')
        .map((name) => [`migrationRules.${name}`, 'a migration is of the whole installation']),
    )
    .concat(['putServer', 'server', 'deletions'].map((name) => [`migrated.${name}`, 'of the whole installation'])),
);
/** Tables of a migration that every node has whole. */
export const MIGRATION_KEYS = `migrated_server: primary key (url); migration_acceptance: primary key (operation);
      migration_client: index (address); migration_client: index (last_at); migration_client: index (user_id_hash);
      migration_client: primary key (account_name, agent, address, operation, protocol);
      migration_client_rule: primary key (name);
      migration_count: primary key (day, operation, protocol, name); migration_default_change: primary key (changed_at); migration_example: index (at);
      migration_example: primary key (operation, protocol, name, slot); migration_stage: index (stage);
      migration_state: primary key (name)`.split(/;\s+/);

/** Connectors and outbound routes belong to the installation, not to an account. */
export const CONNECTORS: Readonly<Record<string, string>> = {
  'connectors.addCounts': 'connectors belong to the installation',
  'connectors.addToHour': 'connectors belong to the installation',
  'connectors.hoursSince': 'connectors belong to the installation',
  'connectors.removeHours': 'connectors belong to the installation',
  'connectors.all': 'connectors belong to the installation',
  'connectors.byName': 'connectors belong to the installation',
  'connectors.correctPermits': 'connectors belong to the installation',
  'connectors.forClaim': 'a connector belongs to the installation',
  'connectors.onlyDefault': 'connectors belong to the installation',
  'connectors.put': 'connectors belong to the installation',
  'connectors.remove': 'connectors belong to the installation',
  'connectors.setDown': 'connectors belong to the installation',
  'connectors.setDownReason': 'connectors belong to the installation',
  'connectors.setPaused': 'connectors belong to the installation',
  'connectors.setSendsReceipts': 'connectors belong to the installation',
  'connectors.setUnreadAnswer': 'connectors belong to the installation',
  'connectors.setUp': 'connectors belong to the installation',
  'connectors.takePermits': 'connectors belong to the installation',
  'connectors.inUse': 'the operator removes a connector that no account names',
  'connectors.avoid': 'connectors belong to the installation',
  'connectors.tryDown': 'connectors belong to the installation',
  'connectors.wayStates': 'connectors belong to the installation',
  'outboundRoutes.addCounts': 'outbound routes belong to the installation',
  'outboundRoutes.all': 'outbound routes belong to the installation',
  'outboundRoutes.counts': 'outbound routes belong to the installation',
  'outboundRoutes.put': 'outbound routes belong to the installation',
  'outboundRoutes.remove': 'outbound routes belong to the installation',
  'outboundRoutes.removeCounts': 'outbound routes belong to the installation',
  'outboundRoutes.rules': 'outbound routes belong to the installation',
  'outboundRoutes.withPools': 'outbound routes belong to the installation',
  'queue.heldAfter': 'the operator looks at messages of all accounts',
  'queue.restoredAfter': 'the operator looks at messages of all accounts',
  'sending.awaited': 'the operator removes a connector for which no message waits',
  'sending.dueOfWay': 'it looks for messages of a connector that takes none, whosever they are',
  'spending.count': 'all rows of its list belong to the account that it is given',
  'spending.counted': 'all rows of its list belong to the account that it is given',
  'senders.keep': 'all rows of its list belong to the account that it is given',
  'senders.known': 'all rows of its list belong to the account that it is given',
  'senders.nextAccount': 'maintenance forgets the choices of one account after the other',
};
/** What a restore has lost is of all accounts; a row of carrier_query names an attempt, not an account. */
export const QUERIES = Object.fromEntries(
  'waitingForReceipts addQueries clearQueries nextQueryAt takeQuery withGatewayId removeSharing putOffQuery removeQuery removeQueriesOf'
    .split(' ')
    .map((name) => [`receipts.${name}`, 'a restore is of all accounts']),
);
