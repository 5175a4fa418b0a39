import { timesOf } from './claim-rules.ts';
import type { Event, History } from './history.ts';

/**
 * A restored backup knows nothing of what happened since it was taken. So whatever was acknowledged
 * in that time counts as if its answer had been lost: it may be there or not. What must not happen
 * even then is judged by the whole history.
 */
const ACKNOWLEDGED: ReadonlySet<Event['kind']> = new Set([
  'accepted',
  'held-refused',
  'rescheduled',
  'cancelled',
  'opted-out',
  'decided',
  'deleted',
  'credits-moved',
  'closed',
  'incoming-taken',
  'marked',
  'erased',
  'receipt-taken',
] as const);

export function withoutLostTime(history: History): History {
  const { events } = history;
  const restoredAt = events.findIndex(({ kind }) => kind === 'restored');
  if (restoredAt < 0) return history;
  const takenAt = events.findLastIndex(({ kind }, order) => kind === 'backup-taken' && order < restoredAt);
  const isLost = (order: number) => order > takenAt && order <= restoredAt;
  const forward = broughtForward(events, restoredAt);
  return {
    ...history,
    events: events.map((event, order): Event => {
      if (isLost(order) && ACKNOWLEDGED.has(event.kind)) return { kind: 'lost' };
      if (event.kind === 'submitted' && isLost(order) && forward.has(event.token)) return { kind: 'lost' };
      if (event.kind !== 'submitted' || event.settledAt === undefined || !isLost(event.settledAt)) return event;
      const { settledAt: _, ...unsettled } = event;
      return { ...unsettled, forgottenAt: restoredAt };
    }),
  };
}

/**
 * Messages that were brought forward after the backup, or while it was taken. The backup has a time for them that is
 * later than the restore, so they stay scheduled, unless the restore holds what is scheduled.
 */
function broughtForward(events: readonly Event[], restoredAt: number): ReadonlySet<string> {
  const restored = events[restoredAt];
  if (restored?.kind !== 'restored' || restored.holdsScheduled) return new Set();
  const takenAt = events.findLastIndex(({ kind }, order) => kind === 'backup-taken' && order < restoredAt);
  const known = events.slice(0, takenAt);
  const tokens = events.flatMap((event) => {
    if (event.kind !== 'send-asked') return [];
    const { token } = event;
    const isLater = Math.max(...timesOf(known, event)) > restored.at;
    const isAsked = (each: Event, order: number) =>
      order < restoredAt && each.kind === 'reschedule-asked' && each.token === token && each.sendAt <= restored.at;
    return isLater && events.some(isAsked) ? [token] : [];
  });
  return new Set(tokens);
}

/**
 * A part that a carrier took before the restore is sent again only where an operator says so, or where the message was
 * brought forward and the restore does not hold what is scheduled.
 */
export function notAgainAfterRestore({ events }: History): string[] {
  const restoredAt = events.findIndex(({ kind }) => kind === 'restored');
  if (restoredAt < 0) return [];
  const forward = broughtForward(events, restoredAt);
  const taken = new Set<string>();
  const decided = new Set<string>();
  return events.flatMap((event, order) => {
    if (event.kind === 'decision-asked' && event.decision === 'submit-again') decided.add(event.token);
    if (event.kind !== 'submitted') return [];
    const key = `${event.token} ${event.part}`;
    if (order < restoredAt && event.taken === 'yes') taken.add(key);
    return order > restoredAt && taken.has(key) && !decided.has(event.token) && !forward.has(event.token)
      ? [`${event.token}, part ${event.part}, was submitted again after a backup was restored`]
      : [];
  });
}

/** No id that a client was told is given to another message, not even after a restore. */
export function idsAreNew({ events }: History): string[] {
  const accounts = new Map<string, string>();
  const owners = new Map<string, string>();
  return events.flatMap((event) => {
    if (event.kind === 'send-asked') accounts.set(event.token, event.account);
    if (event.kind !== 'accepted') return [];
    const key = `${accounts.get(event.token)} ${event.id}`;
    const owner = owners.get(key) ?? event.token;
    owners.set(key, owner);
    return owner === event.token ? [] : [`${event.token} has the id ${event.id}, which ${owner} was given before`];
  });
}

export const wholeRules = [notAgainAfterRestore, idsAreNew];
