import type pg from 'pg';
import { type Clock, within } from '../../base/clock.ts';
import { parserOf } from './column-values.ts';
import { createDriverQuery, type Done, type Prepared, type PreparedResult } from './driver-query.ts';

/** Sends the statement. `timeoutMs` replaces the time-out of the pool. */
export type Execute = <R>(
  client: pg.ClientBase,
  statement: Prepared,
  timeoutMs: number | undefined,
) => Promise<PreparedResult<R>>;

/** The driver's documented way. */
export const executePlain: Execute = async <R>(
  client: pg.ClientBase,
  { name, text, values }: Prepared,
  timeoutMs: number | undefined,
) => {
  const query = {
    name,
    text,
    values,
    types: { getTypeParser: parserOf },
    ...(timeoutMs !== undefined && { query_timeout: timeoutMs }),
  };
  const { rows, rowCount } = await client.query(query as unknown as pg.QueryConfig);
  return { rows: rows as R[], rowCount: rowCount ?? 0 };
};

/** The faster way: see driver-query.ts. */
export const executeFast: Execute = <R>(
  client: pg.ClientBase,
  statement: Prepared,
  timeoutMs: number | undefined,
): Promise<PreparedResult<R>> =>
  new Promise((resolve, reject) => {
    const done: Done = (error, result) => (error ? reject(error) : resolve(result as PreparedResult<R>));
    client.query(createDriverQuery(statement, timeoutMs, done) as unknown as pg.Query);
  });

const TRIAL: Prepared = {
  name: 'driver.trial',
  text: 'select $1::bigint as number, $2::text as text, null::bigint as nothing',
  values: [9_007_199_254_740_993n, 'é\u0001\u0001'],
};
const TRIAL_MS_MAX = 5_000;
const NO_ANSWER = 'no answer';

/**
 * The internals of `pg` are not those that driver-query.ts uses. The client that noticed it must
 * not be used again.
 */
export class DriverChanged extends Error {
  override readonly name = 'DriverChanged';

  constructor(how: string) {
    super(
      `pg's Query has changed: look at src/store/postgres/driver-query.ts (${how}). The documented interface is used, which takes more CPU.`,
    );
  }
}

/**
 * Executes a statement in both ways. Throws DriverChanged if the faster one gives another result.
 */
export async function tryFast(client: pg.ClientBase, clock: Pick<Clock, 'after'>, msMax = TRIAL_MS_MAX): Promise<void> {
  const inTime = <T>(work: Promise<T>): Promise<T | typeof NO_ANSWER> => within(clock, msMax, work, NO_ANSWER);
  // The documented way comes first: a database that does not answer is no change of `pg`.
  const expected = textOf(await executePlain(client, TRIAL, undefined));
  // The first execution asks for the columns, and the second knows them.
  for (const execution of ['first', 'second']) {
    const found = await inTime(executeFast(client, TRIAL, undefined)).then(textOf, String);
    if (found !== expected) throw new DriverChanged(`the ${execution} answer was ${found}, not ${expected}`);
  }
  const told = await inTime(errorTold()).catch((thrown) => thrown);
  if (told !== TRIAL_ERROR) throw new DriverChanged(`an error does not reach the callback: ${told}`);
}

const TRIAL_ERROR = new Error('a trial');

/** What the callback of a query gets where the driver has an error for it. */
const errorTold = (): Promise<unknown> =>
  new Promise((resolve) => createDriverQuery(TRIAL, undefined, resolve).handleError(TRIAL_ERROR, undefined));

const textOf = (result: PreparedResult<unknown> | typeof NO_ANSWER): string =>
  JSON.stringify(result, (_, value) => (typeof value === 'bigint' ? `${value}n` : value));
