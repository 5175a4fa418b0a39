import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as incoming from '../../../src/domain/receiving/incoming.sql.ts';
import * as routes from '../../../src/domain/receiving/routes.sql.ts';
import * as attempts from '../../../src/domain/sending/attempts.sql.ts';
import * as sending from '../../../src/domain/sending/dispatch.sql.ts';
import * as receipts from '../../../src/domain/sending/receipts.sql.ts';
import type { Statement } from '../../../src/store/statement.ts';
import { sqlitePlans } from './plan-readers.ts';

/** These read a whole table: it is small, or nobody waits. */
const WHOLE = [
  'routes.count',
  'incoming.countUnrouted',
  'receipts.heldMatches',
  'routes.after',
  'incoming.groupsAfter',
];

describe('query plans of what carriers bring, on the embedded database', () => {
  const { planOf } = sqlitePlans();

  const exported = [attempts, incoming, receipts, routes, sending].flatMap((module) => Object.values<unknown>(module));
  const all = exported.filter((each) => typeof (each as Statement).text === 'string') as Statement[];
  for (const statement of all.filter((each) => !WHOLE.includes(each.name))) {
    const { name } = statement;
    test(`${name} reads every table by an index`, () => {
      const plan = planOf(statement);
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
