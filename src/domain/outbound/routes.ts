import { badField, conflict, notFound } from '../../base/problem.ts';
import type { AccountKey } from '../../store/caller.ts';
import type { Database, Queries } from '../../store/database.ts';
import { accountId } from '../accounts/accounts.ts';
import type { OutboundRoute, Way } from './choose.ts';
import { type Guard, readGuard } from './guard.ts';
import * as sql from './routes.sql.ts';

/** The stored outbound routes, and what is refused when one is saved. */

export interface NewOutboundRoute extends Omit<OutboundRoute, 'account' | 'updatedAt'> {
  readonly username: string | null;
}

/** A connector that a route may name. */
export interface KnownConnector {
  readonly name: string;
  /** Where it sends messages by HTTP, to find one that leads back to this service. */
  readonly urls: readonly string[];
}

/** The number of routes is limited, because sending reads all of them. */
export const OUTBOUND_ROUTES_MAX = 1_000;

export type OutboundRoutes = ReturnType<typeof createOutboundRoutes>;

export function createOutboundRoutes(database: Database, now: () => number) {
  const list = async (): Promise<OutboundRoute[]> => (await database.all(sql.all, {})).map(toRoute);
  return {
    list,

    /** Makes a route or replaces the one of this name. `ownUrl` is where this service answers. */
    put: (
      given: NewOutboundRoute,
      connectors: readonly KnownConnector[],
      ownUrl: string,
    ): Promise<{ route: OutboundRoute; isNew: boolean }> =>
      database.transaction(null, async (queries) => {
        checkWays(given.ways, connectors, ownUrl);
        checkTimes(given);
        const { username, ...rest } = given;
        const account = username === null ? null : { id: await accountId(queries, username), username };
        const route = { ...rest, account, updatedAt: now() };
        const others = (await queries.all(sql.all, {})).map(toRoute).filter(({ name }) => name !== given.name);
        const equal = others.find((other) => conditionsOf(other) === conditionsOf(route));
        if (equal) {
          throw conflict(
            `The route ${equal.name} has the same priority and is about the same messages, so one of the two would never be used. Change or remove ${equal.name}, or give this one another priority.`,
          );
        }
        if (others.length >= OUTBOUND_ROUTES_MAX) {
          throw conflict(
            `There are already ${OUTBOUND_ROUTES_MAX} outbound routes, which is the limit. Remove one first.`,
          );
        }
        const isNew = (await queries.all(sql.all, {})).length === others.length;
        await queries.run(sql.put, { name: given.name, definition: definitionOf(route), updatedAt: route.updatedAt });
        return { route, isNew };
      }),

    remove: (name: string): Promise<void> =>
      database.transaction(null, async (queries) => {
        if ((await queries.run(sql.remove, { name })) === 0) throw notFound('outbound route with this name');
        await queries.run(sql.removeCounts, { route: name });
      }),

    counts: async (): Promise<RouteCounts[]> =>
      (await database.all(sql.counts, {})).map((row) => ({
        route: row.route,
        connector: row.connector,
        accepted: Number(row.accepted),
        temporary: Number(row.temporary),
        permanent: Number(row.permanent),
        unknownOutcome: Number(row.unknown_outcome),
        failovers: Number(row.failovers),
      })),
    addCounts: (counts: readonly RouteCounts[]): Promise<void> =>
      database.transaction(null, async (queries) => {
        for (const each of counts) await queries.run(sql.addCounts, { ...each });
      }),
  };
}

/** What became of the parts that a route gave to a connector. */
export interface RouteCounts {
  readonly route: string;
  readonly connector: string;
  readonly accepted: number;
  readonly temporary: number;
  readonly permanent: number;
  readonly unknownOutcome: number;
  /** Messages that went on to the next way. */
  readonly failovers: number;
}

/**
 * For `columba check`: what is worth knowing of routes, and no mistake. `connectors` are those that
 * exist; one of the file may be gone.
 */
