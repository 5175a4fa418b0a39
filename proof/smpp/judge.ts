import type { UnknownOutcomePolicy } from '../../src/domain/accounts/accounts.ts';
import { openOutside } from '../../test/support/other-process.ts';
import { check } from '../checker/checker.ts';
import type { Event, Outcome } from '../checker/history.ts';
import { type Carrier, type Submitted, tokenOf } from './carrier.ts';

export interface Asked {
  readonly token: string;
  readonly parts: number;
  /** Null: the answer was lost. */
  isAccepted: boolean | null;
}

/** What the carriers have written down, compared with what is in the database. */
export interface Judged {
  readonly database: string;
  readonly asked: readonly Asked[];
  readonly submitted: readonly Submitted[];
  readonly carriers: readonly Carrier[];
  readonly unknownOutcomePolicy: UnknownOutcomePolicy;
  readonly granted: number;
}

const STATUSES: Readonly<Record<string, string>> = {
  DELIVRD: 'DELIVERED',
  UNDELIV: 'UNDELIVERABLE',
  EXPIRED: 'EXPIRED',
};
/** An equal message that comes again after longer than that is another one. */
const SAME_WITHIN_MS = 9_000;

/** Receipts and messages that Columba has acknowledged and does not have. */
export async function unstored(database: string, carriers: readonly Carrier[]): Promise<string[]> {
  const outside = await openOutside(database);
  const texts = await outside.query('select text from received');
  const held = await outside.query('select gateway_id from held_receipt');
  const attempts = await outside.query('select gateway_id from attempt where status is not null');
  await outside.close();
  const stored = new Set([
    ...texts.map(({ text }) => String(text)),
    ...[...held, ...attempts].map((row) => String(row.gateway_id)),
  ]);
  return carriers.flatMap(({ delivered }) =>
    delivered
      .filter(({ isAcknowledged, of }) => isAcknowledged && !stored.has(of))
      .map(({ kind, of }) => `the ${kind} ${of} was acknowledged before it was on disk`),
  );
}

export async function judge(judged: Judged) {
  const { database, submitted, carriers, unknownOutcomePolicy } = judged;
  const outside = await openOutside(database);
  const accepted = await outside.query(
    "select gateway_id from attempt where state = 'accepted' and gateway_id is not null",
  );
  const received = await outside.query('select text from received');
  const [balance] = await outside.query(
    'select credits, used_credits, held from account join ledger on ledger.account_id = account.account_id',
  );
  const outcomes = await outcomesOf(outside);
  await outside.close();
  const known = new Set(accepted.map((row) => String(row.gateway_id)));
  const events: Event[] = [
    ...eventsOf(judged, known),
    {
      kind: 'balances',
      account: 'acme',
      granted: BigInt(judged.granted),
      free: BigInt(balance?.credits as bigint),
      held: BigInt(balance?.held as bigint),
      used: BigInt(balance?.used_credits as bigint),
    },
  ];
  const needsDecision = new Set(outcomes.flatMap(({ token, needsDecision }) => (needsDecision ? [token] : [])));
  const texts = received.map(({ text }) => String(text));
  const faults = [
    ...check({
      events,
      outcomes,
      unknownOutcomePolicy,
      pendingReason: (token) => (needsDecision.has(token) ? 'an operator decides' : null),
    }).map(({ text }) => text),
    ...(unknownOutcomePolicy === 'never-twice' ? againWithoutRefusal(submitted) : []),
    ...decisionForNothing(submitted, needsDecision, known),
    ...twice(carriers, texts),
  ];
  return { faults, needsDecision: needsDecision.size, received: texts.length };
}

