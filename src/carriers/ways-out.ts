import type { Clock } from '../base/clock.ts';
import { emitEvent } from '../domain/accounts/events.ts';
import { stopOf } from '../domain/outbound/choose.ts';
import { createOutboundRoutes, type RouteCounts } from '../domain/outbound/routes.ts';
import type { ConnectorRecord, Connectors } from '../domain/sending/connectors.ts';
import type { SettlingWays } from '../domain/sending/settle.ts';
import { type Failover, leaveConnector, NO_WAYS, type WaysView } from '../domain/sending/ways.ts';
import type { Database } from '../store/database.ts';
import type { SubmitResult } from './connector.ts';
import { refusalOf } from './submissions.ts';

/**
 * What the dispatchers of a process know of outbound routes, and what they count for them. Without
 * routes it is one statement a second.
 */
export interface WaysOut extends SettlingWays {
  /**
   * Called every second: reads the routes, moves messages off connectors that take none, writes
   * counts.
   */
  follow(records: readonly ConnectorRecord[]): Promise<void>;
  /** Takes the results of the parts of one message. */
  onResults(connector: string, route: string | null, results: readonly SubmitResult[]): void;
  /** Writes what was counted since the last second. */
  flush(): Promise<void>;
}

export interface WaysOutParts {
  readonly database: Database;
  readonly connectors: Connectors;
  readonly clock: Pick<Clock, 'now'>;
  readonly failed: (thrown: unknown) => void;
  /** Called when messages went another way, so that its dispatcher looks for them at once. */
  readonly moved: () => void;
}

const TELL_MS = 60_000;

export function createWaysOut({ database, connectors, clock: { now }, failed, moved }: WaysOutParts): WaysOut {
  const routes = createOutboundRoutes(database, now);
  const counts = createCounts();
  const told = createTelling();
  const avoidance = createAvoidance(now, (name, until, reason) => {
    connectors.avoid(name, until, reason).catch(failed);
  });
  let view: WaysView = NO_WAYS;

  const note = (route: string, from: string, messages: number, reason: string | null): void => {
    counts.add(route, from, { failovers: messages });
    told.add(route, from, messages, reason);
  };

  async function leaveStopped(): Promise<void> {
    const names = new Set(view.routes.flatMap(({ ways }) => ways.map(({ connector }) => connector)));
    for (const name of names) {
      const state = view.states.get(name);
      // A connector that is avoided works, so what already waits for it stays.
      if (state && stopOf({ ...state, avoidedUntil: null }, now()) === null) continue;
      const left = await leaveConnector(database, view, name, now());
      for (const [route, messages] of left) note(route, name, messages, null);
      if (left.size > 0) moved();
    }
  }

  return {
    view: () => view,
    onFailover(failovers: readonly Failover[]) {
      for (const { route, from, reason } of failovers) note(route, from, 1, reason);
      moved();
    },
    onResults(connector, route, results) {
      if (route === null) return;
      for (const { kind } of results)
        counts.add(route, connector, { [kind === 'unknown-outcome' ? 'unknownOutcome' : kind]: 1 });
      avoidance.onResults(connector, results);
    },
    async follow(records) {
      view = { routes: await routes.list(), states: statesOf(records) };
      await leaveStopped();
      await this.flush();
    },
    async flush() {
      const taken = counts.take();
      if (taken.length > 0) await routes.addCounts(taken);
      for (const each of told.take(now())) {
        await emitEvent(database, { type: 'connector.failover', at: now(), ...each });
      }
    },
  };
}

const statesOf = (records: readonly ConnectorRecord[]): WaysView['states'] =>
  new Map(
    records.map(({ name, pausedAt, downSince, avoidedUntil }) => [
      name,
      { isPaused: pausedAt !== null, isDown: downSince !== null, avoidedUntil },
    ]),
  );

type Counted = Omit<RouteCounts, 'route' | 'connector'>;
const NOTHING: Counted = { accepted: 0, temporary: 0, permanent: 0, unknownOutcome: 0, failovers: 0 };

function createCounts() {
  let counts = new Map<string, RouteCounts>();
  return {
    add(route: string, connector: string, more: Partial<Counted>): void {
      const key = `${route} ${connector}`;
      const sum = { route, connector, ...NOTHING, ...counts.get(key) };
      for (const [name, count] of Object.entries(more)) sum[name as keyof Counted] += count;
      counts.set(key, sum);
    },
    take(): RouteCounts[] {
      const taken = [...counts.values()];
      counts = new Map();
      return taken;
    },
  };
}

interface Told {
  readonly route: string;
  readonly connector: string;
  readonly messages: number;
  readonly reason: string | null;
}

/** Tells of the failovers of a route and connector at once, and then once a minute. */
function createTelling() {
  const open = new Map<string, Told>();
  const toldAt = new Map<string, number>();
  return {
    add(route: string, connector: string, messages: number, reason: string | null): void {
      const key = `${route} ${connector}`;
      const known = open.get(key);
      open.set(key, {
        route,
        connector,
        messages: (known?.messages ?? 0) + messages,
        reason: reason ?? known?.reason ?? null,
      });
    },
    take(at: number): Told[] {
      const due = [...open].filter(([key]) => Math.abs(at - (toldAt.get(key) ?? -TELL_MS)) >= TELL_MS);
      for (const [key] of due) {
        open.delete(key);
        toldAt.set(key, at);
      }
      return due.map(([, each]) => each);
    },
  };
}

// A carrier that refuses 40 of 50 messages is left for a minute, then for twice as long each time
// that it goes on like that, up to ten minutes.
const LAST_MESSAGES = 50;
const REFUSED_MAX = 40;
const AVOID_FIRST_MS = 60_000;
const AVOID_LAST_MS = 10 * 60_000;

/** Looks at the last messages of routes by each connector. */
function createAvoidance(now: () => number, avoid: (name: string, until: number, reason: string) => void) {
  const known = new Map<string, { refused: boolean[]; pauseMs: number }>();
  return {
    onResults(connector: string, results: readonly SubmitResult[]): void {
      const own = known.get(connector) ?? { refused: [], pauseMs: AVOID_FIRST_MS };
      known.set(connector, own);
      const refusal = refusalOf(results);
      own.refused.push(refusal === 'temporary' || refusal === 'permanent');
      if (own.refused.length < LAST_MESSAGES) return;
      const count = own.refused.filter(Boolean).length;
      own.refused.shift();
      if (count < REFUSED_MAX) {
        own.pauseMs = AVOID_FIRST_MS;
        return;
      }
      own.refused = [];
      avoid(connector, now() + own.pauseMs, `it refused ${count} of the last ${LAST_MESSAGES} messages`);
      own.pauseMs = Math.min(2 * own.pauseMs, AVOID_LAST_MS);
    },
  };
}
