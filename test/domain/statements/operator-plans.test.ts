import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as operators from '../../../src/domain/access/operators.sql.ts';
import * as signIn from '../../../src/domain/access/sign-in.sql.ts';
import * as tokens from '../../../src/domain/access/tokens.sql.ts';
import * as accounts from '../../../src/domain/accounts/accounts.sql.ts';
import * as audit from '../../../src/domain/accounts/audit.sql.ts';
import * as events from '../../../src/domain/accounts/events.sql.ts';
import * as idempotency from '../../../src/domain/accounts/idempotency.sql.ts';
import * as ledger from '../../../src/domain/accounts/ledger.sql.ts';
import * as userIds from '../../../src/domain/accounts/user-ids.sql.ts';
import * as blacklist from '../../../src/domain/contacts/blacklist.sql.ts';
import * as contacts from '../../../src/domain/contacts/contacts.sql.ts';
import * as groups from '../../../src/domain/contacts/groups.sql.ts';
import * as received from '../../../src/domain/messages/received.sql.ts';
import * as scheduled from '../../../src/domain/messages/scheduled.sql.ts';
import * as sent from '../../../src/domain/messages/sent.sql.ts';
import * as webhooks from '../../../src/domain/webhooks/webhooks.sql.ts';
import * as migrationClients from '../../../src/migration/stages/clients.sql.ts';
import * as migratedAccounts from '../../../src/migration/stages/migrated-accounts.sql.ts';
import * as migrationRules from '../../../src/migration/stages/rules.sql.ts';
import * as migrationTraffic from '../../../src/migration/stages/traffic.sql.ts';
import type { Statement } from '../../../src/store/statement.ts';
import { onOneServer } from '../../support/postgres-engines.ts';
import { postgresPlans, sqlitePlans } from './plan-readers.ts';

type AnyStatement = Statement<Record<string, never>>;

const MODULES = [
  accounts,
  userIds,
  audit,
  blacklist,
  contacts,
  groups,
  events,
  idempotency,
  ledger,
  migratedAccounts,
  migrationClients,
  migrationRules,
  migrationTraffic,
  operators,
  received,
  scheduled,
  sent,
  signIn,
  tokens,
  webhooks,
];
const isStatement = (value: unknown): value is AnyStatement =>
  typeof value === 'object' && value !== null && 'text' in value && 'parameters' in value;
const statements = MODULES.flatMap((module) => Object.values<unknown>(module).filter(isStatement));

/** What the old server is still to get is little, and the counts of a migration are a few thousand rows. */
const WHOLE = [migrationTraffic.countWrites.name, migrationTraffic.countsNamed.name];
/** Few rows of one account. Deliveries come by their time, so only those of one moment are sorted. */
const SORTED = [
  // A whole blacklist is read by the export alone.
  blacklist.all.name,
  userIds.credentials.name,
  userIds.userIds.name,
  tokens.tokensOfAccount.name,
  webhooks.claimDue.name,
  // Sums of some days, which have a few thousand rows.
  migrationTraffic.countsSince.name,
  migrationTraffic.countsNamed.name,
  // Writes that wait under two names of the key: those that are due, which are few.
  migrationTraffic.behindAccounts.name,
  migrationTraffic.dueWriteAccounts.name,
  // Counts the accounts of at most 50,000 rows.
  migrationClients.summary.name,
];

describe('query plans of the operator, on the embedded database', () => {
  const { planOf } = sqlitePlans();

  for (const statement of statements) {
    const { name } = statement;
    test(`${name} reads every table by an index, in its order`, () => {
      const plan = planOf(statement);
      const scans = plan.filter(
        (step) => /^SCAN (?!CONSTANT|json_each|counted)/.test(step) && !/USING (COVERING )?INDEX/.test(step),
      );
      if (!WHOLE.includes(name)) assert.deepEqual(scans, [], plan.join('\n'));
      if (!SORTED.includes(name)) assert.ok(!plan.some((step) => step.includes('ORDER BY')), plan.join('\n'));
    });
  }
});

onOneServer('query plans of the operator, on PostgreSQL', () => {
  const { planOf } = postgresPlans();

  for (const statement of statements) {
    const { name } = statement;
    test(`${name} reads every table by an index, in its order`, async () => {
      const plan = await planOf(statement);
      if (!WHOLE.includes(name)) assert.doesNotMatch(plan, /Seq Scan/, plan);
      if (!SORTED.includes(name)) assert.doesNotMatch(plan, /\bSort\b/, plan);
    });
  }
});
