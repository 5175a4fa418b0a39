import { defineColumns, type ParametersOf, type RowOf, type ValuesOf } from '../../store/columns.ts';
import { statement } from '../../store/statement.ts';

/** Routes: which account gets the messages to a number or short code. */
const ROUTE_FIELDS = {
  name: 'text',
  /** A number or short code; empty for every destination. */
  destination: 'text',
  /** The first word of the text, in whatever letter case; empty for every text. */
  keyword: 'text',
  priority: 'number',
  /** The account that gets the messages. */
  owner: 'long',
  updatedAt: 'instant',
  /** Whether STOP and START count for all accounts that have a route of this destination. */
  sharedOptOut: 'flag',
} as const;
const OWNER = { owner: 'account_id' } as const;

export type RouteValues = ValuesOf<typeof ROUTE_FIELDS>;
export type RouteRow = RowOf<typeof ROUTE_FIELDS, typeof OWNER> & { username: string };
export const routeColumns = defineColumns(ROUTE_FIELDS, OWNER);

const routes = `select ${routeColumns.namesOf('route')}, username
  from route join account_directory on account_directory.account_id = route.account_id`;

/** A page of the routes whose names follow `after`. */
export const routesAfter = statement<{ after: string; limit: number }, RouteRow>(
  'routes.after',
  `${routes} where route.name > :after order by route.name {limit :limit}`,
);
/** Candidates whose destination has this ending. The domain compares the whole numbers. */
export const routesByEnd = statement<{ end: string }, RouteRow>(
  'routes.byEnd',
  `${routes} where destination_end = :end order by route.name`,
);
export const routeNamed = statement<{ name: string }, RouteRow>('routes.named', `${routes} where route.name = :name`);
export const countRoutes = statement<Record<string, never>, { total: bigint }>(
  'routes.count',
  'select count(*) as total from route',
);
/** `end` is the ending of the destination, by which routes are found. */
export const putRoute = statement<ParametersOf<typeof ROUTE_FIELDS> & { end: string }>(
  'routes.put',
  `insert into route (${routeColumns.names}, destination_end) values (${routeColumns.parameters}, :end)
   on conflict (name) do update set ${routeColumns.replacements('name')}, destination_end = excluded.destination_end`,
  { affects: 'none' },
);
export const removeRoute = statement<{ name: string }>('routes.remove', 'delete from route where name = :name', {
  affects: 'none',
});
