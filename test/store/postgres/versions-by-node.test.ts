import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isUnavailable } from '../../../src/base/problem.ts';
import { createVersionsByNode } from '../../../src/store/postgres/versions-by-node.ts';
import { unavailable } from '../../../src/store/unavailable.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

const TIMEOUT_MS = 4_000;
/** Longer than a question is waited for while all nodes are asked together. */
const SOME_TIME_MS = 200;
/** Longer than nodes are asked apart after trouble. */
const LONG_MS = 60_000;

/**
 * Nodes whose network can become silent: then a question that needs one of them fails after the time-out. The first digit of
 * an account is its node, unless it has moved.
 */
function createNodes() {
  const clock = createVirtualClock();
  const silent = new Set<number>();
  const moved = new Map<string, number>();
  const questions: string[] = [];
  let underWay = 0;
  const nodeOf = (account: string) => moved.get(account) ?? Number(account[0]);
  const versionOf = createVersionsByNode({
    clock,
    async ask(accountIds) {
      const number = questions.push(accountIds.join());
      if (!accountIds.some((account) => silent.has(nodeOf(account)))) {
        return new Map(accountIds.map((account) => [account, number]));
      }
      underWay += 1;
      await clock.sleep(TIMEOUT_MS);
      underWay -= 1;
      throw unavailable(new Error('a node does not answer'));
    },
    askNodes: async (accountIds) => new Map(accountIds.map((account) => [account, nodeOf(account)])),
  });
  return {
    clock,
    silent,
    moved,
    /** The accounts of each question that was sent. The number of a question is the version that it sees. */
    questions,
    /** How many questions wait for a silent node. Each of them holds a connection. */
    underWay: () => underWay,
    /** 'refused', or the version that the account had when the question was sent. */
    ask: (account: bigint) =>
      versionOf(account).catch((thrown) => {
        if (!isUnavailable(thrown)) throw thrown;
        return 'refused';
      }),
  };
}

test('a silent node holds up its own accounts, and those of other nodes are answered before the time-out', async () => {
  const { clock, silent, questions, underWay, ask } = createNodes();
  assert.deepEqual(await Promise.all([10n, 20n].map(ask)), [1, 1]);
  silent.add(2);
  const [lost, healthy] = [Promise.all([20n, 21n].map(ask)), Promise.all([10n, 11n, 30n].map(ask))];
  await clock.advance(SOME_TIME_MS);
  await healthy;
  assert.deepEqual(questions.splice(0), ['10,20', '20,21,10,11,30', '20,21', '10,11', '30']);
  for (let poll = 0; poll < 20; poll++) {
    const others = [ask(20n), ask(22n)]; // others of its accounts go on asking
    await Promise.all([10n, 30n].map(ask));
    assert.ok(underWay() <= 2);
    void others;
  }
  assert.equal(questions.length, 40);
  await clock.advance(2 * TIMEOUT_MS);
  assert.deepEqual(await lost, ['refused', 'refused']);
});

test('an answer is never older than the call, also where the first question about the account was held up', async () => {
  const { clock, silent, questions, ask } = createNodes();
  silent.add(2);
  const lost = [ask(20n)];
  for (let poll = 0; poll < 60; poll++) {
    if (poll === 30) silent.delete(2);
    const before = questions.length;
    const healthy = Promise.all([10n, 30n].map(ask));
    const isNewer = (version: Awaited<ReturnType<typeof ask>>) => {
      assert.ok(version === 'refused' || Number(version) > before);
      return version;
    };
    lost.push(ask(20n).then(isNewer));
    await clock.advance(SOME_TIME_MS);
    for (const version of await healthy) assert.ok(Number(version) > before);
  }
  await clock.advance(2 * TIMEOUT_MS);
  const outcomes = await Promise.all(lost);
  assert.equal(outcomes[0], 'refused');
  assert.equal(typeof outcomes.at(-1), 'number');
});

test('nodes are asked together again when all have answered for some time', async () => {
  const { clock, silent, questions, ask } = createNodes();
  silent.add(2);
  const lost = ask(20n);
  await clock.advance(2 * TIMEOUT_MS);
  assert.equal(await lost, 'refused');
  silent.delete(2);
  questions.length = 0;
  await Promise.all([10n, 20n, 30n].map(ask));
  assert.deepEqual(questions.splice(0), ['10', '20', '30']);
  await clock.advance(LONG_MS);
  await Promise.all([10n, 20n, 30n].map(ask));
  assert.deepEqual(questions, ['10,20,30']);
});

test('several silent nodes do not take the connections of the pool from the healthy accounts', async () => {
  const { clock, silent, underWay, ask } = createNodes();
  for (const node of [2, 3, 4, 5, 6]) silent.add(node);
  const ofSilent = [20n, 30n, 40n, 50n, 60n];
  const first = Promise.all(ofSilent.map(ask));
  await clock.advance(3 * TIMEOUT_MS);
  await first;
  for (let round = 0; round < 10; round++) {
    const lost = ofSilent.flatMap((account) => [ask(account), ask(account + 1n)]);
    assert.equal(typeof (await ask(10n)), 'number');
    await clock.advance(SOME_TIME_MS);
    assert.ok(underWay() <= 2, `${underWay()} questions to nodes that did not answer the last one`);
    void lost;
  }
  await clock.advance(LONG_MS);
});

test('an account whose shard has moved away from a silent node is found on its new node', async () => {
  const { clock, silent, moved, questions, ask } = createNodes();
  silent.add(2);
  const lost = ask(20n);
  await clock.advance(2 * TIMEOUT_MS);
  assert.equal(await lost, 'refused');
  moved.set('20', 1);
  questions.length = 0;
  assert.deepEqual(await Promise.all([10n, 20n].map(ask)), [1, 1]);
  assert.deepEqual(questions, ['10,20']);
});

test('a question that fails at once, as over a connection that broke, is repeated for each node', async () => {
  const questions: string[] = [];
  const clock = createVirtualClock();
  const versionOf = createVersionsByNode({
    clock,
    async ask(accountIds) {
      questions.push(accountIds.join());
      if (accountIds.includes('20')) throw unavailable(new Error('no connection to a node'));
      return new Map(accountIds.map((account) => [account, 7]));
    },
    askNodes: async (accountIds) => new Map(accountIds.map((account) => [account, Number(account[0])])),
  });
  const answers = await Promise.allSettled([10n, 20n, 30n].map(versionOf));
  assert.deepEqual(questions, ['10,20,30', '10', '20', '30']);
  assert.deepEqual(
    answers.map((each) => (each.status === 'fulfilled' ? each.value : isUnavailable(each.reason))),
    [7, true, 7],
  );
  assert.deepEqual(clock.waiting(), [], 'no timer is left');
});
