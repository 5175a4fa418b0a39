import assert from 'node:assert/strict';
import { test } from 'node:test';
import { postgresDialect } from '../../src/store/postgres/dialect.ts';
import { sqliteDialect } from '../../src/store/sqlite/connection.ts';
import { render, type SqlDialect, type StatementOptions, statement } from '../../src/store/statement.ts';

const rendered = (text: string, dialect: SqlDialect) => {
  const { parameters } = statement<Record<string, string>>('test', text, { affects: 'all' });
  return render(text, parameters, dialect);
};

test('a statement has its parameters in the order in which they first appear, each once', () => {
  const { parameters } = statement<{ account: bigint; from: number; limitMax: number }>(
    'test',
    'select :from, :account where :from < :limitMax and :account = 1',
  );
  assert.deepEqual(parameters, ['from', 'account', 'limitMax']);
});

test('a statement that is not a select counts as a write', () => {
  for (const text of ['select 1', '  SELECT 1', '\n  select 1']) {
    assert.equal(statement<Record<string, never>>('test', text).writes, false, text);
  }
  for (const text of [
    'insert into t values (1)',
    'update t set a = 1',
    'delete from t returning a',
    'create table t (a)',
  ]) {
    assert.equal(statement<Record<string, never>>('test', text, { affects: 'all' }).writes, true, text);
  }
});

test('a write affects its :account, or declares which accounts it affects, or is refused at the start', () => {
  const affected = (text: string, options?: StatementOptions<Record<string, string>>) =>
    statement<Record<string, string>>('test', text, options).affects;
  assert.equal(affected('update t set a = 1 where account_id = :account'), 'own');
  assert.equal(affected('update t set a = 1', { affects: 'none' }), 'none');
  assert.equal(affected('delete from t returning account_id', { affects: 'returned' }), 'returned');
  assert.equal(affected('select 1 from t where account_id = :account'), undefined);
  assert.throws(() => affected('update t set a = 1'), /^TypeError: test writes and does not declare whom it affects$/);
});

test('parameters are rendered by number, the same name as the same number', () => {
  const text = 'select * from t where a = :first and b = :second or c = :first';
  assert.equal(rendered(text, sqliteDialect), 'select * from t where a = ?1 and b = ?2 or c = ?1');
  assert.equal(rendered(text, postgresDialect), 'select * from t where a = $1 and b = $2 or c = $1');
});

test('a parameter whose name begins with that of another is a different parameter', () => {
  assert.equal(rendered('select :id, :ids, :idsMore', postgresDialect), 'select $1, $2, $3');
});

test('the :: of a cast is not a parameter', () => {
  assert.equal(rendered('select :a::bigint, b::text', postgresDialect), 'select $1::bigint, b::text');
});

test("fragments are replaced by each engine's own SQL, with their parameter inside", () => {
  const text = 'delete from t where account = :account and id {among :ids}';
  assert.equal(
    rendered(text, sqliteDialect),
    'delete from t where account = ?1 and id in (select value from json_each(?2))',
  );
  assert.equal(
    rendered(text, postgresDialect),
    'delete from t where account = $1 and id = any(array(select value::bigint from json_array_elements_text($2::json)))',
  );
  assert.equal(
    render('create table t (a bigint) {clustered};', [], sqliteDialect),
    'create table t (a bigint) without rowid;',
  );
});
