import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { describe, test } from 'node:test';
import pg from 'pg';
import { Problem } from '../../../src/base/problem.ts';
import { describeError, textsOf } from '../../../src/serve/telemetry/error-redaction.ts';
import { createLog } from '../../../src/serve/telemetry/log.ts';
import { onOneEngine } from '../../support/engines.ts';

const SECRET = 'marzipan';

/** The error of work that fails. */
async function failureOf(work: () => unknown): Promise<unknown> {
  try {
    await work();
  } catch (thrown) {
    return thrown;
  }
  return assert.fail('it did not fail');
}

const lineOf = (err: unknown): string => {
  let line = '';
  createLog('trace', {
    write: (text: string) => {
      line = text;
    },
  }).error({ err }, 'failed');
  return line;
};

describe('an error in the log', () => {
  test('a logged error has its type, code, message and stack', () => {
    const error = Object.assign(new TypeError('connect refused, port 5432'), { code: 'ECONNREFUSED' });
    const { type, code, message, stack } = JSON.parse(lineOf(error)).err;
    assert.deepEqual([type, code, message], ['TypeError', 'ECONNREFUSED', 'connect refused, port 5432']);
    assert.match(stack, /^ {4}at .*error-redaction\.test\.ts:\d+:\d+/);
  });

  test('a logged error has at most three causes', () => {
    const deep = [1, 2, 3, 4, 5].reduce<Error | undefined>((cause, n) => new Error(`level ${n}`, { cause }), undefined);
    const messages: string[] = [];
    for (let at = describeError(deep); at; at = at.cause as typeof at) messages.push(at.message);
    assert.deepEqual(messages, ['level 5', 'level 4', 'level 3', 'level 2']);
  });

  const CASES: [what: string, make: () => unknown][] = [
    ['in double quotes', () => new Error(`invalid input: "${SECRET}"`)],
    ['in double quotes, with more of them in it', () => new Error(`invalid input: "a "${SECRET}" b" at 5`)],
    ['in single quotes', () => new Error(`no column '${SECRET}'`)],
    ['in backquotes', () => new Error(`no \`${SECRET}\``)],
    ['in a quote that never ends', () => new Error(`broke off at "${SECRET}`)],
    ['as V8 says it of a number', () => failureOf(() => BigInt(`${SECRET} 5`))],
    ['as V8 says it of JSON', () => failureOf(() => JSON.parse(`{"a": ${SECRET}}`))],
    ['as V8 says it of a broken JSON', () => failureOf(() => JSON.parse(`"${SECRET}`))],
    ['in an address', () => new Error(`cannot reach postgres://${SECRET}:${SECRET}@db.example/columba`)],
    ['as a property', () => Object.assign(new Error('no'), { detail: SECRET, parameters: [SECRET], where: SECRET })],
    ['as its name', () => Object.assign(new Error('no'), { name: SECRET })],
    ['as a code that is none', () => Object.assign(new Error('no'), { code: `x ${SECRET}` })],
    ['as a text that was thrown', () => SECRET],
    ['as an object that was thrown', () => ({ message: SECRET, stack: SECRET, code: 1 })],
    ['in its cause', () => new Error('no', { cause: new Error(`"${SECRET}"`) })],
    ['in the cause of a problem', () => new Problem('unavailable', 'no', { cause: new Error(`"${SECRET}"`) })],
    ['in lines that look like a stack', () => new Error(`no "a\n    at ${SECRET} (a.ts:1:1)\n    at ${SECRET}:1:1"`)],
    [
      'in a stack without the message',
      () => Object.assign(new Error('no'), { stack: `Error: ${SECRET}\n    at x (a.ts:1:1)` }),
    ],
  ];
  for (const [what, make] of CASES) {
    test(`a logged error holds no value ${what}`, async () => {
      const line = lineOf(await make());
      assert.ok(!line.includes(SECRET), line);
      assert.match(JSON.parse(line).err.type, /^\w+$/);
    });
  }

  const NUMBERS: [text: string, expected: string][] = [
    ['sent to +27825550201 in vain', 'sent to … in vain'],
    ['3f0d9c1e-6b1a-4a63-9b57-2f5f0a7d1c11 is unknown', '… is unknown'],
    ['connect ECONNREFUSED 127.0.0.1:5432', 'connect ECONNREFUSED 127.0.0.1:5432'],
    ['no room for Größe', 'no room for Gr…e'],
    ["the reader can't go on, it doesn't know how", "the reader can't go on, it doesn't know how"],
    ['UNIQUE constraint failed: credential.user_id_hash', 'UNIQUE constraint failed: credential.user_id_hash'],
  ];
  for (const [text, expected] of NUMBERS) {
    test(`the message "${text}" is logged as ${expected}`, () =>
      assert.equal(describeError(new Error(text)).message, expected));
  }

  test('a logged error holds no text of the client in any encoding', () => {
    const values = textsOf({ user_id: SECRET, id: ['a list', 'of two'], max: 5, from: null });
    assert.deepEqual(values, [SECRET, 'a list', 'of two', '5', '']);
    const error = new Error(`of two, a list: no ${SECRET}x at 5`);
    assert.equal(describeError(error, values).message, '…, …: no …x at 5');
  });

  test('a logged error has a bounded length', () => {
    for (const text of ['x ', 'ab-', '1', '"', "'a", 'é']) {
      assert.ok(describeError(new Error(text.repeat(1_000_000))).message.length <= 500, text);
    }
    const deep = (n: number): Error => (n === 0 ? new Error('deep') : deep(n - 1));
    Error.stackTraceLimit = 100;
    try {
      assert.equal(describeError(deep(90)).stack?.split('\n').length, 20);
    } finally {
      Error.stackTraceLimit = 10;
    }
  });
});

onOneEngine('errors of the databases themselves', (engine) => {
  const STATEMENTS = [
    `insert into template (account_id, position, text) values (1, 1, '${SECRET}')`,
    `select cast('${SECRET}' as bigint) + nothing_there`,
    `insert into credential (account_id, user_id_hash, created_at) select account_id, '${SECRET}', 1 from account union all
       select account_id, '${SECRET}', 1 from account`,
    `insert into account (account_id, username) values (7, '${SECRET}')`,
    `select '${SECRET}`,
  ];

  test('errors of calls are in the log without a value', async () => {
    const database = await engine.fresh('sample');
    const run = await opened(database);
    for (const text of STATEMENTS) {
      const line = lineOf(await failureOf(() => run(text)));
      assert.ok(!line.includes(SECRET), line);
      assert.match(JSON.parse(line).err.code, /^(ERR_SQLITE_ERROR \d+|[0-9A-Z]{5})$/);
    }
    await run('');
    engine.release(database);
  });
});

/** Runs SQL of the test's own; nothing closes it. */
async function opened(setting: string): Promise<(sql: string) => unknown> {
  if (setting.startsWith('sqlite:')) {
    const database = new DatabaseSync(setting.slice('sqlite:'.length));
    return (sql) => (sql === '' ? database.close() : database.exec(sql));
  }
  const client = new pg.Client({ connectionString: setting });
  await client.connect();
  return (sql) => (sql === '' ? client.end() : client.query(sql));
}
