import type { AccountCredits, History, Outcome, Snapshot } from '../checker/history.ts';
import { tokenOf } from './carrier.ts';
import { priceByRoute } from './routes.ts';
import type { Setting } from './setup.ts';
import type { World } from './world.ts';

/** What the database holds after a run, as the checker reads it. */
export function historyOf(world: World, setting: Setting): History {
  const { recorder, carrier } = world;
  const database = world.observer();
  const outcomes = outcomesOf(world);
  const unknown = new Set(
    database
      .prepare(
        `select text from attempt join sent on sent.account_id = attempt.account_id and sent.message_id = attempt.message_id
         where attempt.state in ('unknown-outcome', 'submitting')`,
      )
      .all()
      .map(({ text }) => tokenOf(String(text)) ?? ''),
  );
  const excused = excusedOf(recorder.events);
  const held = new Set(
    database
      .prepare(
        `select text from dispatch join sent on sent.account_id = dispatch.account_id and sent.message_id = dispatch.message_id
         where state = 'held'`,
      )
      .all()
      .map(({ text }) => tokenOf(String(text)) ?? ''),
  );
  const restoredAt = recorder.events.findIndex(({ kind }) => kind === 'restored');
  const askedBefore = new Set(
    recorder.events.slice(0, Math.max(0, restoredAt)).flatMap((event) => ('token' in event ? [event.token] : [])),
  );
  const policies = new Map(setting.accounts.map(({ username, policy }) => [username, policy]));
  return {
    events: recorder.events,
    snapshot: snapshotOf(world, setting),
    priceByRoute: (account, number, connector) => priceByRoute(setting, account, number, connector),
    isQuiet: (account, at) => quietAt(setting, account, at),
    outcomes,
    unknownOutcomePolicy: (account) => policies.get(account) ?? 'never-twice',
    pendingReason: (token) => {
      if (askedBefore.has(token)) return 'a backup was restored, and its receipts may be lost';
      if (carrier.silent.has(token)) return 'the carrier sends no receipt';
      if (held.has(token)) return 'the spend guard holds it, and nobody has judged it';
      if (unknown.has(token)) return 'an operator decides';
      if (excused.has(token)) return 'an operator has decided, or the carrier named an id that it told nobody';
      return null;
    },
  };
}

function outcomesOf({ observer, recorder }: World): Outcome[] {
  const database = observer();
  const sent = database
    .prepare(
      `select text, status, (select count(*) from dispatch where dispatch.account_id = sent.account_id
         and dispatch.message_id = sent.message_id and state = 'needs-decision') as open,
       (select reason from dispatch where dispatch.account_id = sent.account_id and dispatch.message_id = sent.message_id) as reason,
       (select attempts from dispatch where dispatch.account_id = sent.account_id and dispatch.message_id = sent.message_id) as attempts,
       (select coalesce(sum(amount), 0) from movement where movement.account_id = sent.account_id
         and movement.message_id = sent.message_id and kind = 'capture') as captured,
       (select coalesce(sum(case when to_side = 'held' then amount when from_side = 'held' then -amount else 0 end), 0)
        from movement where movement.account_id = sent.account_id and movement.message_id = sent.message_id) as held from sent`,
    )
    .all();
  const scheduled = database.prepare('select text from scheduled').all();
  // What is held for an imported schedule is one movement, which names no message.
  const imported = new Set(
    recorder.events.flatMap((event) => (event.kind === 'send-asked' && event.imported ? [event.token] : [])),
  );
  return [
    ...sent.flatMap(({ text, status, captured, held, open, reason, attempts }) => {
      const token = tokenOf(String(text));
      if (token === undefined) return [];
      const heldBefore = imported.has(token) ? 1 : 0;
      const credits = { captured: Number(captured), held: Number(held) + heldBefore };
      const waiting = { needsDecision: Number(open) > 0, reason: reason as string | null, attempts: Number(attempts) };
      return [{ token, list: 'sent' as const, status: String(status), ...credits, ...waiting }];
    }),
    ...scheduled.flatMap(({ text }) => {
      const token = tokenOf(String(text));
      return token === undefined ? [] : [{ token, list: 'scheduled' as const, status: null, captured: 0 }];
    }),
  ];
}

