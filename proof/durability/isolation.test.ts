import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { columba, freshPath } from '../../test/support/command.ts';
import type { DataSetReading } from '../../test/support/contract-client.ts';
import { onEveryEngine } from '../../test/support/engines.ts';
import { type Caller, createCaller, startProgram, within } from '../../test/support/program.ts';
import { PROTOCOLS } from '../../test/support/protocols.ts';
import { createRandom, type Random, SEED } from '../../test/support/random.ts';
import { contactFields, contacts, templates } from './contacts-model.ts';
import { type Call, explain } from './history.ts';
import { inbox, messageFields, scheduled, sent } from './messages-model.ts';
import { day, type Planned, type Thing } from './model.ts';

/**
 * Clients that do anything at all to the same account at the same time, through several processes: whatever they are
 * answered, there is an order of their calls in which a program that does one thing at a time would have answered so.
 */
const WORKERS = 2;
const CLIENTS = 6;
const ROUNDS = 10;
const CALLS_EACH = 18;
const WRITES = 0.6;

const things: Readonly<Record<string, Thing>> = { inbox, sent, contacts, templates, scheduled };

function plan({ reads, writes }: Thing, random: Random): Planned {
  if (!random.chance(WRITES)) return random.pick(reads);
  return random.pick(writes.flatMap(([weight, make]) => Array.from({ length: weight }, () => make)))(random);
}

/** The histories of one account's things, each in calls that have nothing to do with the others'. */
class Recorder {
  readonly histories = new Map(Object.keys(things).map((name) => [name, [] as Call[]]));
  #clock = 0;

  async make(caller: Caller, random: Random, name: string, client: string, call: Planned): Promise<void> {
    const { group, operation, args, apply, show } = call;
    const calledAt = ++this.#clock;
    const value = await caller.ask(group, operation, args, random.pick(PROTOCOLS));
    const answeredAt = ++this.#clock;
    const label = `${client} ${operation} ${JSON.stringify(args)}`;
    this.histories.get(name)?.push({ label, calledAt, answeredAt, result: show(value), apply });
  }
}

async function round(callers: readonly Caller[], name: string): Promise<number> {
  const recorder = new Recorder();
  const client = async (caller: Caller, index: number) => {
    const random = createRandom(`${name}, client ${index}`);
    for (let made = 0; made < CALLS_EACH; made++) {
      const thing = random.pick(Object.keys(things));
      await recorder.make(caller, random, thing, `client ${index}`, plan(things[thing] as Thing, random));
    }
  };
  await Promise.all(callers.map(client));

  const [reader] = callers as [Caller];
  const random = createRandom(`${name}, afterwards`);
  for (const [thing, { reads }] of Object.entries(things)) {
    for (const each of reads) await recorder.make(reader, random, thing, 'afterwards', each);
  }
  for (const [thing, history] of recorder.histories) {
    const refusal = explain(history, (things[thing] as Thing).initial);
    assert.ok(refusal === null, `${name}, ${thing}, SEED=${SEED}: ${refusal}`);
  }
  const { rows } = (await reader.ask('inbox', 'InboxDS', { max_count: 100 })) as DataSetReading;
  const counts = [await reader.ask('inbox', 'CountRead'), await reader.ask('inbox', 'CountUnread')] as bigint[];
  assert.equal((counts[0] as bigint) + (counts[1] as bigint), BigInt(rows.length));
  return [...recorder.histories.values()].flat().length;
}

onEveryEngine('isolation', (engine) => {
  test('concurrent clients of several processes get answers that clients calling one after the other could have got', async (t) => {
    const database = await engine.fresh('empty');
    const names = Array.from({ length: ROUNDS }, (_, number) => `round-${number}`);
    const accounts = names.map((username) => ({
      username,
      userID: `user_id of ${username}`,
      datetimeCreated: day(0),
      ...messageFields,
      ...contactFields,
    }));
    const file = freshPath('json');
    writeFileSync(file, JSON.stringify({ accounts }));
    assert.equal((await columba(['import', file, '--database', database])).code, 0);

    const program = await startProgram(database, WORKERS);
    t.diagnostic(`SEED=${SEED}`);
    let calls = 0;
    for (const name of names) {
      const callers = Array.from({ length: CLIENTS }, () => createCaller(program.address, `user_id of ${name}`));
      calls += await round(callers, name);
      for (const caller of callers) caller.close();
    }
    t.diagnostic(`${calls} calls in ${ROUNDS} accounts`);
    program.kill('SIGTERM');
    const { code, stderr } = await within('the end of the program', program.ended);
    assert.equal(code, 0, stderr);
    assert.doesNotMatch(stderr, /"level":[456]0/); // nothing went wrong that a client was not told of
  });
});
