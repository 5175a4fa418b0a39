import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { migrations } from '../../../src/store/schema/migrations.ts';
import { adopt } from '../../support/contract-client.ts';
import { type Engine, onEveryEngine } from '../../support/engines.ts';
import { openStore } from '../../support/opened-database.ts';
import { openOutside } from '../../support/other-process.ts';
import { ONE_SERVER, testOnOneServer } from '../../support/postgres-engines.ts';
import { CALLS, changes, serve } from '../../support/serving.ts';

const OTHER = 'somebody else';
const TIME = '2026-05-01T00:00:00Z';
/** Its id is put in: a cluster takes no subquery among the values of an insert. */
const ACME = ':acme';

async function open(engine: Engine, t: TestContext) {
  const setting = await engine.fresh('sample');
  const serving = await serve(setting);
  const opened = await openOutside(setting);
  const [acme] = await opened.query("select cast(account_id as text) as id from account where username = 'acme'");
  const outside = { ...opened, query: (sql: string) => opened.query(sql.replaceAll(ACME, String(acme?.id))) };
  t.after(() => Promise.all([serving.app.stop(), outside.close()]));
  await adopt(serving.app, { username: OTHER, userID: OTHER, inbox: [{ id: 1, timestamp: TIME, read: false }] });
  const versions = async () => {
    const rows = await outside.query(
      'select username, version from account join tally on tally.account_id = account.account_id',
    );
    return new Map(rows.map(({ username, version }) => [username as string, version as bigint]));
  };
  /** The accounts whose version is another one after the work. */
  const renewed = async (work: () => Promise<unknown>): Promise<string[]> => {
    const before = await versions();
    await work();
    const after = await versions();
    return [...before.keys()].filter((name) => before.get(name) !== after.get(name));
  };
  return { serving, outside, versions, renewed };
}

/** Tables of accounts that no call of the contract shows. */
const NOT_SHOWN = [
  ...'attempt dispatch dispatch_account account_hour sender_choice spend_count spend_guard gateway_message held_incoming held_receipt history'.split(
    ' ',
  ),
  ...'id_counter incoming_once ledger movement operator_token receipt_watch carrier_query recovery_code route'.split(
    ' ',
  ),
  ...'second_factor session sign_in_link tally unrouted webhook webhook_attempt webhook_delivery'.split(' '),
  ...'batch message_draft search_entry search_change search_backfill conversation'.split(' '),
  ...'user_id_use migrated_server migrated_account taken_message migration_stage'.split(' '),
  ...'migration_state migration_count migration_example migration_acceptance'.split(' '),
  ...'migration_write migration_client migration_client_rule migration_stage_change migration_default_change'.split(
    ' ',
  ),
];

/** One change of acme for each table, and each kind of change. */
const CHANGES: Readonly<Record<string, readonly string[]>> = {
  account: [
    'credits = credits + 1',
    "company = 'other'",
    'disabled_at = 1',
    "allowed_networks = '192.0.2.0/24'",
    'disabled_at = null, allowed_networks = null',
  ].map((change) => `update account set ${change} where account_id = ${ACME}`),
  credential: [
    `insert into credential (account_id, user_id_hash, created_at) values (${ACME}, 'hash', 0)`,
    "update credential set revoked_at = 1 where user_id_hash = 'hash'",
    "delete from credential where user_id_hash = 'hash'",
  ],
  contact_group: [
    `insert into contact_group (account_id, group_id, name) values (${ACME}, 99, 'new')`,
    "update contact_group set name = 'newer' where group_id = 99",
    'delete from contact_group where group_id = 99',
  ],
  contact: [
    `insert into contact (account_id, contact_id) values (${ACME}, 999)`,
    "update contact set name = 'newer' where contact_id = 999",
    'delete from contact where contact_id = 999',
  ],
  template: [
    `insert into template (account_id, position, text_hash, text) values (${ACME}, 99, 'hash', 'text')`,
    "update template set text = 'newer' where position = 99",
    'delete from template where position = 99',
  ],
  blocked_number: [
    `insert into blocked_number (account_id, number, number_key, blocked_at) values (${ACME}, '+1', '1', 0)`,
    "update blocked_number set sample = 'STOP' where number = '+1'",
    "delete from blocked_number where number = '+1'",
  ],
  unread_message: [
    `insert into received (account_id, message_id, received_at) values (${ACME}, 99, 0)`,
    `insert into unread_message (account_id, generation, received_at, message_id) values (${ACME}, 0, 0, 99)`,
    'update unread_message set received_at = 1 where message_id = 99',
    'delete from unread_message where message_id = 99',
  ],
  received: ["update received set text = 'newer' where message_id = 99", 'delete from received where message_id = 99'],
  sent: [0, 1].flatMap((marked) => [
    `insert into sent (account_id, message_id, status, sent_at, updated_at, is_marked) values (${ACME}, 99, 'SENT', 0, 0, ${marked})`,
    "update sent set status = 'DELIVERED' where message_id = 99",
    'update sent set is_marked = 1 - is_marked where message_id = 99',
    'delete from sent where message_id = 99',
  ]),
  scheduled: [
    `insert into scheduled (account_id, message_id, held_parts, scheduled_at, created_at) values (${ACME}, 99, 1, 0, 0)`,
    'update scheduled set scheduled_at = 1 where message_id = 99',
    'delete from scheduled where message_id = 99',
  ],
};

