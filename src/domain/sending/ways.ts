import type { Database, Queries, Transaction } from '../../store/database.ts';
import { accountRecordsOf } from '../../store/json.ts';
import {
  createRouteFinder,
  dearestPrice,
  movesOn,
  type OutboundRoute,
  orderedWays,
  type Refusal,
  stopOf,
  type Way,
  type WayState,
} from '../outbound/choose.ts';
import { knownParts } from './attempts.ts';
import * as connectorSql from './connectors.sql.ts';
import * as sql from './dispatch.sql.ts';
import { NEVER } from './end.ts';
import { afterQuietHours } from './quiet-hours.ts';
import { requireTransition } from './states.ts';

/**
 * The way of a message: chosen when it is accepted, and another one when a carrier has refused it.
 */

/** Connectors by their names, as far as the choice of a way needs them. */
export type WayStates = ReadonlyMap<string, WayState>;

export async function wayStates(queries: Queries): Promise<WayStates> {
  const rows = await queries.all(connectorSql.wayStates, {});
  return new Map(
    rows.map(({ name, paused_at, down_since, avoided_until }) => [
      name,
      {
        isPaused: paused_at !== null,
        isDown: down_since !== null,
        avoidedUntil: avoided_until === null ? null : Number(avoided_until),
      },
    ]),
  );
}

/** Where a message goes, and what it costs. */
export interface ChosenWay {
  /** Empty for where the account goes. */
  readonly way: string;
  readonly route: string | null;
  /** Credits for a part by this way; null where no route has a say. */
  readonly price: bigint | null;
  /** Credits that are held: enough for the dearest way of the route. */
  readonly credits: bigint;
  /** The sender that the message names; one of a pool is chosen afterwards. */
  readonly sender: string | null;
}

export interface Sender {
  readonly account: bigint;
  readonly tag: number | null;
  readonly sender: string | null;
  readonly timeZone: string | null;
  /** When the messages are due. */
  readonly dueAt: number;
}

interface Measured {
  readonly recipient: string;
  readonly parts: number;
}

/**
 * Asks whether a connector that is down should get one message now, to see whether it is up again.
 */
export type TryDown = (connector: string) => Promise<boolean>;

/** Chooses the way of each message of a request. Without routes this reads nothing. */
export async function chooseWays(
  queries: Queries,
  routes: readonly OutboundRoute[],
  { account, tag, sender, timeZone, dueAt }: Sender,
  messages: readonly Measured[],
  { at, tryDown }: { readonly at: number; readonly tryDown: TryDown },
): Promise<ChosenWay[]> {
  const asToday = ({ parts }: Measured) => ({ way: '', route: null, price: null, credits: BigInt(parts), sender });
  if (routes.length === 0 || messages.length === 0) return messages.map(asToday);
  const isWithin = (hours: string) => afterQuietHours(dueAt, hours, timeZone) > dueAt;
  const routeOf = createRouteFinder(routes, { account, tag, sender, at: dueAt, isWithin });
  const states = await wayStates(queries);
  const asked = new Map<string, Promise<boolean>>();
  const chosen: ChosenWay[] = [];
  for (const message of messages) {
    const route = routeOf(message.recipient);
    if (!route) {
      chosen.push(asToday(message));
      continue;
    }
    const ordered = orderedWays(route, message.recipient);
    const tested = await testedWay(ordered, states, at, tryDown, asked);
    chosen.push(chosenOf(route, tested ?? firstOpen(ordered, states, at) ?? ordered[0], message, sender));
  }
  return chosen;
}

function chosenOf(route: OutboundRoute, way: Way | undefined, { parts }: Measured, sender: string | null): ChosenWay {
  return {
    way: way?.connector ?? '',
    route: route.name,
    price: BigInt(way?.price ?? 1),
    credits: BigInt(parts) * BigInt(dearestPrice(route)),
    sender,
  };
}