export function routeNotes(
  routes: readonly OutboundRoute[],
  counts: readonly RouteCounts[],
  connectors: ReadonlySet<string>,
): string[] {
  const isUsed = (route: string, connector?: string) =>
    counts.some(
      (each) => each.route === route && each.accepted > 0 && each.connector === (connector ?? each.connector),
    );
  return routes.flatMap(({ name, ways }) => {
    const [only] = ways.length === 1 ? ways : [];
    const single = only && `Its messages wait while ${only.connector} is down, because it is the only way.`;
    const own = ways.flatMap(({ connector }) => {
      if (!connectors.has(connector))
        return [`There is no connector ${connector} any more, so this way leads nowhere.`];
      const isUntried = isUsed(name) && !isUsed(name, connector);
      return isUntried ? [`${connector} has not taken a message of it yet; test it before it is needed.`] : [];
    });
    return [...(single ? [single] : []), ...own].map((note) => `Outbound route ${name}: ${note}`);
  });
}

/** The routes of the installation and the guard of an account, read by one statement. */
export interface SendingRules {
  readonly routes: readonly OutboundRoute[];
  readonly guard: Guard | null;
}
export async function sendingRules(queries: Queries, account: AccountKey): Promise<SendingRules> {
  const rows = await queries.all(sql.rules, { account });
  const guard = rows.find(({ name }) => name === '');
  return {
    routes: rows.filter(({ name }) => name !== '').map(toRoute),
    guard: guard ? readGuard(guard.definition) : null,
  };
}

/** The routes with a pool of senders that may be about messages of the account. */
export const routesWithPools = async (queries: Queries, account: bigint): Promise<OutboundRoute[]> =>
  (await queries.all(sql.withPools, {}))
    .map(toRoute)
    .filter((route) => route.senderPool.length > 0 && (route.account?.id ?? account) === account);

function checkWays(ways: readonly Way[], connectors: readonly KnownConnector[], ownUrl: string): void {
  if (ways.length === 0) throw badField('ways', 'a route without a way leads nowhere; name at least one connector');
  const seen = new Set<string>();
  for (const { connector } of ways) {
    const known = connectors.find(({ name }) => name === connector);
    if (!known) {
      const names = connectors.map(({ name }) => name).sort();
      throw badField('ways', `there is no connector ${connector}; expected one of ${names.join(', ')}`);
    }
    if (seen.has(connector)) {
      throw badField('ways', `the connector ${connector} is named twice, so the message would go round in a loop`);
    }
    seen.add(connector);
    if (known.urls.some((url) => isSameOrigin(url, ownUrl))) {
      throw badField('ways', `the connector ${connector} leads back to this service (${ownUrl}), which is a loop`);
    }
  }
}

function isSameOrigin(url: string, ownUrl: string): boolean {
  try {
    return new URL(url).origin === new URL(ownUrl).origin;
  } catch {
    return false;
  }
}

function checkTimes({ from, until, hours }: Pick<OutboundRoute, 'from' | 'until' | 'hours'>): void {
  if (from !== null && until !== null && until <= from) throw badField('until', 'it is not after `from`');
  const [begin, end] = hours?.split('-') ?? ['begin', 'end'];
  if (begin === end) throw badField('hours', 'both times are equal, so the route would never be used');
}

/** Equal for two routes of which one would never be used. */
function conditionsOf(route: OutboundRoute): string {
  const { priority, account, tag, prefixes, senders, hours, from, until } = route;
  const sorted = (texts: readonly string[]) => [...texts].sort();
  const who = [account?.username ?? null, tag];
  return JSON.stringify([priority, ...who, sorted(prefixes), sorted(senders), hours, from, until]);
}

const definitionOf = ({ name: _, updatedAt: __, account, ...rest }: OutboundRoute): string =>
  JSON.stringify({ ...rest, account: account && { id: String(account.id), username: account.username } });

function toRoute({ name, definition, updated_at }: sql.RouteRow): OutboundRoute {
  const read = JSON.parse(definition);
  const account = read.account && { id: BigInt(read.account.id), username: read.account.username };
  return { ...read, name, account, updatedAt: Number(updated_at) };
}
