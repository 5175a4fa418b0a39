import type { History, Outcome } from '../checker/history.ts';
import { tokenOf } from './carrier.ts';
import type { Clients } from './clients.ts';
import type { Setting } from './setup.ts';
import type { World } from './world.ts';

/** What the database holds after a run, as the checker reads it. */
export function historyOf(world: World, setting: Setting, clients: Clients): History {
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
  const policies = new Map(setting.accounts.map(({ username, policy }) => [username, policy]));
  return {
    events: recorder.events,
    outcomes,
    unknownOutcomePolicy: (account) => policies.get(account) ?? 'never-twice',
    pendingReason: (token) => {
      if (carrier.silent.has(token)) return 'the carrier sends no receipt';
      if (unknown.has(token)) return 'an operator decides';
      return clients.pendingReason(token);
    },
  };
}

function outcomesOf(world: World): Outcome[] {
  const database = world.observer();
  const sent = database
    .prepare(
      `select text, status, (select count(*) from dispatch where dispatch.account_id = sent.account_id
         and dispatch.message_id = sent.message_id and state = 'needs-decision') as open,
       (select coalesce(sum(amount), 0) from movement where movement.account_id = sent.account_id
         and movement.message_id = sent.message_id and kind = 'capture') as captured,
       (select coalesce(sum(case when to_side = 'held' then amount when from_side = 'held' then -amount else 0 end), 0)
        from movement where movement.account_id = sent.account_id and movement.message_id = sent.message_id) as held from sent`,
    )
    .all();
  const scheduled = database.prepare('select text from scheduled').all();
  return [
    ...sent.flatMap(({ text, status, captured, held, open }) => {
      const token = tokenOf(String(text));
      if (token === undefined) return [];
      const credits = { captured: Number(captured), held: Number(held) };
      return [{ token, list: 'sent' as const, status: String(status), ...credits, needsDecision: Number(open) > 0 }];
    }),
    ...scheduled.flatMap(({ text }) => {
      const token = tokenOf(String(text));
      return token === undefined ? [] : [{ token, list: 'scheduled' as const, status: null, captured: 0 }];
    }),
  ];
}