const FREE_OF_CHARGE = `insert into scheduled (account_id, message_id, held_parts, scheduled_at, created_at)
  values (${ACME}, 99, 0, 0, 0)`;

onEveryEngine('the version of an account', (engine) => {
  test('every change of a table that calls show changes the version of its account, and no other', async (t) => {
    const { outside, renewed } = await open(engine, t);
    // On a cluster the statement that changes a credential renews the version, and no trigger does.
    const { credential = [], ...others } = CHANGES;
    const all = [...Object.values(others).flat(), ...(ONE_SERVER && engine.name === 'postgres' ? [] : credential)];
    for (const each of all) {
      assert.deepEqual(await renewed(() => outside.query(each)), ['acme'], each);
    }
    const whole = 'update template set text = text';
    assert.ok((await renewed(() => outside.query(whole))).includes('acme'), whole);
  });

  test('every table with an account has a change in this test, or is not shown by any call', async (t) => {
    const { outside } = await open(engine, t);
    const content = await outside.content();
    const names = Object.keys(content).filter((name) => !NOT_SHOWN.includes(name));
    for (const name of names) {
      const columns = await outside.columns(name);
      if (columns.includes('account_id')) assert.ok(name in CHANGES, `${name} has accounts, and no version`);
    }
  });

  test('every operation that changes something changes the version of the account, and no other operation does', async (t) => {
    const { serving, outside, renewed } = await open(engine, t);
    for (const [group, operation, args] of CALLS) {
      // Those before it have taken away what there was.
      if (operation === 'DeleteAllScheduled') await outside.query(FREE_OF_CHARGE);
      const expected = changes(operation) ? ['acme'] : [];
      assert.deepEqual(await renewed(() => serving.ask(group, operation, args)), expected, operation);
    }
  });

  test('the version of an account stays if no row changes, and after a rollback or a purge', async (t) => {
    const { serving, outside, renewed } = await open(engine, t);
    for (const each of [
      'update account set credits = 1 where account_id = -1',
      'delete from template where position = -1',
      `update tally set generation = generation where account_id = ${ACME}`,
    ]) {
      assert.deepEqual(await renewed(() => outside.query(each)), [], each);
    }
    const undone = async () => {
      await outside.query('begin');
      await outside.query(`update account set credits = 1 where account_id = ${ACME}`);
      await outside.query('rollback');
    };
    assert.deepEqual(await renewed(undone), []);
    await serving.ask('inbox', 'DeleteAllMessages', {});
    const purge = `delete from received where account_id = ${ACME} and generation = 0`;
    assert.deepEqual(await renewed(() => outside.query(purge)), []);
  });

  testOnOneServer(
    'accounts have different versions, and an account that is created again has a new one',
    async (t) => {
      const { serving, outside, versions } = await open(engine, t);
      const first = await versions();
      assert.equal(new Set(first.values()).size, first.size);
      assert.ok([...first.values()].every((version) => version > 0n && version < 2n ** 53n));
      await outside.query(`delete from account where username = '${OTHER}'`);
      await adopt(serving.app, { username: OTHER, userID: OTHER });
      assert.notEqual((await versions()).get(OTHER), first.get(OTHER));
    },
    engine.name,
  );

  test('accounts that existed before the migration get a version each', async (t) => {
    const setting = await engine.fresh('none');
    const outside = await openOutside(setting);
    t.after(() => outside.close());
    const step = migrations.findIndex(({ name }) => name === 'versions of accounts');
    await outside.migrate(migrations.slice(0, step));
    for (const id of [1, 2]) {
      await outside.query(
        `insert into account (account_id, username, credits, used_credits, priority, tag, created_at)
         values (${id}, 'user ${id}', 0, 0, 0, 0, 0)`,
      );
    }
    await (await openStore(setting)).close();
    const rows = await outside.query('select version from tally');
    assert.equal(new Set(rows.map(({ version }) => version)).size, 2);
    assert.ok(rows.every(({ version }) => (version as bigint) > 0n));
  });
});
