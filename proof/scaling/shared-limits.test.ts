import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { onEveryEngine } from '../../test/support/engines.ts';
import { type Caller, createCaller, type Program, startProgram, within } from '../../test/support/program.ts';
import { ACME, GLOBEX } from '../../test/support/service.ts';

/** The real program with several processes behind one port: they count together. */
const WORKERS = 2;
/** New connections go to the processes in turn, so that each has as many. */
const CONNECTIONS = 4 * WORKERS;
const RATE = 20;
const BURST = 60;
/** What a process takes at a time. */
const LEASE = 1;
/** Three times as many as one process would grant by itself in a second. */
const CALLS = 3 * WORKERS * (BURST + RATE);

onEveryEngine('limits of several processes', (engine) => {
  let program: Program;
  before(async () => {
    const limits = ['--account-rate', String(RATE), '--account-burst', String(BURST)];
    program = await startProgram(await engine.fresh('sample'), WORKERS, limits);
  });
  after(async () => {
    program.kill('SIGTERM');
    assert.equal((await within('the end', program.ended)).code, 0);
    engine.release(program.database);
  });
  const callersOf = (userId: string, count = CONNECTIONS): Caller[] =>
    Array.from({ length: count }, () => createCaller(program.address, userId));

  test('the rate limit of an account counts calls to all processes together, and leaves other accounts alone', async (t) => {
    const callers = callersOf(ACME);
    const statuses: number[] = [];
    const startedAt = Date.now();
    await Promise.all(
      callers.map(async (caller) => {
        for (let call = 0; call < CALLS / CONNECTIONS; call++) {
          const { status, headers } = await caller.send('inbox', 'CountUnread', {});
          statuses.push(status);
          if (status === 429) assert.equal(headers['retry-after'], '1');
        }
      }),
    );
    const seconds = (Date.now() - startedAt + 1) / 1_000;
    for (const caller of callers) caller.close();
    const admitted = statuses.filter((status) => status === 200).length;
    const most = BURST + RATE * seconds;
    t.diagnostic(`${admitted} of ${statuses.length} in ${seconds} s, where ${Math.floor(most)} may be`);
    assert.deepEqual([...new Set(statuses)].sort(), [200, 429]);
    assert.ok(admitted <= most, `${admitted}, and at most ${most}`);
    // What the others have taken and not used; the first is the one that took the last.
    assert.ok(admitted >= BURST - (WORKERS - 1) * LEASE, `only ${admitted}`);

    const others = callersOf(GLOBEX, WORKERS);
    for (const other of others) assert.equal((await other.send('inbox', 'CountUnread', {})).status, 200);
    for (const other of others) other.close();
  });

  test('failed identifications are delayed after 10 at all processes together, not after 10 at each', async () => {
    const callers = callersOf('nobody');
    const waits: number[] = [];
    for (let failure = 0; failure < 13; failure++) {
      const startedAt = performance.now();
      const { status } = await (callers[failure % CONNECTIONS] as Caller).send('inbox', 'CountUnread', {});
      waits.push(performance.now() - startedAt);
      assert.equal(status, 403);
    }
    // No earlier: how much later is the machine's business. A timer may be a millisecond early.
    for (const [index, leastMs] of [100, 200, 400].entries()) {
      assert.ok(
        (waits[10 + index] ?? 0) >= leastMs - 2,
        `failure ${11 + index} was held back for ${waits[10 + index]} ms`,
      );
    }
    for (const caller of callers) caller.close();
    const known = createCaller(program.address, ACME);
    assert.equal((await known.send('inbox', 'CountUnread', {})).status, 200);
    known.close();
  });
});