/** Where a message would go, for an operator who asks. Nothing is written. */
export function triedWay(
  routes: readonly OutboundRoute[],
  states: WayStates,
  { id: account, tag, timeZone }: { readonly id: bigint; readonly tag: number; readonly timeZone: string | null },
  { recipient, sender, at: dueAt }: { readonly recipient: string; readonly sender: string | null; readonly at: number },
  at: number,
) {
  const isWithin = (hours: string) => afterQuietHours(dueAt, hours, timeZone) > dueAt;
  const message = { account, tag, sender, recipient, at: dueAt, isWithin };
  const route = createRouteFinder(routes, message)(recipient);
  const ordered = route ? orderedWays(route, recipient) : [];
  const way = firstOpen(ordered, states, at) ?? ordered[0];
  const chosen: ChosenWay = route
    ? chosenOf(route, way, { recipient, parts: 1 }, sender)
    : { way: '', route: null, price: null, credits: 1n, sender };
  return { message, route, ordered, chosen };
}

const firstOpen = (ways: readonly Way[], states: WayStates, at: number): Way | undefined =>
  ways.find(({ connector }) => stopOf(states.get(connector), at) === null);

/**
 * A connector that is down and that all messages pass over would stay down for ever. So now and
 * then one message tries it. If the carrier still refuses, the message goes on to the next way.
 */
async function testedWay(
  ways: readonly Way[],
  states: WayStates,
  at: number,
  tryDown: TryDown,
  asked: Map<string, Promise<boolean>>,
): Promise<Way | undefined> {
  for (const way of ways) {
    const state = states.get(way.connector);
    if (stopOf(state, at) === null) return undefined;
    if (state?.isPaused || !state?.isDown || asked.has(way.connector)) continue;
    const answer = tryDown(way.connector);
    asked.set(way.connector, answer);
    if (await answer) return way;
  }
  return undefined;
}

/** How often a connector that is down is tried by a message that could go another way. */
const TRY_DOWN_MS = 30_000;

export const tryDownOf =
  (queries: Queries, at: number): TryDown =>
  async (name) =>
    (await queries.run(connectorSql.tryDown, { name, now: at, before: at - TRY_DOWN_MS })) > 0;
/** For a dry run, which sends nothing to a connector that is down. */
export const NEVER_TRIED: TryDown = async () => false;

/** What a dispatcher knows of routes and connectors: as of the last second. */
export interface WaysView {
  readonly routes: readonly OutboundRoute[];
  readonly states: WayStates;
}
export const NO_WAYS: WaysView = { routes: [], states: new Map() };

/** A message that a carrier certainly does not have, with the carrier's reason. */
export interface RefusedMessage {
  readonly row: sql.DispatchRow;
  readonly refusal: Refusal;
  readonly reason: string;
  /** When it is tried again, if no other way takes it. */
  readonly dueAt: number;
}
export interface Failover {
  readonly row: sql.DispatchRow;
  readonly route: string;
  readonly from: string;
  readonly reason: string;
}

const passedOf = ({ ways_passed }: sql.DispatchRow): string[] => ways_passed?.split(',') ?? [];

/** The next way of a message in this round, which is up and not dearer than what is held. */
function nextWay({ routes, states }: WaysView, row: sql.DispatchRow, at: number): Way | undefined {
  const route = routes.find(({ name }) => name === row.route_name);
  if (!route) return undefined;
  const gone = new Set([...passedOf(row), row.way]);
  const left = orderedWays(route, String(row.message_id)).filter(
    ({ connector, price }) => !gone.has(connector) && BigInt(price) * row.parts <= row.held,
  );
  return firstOpen(left, states, at);
}

/**
 * Moves messages on to the next way of their route, where the carrier certainly does not have any
 * part of them. A message of which a carrier has a part, or may have one, stays where it is: a
 * phone does not join parts of two carriers, and it could arrive twice. Returns what it moved; the
 * others are tried again as usual, and then begin a new round.
 */
