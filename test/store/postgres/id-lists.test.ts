import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import * as ledger from '../../../src/domain/accounts/ledger.sql.ts';
import * as contacts from '../../../src/domain/contacts/contacts.sql.ts';
import * as groups from '../../../src/domain/contacts/groups.sql.ts';
import * as inbox from '../../../src/domain/messages/received.sql.ts';
import * as scheduled from '../../../src/domain/messages/scheduled.sql.ts';
import * as outbox from '../../../src/domain/messages/sent.sql.ts';
import * as persons from '../../../src/domain/privacy/persons.sql.ts';
import * as attempts from '../../../src/domain/sending/attempts.sql.ts';
import * as sending from '../../../src/domain/sending/dispatch.sql.ts';
import * as receipts from '../../../src/domain/sending/receipts.sql.ts';
import { postgresDialect } from '../../../src/store/postgres/dialect.ts';
import { SESSION } from '../../../src/store/postgres/pool.ts';
import { render, type Statement } from '../../../src/store/statement.ts';
import { engines } from '../../support/engines.ts';
import { openStore } from '../../support/opened-database.ts';
import { type Outside, openOutside } from '../../support/other-process.ts';
import { onOneServer } from '../../support/postgres-engines.ts';
import { genericPlan } from '../../support/statement-plans.ts';

const withIds = [attempts, contacts, groups, inbox, ledger, outbox, persons, scheduled, receipts, sending]
  .flatMap((module) => Object.values(module) as unknown as Statement<never>[])
  .filter((each) => each.text?.includes('{among :ids}'));

/** 2,000 accounts, one of them with 20,000 messages. Nothing is analyzed: as after an import. */
const DATA = `
  insert into account (account_id, username, credits, used_credits, priority, tag, created_at)
    select i, 'user ' || i, 0, 0, 0, 0, 0 from generate_series(1, 2000) i;
  insert into sent (account_id, message_id, text, status, sent_at, updated_at, is_marked)
    select 1, i, 'text', 'QUEUED', i, i, 0 from generate_series(1, 20000) i;
  insert into received (account_id, message_id, text, received_at) select 1, i, 'text', i from generate_series(1, 20000) i;
  insert into contact (account_id, contact_id, number_key) select 1, i, 'key ' || i from generate_series(1, 20000) i;
  insert into dispatch (account_id, message_id, state, due_at, is_scheduled, held, parts, expires_at)
    select 1, i, 'waiting', i, 0, 1, 1, 0 from generate_series(1, 20000) i;
  insert into attempt (account_id, message_id, attempt, part, attempt_id, connector, state, submitted_at)
    select 1, i, 1, 1, i::text, 'loopback', 'submitting', i from generate_series(1, 20000) i`;

onOneServer('a list of ids', () => {
  let outside: Outside;
  before(async () => {
    const setting = (await engines.find(({ name }) => name === 'postgres')?.fresh('empty')) as string;
    await (await openStore(setting)).close();
    outside = await openOutside(setting);
    for (const each of [...DATA.split(';'), ...SESSION.split(';')]) await outside.query(each);
  });
  after(() => outside.close());

  for (const { name, text, parameters } of withIds) {
    test(`${name} finds the ids by an index instead of reading the account`, async () => {
      const plan = await genericPlan(outside.query, render(text, parameters, postgresDialect));
      assert.match(plan, /Index Cond: .*= ANY/, plan);
      assert.doesNotMatch(plan, /Seq Scan|Hash Join|Hash Semi Join/, plan);
    });
  }
});
