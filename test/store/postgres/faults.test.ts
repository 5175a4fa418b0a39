import assert from 'node:assert/strict';
import { test } from 'node:test';
import { postgresFault } from '../../../src/store/postgres/faults.ts';
import { splitHosts } from '../../../src/store/postgres/pool.ts';

const NAMES = { url: 'the URL', timeoutMs: 'the time-out', connectionsMax: 'the connections' };

test('a node of Citus that cannot be reached is named, and not the coordinator that says so', () => {
  const urls = ['postgres://columba@coordinator.example/columba'];
  const causes = [
    {
      code: '08006',
      message: 'connection to the remote node columba@one.example:5433 failed with the following error: x',
    },
    { code: 'XX000', message: 'connection to the remote node columba@one.example:5433 failed: no password supplied' },
  ];
  for (const cause of causes) {
    const told = postgresFault(urls, cause, NAMES);
    assert.match(
      told,
      /^PostgreSQL at coordinator\.example:5432 cannot reach the node one\.example:5433 of Citus as user columba\./,
    );
    assert.doesNotMatch(told, /the URL/);
  }
});

test('a name of sessions in the URL does not hide the service from commands that need it to be stopped', () => {
  const { urls } = splitHosts('postgres://one,two/columba?application_name=node1&sslmode=disable');
  assert.deepEqual(urls, ['postgres://one/columba?sslmode=disable', 'postgres://two/columba?sslmode=disable']);
});
