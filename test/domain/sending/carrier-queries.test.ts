import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { newAttemptId } from '../../../src/domain/sending/attempts.ts';
import { createCarrierQueries, noteQueries } from '../../../src/domain/sending/carrier-queries.ts';
import { withGatewayId } from '../../../src/domain/sending/receipts.sql.ts';
import { recordsOf } from '../../../src/store/json.ts';
import { counting } from '../../support/counted-database.ts';
import { type Engine, onEveryEngine } from '../../support/engines.ts';
import { sql } from '../../support/opened-database.ts';
import { openSending, START } from '../../support/sending.ts';

const addAttempts = sql<{ rows: string }>(
  `insert into attempt (account_id, message_id, attempt, part, attempt_id, connector, gateway_id, state, submitted_at)
   select account_id, message_id, 1, 1, attempt_id, 'carrier', gateway_id, 'accepted', submitted_at
   from {records :rows account_id bigint, message_id bigint, attempt_id text, gateway_id text, submitted_at bigint} as given`,
);
const left = sql<Record<string, never>, { total: bigint }>(
  "select count(*) as total from carrier_query where attempt_id > ''",
);
/** As the rule has it: an id of more parts is one that the carrier gives to every part. */
const SHARING_MAX = 1_000;

/** Parts that a carrier had before a restore, each a second after the one before, with these ids of the carrier. */
async function restored(engine: Engine, t: TestContext, gatewayIds: readonly string[]) {
  const sending = await openSending(engine, t);
  const account = await sending.addAccount();
  const parts = gatewayIds.map((gatewayId, index) => {
    const submittedAt = START + index * 1_000;
    return { attemptId: newAttemptId(submittedAt), gatewayId, submittedAt };
  });
  const rows = parts.map(({ attemptId, gatewayId, submittedAt }, index) => {
    return [account, index + 1, attemptId, gatewayId, submittedAt];
  });
  await sending.database.run(addAttempts, { rows: recordsOf(rows) });
  const at = START + gatewayIds.length * 1_000;
  assert.equal(await noteQueries(sending.database, ['carrier'], at), gatewayIds.length);
  const { database, read } = counting(sending.database);
  /** How many parts each look at an id has read. */
  const sharing: number[] = [];
  const first = (async (statement, parameters) => {
    const row = await database.first(statement, parameters);
    if (Object.is(statement, withGatewayId)) sharing.push(Number((row as { sharing?: bigint }).sharing));
    return row;
  }) as typeof database.first;
  return {
    parts,
    sharing,
    queries: createCarrierQueries({ ...database, first }, 'carrier', () => at),
    looked: () => read.byName.get('receipts.takeQuery') ?? 0,
    left: async () => Number((await sending.database.first(left, {}))?.total),
  };
}

onEveryEngine('questions to a carrier after a restore', (engine) => {
  test('parts of a carrier that gave one id to all of them are not read again for each question', async (t) => {
    const all = Array.from({ length: 5 * SHARING_MAX }, () => 'same');
    const { queries, sharing, looked, left } = await restored(engine, t, ['g-1', ...all]);
    assert.equal((await queries.take())?.gatewayId, 'g-1', 'the oldest, which has an id of its own');
    assert.equal(await left(), 1);
    assert.ok(looked() <= 12, `${looked()} were looked at`);
    assert.equal(Math.max(...sharing), SHARING_MAX + 1);
  });

  test('a carrier that used an id again a thousand times is asked about its newest part', async (t) => {
    const again = Array.from({ length: SHARING_MAX }, () => 'again');
    const { parts, queries, left } = await restored(engine, t, again);
    assert.equal((await queries.take())?.attemptId, parts.at(-1)?.attemptId);
    assert.equal(await left(), SHARING_MAX);
  });

  test('a stop does not wait until all parts that are not worth a question were looked at', async (t) => {
    const all = Array.from({ length: 2 * SHARING_MAX }, () => 'same');
    const { queries, looked, left } = await restored(engine, t, all);
    assert.equal(await queries.take(() => looked() > 0), null);
    assert.equal(looked(), 1);
    assert.ok((await left()) >= SHARING_MAX);
  });
});
