import { readNetworks } from '../../base/networks.ts';
import { badField, conflict } from '../../base/problem.ts';
import { accountId } from '../../domain/accounts/accounts.ts';
import type { Database, Queries } from '../../store/database.ts';
import * as sql from './rules.sql.ts';

/**
 * Rules that choose which server answers the reads of a client, by its address or a header field.
 * Writes follow the stage of the account, so that they have one order. A rule applies only while
 * both servers have all data of the account, which is in the stages compare and lead.
 */
export const RULE_STAGES = ['compare', 'lead'] as const;
export type RuleStage = (typeof RULE_STAGES)[number];

export interface ClientRule {
  readonly name: string;
  /** Null for every account. */
  readonly username: string | null;
  /** An address or a network; null for any. */
  readonly network: string | null;
  /** The name in lower case and the whole value; null for any. */
  readonly header: { readonly name: string; readonly value: string } | null;
  readonly stage: RuleStage;
}
export interface KnownRule extends ClientRule {
  readonly account: bigint | null;
  readonly changedAt: number;
}

/** The number of rules is limited, because a proxy looks through them for each read. */
export const CLIENT_RULES_MAX = 100;

export async function clientRules(queries: Queries): Promise<KnownRule[]> {
  const rows = await queries.all(sql.clientRules, { limit: CLIENT_RULES_MAX });
  return rows.map((row) => ({
    name: row.name,
    account: row.account_id,
    username: row.username,
    network: row.network === '' ? null : row.network,
    header: row.header === '' ? null : { name: row.header, value: row.header_value },
    // A word of a later version counts as compare, in which the old server answers.
    stage: row.stage === 'lead' ? 'lead' : 'compare',
    changedAt: Number(row.changed_at),
  }));
}

/** `renew` tells the proxies. */
export async function putClientRule(
  database: Database,
  rule: ClientRule,
  at: number,
  renew: (queries: Database) => Promise<unknown>,
): Promise<void> {
  checkRule(rule);
  const { name, username, network, header, stage } = rule;
  const customer = username === null ? null : await accountId(database, username);
  const known = await clientRules(database);
  if (known.length >= CLIENT_RULES_MAX && !known.some((each) => each.name === name)) {
    throw conflict(`There are ${CLIENT_RULES_MAX} rules already. Remove one first.`);
  }
  await database.run(sql.putClientRule, {
    name,
    customer,
    network: network ?? '',
    header: header?.name.toLowerCase() ?? '',
    headerValue: header?.value ?? '',
    stage,
    at,
  });
  await renew(database);
}

/** Returns whether there was such a rule. */
export const removeClientRule = async (database: Database, name: string): Promise<boolean> =>
  (await database.run(sql.removeClientRule, { name })) > 0;

const FIELD_NAME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$/;

function checkRule({ network, header }: ClientRule): void {
  if (network === null && header === null) {
    throw badField('address', 'expected an address, a network or a header field: a rule for every client is a stage');
  }
  if (network !== null && !isNetwork(network)) {
    throw badField('address', 'expected an address or a network such as 10.0.0.17 or 10.0.0.0/24');
  }
  if (header !== null && !FIELD_NAME.test(header.name)) {
    throw badField('header', 'expected the name of a header field, such as X-Client');
  }
}

function isNetwork(text: string): boolean {
  try {
    return readNetworks(text).length === 1 && !text.includes(',');
  } catch {
    return false;
  }
}
