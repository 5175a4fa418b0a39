import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { systemClock } from '../../src/base/clock.ts';
import { createConsole } from '../../src/console/app.ts';
import { issueLink } from '../../src/domain/access/sign-in.ts';
import type { Database } from '../../src/store/database.ts';
import { postgresDialect } from '../../src/store/postgres/dialect.ts';
import { createFailoverPool } from '../../src/store/postgres/pool.ts';
import { sqliteDialect } from '../../src/store/sqlite/connection.ts';
import { render, type Statement } from '../../src/store/statement.ts';
import { consoleRequest, ownerOf } from '../support/console-client.ts';
import { onEveryEngine } from '../support/engines.ts';
import { pathOf } from '../support/opened-database.ts';
import { type OperatorApi, startOperatorApi } from '../support/operator-api.ts';
import { testOnOneServer } from '../support/postgres-engines.ts';
import { CUSTOMER_SCREENS, OPERATOR_SCREENS } from '../support/screens.ts';
import { genericPlan } from '../support/statement-plans.ts';

type AnyStatement = Statement<Record<string, never>>;

/** Tables that grow with the messages, contacts and sessions of accounts, or with time. */
const LARGE =
  /\b(received|sent|scheduled|history|attempt|dispatch|contact|blocked_number|template|movement|audit|session|webhook_delivery|webhook_attempt|unrouted|credential|unread_message)\b/;

/** Every statement that the screens of a customer and of an operator read with. */
async function statementsOfScreens({ services, clock }: OperatorApi): Promise<AnyStatement[]> {
  const seen = new Map<string, AnyStatement>();
  const noting = (database: Database): Database =>
    new Proxy(database, {
      get(target, name, self) {
        const value = Reflect.get(target, name, self);
        if (name !== 'all' && name !== 'first') return typeof value === 'function' ? value.bind(target) : value;
        return (statement: AnyStatement, parameters: never) => {
          seen.set(statement.name, statement);
          return value.call(target, statement, parameters);
        };
      },
    });
  const database = noting(services.database);
  const console = createConsole({ services: { ...services, database }, admitClient: () => {}, report: () => {} });
  const ask = (path: string, init: RequestInit = {}) => {
    const request = new Request(`http://localhost${path}`, init);
    return console(consoleRequest(request));
  };
  for (const [given, paths] of [
    [{ username: 'acme' }, CUSTOMER_SCREENS],
    [{ operator: 'ann' }, OPERATOR_SCREENS],
  ] as const) {
    const { token } = await issueLink(services.database, await ownerOf(services.database, given), clock.now);
    const own = { 'Sec-Fetch-Site': 'none' };
    const signedIn = await ask(`/console/sign-in/${token}`, { method: 'POST', headers: own });
    const cookie = signedIn.headers.getSetCookie()[0]?.split(';')[0] ?? '';
    for (const path of paths) {
      const reply = await ask(path, { headers: { cookie } });
      assert.equal(reply.status, 200, path);
      await reply.text();
    }
  }
  return [...seen.values()];
}

onEveryEngine('query plans of the screens', (engine) => {
  testOnOneServer(
    'no screen reads a large table without an index',
    async (t) => {
      const api = await startOperatorApi(engine);
      t.after(() => api.stop());
      const statements = await statementsOfScreens(api);
      assert.ok(statements.length > 30, 'the screens read little');
      const plans = await planner(api.database, t);
      const scans: string[] = [];
      for (const { name, text, parameters } of statements) {
        for (const step of await plans(text, parameters)) if (LARGE.test(step)) scans.push(`${name}: ${step}`);
      }
      assert.deepEqual(scans, []);
    },
    engine.name,
  );
});

type Plans = (text: string, parameters: AnyStatement['parameters']) => Promise<string[]>;

/** Steps of a plan that read a table from its beginning to its end. */
async function planner(setting: string, t: { after(work: () => unknown): void }): Promise<Plans> {
  if (setting.startsWith('sqlite:')) {
    const database = new DatabaseSync(pathOf(setting));
    t.after(() => database.close());
    return async (text, parameters) =>
      database
        .prepare(`explain query plan ${render(text, parameters, sqliteDialect)}`)
        .all()
        .map(({ detail }) => String(detail))
        .filter((step) => /^SCAN /.test(step) && !/USING (COVERING )?INDEX/.test(step));
  }
  const pool = createFailoverPool({ url: setting, connectionsMax: 1, timeoutMs: 5_000 }, systemClock);
  const client = await pool.connect();
  t.after(async () => {
    client.release();
    await pool.close();
  });
  const ask = async (sql: string) => (await client.query(sql)).rows;
  return async (text, parameters) => {
    const plan = await genericPlan(ask, render(text, parameters, postgresDialect));
    return plan.split('\n').filter((step) => /Seq Scan/.test(step));
  };
}
