import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { contract } from '../../src/asmx/contract/contract.ts';
import type { Operation } from '../../src/asmx/contract/types.ts';
import type { Exchange } from '../../src/asmx/endpoint.ts';
import type { Database } from '../../src/store/database.ts';
import { columba, freshPath } from '../../test/support/command.ts';
import { adopt, readResult } from '../../test/support/contract-client.ts';
import { onEveryEngine } from '../../test/support/engines.ts';
import { type Caller, createCaller, startProgram, within } from '../../test/support/program.ts';
import { requestOf } from '../../test/support/protocols.ts';
import { createRandom, type Random } from '../../test/support/random.ts';
import { textOf } from '../../test/support/service.ts';
import { type Serving, serve } from '../../test/support/serving.ts';
import { contactFields, contacts, templates } from './contacts-model.ts';
import { type Call, explain } from './history.ts';
import { inbox, messageFields, scheduled, sent } from './messages-model.ts';
import { day, type Planned, type Thing } from './model.ts';

/**
 * Clients that read the same again and again while others write: each answer is one that a program without cached responses
 * could have given at some moment between the question and the answer. SEED repeats the choices, if not the timing.
 */
const SEED = Number(process.env.SEED ?? (process.env.CI ? 20_261_115 : Date.now() % 1_000_000_000));
const WRITES = 0.15;
const things: Readonly<Record<string, Thing>> = { inbox, sent, contacts, templates, scheduled };

const accountOf = (username: string) => ({
  username,
  userID: `user_id of ${username}`,
  datetimeCreated: day(0),
  ...messageFields,
  ...contactFields,
});

function plan({ reads, writes }: Thing, random: Random): Planned {
  if (!random.chance(WRITES)) return random.pick(reads);
  return random.pick(writes.flatMap(([weight, make]) => Array.from({ length: weight }, () => make)))(random);
}

/** One account, and what all of its clients were answered. */
async function round(callers: readonly Pick<Caller, 'ask'>[], name: string, callsEach: number): Promise<number> {
  const histories = new Map(Object.keys(things).map((thing) => [thing, [] as Call[]]));
  let clock = 0;
  const make = async (caller: Pick<Caller, 'ask'>, thing: string, client: string, planned: Planned) => {
    const { group, operation, args, apply, show } = planned;
    const calledAt = ++clock;
    const value = await caller.ask(group, operation, args, 'get');
    const label = `${client} ${operation} ${JSON.stringify(args)}`;
    histories.get(thing)?.push({ label, calledAt, answeredAt: ++clock, result: show(value), apply });
  };
  const work = callers.map(async (caller, index) => {
    const random = createRandom(`${name}, client ${index}`, SEED);
    for (let made = 0; made < callsEach; made++) {
      const thing = random.pick(Object.keys(things));
      await make(caller, thing, `client ${index}`, plan(things[thing] as Thing, random));
    }
  });
  await Promise.all(work);
  for (const [index, caller] of callers.entries()) {
    for (const [thing, { reads }] of Object.entries(things)) {
      for (const each of reads) await make(caller, thing, `client ${index} afterwards`, each);
    }
  }
  for (const [thing, history] of histories) {
    const refusal = explain(history, (things[thing] as Thing).initial);
    assert.ok(refusal === null, `${name}, ${thing}, SEED=${SEED}: ${refusal}`);
  }
  return [...histories.values()].flat().length;
}

/** A database that takes a while to read from, so that much happens between a question and its answer. */
const slowed =
  (random: Random) =>
  (opened: Database): Database => {
    const pause = async () => {
      // Often not at all: what is wrong for a moment only is seen by who is quick.
      for (let turns = Math.max(0, random.below(10) - 5); turns > 0; turns--) await new Promise(setImmediate);
    };
    const around = async <T>(work: () => Promise<T>): Promise<T> => {
      await pause();
      const result = await work();
      await pause();
      return result;
    };
    return {
      ...opened,
      all: (statement, parameters) => around(() => opened.all(statement, parameters)),
      first: (statement, parameters) => around(() => opened.first(statement, parameters)),
      identify: (...caller) => around(async () => opened.identify(...caller)),
    };
  };

function callerOf({ app }: Serving, userId: string): Pick<Caller, 'ask'> {
  return {
    async ask(group, operation, args, protocol = 'get') {
      const { bytes, ...phrased } = requestOf(protocol, group, operation, { user_id: userId, ...args });
      const body = async () => Buffer.from(bytes);
      const reply = await app.endpoint({ ...phrased, base: 'http://sms.example', client: '192.0.2.1', body });
      const text = await textOf(reply);
      assert.equal(reply.status, 200, text);
      const operations = contract[group as keyof typeof contract] as Readonly<Record<string, Operation>>;
      return readResult(protocol, operation, (operations[operation] as Operation).result, { ...reply, text });
    },
  };
}

onEveryEngine('cached responses while others write', (engine) => {
  test('two processes on one database give answers that were right at some moment of their calls', async (t) => {
    const database = await engine.fresh('empty');
    let kept = 0;
    const observe = ({ kind, call }: Exchange) => {
      if (kind === 'ok' && call === undefined) kept += 1;
    };
    const open = (name: string) =>
      serve(database, { observe, database: slowed(createRandom(name, SEED)) }, { responseCacheBytesMax: 2 ** 25 });
    const [one, other] = [await open('one'), await open('other')];
    t.diagnostic(`SEED=${SEED}`);
    let calls = 0;
    try {
      for (let number = 0; number < (engine.name === 'sqlite' ? 15 : 6); number++) {
        await adopt(one.app, accountOf(`round-${number}`));
        const callers = [one, one, one, one, other, other].map((each) => callerOf(each, `user_id of round-${number}`));
        calls += await round(callers, `round-${number}`, 40);
      }
    } finally {
      await one.app.stop();
      await other.app.stop();
    }
    t.diagnostic(`${kept} of ${calls} answers were kept ones`);
    assert.ok(kept > calls / 20, 'too few to tell');
  });

  test('two nodes with two workers each give answers that were right at some moment of their calls', async (t) => {
    const database = await engine.fresh('empty');
    const names = Array.from({ length: engine.name === 'sqlite' ? 6 : 4 }, (_, number) => `round-${number}`);
    const file = freshPath('json');
    writeFileSync(file, JSON.stringify({ accounts: names.map(accountOf) }));
    assert.equal((await columba(['import', file, '--database', database])).code, 0);
    const nodes = [await startProgram(database, 2), await startProgram(database, 2)] as const;
    t.diagnostic(`SEED=${SEED}`);
    for (const name of names) {
      const callers = Array.from({ length: 8 }, (_, client) =>
        createCaller((client % 2 === 0 ? nodes[0] : nodes[1]).address, `user_id of ${name}`),
      );
      await round(callers, name, 40);
      for (const caller of callers) caller.close();
    }
    for (const node of nodes) {
      node.kill('SIGTERM');
      const { code, stderr } = await within('the end of the program', node.ended);
      assert.equal(code, 0, stderr);
      assert.doesNotMatch(stderr, /"level":[456]0/);
    }
  });
});
