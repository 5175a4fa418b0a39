import type { AccountKey } from '../../store/caller.ts';
import { statement } from '../../store/statement.ts';

/** Routes: which account gets the messages to a number or short code. */
export interface RouteRow {
  name: string;
  destination: string;
  keyword: string;
  priority: bigint;
  account_id: bigint;
  username: string;
  updated_at: bigint;
  shared_opt_out: bigint;
}

const routes = `select route.name, destination, keyword, route.priority, route.account_id, username, updated_at, shared_opt_out
  from route join account on account.account_id = route.account_id`;

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
export const putRoute = statement<{
  name: string;
  destination: string;
  end: string;
  keyword: string;
  priority: number;
  owner: AccountKey;
  updatedAt: number;
  sharedOptOut: number;
}>(
  'routes.put',
  `insert into route (name, destination, destination_end, keyword, priority, account_id, updated_at, shared_opt_out)
   values (:name, :destination, :end, :keyword, :priority, :owner, :updatedAt, :sharedOptOut)
   on conflict (name) do update set destination = excluded.destination, destination_end = excluded.destination_end,
     keyword = excluded.keyword, priority = excluded.priority, account_id = excluded.account_id,
     updated_at = excluded.updated_at, shared_opt_out = excluded.shared_opt_out`,
  { affects: 'none' },
);
export const removeRoute = statement<{ name: string }>('routes.remove', 'delete from route where name = :name', {
  affects: 'none',
});
