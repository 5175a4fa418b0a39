import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Exchange } from '../../src/asmx/endpoint.ts';
import { type Engine, engines, onEveryEngine } from '../../test/support/engines.ts';
import { PROTOCOLS } from '../../test/support/protocols.ts';
import { createRandom, type Random } from '../../test/support/random.ts';
import { ACME, GLOBEX } from '../../test/support/service.ts';
import { CALLS, changes } from '../../test/support/serving.ts';
import { type AnyCall, anyCall, anyWay, CLIENTS } from './any-calls.ts';
import { openTwins, type Twins } from './twins.ts';

/**
 * Whatever is done, by whomever, in whatever order: a service that keeps answers says the same as one that makes each anew.
 * SEED repeats a run; CI repeats one seed, everybody else explores.
 */
const SEED = Number(process.env.SEED ?? (process.env.CI ? 20_261_115 : Date.now() % 1_000_000_000));
const isKept = ({ kind, operation, call }: Exchange) => kind === 'ok' && operation !== undefined && call === undefined;

const RECENT = 12;
const REPEATED = 0.6;
const OPERATOR = 0.02;
const FURTHER_MAX = 4;
const DAY_MS = 86_400_000;

/** Who calls, and the account of each. */
class People {
  readonly accounts = new Map([
    [ACME, 'acme'],
    [GLOBEX, 'globex'],
    ['large', 'large'],
  ]);
  #made = 0;

  /** Those who have an account, and two who have none. */
  all(): string[] {
    return [...this.accounts.keys(), 'unknown', ''];
  }
  newName(what: string): string {
    return `${what} ${++this.#made}`;
  }
  add(name: string, username: string): void {
    this.accounts.set(name, username);
    const further = [...this.accounts.keys()].filter((each) => / \d+$/.test(each));
    if (further.length > FURTHER_MAX) this.accounts.delete(further[0] as string);
  }
}

/** What an operator may do between two calls. Whoever is shut out is let in again before long. */
async function operate(twins: Twins, people: People, random: Random): Promise<void> {
  const [name, username] = random.pick([...people.accounts]);
  const isFurther = / \d+$/.test(name);
  switch (random.below(9)) {
    case 0:
    case 1:
      return twins.setEnabled(username, random.chance(0.8));
    case 2:
      return twins.allow(username, random.pick([[], [], [], CLIENTS.slice(0, 1), CLIENTS]));
    case 3: {
      const further = people.newName('further user_id');
      await twins.rotate(username, isFurther && random.chance(0.3), further);
      return people.add(further, username);
    }
    case 4:
      return isFurther ? twins.revoke(username, name) : undefined;
    case 5: {
      const further = people.newName('account');
      await twins.import(further);
      return people.add(`user_id of ${further}`, further);
    }
    case 6:
      return twins.receive(username, people.newName('received'));
    case 7:
      return twins.send(username, people.newName('sent'));
    default:
      return twins.passTime(random.below(DAY_MS));
  }
}

// A purge of an emptied inbox may change the account between two calls.
const TRIES_MAX = 20;

/** Every operation in every protocol, until its answer is a cached one, at least twice. */
async function tour(twins: Twins): Promise<Exchange[]> {
  const exchanges: Exchange[] = [];
  for (const protocol of PROTOCOLS) {
    await twins.import(protocol);
    const common = {
      protocol,
      who: `user_id of ${protocol}`,
      process: 0,
      client: CLIENTS[0] as string,
      spelling: Infinity,
    };
    for (const [group, operation, args] of CALLS) {
      const isRead = !changes(operation) && operation !== 'Read';
      for (let tries = 1; tries <= TRIES_MAX; tries++) {
        const exchange = await twins.call({ ...common, group, operation, args });
        exchanges.push(exchange);
        if (tries > 1 && (!isRead || isKept(exchange))) break;
      }
    }
  }
  return exchanges;
}

async function play(engine: Engine, count: number) {
  const random = createRandom('kept', SEED);
  const twins = await openTwins(engine, `SEED=${SEED}`);
  const people = new People();
  const recent: AnyCall[] = [];
  const exchanges: Exchange[] = [];
  try {
    for (let made = 0; made < count; made++) {
      if (random.chance(OPERATOR)) await operate(twins, people, random);
      if (made === count / 2) {
        for (const command of ['disable', 'enable']) {
          await twins.command('account', command, 'acme');
          for (const call of recent) await twins.call({ ...call, who: ACME });
        }
      }
      const again = recent.length > 0 && random.chance(REPEATED) ? random.pick(recent) : undefined;
      // Again to any process and from any address.
      const isThere = again && people.all().includes(again.who);
      const call = isThere ? { ...again, ...anyWay(random) } : anyCall(random, people.all());
      if (!isThere) recent.push(call);
      if (recent.length > RECENT) recent.shift();
      exchanges.push(await twins.call(call));
    }
    exchanges.push(...(await tour(twins)));
    await twins.compare();
  } finally {
    await twins.stop();
  }
  return exchanges;
}

onEveryEngine('cached and fresh responses', (engine) => {
  const isEmbedded = engine === engines[0];
  test('cached responses equal fresh ones after any sequence of calls', async (t) => {
    t.diagnostic(`SEED=${SEED}`);
    const exchanges = await play(engine, isEmbedded ? 6_000 : 2_000);
    const kept = exchanges.filter(isKept);
    t.diagnostic(`${kept.length} of ${exchanges.length} answers were kept ones`);
    assert.ok(kept.length > exchanges.length / 20, 'too few to tell');
    const reads = CALLS.filter(([, operation]) => !changes(operation) && operation !== 'Read');
    assert.deepEqual(missing(CALLS, exchanges), [], 'never called with success');
    assert.deepEqual(missing(reads, kept), [], 'never answered by a cached response');
  });
});

/** The operations in each protocol that are not among the exchanges. */
function missing(calls: typeof CALLS, exchanges: readonly Exchange[]): string[] {
  const done = exchanges.filter(({ kind }) => kind === 'ok');
  const found = new Set(done.map(({ group, operation, protocol }) => `${group}.${operation} ${protocol}`));
  const expected = calls.flatMap(([group, operation]) =>
    PROTOCOLS.map((protocol) => `${group}.${operation} ${protocol}`),
  );
  return expected.filter((name) => !found.has(name));
}
