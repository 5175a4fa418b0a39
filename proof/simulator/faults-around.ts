import { fault, type PlantedFault, SENDING } from './planted-fault.ts';

/** Faults of what sending stands on and what is around it. */
export const faultsAround: readonly PlantedFault[] = [
  // Routes, imports and restored backups.
  fault(
    'another way after an accepted part',
    'src/carriers/submissions.ts',
    "if (result.kind === 'accepted' || result.kind === 'unknown-outcome') return undefined;",
    "if (result.kind === 'unknown-outcome') return undefined; if (result.kind === 'accepted') continue;",
  ),
  fault(
    'another way after an unknown outcome',
    `${SENDING}/ways.ts`,
    'known(id).accepted.size === 0 && known(id).unknown.size === 0;',
    'known(id).accepted.size === 0;',
  ),
  fault(
    'an unanswered message leaves its connector',
    `${SENDING}/ways.ts`,
    'const way = accepted.size + unknown.size > 0 ? undefined : nextWay(view, row, at);',
    'const way = accepted.size > 0 ? undefined : nextWay(view, row, at);',
    // It takes a lost answer, a certain refusal and a pause of the same message.
    'test/domain/sending/leave-connector.test.ts',
  ),
  fault(
    'the price of the dearest way is captured',
    `${SENDING}/end.ts`,
    'price === null ? held : parts * price;',
    'price === null ? held : held;',
  ),
  fault(
    'an import holds no credits',
    'src/transfer/archive.ts',
    'await openHeld(queries, account, archive.account.createdAt, BigInt(held));',
    'await openHeld(queries, account, archive.account.createdAt, 0n);',
  ),
  fault(
    'nothing is held after a restore',
    'src/serve/adopt.ts',
    'const held = nothingLost ? 0 : await holdAll(queries, at);',
    'const held = 0;',
  ),
  fault(
    'what is held when it is due goes out',
    `${SENDING}/hold.ts`,
    'reason === HELD_WHEN_DUE;',
    "reason === 'never';",
    // A message has to be brought forward, and sent, between the backup and the restore.
    'test/serve/held-when-due.test.ts',
  ),
  fault(
    'a restore leaves claimed messages',
    `${SENDING}/hold.ts`,
    'await queries.run(attemptSql.setUnknownOutcome, { account, ids: elementsOf(ids) });',
    '',
  ),
  fault(
    'a restore skips no ids',
    'src/serve/adopt.ts',
    'await skipIds(queries, { from: last, to: generation, others });',
    '',
  ),
  // Held messages, new times and the console.
  fault(
    'what the guard stops is not held',
    `${SENDING}/accept.ts`,
    "state: stop ? ('held' as const) : ('waiting' as const),",
    "state: 'waiting' as const,",
  ),
  fault(
    'a refused held message goes out',
    `${SENDING}/decide.ts`,
    "await endRefused({ queries, account, at }, 'refuse', [{ row, reason: REFUSED }]);",
    "await requeue({ queries, account, at }, 'release', [{ row, dueAt: at, reason: RELEASED }]);",
  ),
  fault(
    'a new time leaves the old one in the queue',
    `${SENDING}/dispatch.sql.ts`,
    'update dispatch set due_at = :dueAt, first_due_at = :dueAt, expires_at',
    'update dispatch set first_due_at = :dueAt, expires_at',
  ),
  fault(
    'an erasure leaves what its account has deleted',
    'src/domain/privacy/persons.ts',
    'queued: (await queuedFor(queries, account, isSame)).filter((id) => !listed.has(id)),',
    'queued: [],',
    // An account has to delete a message of unknown outcome, and then the person is erased.
    'test/domain/sending/erase-queued.test.ts',
  ),
  fault(
    'a form that is sent twice is done twice',
    'src/console/acting.ts',
    "JSON.stringify(['console', ownerKey(owner), action.name, key])",
    "JSON.stringify(['console', ownerKey(owner), action.name, key, Math.random()])",
  ),
  // Receiving.
  fault(
    'repeated incoming messages are stored again',
    'src/domain/receiving/incoming.ts',
    'forgetAt: now + ID_KEPT_MS })) === 0;',
    'forgetAt: now + ID_KEPT_MS })) < 0;',
  ),
  fault(
    'the window of repeated texts is gone',
    'src/domain/receiving/incoming.ts',
    'const SAME_WITHIN_MS = 10_000;',
    'const SAME_WITHIN_MS = -1;',
  ),
  fault(
    'the last part is lost',
    'src/domain/receiving/incoming.ts',
    'if (parts.size < total) {',
    'if (parts.size <= total) {',
  ),
  fault(
    'STOP is not heard',
    'src/domain/receiving/incoming.ts',
    "for (const each of word === 'stop' || word === 'start' ? optOutAccounts : []) {",
    "for (const each of word === 'start' ? optOutAccounts : []) {",
  ),
  // Accounts, webhooks, store.
  fault(
    'movements without balances',
    'src/domain/accounts/ledger.ts',
    'if (free !== found.free || used !== found.used) await',
    'if (used !== found.used) await',
  ),
  fault(
    'the answer is not stored with the change',
    'src/operator/api.ts',
    'await storeAnswer(inside, claimed,',
    'await storeAnswer(services.database, claimed,',
  ),
  fault(
    'an idempotency key is released after success',
    'src/domain/accounts/idempotency.ts',
    'found.status === null && (age >= CLAIM_MS || isProcessGone(found.claim))',
    'true',
  ),
  fault(
    'events are settled without an answer',
    'src/domain/webhooks/deliverer.ts',
    'const isDone = status !== null && status >= 200 && status < 300;',
    'const isDone = status === null || status < 300;',
  ),
  fault(
    'a failed event is not tried again',
    'src/domain/webhooks/deliverer.ts',
    'if (isDone || isGone || pauseMs === undefined)',
    'if (isDone || isGone || pauseMs !== undefined)',
  ),
  fault(
    'an erasure leaves what is sent',
    'src/domain/privacy/persons.ts',
    'await deleteSentAmong(queries, account, ids);',
    '',
  ),
  fault(
    'commits are not synced',
    'src/store/sqlite/connection.ts',
    'pragma synchronous = full;',
    'pragma synchronous = off;',
  ),
  fault(
    'a write is answered before its commit',
    'src/store/sqlite/write-queue.ts',
    "connection.exec('commit');\n    } catch",
    "for (const answer of answers.splice(0)) answer(); connection.exec('commit');\n    } catch",
  ),
  fault('a rolled back write is answered', 'src/store/sqlite/write-queue.ts', 'answers.length = 0;\n', ''),
  fault(
    'cached answers outlive writes of other processes',
    'src/store/sqlite/account-versions.ts',
    'if (dataVersion !== lastDataVersion) {',
    'if (dataVersion === -1) {',
  ),
];
