import { findAccount } from '../domain/accounts/accounts.ts';
import type { AuditedChange } from '../domain/accounts/audit.ts';
import { balancesOf } from '../domain/accounts/ledger.ts';
import { guardOf, NO_GUARD } from '../domain/outbound/guard.ts';
import { createConnectors } from '../domain/sending/connectors.ts';
import type { Action, Input, Services } from './action.ts';
import { domainOf } from './domain.ts';

/**
 * What the audit says about a change besides the names of its fields: the values before and after.
 * Only settings and amounts are here. Names, numbers, texts and secrets are never read.
 */
type Values = Readonly<Record<string, unknown>>;
type Snapshot = (services: Services, account: bigint | null, input: Input) => Promise<Values>;

/** The settings of an account that are no data of a person and no text. */
const ACCOUNT_SETTINGS = [
  'region',
  'timeZone',
  'quietHours',
  'unknownOutcomePolicy',
  'connector',
  'priority',
  'tag',
  'allowedNetworks',
  'wordLanguages',
  'lowCredits',
  'disabledAt',
] as const;

const ofAccount: Snapshot = async ({ database }, account) => {
  const found = account === null ? null : await findAccount(database, account);
  return found ? Object.fromEntries(ACCOUNT_SETTINGS.map((name) => [name, found[name]])) : {};
};

const ofConnector: Snapshot = async ({ database, now }, _, { params }) => {
  const { name } = params as { name?: string };
  const found = (await createConnectors(database, now).list()).find((each) => each.name === name);
  if (!found) return {};
  const { kind, isDefault, submissionsMax, ratePerSecond, pausedAt } = found;
  return { kind, isDefault, submissionsMax, ratePerSecond, paused: pausedAt !== null };
};

const ofCredits: Snapshot = async ({ database }, account) =>
  account === null ? {} : { free: (await balancesOf(database, account)).free };

const ofGuard: Snapshot = async ({ database }, account) =>
  account === null ? {} : { ...((await guardOf(database, account)) ?? NO_GUARD) };

const ofRetention: Snapshot = async (services) => ({ ...(await domainOf(services).retention.days()) });

const SNAPSHOTS: Readonly<Record<string, Snapshot>> = {
  'account change': ofAccount,
  'account enable': ofAccount,
  'account disable': ofAccount,
  'connector put': ofConnector,
  'connector pause': ofConnector,
  'connector resume': ofConnector,
  'credits add': ofCredits,
  'guard put': ofGuard,
  'guard remove': ofGuard,
  'retention set': ofRetention,
};

/** Reads the values that an action may change, before or after it; null for other actions. */
export const valuesOf = async (
  services: Services,
  action: Action,
  account: bigint | null,
  input: Input,
): Promise<Values | null> => (await SNAPSHOTS[action.name]?.(services, account, input)) ?? null;

const VALUE_LENGTH_MAX = 100;
const said = (value: unknown): string | null => {
  if (value === null || value === undefined) return null;
  return Array.isArray(value) ? value.join(', ') : String(value);
};
const shortened = (text: string | null): string | null => (text === null ? null : text.slice(0, VALUE_LENGTH_MAX));

/** The values that differ, by their names. */
export function changesBetween(before: Values | null, after: Values | null): AuditedChange[] {
  if (before === null || after === null) return [];
  return Object.keys({ ...before, ...after }).flatMap((field) => {
    const [from, to] = [said(before[field]), said(after[field])];
    return from === to ? [] : [{ field, from: shortened(from), to: shortened(to) }];
  });
}