/** Between 22 and 6 o'clock, by the clock of the zone: written apart from the service's own reckoning. */
function quietAt({ accounts }: Setting, username: string, at: number): boolean {
  const { quietHours, timeZone } = accounts.find((each) => each.username === username) ?? {};
  if (!quietHours || !timeZone) return false;
  const hour = Number(new Intl.DateTimeFormat('en-GB', { hour: '2-digit', hourCycle: 'h23', timeZone }).format(at));
  return hour >= 22 || hour < 6;
}

/** Of a sent message. A status that comes from a node whose clock is slow does not change the time. */
export const VERSION = "updated_at || ' ' || status";

const whole = (value: unknown): bigint => BigInt(String(value));

function snapshotOf(world: World, { accounts, imported }: Setting): Snapshot {
  const database = world.observer();
  const rows = (text: string) => database.prepare(text).all();
  const named = (table: string, columns: string) =>
    rows(`select username, ${columns} from ${table} join account on account.account_id = ${table}.account_id`);
  const usernames = new Set([...accounts.map(({ username }) => username), ...imported]);
  const numbers = [
    ...rows('select recipient as number from sent union all select recipient from scheduled'),
    ...rows('select sender as number from received union all select sender from unrouted'),
    ...rows('select recipient as number from dispatch'),
  ];
  return {
    credits: [...usernames].flatMap((username) => creditsOf(world, username, imported.includes(username))),
    received: [
      ...named('received', 'text').map(({ username, text }) => ({ account: String(username), text: String(text) })),
      ...rows('select text from unrouted').map(({ text }) => ({ account: null, text: String(text) })),
      ...rows('select parts as text from held_incoming').map(({ text }) => ({ account: null, text: String(text) })),
    ],
    numbers: new Set(numbers.map(({ number }) => String(number))),
    marked: new Map(
      named('sent', `message_id, is_marked, ${VERSION} as version`).map((row) => [
        `${row.username} ${row.message_id}`,
        { isMarked: Number(row.is_marked) === 1, updatedAt: String(row.version) },
      ]),
    ),
    unread: new Set(named('unread_message', 'message_id').map((row) => `${row.username} ${row.message_id}`)),
    statuses: named('sent', 'message_id, status')
      .filter(({ status }) => status !== 'QUEUED')
      .map(({ username, message_id, status }) => `${username} ${message_id} ${status}`),
  };
}

function creditsOf(world: World, account: string, isImported: boolean): AccountCredits[] {
  const database = world.observer();
  const row = database
    .prepare(
      `select account.account_id as id, credits, used_credits, held, low_credits, (select coalesce(sum(held), 0) from dispatch
         where dispatch.account_id = account.account_id) as waiting,
         (select count(*) from scheduled where scheduled.account_id = account.account_id and not exists (select 1 from dispatch
           where dispatch.account_id = scheduled.account_id and dispatch.message_id = scheduled.message_id)) as imported
       from account join ledger on ledger.account_id = account.account_id where username = ?`,
    )
    .get(account) as Record<string, never> | undefined;
  if (!row) return []; // it was imported after the backup that was restored
  const movements = database
    .prepare('select from_side, to_side, amount, message_id from movement where account_id = ? order by movement_id')
    .all(row.id as never);
  const credits = {
    account,
    free: whole(row.credits),
    used: whole(row.used_credits),
    held: whole(row.held),
    low: row.low_credits === null ? null : whole(row.low_credits),
    heldByMessages: whole(row.waiting) + whole(row.imported), // one credit for each that nobody has activated
    movements: movements.map(({ from_side, to_side, amount, message_id }) => ({
      from: String(from_side),
      to: String(to_side),
      amount: whole(amount),
      messageId: message_id === null || isImported ? null : String(message_id),
    })),
  };
  return [credits];
}

/** No receipt will tell what became of these. */
function excusedOf(events: History['events']): ReadonlySet<string> {
  const settled = new Set(
    events.flatMap((event) => (event.kind === 'submitted' && event.settledAt !== undefined ? [event.attemptId] : [])),
  );
  return new Set(
    events.flatMap((event) => {
      if (event.kind === 'decision-asked') return [event.token];
      return event.kind === 'receipt-taken' && event.answerTo !== undefined && !settled.has(event.answerTo)
        ? [event.token]
        : [];
    }),
  );
}
