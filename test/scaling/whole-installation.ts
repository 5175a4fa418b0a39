/** Statements of the whole installation, each with the reason why it looks beyond one account. */

/** Operators sign in as well as holders of accounts. */
export const SIGN_IN = Object.fromEntries(
  `addLink linkByHash deleteLink deleteLinksOf deleteOldLinks addSession sessionByHash sessionsOf
   sessionSeen deleteSessionOf deleteSessionsOf deleteOldSessions factorOf setFactor factorUsed
   deleteFactor addRecoveryCode useRecoveryCode deleteRecoveryCodes countRecoveryCodes failuresOf
   addFailure clearFailures deleteOldFailures`
    .split(/\s+/)
    .map((name) => [`signIn.${name}`, 'operators sign in too']),
);
/** Counts and stages of a migration; a user_id names the account of a call. */
export const MIGRATION = Object.fromEntries(
  'accept acceptances addCounts addState anyLeading behindAccounts countWrites countsSince deleteCountsBefore deleteExamplesBefore dueWriteAccounts examplesSince putExamples setState stageOfUserId stagesAfter stateOf withdrawAcceptance'
    .split(' ')
    .map((name) => [`migrationTraffic.${name}`, 'a migration is of the whole installation'])
    .concat(['putServer', 'server', 'deletions'].map((name) => [`migrated.${name}`, 'of the whole installation'])),
);
