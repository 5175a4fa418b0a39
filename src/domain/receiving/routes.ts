import { conflict, notFound } from '../../base/problem.ts';
import { numberEnd, sameNumber } from '../../sms/numbers.ts';
import type { Database, Queries } from '../../store/database.ts';
import { accountId } from '../accounts/accounts.ts';
import * as sql from './routes.sql.ts';

/** A route: messages to this number or short code belong to this account. */
export interface Route extends Omit<sql.RouteValues, 'destination' | 'keyword' | 'owner'> {
  /** Null for every destination. */
  readonly destination: string | null;
  /** The first word of the text, in whatever letter case. Null for every text. */
  readonly keyword: string | null;
  readonly account: bigint;
  readonly username: string;
}
export type NewRoute = Pick<Route, 'name' | 'destination' | 'keyword' | 'priority' | 'username'> &
  Partial<Pick<Route, 'sharedOptOut'>>;

/** The route that was found for a message. */
export interface FoundRoute extends Route {
  /** The accounts for which a STOP or START counts, including that of the route. */
  readonly optOutAccounts: readonly bigint[];
}

/** The number of routes is limited, because a message reads all routes of its destination. */
export const ROUTES_MAX = 10_000;
const ANY_DESTINATION = '';

export function createRouting(database: Database, now: () => number) {
  return {
    /** Lists routes by name, after the name `after`. */
    async list(limit: number, after: string | null): Promise<Route[]> {
      return (await database.all(sql.routesAfter, { after: after ?? '', limit })).map(toRoute);
    },

    /** Makes a route, or replaces the one of this name. */
    put: ({ name, destination, keyword, priority, username, ...others }: NewRoute) =>
      database.transaction(null, async (queries): Promise<{ route: Route; isNew: boolean }> => {
        const owner = await accountId(queries, username);
        const isNew = (await queries.first(sql.routeNamed, { name })) === undefined;
        if (isNew && Number((await queries.first(sql.countRoutes, {}))?.total ?? 0n) >= ROUTES_MAX) {
          throw conflict(`There are already ${ROUTES_MAX} routes, which is the limit. Remove one first.`);
        }
        const where = destination ?? ANY_DESTINATION;
        const end = destination === null ? ANY_DESTINATION : numberEnd(destination);
        const given = { name, destination: where, end, keyword: keyword ?? '', priority, owner, updatedAt: now() };
        await queries.run(sql.putRoute, { ...given, sharedOptOut: others.sharedOptOut ? 1 : 0 });
        const row = await queries.first(sql.routeNamed, { name });
        if (!row) throw notFound('route with this name');
        return { route: toRoute(row), isNew };
      }),

    async remove(name: string): Promise<void> {
      if ((await database.run(sql.removeRoute, { name })) === 0) throw notFound('route with this name');
    },
  };
}

/**
 * Finds the route of a message. Among several routes the one with the highest priority counts; then
 * one for exactly this destination, then one with a keyword, then the first by name. Numbers are
 * compared as seen from `region`.
 */
export async function findRoute(
  queries: Queries,
  destination: string,
  text: string,
  region: string | null,
): Promise<FoundRoute | undefined> {
  const same = sameNumber(destination, region);
  const candidates: Route[] = [];
  for (const end of new Set([...same.ends, ANY_DESTINATION])) {
    candidates.push(...(await queries.all(sql.routesByEnd, { end })).map(toRoute));
  }
  const word = folded(firstWord(text));
  const found = candidates
    .filter((route) => route.destination === null || same.matches(route.destination))
    .filter(({ keyword }) => keyword === null || folded(keyword) === word)
    .sort(before)[0];
  if (!found) return undefined;
  const sharing = candidates.filter((route) => route.destination !== null && same.matches(route.destination));
  const accounts = found.sharedOptOut ? sharing.map(({ account }) => account) : [];
  return { ...found, optOutAccounts: [...new Set([found.account, ...accounts])] };
}

function before(a: Route, b: Route): number {
  if (a.priority !== b.priority) return b.priority - a.priority;
  if ((a.destination === null) !== (b.destination === null)) return a.destination === null ? 1 : -1;
  if ((a.keyword === null) !== (b.keyword === null)) return a.keyword === null ? 1 : -1;
  return a.name < b.name ? -1 : 1;
}

/** The first word without punctuation: `stop!` is the word `stop`. */
const firstWord = (text: string): string => trimmed(/\S+/.exec(text)?.[0] ?? '');

export const trimmed = (text: string): string => text.replace(/^[\s\p{P}]+|[\s\p{P}]+$/gu, '');

export const folded = (word: string): string => word.normalize('NFC').toUpperCase();

function toRoute(row: sql.RouteRow): Route {
  const { owner: account, destination, keyword, ...values } = sql.routeColumns.read(row);
  return {
    ...values,
    destination: destination === ANY_DESTINATION ? null : destination,
    keyword: keyword === '' ? null : keyword,
    account,
    username: row.username,
  };
}
