import { faultsAround } from './faults-around.ts';
import { fault, KNOWN_PARTS, type PlantedFault, SENDING } from './planted-fault.ts';

/** Of sending; the others are in faults-around.ts. */
export const plantedFaults: readonly PlantedFault[] = [
  // Five that an earlier suite did not find.
  // An answer has to come in the half minute in which the message is submitted again, 17 minutes later.
  fault('fence not checked', `${SENDING}/settle.ts`, '?.fence === message.fence', ' !== undefined', KNOWN_PARTS),
  fault(
    'credits.low at every debit',
    'src/domain/accounts/ledger.ts',
    'found.free >= threshold && free < threshold',
    'free < threshold && free < found.free',
  ),
  fault(
    'the last credits cannot be used',
    `${SENDING}/accept.ts`,
    'balances.free < credits)',
    'balances.free <= credits)',
  ),
  fault(
    'requeue raises work for open decisions',
    `${SENDING}/end.ts`,
    "if (state === 'needs-decision') return;",
    '',
    // It costs a write, and changes nothing that anybody sees.
    'test/domain/sending/requeue.test.ts',
  ),
  fault(
    'a sign-in link redeemed twice',
    'src/domain/access/sign-in.ts',
    '{ hash: linkHash(token) })) === 0) throw wrongLink();',
    '{ hash: linkHash(token) })) < 0) throw wrongLink();',
    // SQLite runs one transaction after the other, so only PostgreSQL has the race.
    'test/domain/access/sign-in.test.ts',
  ),
  // Accepting.
  fault(
    'credits are not checked',
    `${SENDING}/accept.ts`,
    'if (credits > 0n && balances.free < credits)',
    'if (credits < 0n)',
  ),
  fault(
    'hold forgotten',
    `${SENDING}/accept.ts`,
    "const sides = { kind: 'hold', from: 'free', to: 'held' } as const;",
    "const sides = { kind: 'hold', from: 'free', to: 'free' } as const;",
  ),
  fault(
    'hold of one credit for any number of parts',
    `${SENDING}/accept.ts`,
    'messages.map(({ id, credits: amount }) => ({ ...sides, amount, messageId: id })),',
    'messages.map(({ id }) => ({ ...sides, amount: 1n, messageId: id })),',
  ),
  fault(
    'the blacklist is not asked at accept and claim',
    'src/domain/contacts/blacklist.ts',
    'if (numbers.length === 0) return new Set();',
    'if (numbers.length >= 0) return new Set();',
  ),
  fault(
    'quiet hours do not shift',
    `${SENDING}/quiet-hours.ts`,
    'if (!isWithin(minute, from, to)) return at;',
    'if (!isWithin(minute, from, to) || at > 0) return at;',
  ),
  fault('sendAt is ignored', `${SENDING}/accept.ts`, 'Math.max(given.sendAt ?? at, at)', 'at'),
  fault(
    'notAfter is not stored',
    `${SENDING}/accept.ts`,
    'expiresAt: notAfter ?? dueAt + tryForMs, carrierFields',
    'expiresAt: dueAt + tryForMs, carrierFields',
  ),
  fault(
    'work is not raised at accept',
    `${SENDING}/accept.ts`,
    'await queries.run(sql.raiseWork, { account, way, dueAt });',
    'await queries.run(sql.raiseWork, { account, way, dueAt: dueAt + 1e13 });',
  ),
  // Claiming.
  fault(
    'a claim takes what is not due',
    `${SENDING}/dispatch.sql.ts`,
    "way = :way and state = 'waiting' and due_at <= :now\n     order by",
    "way = :way and state = 'waiting' and due_at <= :now + 100000\n     order by",
  ),
  fault(
    'a claim takes what is submitting',
    `${SENDING}/dispatch.sql.ts`,
    "way = :way and state = 'waiting' and due_at <= :now\n     order by",
    "way = :way and (state = 'submitting' or state = 'waiting' and due_at <= :now)\n     order by",
  ),
  fault(
    'the fence does not grow',
    `${SENDING}/dispatch.sql.ts`,
    'connector = :connector, fence = fence + 1',
    'connector = :connector, fence = fence',
    KNOWN_PARTS,
  ),
  fault(
    'a pause is not seen by claims',
    `${SENDING}/claim.ts`,
    'if (row && row.paused_at !== null) return [];',
    'if (row && row.paused_at === 0n) return [];',
  ),
  fault(
    'disabled accounts are served',
    `${SENDING}/dispatch.sql.ts`,
    'where account.disabled_at is null\n',
    'where account.account_id is not null\n',
    // The index of due accounts leaves them out already, so an account has to be disabled between two statements.
    'test/domain/sending/sending-faults.test.ts',
  ),
  fault(
    'quiet hours are not looked at by claims',
    `${SENDING}/claim.ts`,
    'if (quietUntil > at) {',
    'if (quietUntil > at + 1e12) {',
  ),
  fault(
    'opt-outs are not looked at by claims',
    `${SENDING}/claim.ts`,
    'const claimed = await endOptedOut(transaction, region, open);',
    'const claimed = open;',
  ),
  fault(
    'opt-outs are not looked at before a part leaves',
    'src/carriers/opt-out-check.ts',
    'return optedOut.has(message) ? WITHHELD : null;',
    'return optedOut.has(message) ? null : null;',
  ),
  fault(
    'expired messages are submitted',
    `${SENDING}/expire.ts`,
    '({ expires_at }) => Number(expires_at) <= transaction.at',
    '({ expires_at }) => Number(expires_at) < 0',
  ),
  fault(
    'parts that a carrier has are submitted again',
    `${SENDING}/claim.ts`,
    '.filter((number) => !accepted.has(number))',
    '',
  ),
  fault(
    'a lost lease is submitted again',
    `${SENDING}/claim.ts`,
    "const isTriedAgain = ({ row }: { row: sql.DispatchRow }) => policy === 'submit-again' && ",
    'const isTriedAgain = ({ row }: { row: sql.DispatchRow }) => ',
  ),
  fault(
    'the policy never submits again',
    `${SENDING}/claim.ts`,
    "policy === 'submit-again' && Number(row.expires_at) > at",
    "policy === 'never' && Number(row.expires_at) > at",
  ),
  fault(
    'a lease that ran out is not marked',
    `${SENDING}/claim.ts`,
    "const lost = rows.filter(({ state }) => state === 'submitting');",
    "const lost = rows.filter(({ state }) => state === 'waiting');",
  ),
  fault('the lease ends at once', `${SENDING}/claim.ts`, 'leaseUntil: at + settings.leaseMs', 'leaseUntil: at'),
  fault(
    'attempts are not written',
    `${SENDING}/claim.ts`,
    'await queries.runAll(attemptSql.add, attemptsOf(claimed, connector, at));',
    'await queries.runAll(attemptSql.add, attemptsOf(claimed.slice(1), connector, at));',
  ),
  // Submitting and settling.
  fault(
    'no answer counts as a temporary refusal',
    'src/carriers/submissions.ts',
    "    if (result.kind === 'unknown-outcome')\n",
    "    if (result.kind === 'unknown-outcome') return { kind: 'waiting', dueAt: now + 1_000, reason: 'again' };\n    if (result.kind === 'unknown-outcome')\n",
  ),
  fault(
    'a temporary refusal rejects',
    'src/carriers/submissions.ts',
    "if (result.kind === 'permanent') return",
    "if (result.kind !== 'accepted') return",
  ),
  fault(
    'a permanent refusal is tried again',
    'src/carriers/submissions.ts',
    "if (result.kind === 'permanent') return { kind: 'rejected', reason: reasonOf(result) };",
    '',
  ),
  fault(
    'a retry outlives its end',
    'src/carriers/submissions.ts',
    'dueAt: Math.min(now + delay, expiresAt)',
    'dueAt: now + delay',
  ),
  fault(
    'capture twice',
    `${SENDING}/settle.ts`,
    'captured: creditsForAll(row), detail: null',
    'captured: creditsForAll(row) * 2n, detail: null',
  ),
  fault(
    'nothing is captured',
    `${SENDING}/settle.ts`,
    'captured: creditsForAll(row), detail: null',
    'captured: 0n, detail: null',
  ),
  fault(
    'release forgotten',
    `${SENDING}/end.ts`,
    'if (rest.length > 0) await releaseHeld(transaction, rest, reason);',
    '',
  ),
  fault('captured and released', `${SENDING}/end.ts`, 'held_parts: held - captured', 'held_parts: held'),
  fault(
    'an opt-out while a message is claimed is forgotten',
    `${SENDING}/settle.ts`,
    'if (ids.length > 0) await onWaiting?.(transaction, ids);',
    '',
  ),
  fault(
    'late answers are ignored',
    `${SENDING}/settle.ts`,
    'await settleLate(transaction, settlements, new Set(current), rows);',
    '',
  ),
  fault(
    'gateway ids are not stored',
    `${SENDING}/attempts.sql.ts`,
    'gateway_id = coalesce(settled.gateway_id, attempt.gateway_id)',
    'gateway_id = attempt.gateway_id',
  ),
  fault(
    'a refusal after a lost answer releases',
    `${SENDING}/end.ts`,
    'const isUnanswered = ({ row }: RefusedMessage) => known(row.message_id).unknown.size > 0;',
    'const isUnanswered = ({ row }: RefusedMessage) => known(row.message_id).unknown.size > 1e9;',
  ),
  fault(
    'answers are not settled',
    'src/carriers/settler.ts',
    'while (waiting.length > 0) {',
    'while (waiting.length > 1) {',
    // The next answer settles the last one too, so it takes a death in between. The test waits in vain and fails.
    'test/carriers/settler.test.ts',
  ),
  // Receipts.
  fault(
    'a receipt before its answer is dropped',
    `${SENDING}/receipts.ts`,
    'if (unmatched.length > 0) await hold(database, now, unmatched);',
    '',
  ),
  fault(
    'held receipts are not applied',
    `${SENDING}/receipts.ts`,
    'export const heldReceipts: OnGatewayIds = (transaction, parts) =>\n  applyHeldReceipts(',
    'export const heldReceipts: OnGatewayIds = async (transaction, parts) => parts.length >= 0 ? undefined :\n  applyHeldReceipts(',
    // The maintenance applies them some seconds later.
    'test/domain/sending/receipts.test.ts',
  ),
  fault('a final status is replaced', `${SENDING}/attempts.ts`, 'if (isFinal(status)) return false;', ''),
  fault(
    'the best part counts',
    `${SENDING}/attempts.ts`,
    'return pending ?? FINAL.find((status) => statuses.includes(status)) ?? null;',
    'return FINAL.findLast((status) => statuses.includes(status)) ?? pending ?? null;',
  ),
  fault('a receipt proves nothing', `${SENDING}/receipts.ts`, 'if (known.state !== state) proofs.push(receipt);', ''),
  fault(
    'receipts are acknowledged before they are on disk',
    `${SENDING}/receipts.ts`,
    'waiting.push({ receipt, resolve, reject });',
    'waiting.push({ receipt, resolve, reject }); resolve();',
  ),
  // Ends.
  fault(
    'a cancel releases nothing',
    `${SENDING}/cancel.ts`,
    'if (taken.length > 0) return releaseHeld({ queries, account, at: now() }, taken, CANCELLED.reason);',
    'if (taken.length > 0) return 0n;',
  ),
  fault(
    'a cancel takes what is claimed',
    `${SENDING}/cancel.ts`,
    "if (row?.state !== 'waiting' && row?.state !== 'held') throw",
    "if (row?.state !== 'waiting' && row?.state !== 'held' && row?.state !== 'submitting') throw",
  ),
  fault(
    'an opt-out leaves what is due',
    `${SENDING}/opt-out.ts`,
    'return cancelled.length + (await endWaitingFor(transaction, same));',
    'return cancelled.length;',
  ),
  fault(
    'an opt-out leaves what is scheduled',
    `${SENDING}/opt-out.ts`,
    'const ids = found.filter((id) => !answers.has(id));',
    'const ids = found.filter((id) => answers.has(id));',
  ),
  fault(
    'a decision keeps the credits',
    `${SENDING}/decide.ts`,
    "'decide not submitted', 'REJECTED', [{ row, captured, detail: DETAIL }]",
    "'decide not submitted', 'REJECTED', [{ row, captured: row.held * 2n, detail: DETAIL }]",
  ),
  ...faultsAround,
];
