import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createOpenConnections, type Evictable, type Eviction } from '../../src/http/open-connections.ts';

/** Which connection makes room for a new one. */
describe('open connections', () => {
  function scene(connectionsMax: number, connectionsPerClientMax: number) {
    const connections = createOpenConnections<Evictable>({ connectionsMax, connectionsPerClientMax });
    const dropped: string[] = [];
    const come = (client: string | null, name: string, eviction?: Eviction): boolean => {
      if (!connections.makeRoom(client)) return false;
      connections.add(client, { eviction, evict: () => void dropped.push(name) });
      return true;
    };
    return { connections, dropped, come };
  }

  test('no connection is evicted while connections are free', () => {
    const { connections, dropped, come } = scene(3, 2);
    for (const name of ['a1', 'a2']) assert.ok(come('a', name, { rank: 0, since: 0 }));
    assert.ok(come('b', 'b1', { rank: 0, since: 0 }));
    assert.deepEqual([connections.size, dropped], [3, []]);
  });

  test('silent connections are evicted first, then those that wait for a refusal, then idle, then new ones, then those with a begun answer; each time the oldest', () => {
    const { connections, dropped, come } = scene(100, 11);
    const ranks = [4, 3, 2, 1, 0] as const;
    for (const rank of ranks) {
      for (const since of [7, 5]) come('a', `rank ${rank} since ${since}`, { rank, since });
    }
    come('a', 'in use');
    for (let more = 0; more < 10; more++) assert.ok(come('a', `in use too ${more}`));
    assert.deepEqual(
      dropped,
      [...ranks].reverse().flatMap((rank) => [5, 7].map((since) => `rank ${rank} since ${since}`)),
    );
    assert.ok(!come('a', 'one more'), 'all are in use');
    assert.equal(connections.size, 11);
    assert.ok(come('b', 'b1'));
  });

  test('when all connections are taken, the address with the most connections loses one', () => {
    const { dropped, come } = scene(6, 100);
    for (const [client, count] of [['a', 1] as const, ['b', 3] as const, ['c', 2] as const]) {
      for (let number = 1; number <= count; number++) come(client, `${client}${number}`, { rank: 2, since: 0 });
    }
    assert.ok(come('d', 'd1'));
    assert.deepEqual(dropped, ['b1']);
  });

  test('an address with as many connections as another evicts a silent connection of it, but no idle one', () => {
    const { dropped, come } = scene(4, 100);
    for (const name of ['a1', 'a2']) come('a', name);
    come('b', 'b1', { rank: 2, since: 0 });
    come('c', 'c1');
    assert.ok(!come('a', 'a3'));
    assert.ok(come('d', 'd1'), 'a newcomer takes it');
    assert.deepEqual(dropped, ['b1']);

    const other = scene(3, 100);
    for (const name of ['a1', 'a2']) other.come('a', name);
    other.come('b', 'b1', { rank: 0, since: 0 });
    assert.ok(other.come('a', 'a3'));
    assert.deepEqual(other.dropped, ['b1']);
  });

  test('a trusted proxy may have any number of connections, and a silent connection of another client is evicted before an idle one of the proxy', () => {
    const { dropped, come } = scene(5, 1);
    for (let number = 1; number <= 4; number++) assert.ok(come(null, `p${number}`, { rank: 2, since: number }));
    assert.ok(come('a', 'a1', { rank: 0, since: 9 }));
    assert.ok(come(null, 'p5'));
    assert.ok(come(null, 'p6'));
    assert.deepEqual(dropped, ['a1', 'p1']);
  });

  test('a connection that was released makes room, and an evicted one is not released twice', () => {
    const connections = createOpenConnections<Evictable>({ connectionsMax: 1, connectionsPerClientMax: 1 });
    const first: Evictable = { eviction: { rank: 0, since: 0 }, evict: () => {} };
    const second: Evictable = { eviction: undefined, evict: () => {} };
    connections.add('a', first);
    assert.ok(connections.makeRoom('a'));
    connections.add('a', second);
    connections.remove('a', first); // it is closed at last
    assert.equal(connections.size, 1);
    assert.ok(!connections.makeRoom('a'));
    connections.remove('a', second);
    assert.ok(connections.makeRoom('a'));
  });
});
