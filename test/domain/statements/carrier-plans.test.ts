import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, test } from 'node:test';
import * as incoming from '../../../src/domain/receiving/incoming.sql.ts';
import * as routes from '../../../src/domain/receiving/routes.sql.ts';
import * as attempts from '../../../src/domain/sending/attempts.sql.ts';
import * as sending from '../../../src/domain/sending/dispatch.sql.ts';
import * as receipts from '../../../src/domain/sending/receipts.sql.ts';
import { sqliteDialect } from '../../../src/store/sqlite/connection.ts';
import { render, type Statement } from '../../../src/store/statement.ts';
import { engines } from '../../support/engines.ts';
import { openStore, pathOf } from '../../support/opened-database.ts';

/** These read a whole table: it is small, or nobody waits. */
const WHOLE = [
  'routes.count',
  'incoming.countUnrouted',
  'receipts.heldMatches',
  'routes.after',
  'incoming.groupsAfter',
];

describe('query plans of what carriers bring, on the embedded database', () => {
  let database: DatabaseSync;
  before(async () => {
    const setting = (await engines[0]?.fresh('sample')) as string;
    await (await openStore(setting)).close();
    database = new DatabaseSync(pathOf(setting));
  });
  after(() => database.close());

  const exported = [attempts, incoming, receipts, routes, sending].flatMap((module) => Object.values<unknown>(module));
  const all = exported.filter((each) => typeof (each as Statement).text === 'string') as Statement[];
  for (const { name, text, parameters } of all.filter((each) => !WHOLE.includes(each.name))) {
    test(`${name} reads every table by an index`, () => {
      const plan = database
        .prepare(`explain query plan ${render(text, parameters, sqliteDialect)}`)
        .all()
        .map(({ detail }) => String(detail));
      const ownRows = plan.map((step) => /^(?:CO-ROUTINE|MATERIALIZE) (\w+)$/.exec(step)?.[1]);
      const scans = plan.filter(
        (step) =>
          /^SCAN /.test(step) &&
          !/json_each|CONSTANT ROW|USING (COVERING )?INDEX/.test(step) &&
          !ownRows.includes(step.slice('SCAN '.length)),
      );
      assert.deepEqual(scans, [], plan.join('\n'));
    });
  }
});