function eventsOf({ asked, submitted, carriers }: Judged, known: ReadonlySet<string>): Event[] {
  const byId = new Map(submitted.map((each) => [each.id, each]));
  const receipts = carriers.flatMap(({ delivered }) =>
    delivered.flatMap(({ kind, of, isAcknowledged }): Event[] => {
      const own = byId.get(of);
      if (kind !== 'receipt' || !own || !isAcknowledged) return [];
      const { token, part, final } = own;
      return [{ kind: 'receipt-taken', token, part, status: STATUSES[final] ?? final, answerTo: of }];
    }),
  );
  return [
    ...asked.map(({ token, parts }): Event => ({ kind: 'send-asked', token, account: 'acme', parts })),
    ...asked.flatMap(({ token, isAccepted }): Event[] => {
      if (isAccepted === null) return [];
      return isAccepted ? [{ kind: 'accepted', token, id: token }] : [{ kind: 'refused', token }];
    }),
    ...submitted.map(({ token, part, id, isTaken }): Event => {
      const taken = isTaken ? 'yes' : 'no';
      const settled = known.has(id) ? { settledAt: 0 } : {};
      return { kind: 'submitted', token, part, attemptId: id, taken, answered: known.has(id), ...settled };
    }),
    ...receipts,
  ];
}

async function outcomesOf(outside: Awaited<ReturnType<typeof openOutside>>): Promise<Outcome[]> {
  const rows = await outside.query(
    `select text, status, (select count(*) from dispatch where dispatch.account_id = sent.account_id
       and dispatch.message_id = sent.message_id and state = 'needs-decision') as open,
     (select coalesce(sum(amount), 0) from movement where movement.account_id = sent.account_id
       and movement.message_id = sent.message_id and kind = 'capture') as captured,
     (select coalesce(sum(case when to_side = 'held' then amount when from_side = 'held' then -amount else 0 end), 0)
      from movement where movement.account_id = sent.account_id and movement.message_id = sent.message_id) as held from sent`,
  );
  return rows.map(({ text, status, open, captured, held }) => ({
    token: tokenOf(String(text)),
    list: 'sent',
    status: String(status),
    captured: Number(captured),
    held: Number(held),
    needsDecision: Number(open) > 0,
  }));
}

/** Under never-twice a part is submitted again only where the carrier has answered that it does not have it. */
function againWithoutRefusal(submitted: readonly Submitted[]): string[] {
  const byPart = Map.groupBy(submitted, ({ token, part }) => `${token}, part ${part},`);
  return [...byPart].flatMap(([name, own]) =>
    own
      .slice(0, -1)
      .filter(({ answer }) => answer === 'accepted' || answer === 'none')
      .map(({ carrier }) => `${name} was submitted again, and ${carrier} had not refused it`),
  );
}

/** An operator is asked only where an answer did not come, or came to a process that was killed. */
function decisionForNothing(
  submitted: readonly Submitted[],
  needsDecision: ReadonlySet<string>,
  known: ReadonlySet<string>,
): string[] {
  const byToken = Map.groupBy(submitted, ({ token }) => token);
  return [...needsDecision].flatMap((token) => {
    const own = byToken.get(token) ?? [];
    const isExplained = own.length === 0 || own.some(({ id, answer }) => answer !== 'accepted' || !known.has(id));
    return isExplained ? [] : [`${token} waits for an operator, and the answers to all of its parts are stored`];
  });
}

/** A message that a carrier repeats at once, because its acknowledgement was lost, is received once. */
function twice(carriers: readonly Carrier[], texts: readonly string[]): string[] {
  const counts = Map.groupBy(texts, (text) => text);
  return carriers.flatMap(({ delivered }) =>
    delivered
      .filter(({ kind }) => kind === 'message')
      .flatMap(({ of, firstAt, lastAt }) => {
        const count = counts.get(of)?.length ?? 0;
        if (count === 0) return [`${of} was not received`];
        const isLate = (lastAt ?? 0) - (firstAt ?? 0) > SAME_WITHIN_MS;
        return count > 1 && !isLate ? [`${of} was received ${count} times`] : [];
      }),
  );
}
