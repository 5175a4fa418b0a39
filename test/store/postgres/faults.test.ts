import assert from 'node:assert/strict';
import { test } from 'node:test';
import { translateErrors } from '../../../src/store/postgres/connection.ts';
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

test('a node of Citus whose network is silent is named, and the call may be repeated', async () => {
  const urls = ['postgres://columba@coordinator.example/columba'];
  const causes = [
    { code: '08006', message: 'could not establish any connections to the node one.example:5433 after 2000 ms' },
    { code: '08006', message: 'connection establishment for node one.example:5433 failed' },
    // Citus gives these no SQLSTATE of their own.
    { code: 'XX000', message: 'failure on connection marked as essential: one.example:5433' },
    { code: 'XX000', message: "failed to prepare transaction 'citus_0_12_4_0' on host one.example:5433" },
  ];
  for (const cause of causes) {
    assert.match(
      postgresFault(urls, cause, NAMES),
      /^PostgreSQL at coordinator\.example:5432 cannot reach the node one\.example:5433 of Citus\. Start that node/,
    );
    const thrown = Object.assign(new Error(cause.message), { ...cause, severity: 'ERROR' });
    await assert.rejects(
      translateErrors(() => Promise.reject(thrown)),
      { kind: 'unavailable' },
    );
  }
});

test('a name of sessions in the URL does not hide the service from commands that need it to be stopped', () => {
  const { urls } = splitHosts('postgres://one,two/columba?application_name=node1&sslmode=disable');
  assert.deepEqual(urls, ['postgres://one/columba?sslmode=disable', 'postgres://two/columba?sslmode=disable']);
});
