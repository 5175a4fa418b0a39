import type { AccountKey } from '../../store/caller.ts';
import { statement } from '../../store/statement.ts';

/**
 * Outbound routes belong to the installation, and a guard to its account: see schema/ways-out.ts.
 */
export interface RouteRow {
  name: string;
  definition: string;
  updated_at: bigint;
}

/** `name > ''` is always true and makes PostgreSQL read along the key: see EVERY_ACCOUNT. */
const routes = "select name, definition, updated_at from outbound_route where name > ''";

export const all = statement<Record<string, never>, RouteRow>('outboundRoutes.all', `${routes} order by name`);
export const withPools = statement<Record<string, never>, RouteRow>(
  'outboundRoutes.withPools',
  `${routes} and definition not like '%"senderPool":[]%' order by name`,
);
/**
 * What sending has to know, in one statement: all routes, and the guard of the account without a
 * name.
 */
export const rules = statement<{ account: AccountKey }, RouteRow>(
  'outboundRoutes.rules',
  `${routes} union all select '' as name, limits as definition, updated_at from spend_guard where account_id = :account`,
);
export const put = statement<{ name: string; definition: string; updatedAt: number }>(
  'outboundRoutes.put',
  `insert into outbound_route (name, definition, updated_at) values (:name, :definition, :updatedAt)
   on conflict (name) do update set definition = excluded.definition, updated_at = excluded.updated_at`,
  { affects: 'none' },
);
export const remove = statement<{ name: string }>(
  'outboundRoutes.remove',
  'delete from outbound_route where name = :name',
  { affects: 'none' },
);

export interface CountRow {
  route: string;
  connector: string;
  accepted: bigint;
  temporary: bigint;
  permanent: bigint;
  unknown_outcome: bigint;
  failovers: bigint;
}
export const counts = statement<Record<string, never>, CountRow>(
  'outboundRoutes.counts',
  `select route, connector, accepted, temporary, permanent, unknown_outcome, failovers from outbound_count
   where route > '' order by route, connector`,
);
export const addCounts = statement<{
  route: string;
  connector: string;
  accepted: number;
  temporary: number;
  permanent: number;
  unknownOutcome: number;
  failovers: number;
}>(
  'outboundRoutes.addCounts',
  `insert into outbound_count (route, connector, accepted, temporary, permanent, unknown_outcome, failovers)
   values (:route, :connector, :accepted, :temporary, :permanent, :unknownOutcome, :failovers)
   on conflict (route, connector) do update set accepted = outbound_count.accepted + excluded.accepted,
     temporary = outbound_count.temporary + excluded.temporary, permanent = outbound_count.permanent + excluded.permanent,
     unknown_outcome = outbound_count.unknown_outcome + excluded.unknown_outcome,
     failovers = outbound_count.failovers + excluded.failovers`,
  { affects: 'none' },
);
export const removeCounts = statement<{ route: string }>(
  'outboundRoutes.removeCounts',
  'delete from outbound_count where route = :route',
  { affects: 'none' },
);
