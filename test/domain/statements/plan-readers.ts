import { DatabaseSync } from 'node:sqlite';
import { after, before } from 'node:test';
import { systemClock } from '../../../src/base/clock.ts';
import { postgresDialect } from '../../../src/store/postgres/dialect.ts';
import { createFailoverPool } from '../../../src/store/postgres/pool.ts';
import { sqliteDialect } from '../../../src/store/sqlite/connection.ts';
import { render, type Statement } from '../../../src/store/statement.ts';
import { engines, untouchedPostgres } from '../../support/engines.ts';
import { PATIENT_MS, pathOf } from '../../support/opened-database.ts';
import { genericPlan } from '../../support/statement-plans.ts';

/** Plans of statements on the sample data. A suite calls one of these, and its tests ask the reader. */

type Text = Pick<Statement<never>, 'text' | 'parameters'>;

/** Each plan as its steps, in order. */
export function sqlitePlans() {
  let database: DatabaseSync;
  before(async () => {
    database = new DatabaseSync(pathOf((await engines[0]?.fresh('sample')) as string));
  });
  after(() => database.close());
  const stepsOf = (sql: string): string[] =>
    database
      .prepare(`explain query plan ${sql}`)
      .all()
      .map(({ detail }) => String(detail));
  return {
    database: () => database,
    planOf: ({ text, parameters }: Text) => stepsOf(render(text, parameters, sqliteDialect)),
  };
}

/** On a connection of ours, which has some ways of reading switched off. */
export function postgresPlans() {
  let hosts: ReturnType<typeof createFailoverPool>;
  let client: Awaited<ReturnType<typeof hosts.connect>>;
  before(async () => {
    hosts = createFailoverPool(
      { url: await untouchedPostgres(), connectionsMax: 1, timeoutMs: PATIENT_MS },
      systemClock,
    );
    client = await hosts.connect();
  });
  after(async () => {
    client.release();
    await hosts.close();
  });
  const ask = async (query: string | { name: string; text: string; values: number[] }) =>
    (await client.query(query as string)).rows;
  const planOfText = (text: string) => genericPlan(ask, text);
  return {
    ask,
    planOfText,
    planOf: ({ text, parameters }: Text) => planOfText(render(text, parameters, postgresDialect)),
  };
}
