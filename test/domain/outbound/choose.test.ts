import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  createRouteFinder,
  misfitOf,
  movesOn,
  type OutboundRoute,
  orderedWays,
  type RoutedMessage,
  senderFor,
} from '../../../src/domain/outbound/choose.ts';

const way = (connector: string, more: object = {}) => ({
  connector,
  weight: 1,
  price: 1,
  cost: null,
  ifRefused: [],
  ...more,
});
const route = (name: string, more: Partial<OutboundRoute> = {}): OutboundRoute => ({
  name,
  priority: 0,
  account: null,
  tag: null,
  prefixes: [],
  senders: [],
  hours: null,
  from: null,
  until: null,
  ways: [way('a'), way('b')],
  mode: 'order',
  onThrottle: 'wait',
  senderPool: [],
  updatedAt: 0,
  ...more,
});
const MESSAGE: RoutedMessage = {
  account: 7n,
  tag: 3,
  recipient: '+27825550201',
  sender: null,
  at: 1_000,
  isWithin: () => true,
};
const found = (routes: OutboundRoute[], message: Partial<RoutedMessage> = {}) => {
  const whole = { ...MESSAGE, ...message };
  return createRouteFinder(routes, whole)(whole.recipient)?.name ?? null;
};
const numbers = (count: number) => Array.from({ length: count }, (_, index) => `+2782${5_550_000 + index}`);

describe('the route of a message', () => {
  test('the route with the highest priority is chosen, then by the longest prefix, the account, the sender, and the name', () => {
    const acme = { id: 7n, username: 'acme' };
    const routes = [route('b'), route('a'), route('sender', { senders: ['ACME'] })];
    assert.equal(found(routes), 'a');
    assert.equal(found(routes, { sender: 'ACME' }), 'sender');
    routes.push(route('account', { account: acme }));
    assert.equal(found(routes, { sender: 'ACME' }), 'account');
    routes.push(route('country', { prefixes: ['27'] }), route('network', { prefixes: ['44', '2782'] }));
    assert.equal(found(routes, { sender: 'ACME' }), 'network');
    routes.push(route('first', { priority: 1 }));
    assert.equal(found(routes), 'first');
    assert.equal(found([route('country', { prefixes: ['27'] })], { recipient: '+4915112345678' }), null);
  });

  test('a route that does not match a message says why', () => {
    const why = (more: Partial<OutboundRoute>, message: Partial<RoutedMessage> = {}) =>
      misfitOf(route('x', more), { ...MESSAGE, ...message });
    assert.equal(why({}), null);
    assert.match(why({ account: { id: 8n, username: 'beta' } }) ?? '', /account beta/);
    assert.match(why({ tag: 4 }) ?? '', /tag 4/);
    assert.match(why({ prefixes: ['44'] }) ?? '', /prefixes/);
    assert.match(why({ senders: ['ACME'] }) ?? '', /sender/);
    assert.match(why({ from: 1_001 }) ?? '', /not valid yet/);
    assert.match(why({ until: 1_000 }) ?? '', /not valid any more/);
    assert.match(why({ hours: '08:00-18:00' }, { isWithin: () => false }) ?? '', /08:00-18:00/);
  });
});

describe('the ways of a route', () => {
  test('in the mode spread each way gets its share by weight, and a number keeps its way', () => {
    const spread = route('x', { mode: 'spread', ways: [way('a', { weight: 3 }), way('b')] });
    const first = (each: string) => orderedWays(spread, each)[0]?.connector;
    const share = numbers(4_000).filter((each) => first(each) === 'a').length / 4_000;
    assert.ok(share > 0.7 && share < 0.8, String(share));
    assert.deepEqual(numbers(50).map(first), numbers(50).map(first));
  });

  test('a way that is added to a spread takes its own share, and moves no number between the other ways', () => {
    const before = route('x', { mode: 'spread', ways: [way('a'), way('b')] });
    const after = route('x', { mode: 'spread', ways: [way('a'), way('b'), way('c')] });
    for (const number of numbers(500)) {
      const [was, is] = [before, after].map((each) => orderedWays(each, number)[0]?.connector);
      assert.ok(is === was || is === 'c', number);
    }
  });

  test('a recipient always gets the same sender of a pool, and all senders are used', () => {
    const pool = route('x', { senderPool: ['+27825550100', '+27825550101', '+27825550102'] });
    const senders = numbers(300).map((number) => senderFor(pool, 7n, number));
    assert.deepEqual(
      numbers(300).map((number) => senderFor(pool, 7n, number)),
      senders,
    );
    assert.equal(new Set(senders).size, 3);
    const smaller = route('x', { senderPool: ['+27825550100', '+27825550101'] });
    for (const [index, number] of numbers(300).entries()) {
      if (senders[index] !== '+27825550102') assert.equal(senderFor(smaller, 7n, number), senders[index]);
    }
  });

  test('a temporary refusal goes to the next way, a throttled one if the route says so, and a permanent one only for the reasons that the route names', () => {
    const plain = route('x', { ways: [way('a', { ifRefused: ['0x0000000b'] }), way('b')] });
    assert.equal(movesOn(plain, 'a', 'temporary', 'no route'), true);
    assert.equal(movesOn(plain, 'a', 'throttled', 'slow down'), false);
    assert.equal(movesOn({ ...plain, onThrottle: 'next' }, 'a', 'throttled', 'slow down'), true);
    assert.equal(movesOn(plain, 'a', 'permanent', 'SMPP 0x0000000b'), true);
    assert.equal(movesOn(plain, 'b', 'permanent', 'SMPP 0x0000000b'), false);
    assert.equal(movesOn(plain, 'a', 'permanent', 'SMPP 0x00000001'), false);
  });
});