export async function failOver(
  transaction: Transaction<bigint>,
  view: WaysView,
  refused: readonly RefusedMessage[],
): Promise<Failover[]> {
  const { queries, account, at } = transaction;
  const routed = refused.filter(({ row, refusal, reason }) => {
    const route = row.route_name === null ? undefined : view.routes.find(({ name }) => name === row.route_name);
    return route !== undefined && movesOn(route, row.way, refusal, reason);
  });
  if (routed.length === 0) return [];
  const again = routed.filter(({ row }) => row.attempts > 1n).map(({ row }) => row.message_id);
  const known = await knownParts(queries, account, again);
  const isFree = (id: bigint) => known(id).accepted.size === 0 && known(id).unknown.size === 0;
  const moved: (MovedMessage & Failover)[] = [];
  const ended: MovedMessage[] = [];
  for (const { row, refusal, reason, dueAt } of routed.filter(({ row: own }) => isFree(own.message_id))) {
    const next = nextWay(view, row, at);
    const said = `${row.way}: ${reason}`;
    if (next) {
      const passed = [...passedOf(row), row.way].join();
      const from = { route: row.route_name ?? '', from: row.way };
      moved.push({ row, ...from, way: next, passed, dueAt: at, reason: said });
    } else if (row.ways_passed !== null && refusal !== 'permanent') {
      const first = firstOfRound(view, row, at);
      if (first) ended.push({ row, way: first, passed: null, dueAt, reason: said });
    }
  }
  requireTransition(
    'fail over',
    [...moved, ...ended].map(({ row }) => row),
  );
  await moveTo(transaction, [...moved, ...ended]);
  return moved;
}

/** Where a new round begins, after every way has refused. */
function firstOfRound(view: WaysView, row: sql.DispatchRow, at: number): Way | undefined {
  return nextWay(view, { ...row, ways_passed: null, way: '' }, at);
}

interface MovedMessage {
  readonly row: sql.DispatchRow;
  readonly way: Way;
  readonly passed: string | null;
  readonly dueAt: number;
  readonly reason: string | null;
}

async function moveTo({ queries, account }: Transaction<bigint>, messages: readonly MovedMessage[]): Promise<void> {
  if (messages.length === 0) return;
  const rows = messages.map(({ row, way, passed, dueAt, reason }) => [
    ...[row.message_id, way.connector, passed, way.price, dueAt, reason],
  ]);
  await queries.run(sql.setWay, { account, rows: accountRecordsOf(account, rows) });
  for (const [way, own] of Map.groupBy(messages, (each) => each.way.connector)) {
    await queries.run(sql.raiseWork, { account, way, dueAt: Math.min(...own.map(({ dueAt }) => dueAt)) });
  }
}

// Enough for a second of a busy service. The next second continues.
const LEFT_MAX = 500;
const ACCOUNTS_MAX = 16;
const LOCK_WAIT_MS = 200;

/**
 * Moves the messages that are due away from a connector that takes none now, to the next way of
 * their route. One stays, to try whether the connector is up again. Messages that were moved do not
 * come back. Returns how many it moved, by route.
 */
export async function leaveConnector(
  database: Database,
  view: WaysView,
  connector: string,
  at: number,
): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  if (!view.routes.some(({ ways }) => ways.some((way) => way.connector === connector))) return counts;
  let isTested = view.states.get(connector)?.isPaused ?? true;
  const accounts = await database.all(sql.dueOfWay, { way: connector, now: at, limit: ACCOUNTS_MAX });
  for (const { account_id: account } of accounts) {
    await database.transaction(
      account,
      async (queries) => {
        const rows = await queries.all(sql.waitingOfWay, { account, way: connector, now: at, limit: LEFT_MAX });
        const tried = rows.filter(({ attempts }) => attempts > 0n).map(({ message_id }) => message_id);
        const known = await knownParts(queries, account, tried);
        const moved: MovedMessage[] = [];
        for (const row of rows) {
          const { accepted, unknown } = known(row.message_id);
          const way = accepted.size + unknown.size > 0 ? undefined : nextWay(view, row, at);
          if (!way) continue;
          if (!isTested) {
            isTested = true;
            continue;
          }
          const passed = [...passedOf(row), connector].join();
          moved.push({ row, way, passed, dueAt: Number(row.due_at), reason: row.reason });
          counts.set(row.route_name ?? '', (counts.get(row.route_name ?? '') ?? 0) + 1);
        }
        await moveTo({ queries, account, at }, moved);
      },
      LOCK_WAIT_MS,
    );
  }
  return counts;
}

/** Whether messages wait, or are scheduled, for a connector that a route has chosen. */
export const isAwaited = async (database: Database, connector: string): Promise<boolean> =>
  (await database.first(sql.awaited, { way: connector, never: NEVER })) !== undefined;
